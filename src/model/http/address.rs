//! Addresses of providers: what a base URL may be, what it leads to, and why it cannot be used.
//!
//! No user name, password, query or fragment is accepted in one.

use reqwest::Url;

/// Why a provider's settings cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EndpointProblem {
    /// The base URL is not one.
    #[error("base_url is not an http or https URL with a host: {0}")]
    BaseUrl(String),
    /// A header value would not be legal.
    #[error("{0} holds characters that cannot stand in an HTTP header (a line break?)")]
    Header(&'static str),
}

/// The host of a base URL, lower case; none where it is not a URL.
pub fn host_of(base_url: &str) -> Option<String> {
    Url::parse(base_url.trim())
        .ok()?
        .host_str()
        .map(str::to_owned)
}

/// Whether a base URL names nothing but a server, so that the usual path is meant.
pub fn has_no_path(base_url: &str) -> bool {
    Url::parse(base_url.trim()).is_ok_and(|url| matches!(url.path(), "" | "/"))
}

/// The endpoint `base` + `path`, of which people give the whole or a part.
pub fn join(base: &str, path: &str) -> Result<Url, EndpointProblem> {
    let wrong = |why: &str| EndpointProblem::BaseUrl(why.to_owned());
    let mut url = Url::parse(base.trim()).map_err(|error| wrong(&error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(wrong("its scheme is another"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(wrong("it holds a user name or password; use api_key"));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(wrong("it has a query or fragment"));
    }
    let base_path = url.path().trim_end_matches('/');
    // People give both forms; `/v1/v1/messages` is never meant.
    let base_path = match path.strip_prefix("/v1/") {
        Some(_) => base_path.strip_suffix("/v1").unwrap_or(base_path),
        None => base_path,
    };
    let full = if base_path.ends_with(path) {
        base_path.to_owned()
    } else {
        format!("{base_path}{path}")
    };
    url.set_path(&full);
    Ok(url)
}

/// Whether an address is on this machine.
pub fn is_loopback_address(address: &str) -> bool {
    Url::parse(address).is_ok_and(|url| is_loopback(&url))
}

/// Whether a URL leads to this machine.
pub fn is_loopback(url: &Url) -> bool {
    url.host_str().is_some_and(|host| {
        host == "localhost"
            || host
                .trim_matches(['[', ']'])
                .parse::<std::net::IpAddr>()
                .is_ok_and(|address| address.is_loopback())
    })
}
