//! What a listener tells of itself: to the doctor and the metrics, which do not know the listener.

use crate::protocol::certificate::Certificate;
use crate::protocol::listener::ListenerRefusal;

/// Hears how the listener does.
pub trait ListenerReport: Send + Sync {
    /// This certificate is in use from now on.
    fn certificate(&self, in_use: &Certificate);
    /// The files of the certificate changed and cannot be used; the previous one stays in use.
    fn unusable(&self, why: &str);
    /// A connection or a request was turned away.
    fn refused(&self, why: ListenerRefusal);
    /// So many connections are open, of so many.
    fn connections(&self, open: usize, most: usize);
}

/// Nobody hears it.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoReport;

impl ListenerReport for NoReport {
    fn certificate(&self, _in_use: &Certificate) {}
    fn unusable(&self, _why: &str) {}
    fn refused(&self, _why: ListenerRefusal) {}
    fn connections(&self, _open: usize, _most: usize) {}
}
