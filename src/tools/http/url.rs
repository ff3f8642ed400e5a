//! Addresses that a call names. Pure.
//!
//! No two spellings of one host pass as two, and a user name in an address is never taken for a host.

use reqwest::Url;

/// Longest address, in bytes.
pub const MAX_URL: usize = 8 * 1024;

/// Names of query parameters and headers whose values are credentials, in lower case; a name that ends with one after
/// `_`, `-` or `.` counts too.
const CREDENTIALS: [&str; 14] = [
    "access_token",
    "api-key",
    "api_key",
    "apikey",
    "auth",
    "authorization",
    "cookie",
    "credential",
    "key",
    "password",
    "secret",
    "sig",
    "signature",
    "token",
];

/// An `http` or `https` address with a host, without user name and password; else why not.
pub fn parse(text: &str) -> Result<Url, String> {
    if text.len() > MAX_URL {
        return Err(format!(
            "the address has {} bytes; at most {MAX_URL} are taken",
            text.len()
        ));
    }
    let mut url = Url::parse(text.trim()).map_err(|error| {
        format!("this is no address: {error}. Give a whole one, as https://example.org/page")
    })?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(format!(
            "the address begins with `{}:`; only http: and https: are fetched",
            url.scheme()
        ));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("the address holds a user name or a password; leave them out".to_owned());
    }
    if host(&url).is_empty() {
        return Err("the address names no host".to_owned());
    }
    url.set_fragment(None);
    Ok(url)
}

/// The host of an address as it is compared: lower case, without brackets and without a dot at its end.
pub fn host(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    let host = host.trim_matches(['[', ']']);
    host.strip_suffix('.').unwrap_or(host).to_owned()
}

/// The port that an address leads to.
pub fn port(url: &Url) -> u16 {
    url.port_or_known_default().unwrap_or(80)
}

/// Whether the value of a query parameter or header of this name is a credential.
pub fn is_credential(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    CREDENTIALS.iter().any(|known| {
        name.strip_suffix(known)
            .is_some_and(|before| before.is_empty() || before.ends_with(['_', '-', '.']))
    })
}

/// Names of the query parameters that hold credentials.
pub fn credentials(url: &Url) -> Vec<String> {
    url.query_pairs()
        .map(|(name, _)| name.into_owned())
        .filter(|name| is_credential(name))
        .collect()
}

/// An address for people, without its scheme and with `…` in place of each credential in its query.
pub fn shown(url: &Url) -> String {
    let mut text = host(url);
    if let Some(port) = url.port() {
        text.push_str(&format!(":{port}"));
    }
    text.push_str(url.path());
    if let Some(query) = url.query() {
        for (number, pair) in query.split('&').enumerate() {
            text.push(if number == 0 { '?' } else { '&' });
            match pair.split_once('=') {
                Some((name, _)) if is_credential(name) => {
                    text.push_str(name);
                    text.push_str("=…");
                }
                Some(_) | None => text.push_str(pair),
            }
        }
    }
    text
}
