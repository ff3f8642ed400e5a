//! Who waits for the answer to a call of an external agent.
//!
//! Nothing here is kept: after a restart the callers come back by themselves.

use std::collections::HashMap;
use std::time::Duration;

use tokio::sync::watch;

/// How long a caller may be away before its question ends: a daemon that restarts costs no question.
pub const AWAY: Duration = Duration::from_secs(15);

/// Callers that wait, by the key of what they ask.
#[derive(Debug)]
pub struct GateCallers {
    waiting: watch::Sender<HashMap<String, u32>>,
}

impl Default for GateCallers {
    fn default() -> Self {
        Self {
            waiting: watch::Sender::new(HashMap::new()),
        }
    }
}

impl GateCallers {
    /// A caller of a request begins to wait.
    pub fn add(&self, request: &str) {
        self.waiting.send_modify(|waiting| {
            *waiting.entry(request.to_owned()).or_default() += 1;
        });
    }

    /// A caller of a request waits no longer.
    pub fn remove(&self, request: &str) {
        self.waiting.send_modify(|waiting| {
            if let Some(count) = waiting.get_mut(request) {
                *count -= 1;
                if *count == 0 {
                    waiting.remove(request);
                }
            }
        });
    }

    /// Waits until a caller waits for this, [`AWAY`] at most; whether one does.
    pub async fn is_waited_for(&self, request: &str) -> bool {
        let mut waiting = self.waiting.subscribe();
        let came = waiting.wait_for(|waiting| waiting.contains_key(request));
        matches!(tokio::time::timeout(AWAY, came).await, Ok(Ok(_)))
    }
}
