//! Telling systemd how the daemon is doing (protocol: `sd_notify(3)`, datagrams of `KEY=VALUE` lines).

use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::path::Path;

/// Sends a state such as `READY=1` to the socket that `NOTIFY_SOCKET` named. Does nothing without one.
pub fn notify(socket: Option<&Path>, state: &str) {
    let Some(path) = socket else { return };
    let result = address(path)
        .and_then(|address| UnixDatagram::unbound()?.send_to_addr(state.as_bytes(), &address));
    if let Err(error) = result {
        tracing::warn!(%error, "cannot notify the service manager");
    }
}

fn address(path: &Path) -> std::io::Result<SocketAddr> {
    match path.to_str().and_then(|path| path.strip_prefix('@')) {
        #[cfg(target_os = "linux")]
        Some(name) => {
            use std::os::linux::net::SocketAddrExt as _;
            SocketAddr::from_abstract_name(name)
        }
        #[cfg(not(target_os = "linux"))]
        Some(_) => SocketAddr::from_pathname(path),
        None => SocketAddr::from_pathname(path),
    }
}
