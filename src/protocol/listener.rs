//! Connections and requests that the TCP listener refuses, as metrics and the doctor count them.

/// Why the listener refused a connection or a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListenerRefusal {
    /// All connection slots are in use.
    Connections,
    /// The address has its maximum of connections.
    AddressConnections,
    /// An unauthenticated connection gave its slot to a newer one.
    Displaced,
    /// The principal has its maximum of connections.
    PrincipalConnections,
    /// The principal sends too many requests.
    Rate,
    /// Too many bytes of request bodies are in progress.
    Bodies,
    /// The address sent too many wrong credentials.
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

    /// The word in the metrics.
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

    /// The reason in the words of the doctor.
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
