//! What is known of the listener, which tells it itself: the certificate in use, why its files cannot be used, and whom
//! it turns away.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;

use crate::clock::Timestamp;
use crate::config::settings::Settings;
use crate::protocol::certificate::Certificate;
use crate::protocol::doctor::Finding;
use crate::protocol::listener::ListenerRefusal;

/// What findings about it are about.
const CERTIFICATE: &str = "certificate";
/// Days before the end of a certificate from which on somebody should look.
const WARNING_DAYS: i64 = 14;

const DAY_MS: i64 = 24 * 3600 * 1000;

/// Milliseconds for which the doctor tells of refusals.
const RECENT_MS: u64 = 10 * 60 * 1000;

/// What the listener told.
#[derive(Debug, Default)]
pub struct Listener {
    served: Mutex<Served>,
    traffic: Mutex<Traffic>,
}

/// Connections, and what was turned away.
#[derive(Debug, Default)]
struct Traffic {
    /// Open ones, and most of them; none = nothing listens over TCP.
    connections: Option<(usize, usize)>,
    refusals: HashMap<&'static str, Refusals>,
}

/// How often something was turned away for one reason.
#[derive(Debug, Default)]
struct Refusals {
    count: u64,
    /// The count when the time that the doctor tells of began, the beginning, and the newest refusal.
    before: u64,
    since: Timestamp,
    last: Timestamp,
}

/// The certificate of the listener.
#[derive(Debug, Clone, Default)]
struct Served {
    certificate: Option<Certificate>,
    problem: Option<String>,
}

impl Listener {
    /// This certificate is in use.
    pub fn set_certificate(&self, certificate: Certificate) {
        *self.lock() = Served {
            certificate: Some(certificate),
            problem: None,
        };
    }

    /// The files as they are now cannot be used.
    pub fn set_problem(&self, why: &str) {
        self.lock().problem = Some(why.to_owned());
    }

    /// Something was turned away.
    pub fn count_refusal(&self, why: ListenerRefusal, now: Timestamp) {
        let mut traffic = self.traffic();
        let refusals = traffic.refusals.entry(why.as_str()).or_default();
        if now.millis_since(refusals.last) > RECENT_MS {
            (refusals.before, refusals.since) = (refusals.count, now);
        }
        refusals.count += 1;
        refusals.last = now;
    }

    /// So many connections are open, of so many.
    pub fn set_connections(&self, open: usize, most: usize) {
        self.traffic().connections = Some((open, most));
    }

    /// Open connections, and most of them; none = nothing listens over TCP.
    pub fn connections(&self) -> Option<(usize, usize)> {
        self.traffic().connections
    }

    /// How often something was turned away since the start, by reason.
    pub fn refusals(&self) -> Vec<(ListenerRefusal, u64)> {
        let traffic = self.traffic();
        let count = |why: &ListenerRefusal| {
            let found = traffic.refusals.get(why.as_str());
            found.map_or(0, |refusals| refusals.count)
        };
        let all = ListenerRefusal::ALL.iter();
        all.map(|why| (*why, count(why))).collect()
    }

    /// What the doctor says of what was turned away lately.
    fn turned_away(&self, now: Timestamp) -> Option<Finding> {
        let traffic = self.traffic();
        let recent: Vec<String> = ListenerRefusal::ALL
            .iter()
            .filter_map(|why| {
                let refusals = traffic.refusals.get(why.as_str())?;
                let is_recent = now.millis_since(refusals.last) <= RECENT_MS;
                is_recent.then(|| {
                    let count = refusals.count - refusals.before;
                    format!("{} {count} since {}", why.in_words(), refusals.since)
                })
            })
            .collect();
        let fix = "check who calls; the limits are under [server], and you can revoke tokens";
        let detail = || format!("turned away: {}", recent.join(", "));
        (!recent.is_empty()).then(|| Finding::warn("listener", detail(), fix))
    }

    fn traffic(&self) -> std::sync::MutexGuard<'_, Traffic> {
        self.traffic.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// When the certificate in use ends; none = the listener has none.
    pub fn certificate_ends(&self) -> Option<Timestamp> {
        Some(self.lock().certificate.as_ref()?.not_after)
    }

    /// What the doctor says of it, and of what it turned away.
    pub fn findings(&self, now: Timestamp) -> Vec<Finding> {
        let Served {
            certificate,
            problem,
        } = self.lock().clone();
        let problem = problem.map(|why| {
            Finding::warn(
                CERTIFICATE,
                format!("{why}; the previous one stays in use"),
                "correct the file; the daemon reads it again by itself",
            )
        });
        let served = certificate.map(|served| about(&served, now));
        let turned_away = self.turned_away(now);
        served
            .into_iter()
            .chain(problem)
            .chain(turned_away)
            .collect()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Served> {
        self.served.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the doctor says of the certificate that the next start would use.
pub fn configured(settings: &Settings, now: Timestamp) -> Option<Finding> {
    let files = settings.tls.as_ref()?;
    Some(match read(&files.certificate) {
        Ok(certificate) => about(&certificate, now),
        Err(why) => Finding::fail(
            CERTIFICATE,
            format!("{}: {why}", files.certificate.display()),
            "name another under [server.tls], or make one with `leverframe certificate create`",
        ),
    })
}

fn read(path: &Path) -> Result<Certificate, String> {
    let leaf = CertificateDer::from_pem_file(path).map_err(|error| error.to_string())?;
    Certificate::read(&leaf)
}

fn about(certificate: &Certificate, now: Timestamp) -> Finding {
    const FIX: &str = "put a new one into its file; it is read again automatically";
    let Certificate {
        fingerprint,
        names,
        not_before,
        not_after,
    } = certificate;
    let shown = format!("{fingerprint} for {}", names.join(", "));
    let left = not_after.as_millis() - now.as_millis();
    let day = not_after.day_in_zone();
    if left <= 0 {
        Finding::fail(CERTIFICATE, format!("{shown}: it ended on {day}"), FIX)
    } else if *not_before > now {
        let begins = not_before.day_in_zone();
        let fix = "set the clock right, or use another";
        Finding::fail(CERTIFICATE, format!("{shown}: it begins on {begins}"), fix)
    } else if left < WARNING_DAYS * DAY_MS {
        let days = left / DAY_MS;
        let detail = format!("{shown}: it ends on {day}, in {days} days");
        Finding::warn(CERTIFICATE, detail, FIX)
    } else {
        Finding::ok(CERTIFICATE, format!("{shown}, until {day}"))
    }
}
