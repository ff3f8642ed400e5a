//! The credentials under which event streams are open. One look at each of them ends the streams of a revoked one,
//! however many there are. Nothing wakes while no stream is open.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// What a caller showed.
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum Credential {
    /// The user of a process of this machine.
    User,
    /// A bearer token.
    Token(Arc<str>),
    /// A certificate, by its id.
    Certificate(Arc<str>),
}

/// The credentials with open streams.
#[derive(Default)]
pub struct OpenCredentials {
    open: Mutex<HashMap<Credential, Entry>>,
    /// There is a first one.
    first: Notify,
}

struct Entry {
    streams: usize,
    revoked: CancellationToken,
}

/// The credential of an open stream. The stream counts while this lives.
pub struct StreamCredential {
    list: Arc<OpenCredentials>,
    credential: Credential,
    revoked: CancellationToken,
}

impl StreamCredential {
    /// Ends once its credential opens nothing any more.
    pub async fn revoked(&self) {
        self.revoked.cancelled().await;
    }
}

impl Drop for StreamCredential {
    fn drop(&mut self) {
        let mut open = self.list.lock();
        if let Some(entry) = open.get_mut(&self.credential) {
            entry.streams -= 1;
            if entry.streams == 0 {
                open.remove(&self.credential);
            }
        }
    }
}

impl OpenCredentials {
    /// One more stream of this credential.
    pub fn open(self: &Arc<Self>, credential: Credential) -> StreamCredential {
        let mut open = self.lock();
        let entry = open.entry(credential.clone()).or_insert_with(|| Entry {
            streams: 0,
            revoked: CancellationToken::new(),
        });
        entry.streams += 1;
        let revoked = entry.revoked.clone();
        drop(open);
        self.first.notify_one();
        StreamCredential {
            list: Arc::clone(self),
            credential,
            revoked,
        }
    }

    /// Looks at each credential every so often, for as long as streams are open.
    pub async fn watch(
        &self,
        admits: impl Fn(&Credential) -> bool,
        every: Duration,
        shutdown: CancellationToken,
    ) {
        let looks = async {
            loop {
                let known: Vec<Credential> = self.lock().keys().cloned().collect();
                if known.is_empty() {
                    self.first.notified().await;
                    continue;
                }
                for credential in known.iter().filter(|one| !admits(one)) {
                    if let Some(entry) = self.lock().get(credential) {
                        entry.revoked.cancel();
                    }
                }
                tokio::time::sleep(every).await;
            }
        };
        tokio::select! {
            () = looks => {}
            () = shutdown.cancelled() => {}
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<Credential, Entry>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
