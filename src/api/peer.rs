//! Who is at the other end of a connection, as the operating system says. Nothing here believes a request.

use std::net::SocketAddr;

use crate::protocol::command::Actor;

/// The other end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peer {
    /// A local process; none = the system did not say, which is refused.
    Unix {
        /// Its user (SO_PEERCRED).
        uid: Option<u32>,
    },
    /// A TCP client.
    Tcp(SocketAddr),
}

/// Whether a process of user `uid` may use the socket of a daemon that runs as `own_uid`: the same user, or
/// root, who could read the database anyway.
pub fn may_connect(uid: u32, own_uid: u32) -> bool {
    uid == own_uid || uid == 0
}

/// The actor behind a socket peer.
pub fn operator(uid: u32) -> Actor {
    Actor::Operator {
        uid,
        name: login_name(uid),
        person: None,
    }
}

/// The login name of a user in `/etc/passwd`, else the uid in digits.
fn login_name(uid: u32) -> String {
    let table = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    name_in(&table, uid).unwrap_or_else(|| uid.to_string())
}

/// Finds `uid` in a table of passwd(5) lines.
pub fn name_in(table: &str, uid: u32) -> Option<String> {
    table.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        let found = fields.nth(1)?.parse::<u32>().ok()? == uid;
        (found && !name.is_empty()).then(|| name.to_owned())
    })
}
