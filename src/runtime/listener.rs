//! What the listener tells the engine of itself.

use crate::api::report::ListenerReport;
use crate::engine::core::Engine;
use crate::protocol::certificate::Certificate;
use crate::protocol::listener::ListenerRefusal;

/// The engine keeps it for the doctor and the metrics.
pub struct EngineReport(pub Engine);

impl ListenerReport for EngineReport {
    fn certificate(&self, in_use: &Certificate) {
        self.0.listener.set_certificate(in_use.clone());
    }

    fn unusable(&self, why: &str) {
        self.0.listener.set_problem(why);
    }

    fn refused(&self, why: ListenerRefusal) {
        self.0.listener.count_refusal(why, self.0.clock.now());
    }

    fn connections(&self, open: usize, most: usize) {
        self.0.listener.set_connections(open, most);
    }
}
