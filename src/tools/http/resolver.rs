//! From the name of a host to the addresses that a connection may use.
//!
//! A name is looked up once for each request, and the connection takes no other address than those that were looked at.

use std::net::{IpAddr, SocketAddr};

use async_trait::async_trait;

use crate::tools::http::address::{Range, range};

/// What looks names up.
#[async_trait]
pub trait Resolver: Send + Sync {
    /// All addresses of a name.
    async fn resolve(&self, host: &str, port: u16) -> std::io::Result<Vec<SocketAddr>>;
}

/// The resolver of the system.
pub struct SystemResolver;

#[async_trait]
impl Resolver for SystemResolver {
    async fn resolve(&self, host: &str, port: u16) -> std::io::Result<Vec<SocketAddr>> {
        Ok(tokio::net::lookup_host((host, port)).await?.collect())
    }
}

/// Why a request must not go to an address; none = it may. `may_be_private`: the operator names the host.
pub fn refusal(address: IpAddr, may_be_private: bool) -> Option<&'static str> {
    match range(address) {
        Range::Public => None,
        Range::Private(_) if may_be_private => None,
        Range::Private(what) | Range::Forbidden(what) => Some(what),
    }
}

/// The addresses of a host, when a request may go to each of them; else why not.
pub async fn addresses(
    resolver: &dyn Resolver,
    host: &str,
    port: u16,
    may_be_private: bool,
) -> Result<Vec<SocketAddr>, String> {
    let found = match host.parse::<IpAddr>() {
        Ok(address) => vec![SocketAddr::new(address, port)],
        Err(_) => resolver
            .resolve(host, port)
            .await
            .map_err(|error| format!("`{host}` cannot be resolved: {error}"))?,
    };
    if found.is_empty() {
        return Err(format!("`{host}` has no address"));
    }
    for address in &found {
        if let Some(what) = refusal(address.ip(), may_be_private) {
            return Err(format!(
                "`{host}` leads to {} ({what}), which no request may reach",
                address.ip()
            ));
        }
    }
    Ok(found)
}
