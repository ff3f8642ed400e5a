//! How many files this process may have open.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::api::seats::RESERVE;

/// More are not needed by themselves, and programs that look at every possible descriptor get slow.
const ENOUGH: u64 = 16_384;

/// Raises the soft limit to the hard one, up to what is enough, also for the connections that the operator wants. A
/// lower soft limit is what a shell gives by habit.
pub fn raise(connections: Option<u32>) {
    let limit = getrlimit(Resource::Nofile);
    let Some(current) = limit.current else { return };
    let enough = connections.map_or(ENOUGH, |most| ENOUGH.max(u64::from(most) + RESERVE));
    let wanted = limit.maximum.unwrap_or(enough).min(enough);
    if current >= wanted {
        return;
    }
    let raised = Rlimit {
        current: Some(wanted),
        maximum: limit.maximum,
    };
    if let Err(error) = setrlimit(Resource::Nofile, raised) {
        tracing::warn!(%error, "cannot raise the limit of open files; it stays at {current}");
    }
}
