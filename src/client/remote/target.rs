//! Where a daemon is: `unix:PATH`, `http(s)://…` or `ssh://HOST`. An address that would send the token in clear text
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
    /// A machine that `ssh` logs in to.
    Ssh(SshAddress),
}

/// A machine that `ssh` logs in to. No part of it begins with `-` or has a sign that a shell reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SshAddress {
    /// `HOST` or `USER@HOST`; what `ssh` knows by its own configuration too.
    pub login: String,
    /// The port; none = as `ssh` is configured.
    pub port: Option<u16>,
    /// The daemon's socket there; none = that of its default data directory.
    pub socket: Option<String>,
}

impl SshAddress {
    /// Reads what stands behind `ssh://`.
    fn read(text: &str) -> Option<Self> {
        let (machine, path) = match text.find('/') {
            Some(at) => text.split_at(at),
            None => (text, ""),
        };
        let (login, port) = match machine.rsplit_once(':') {
            // The colons of an address in brackets.
            Some((_, rest)) if rest.ends_with(']') => (machine, None),
            Some((login, port)) => (login, Some(port.parse().ok()?)),
            None => (machine, None),
        };
        let (user, host) = match login.split_once('@') {
            Some((user, host)) => (Some(user), host),
            None => (None, login),
        };
        let bare = host
            .strip_prefix('[')
            .and_then(|host| host.strip_suffix(']'));
        let fits = |text: &str, signs: &str| {
            let known = |c: char| c.is_ascii_alphanumeric() || signs.contains(c);
            !text.is_empty() && !text.starts_with('-') && text.chars().all(known)
        };
        let good_host = bare.map_or_else(|| fits(host, "._-"), |host| fits(host, ":.%"));
        let good_user = user.is_none_or(|user| fits(user, "._-+"));
        let socket = Some(path).filter(|path| !matches!(*path, "" | "/"));
        let good_path = socket.is_none_or(|path| fits(path, "/._-+@"));
        let host = bare.unwrap_or(host);
        (good_host && good_user && good_path).then(|| Self {
            login: user.map_or_else(|| host.to_owned(), |user| format!("{user}@{host}")),
            port,
            socket: socket.map(str::to_owned),
        })
    }
}

impl std::fmt::Display for SshAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ssh://{}", self.login)?;
        if let Some(port) = self.port {
            write!(f, ":{port}")?;
        }
        f.write_str(self.socket.as_deref().unwrap_or_default())
    }
}

/// Why a text is not an address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// No known form.
    #[error(
        "`{0}` is not an address: expected unix:PATH, http://127.0.0.1:PORT, https://HOST or ssh://HOST"
    )]
    Form(String),
    /// A password or token in the URL ends up in logs and process lists.
    #[error("`{0}` carries a user name or query: give the token with --token-file")]
    Credential(String),
    /// Plain HTTP beyond this machine.
    #[error("`{0}` would send the token unencrypted over the network: use https:// or ssh://HOST")]
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
        if let Some(machine) = text.strip_prefix("ssh://") {
            let read = SshAddress::read(machine);
            return read
                .map(Address::Ssh)
                .ok_or_else(|| AddressError::Form(text.to_owned()));
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
            Address::Ssh(address) => address.fmt(f),
            Address::Http(url) => f.write_str(url.as_str().trim_end_matches('/')),
        }
    }
}

/// A daemon and the credential for it.
#[derive(Clone)]
pub enum Target {
    /// A unix socket: being allowed to open it is the credential.
    Unix(PathBuf),
    /// A machine that `ssh` logs in to: a unix socket here that a tunnel carries there.
    Ssh {
        /// The machine.
        address: SshAddress,
        /// This end of the tunnel.
        local: PathBuf,
    },
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
            Target::Ssh { address, .. } => Address::Ssh(address.clone()),
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
            Target::Unix(_) | Target::Ssh { .. } | Target::Http { .. } => {}
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
