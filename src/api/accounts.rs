//! How often a principal asks, and how many bytes of bodies are under way. Nobody takes the share of another.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::http::{HeaderValue, header};

use crate::api::error::Refusal;
use crate::api::report::ListenerReport;
use crate::api::seats::holder;
use crate::protocol::listener::ListenerRefusal;
use crate::protocol::problem::{Problem, ProblemKind};

const MIB: usize = 1024 * 1024;
/// Bytes of bodies under way: of one principal, of one address without a credential, of all of these, and in all.
const OF_PRINCIPAL: usize = 64 * MIB;
const OF_ADDRESS: usize = 16 * MIB;
const OF_STRANGERS: usize = 32 * MIB;
const OF_ALL: usize = 256 * MIB;
/// The time within which the requests of a limit are counted.
const MINUTE: Duration = Duration::from_mins(1);
/// Principals that are kept before those are looked for that were quiet for a minute.
const MANY: usize = 4096;

/// Who pays for a request.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Payer {
    /// Whoever showed a good credential.
    Principal(Arc<str>),
    /// Nobody: an address without one. None = this machine.
    Stranger(Option<IpAddr>),
}

impl Payer {
    /// The payer of a request without a credential.
    pub fn stranger(address: IpAddr) -> Self {
        Self::Stranger(holder(address))
    }

    const fn most(&self) -> usize {
        match self {
            Self::Principal(_) => OF_PRINCIPAL,
            Self::Stranger(_) => OF_ADDRESS,
        }
    }
}

/// What each payer used.
pub struct Accounts {
    /// Requests of a principal within a minute; none = no bound.
    per_minute: Option<u32>,
    /// Times are counted from here.
    began: Instant,
    /// When the minute of a principal is free again, had it asked evenly.
    rates: Mutex<HashMap<Arc<str>, Duration>>,
    bodies: Mutex<Bodies>,
    report: Arc<dyn ListenerReport>,
}

#[derive(Default)]
struct Bodies {
    all: usize,
    strangers: usize,
    payers: HashMap<Payer, usize>,
}

impl Bodies {
    fn add(&mut self, payer: &Payer, bytes: usize) -> bool {
        let own = self.payers.get(payer).copied().unwrap_or_default() + bytes;
        let is_stranger = matches!(payer, Payer::Stranger(_));
        let strangers = self.strangers + if is_stranger { bytes } else { 0 };
        if own > payer.most() || strangers > OF_STRANGERS || self.all + bytes > OF_ALL {
            return false;
        }
        self.all += bytes;
        self.strangers = strangers;
        self.payers.insert(payer.clone(), own);
        true
    }

    fn remove(&mut self, payer: &Payer, bytes: usize) {
        self.all = self.all.saturating_sub(bytes);
        if matches!(payer, Payer::Stranger(_)) {
            self.strangers = self.strangers.saturating_sub(bytes);
        }
        if let Some(own) = self.payers.get_mut(payer) {
            *own = own.saturating_sub(bytes);
            if *own == 0 {
                self.payers.remove(payer);
            }
        }
    }
}

impl Accounts {
    /// Accounts on which nothing stands.
    pub fn new(per_minute: Option<u32>, report: Arc<dyn ListenerReport>) -> Self {
        Self {
            per_minute,
            began: Instant::now(),
            rates: Mutex::default(),
            bodies: Mutex::default(),
            report,
        }
    }

    /// One more request of a principal.
    ///
    /// # Errors
    /// It asked too often: the refusal says when it can ask again.
    pub fn request(&self, principal: &Arc<str>) -> Result<(), Refusal> {
        let Some(limit) = self.per_minute else {
            return Ok(());
        };
        let Err(wait) = self.count(principal, limit, self.began.elapsed()) else {
            return Ok(());
        };
        self.report.refused(ListenerRefusal::Rate);
        // Rounded up: a client that comes back then is let in.
        let seconds = wait.as_secs() + 1;
        let problem = Problem::new(
            ProblemKind::TooMany,
            "too many requests",
            format!("{principal} asked more than {limit} times within a minute"),
        )
        .hint(format!(
            "ask again in {seconds} s; `requests_per_minute` under [server] is the limit"
        ));
        Err(Refusal::from(problem).header(header::RETRY_AFTER, HeaderValue::from(seconds)))
    }

    /// Counts a request at a time; the error is how long it is too early. An even rate, of which a whole minute may come
    /// at once.
    pub fn count(&self, principal: &Arc<str>, limit: u32, now: Duration) -> Result<(), Duration> {
        let mut rates = self.rates.lock().unwrap_or_else(PoisonError::into_inner);
        if rates.len() >= MANY {
            rates.retain(|_, free| *free > now);
        }
        let free = rates.get(principal).copied().unwrap_or_default().max(now);
        let next = free + MINUTE / limit.max(1);
        match next.checked_sub(now + MINUTE) {
            Some(early) if !early.is_zero() => Err(early),
            Some(_) | None => {
                rates.insert(Arc::clone(principal), next);
                Ok(())
            }
        }
    }

    /// The body of a request that this payer sends.
    pub fn body(self: &Arc<Self>, payer: Payer) -> BodyAccount {
        BodyAccount(Some(Arc::new(BodyBytes {
            accounts: Arc::clone(self),
            payer,
            bytes: Mutex::default(),
        })))
    }

    fn bodies(&self) -> std::sync::MutexGuard<'_, Bodies> {
        self.bodies.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The bytes of the body of one request. They count until the last clone is gone.
#[derive(Clone, Default)]
pub struct BodyAccount(Option<Arc<BodyBytes>>);

/// What the body of one request takes of its payer's share.
struct BodyBytes {
    accounts: Arc<Accounts>,
    payer: Payer,
    bytes: Mutex<usize>,
}

impl BodyAccount {
    /// So many bytes more are in memory. What comes over the owner's socket counts nowhere.
    ///
    /// # Errors
    /// Too many are.
    pub fn add(&self, bytes: usize) -> Result<(), Refusal> {
        let Some(held) = &self.0 else {
            return Ok(());
        };
        if held.accounts.bodies().add(&held.payer, bytes) {
            *held.bytes.lock().unwrap_or_else(PoisonError::into_inner) += bytes;
            return Ok(());
        }
        held.accounts.report.refused(ListenerRefusal::Bodies);
        let whose = match &held.payer {
            Payer::Principal(name) => name.to_string(),
            Payer::Stranger(_) => "callers without a credential".to_owned(),
        };
        let problem = Problem::new(
            ProblemKind::TooMany,
            "too many bytes under way",
            format!("the request bodies of {whose} fill the memory reserved for them"),
        )
        .hint("send it again once other requests have ended");
        Err(Refusal::from(problem).header(header::RETRY_AFTER, HeaderValue::from_static("1")))
    }
}

impl Drop for BodyBytes {
    fn drop(&mut self) {
        let bytes = *self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        if bytes > 0 {
            self.accounts.bodies().remove(&self.payer, bytes);
        }
    }
}
