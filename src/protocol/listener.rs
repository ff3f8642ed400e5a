//! What the TCP listener turns away, as metrics and the doctor count it.

/// Why the listener turned a connection or a request away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListenerRefusal {
    /// Every seat is taken.
    Connections,
    /// The address holds as many connections as one address may.
    AddressConnections,
    /// A connection that had proved nothing gave its seat to a newer one.
    Displaced,
    /// The principal holds as many connections as one principal may.
    PrincipalConnections,
    /// The principal asks too often.
    Rate,
    /// Too many bytes of bodies are under way.
    Bodies,
    /// The address showed too many wrong credentials.
    FailedLogins,
}

impl ListenerRefusal {
    /// Every reason.
    pub const ALL: [Self; 7] = [
        Self::Connections,
        Self::AddressConnections,
        Self::Displaced,
        Self::PrincipalConnections,
        Self::Rate,
        Self::Bodies,
        Self::FailedLogins,
    ];

    /// The word of the metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Connections => "connections",
            Self::AddressConnections => "address_connections",
            Self::Displaced => "displaced",
            Self::PrincipalConnections => "principal_connections",
            Self::Rate => "rate",
            Self::Bodies => "bodies",
            Self::FailedLogins => "failed_logins",
        }
    }

    /// What the doctor says of it.
    pub const fn in_words(self) -> &'static str {
        match self {
            Self::Connections => "connections beyond `max_connections`",
            Self::AddressConnections => "connections of one address",
            Self::Displaced => "connections that proved nothing",
            Self::PrincipalConnections => "connections beyond `max_connections_per_principal`",
            Self::Rate => "requests beyond `requests_per_minute`",
            Self::Bodies => "bodies, with too many bytes under way",
            Self::FailedLogins => "failed logins",
        }
    }
}
