//! Where a daemon is: `unix:PATH` or `http(s)://…`. An address that would send the token in clear text
//! over a network does not parse.

use std::path::PathBuf;
use std::str::FromStr;

use reqwest::Url;

use crate::client::remote::trust::Trust;

/// Where a daemon is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// A unix socket.
    Unix(PathBuf),
    /// An HTTP base.
    Http(Url),
}

/// Why a text is not an address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// No known form.
    #[error("`{0}` is not an address: expected unix:PATH, http://127.0.0.1:PORT or https://HOST")]
    Form(String),
    /// A password or token in the URL ends up in logs and process lists.
    #[error("`{0}` carries a user name or query: give the token with --token-file")]
    Credential(String),
    /// Plain HTTP beyond this machine.
    #[error(
        "`{0}` would send the token unencrypted over the network: use https://, or `ssh -L` and http://127.0.0.1:PORT"
    )]
    Clear(String),
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        if let Some(path) = text.strip_prefix("unix:") {
            let path = path.strip_prefix("//").unwrap_or(path);
            return if path.is_empty() {
                Err(AddressError::Form(text.to_owned()))
            } else {
                Ok(Address::Unix(PathBuf::from(path)))
            };
        }
        let url = Url::parse(text).map_err(|_| AddressError::Form(text.to_owned()))?;
        let host = url.host_str().unwrap_or_default().to_owned();
        let shown = format!("{}://{host}", url.scheme());
        if !url.username().is_empty()
            || url.password().is_some()
            || url.query().is_some()
            || url.fragment().is_some()
        {
            return Err(AddressError::Credential(shown));
        }
        match url.scheme() {
            "https" => Ok(Address::Http(url)),
            "http" if matches!(host.as_str(), "localhost" | "127.0.0.1" | "[::1]") => {
                Ok(Address::Http(url))
            }
            "http" => Err(AddressError::Clear(shown)),
            _ => Err(AddressError::Form(text.to_owned())),
        }
    }
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Address::Unix(path) => write!(f, "unix:{}", path.display()),
            Address::Http(url) => f.write_str(url.as_str().trim_end_matches('/')),
        }
    }
}

/// A daemon and the credential for it.
#[derive(Clone)]
pub enum Target {
    /// A unix socket: being allowed to open it is the credential.
    Unix(PathBuf),
    /// A base on this machine over plain HTTP, and the bearer token for it.
    Http {
        /// The base; routes are appended to its path.
        base: Url,
        /// The token.
        token: String,
    },
    /// A base over TLS.
    Https {
        /// The base; routes are appended to its path.
        base: Url,
        /// The bearer token; none = the certificate of the client is the credential.
        token: Option<String>,
        /// Which certificates are taken, and what is shown.
        trust: Trust,
    },
}

impl Target {
    /// The address without the credential.
    pub fn address(&self) -> Address {
        match self {
            Target::Unix(path) => Address::Unix(path.clone()),
            Target::Http { base, .. } | Target::Https { base, .. } => Address::Http(base.clone()),
        }
    }

    /// A base and the bearer token for it; over TLS those certificates are taken that authorities of this system signed.
    pub fn of(base: Url, token: String) -> Self {
        if base.scheme() == "https" {
            Self::Https {
                base,
                token: Some(token),
                trust: Trust::default(),
            }
        } else {
            Self::Http { base, token }
        }
    }

    /// Goes by another trust from now on, where it goes over TLS.
    pub fn set_trust(&mut self, next: Trust) {
        match self {
            Target::Https { trust, .. } => *trust = next,
            Target::Unix(_) | Target::Http { .. } => {}
        }
    }
}

impl std::fmt::Debug for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Target")
            .field(&self.address().to_string())
            .finish()
    }
}

/// Host and port of an http(s) URL, for checking whether anything listens there.
pub fn host_and_port(url: &str) -> Option<(String, u16)> {
    let url = Url::parse(url).ok()?;
    if !matches!(url.scheme(), "http" | "https") {
        return None;
    }
    let host = url.host_str()?.trim_matches(['[', ']']).to_owned();
    Some((host, url.port_or_known_default()?))
}
