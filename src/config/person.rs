//! A person of the configuration, as it is used.

use crate::clock::quiet_hours::QuietHours;
use crate::protocol::enums::Role;

/// One person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PersonSettings {
    /// Ids of platforms, `telegram:123456`, users of this machine, `unix:1000`, and client certificates, `cert:…`.
    pub ids: Vec<String>,
    /// Role.
    pub role: Role,
    /// When this person is not to be disturbed.
    pub quiet_hours: Option<QuietHours>,
}
