//! What servers run in.

use crate::clock::Clock;
use crate::text::redact::Redactor;
use crate::tools::service::Services;

/// What servers run in.
#[derive(Clone)]
pub struct Surroundings {
    /// Starts their programs.
    pub services: Services,
    /// Takes secrets out of what servers log.
    pub redactor: Redactor,
    /// For the time of a connection.
    pub clock: Clock,
}
