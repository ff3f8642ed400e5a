//! What a listener tells of itself: to the doctor and the metrics, which do not know the listener.

use crate::protocol::certificate::Certificate;

/// Hears how the listener does.
pub trait ListenerReport: Send + Sync {
    /// This certificate is in use from now on.
    fn certificate(&self, in_use: &Certificate);
    /// The files of the certificate changed and cannot be used; the one of before stays in use.
    fn unusable(&self, why: &str);
}

/// Nobody hears it.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoReport;

impl ListenerReport for NoReport {
    fn certificate(&self, _in_use: &Certificate) {}
    fn unusable(&self, _why: &str) {}
}
