//! `leverframe mcp serve`: a host's standard streams, and the daemon of the data directory.
//!
//! Standard output carries the protocol and nothing else.

use std::path::Path;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::cli::connect;
use crate::cli::exit::{Failure, usage};
use crate::mcp::server::handler::HostEndpoint;
use crate::mcp::server::principal::Principal;
use crate::mcp::server::stdio;
use crate::protocol::command::Actor;

/// Serves until standard input ends.
pub async fn run(data_dir: &Path, client: Option<String>) -> Result<(), Failure> {
    // The daemon takes the user from the socket. This one names the conversations, so that they are the same.
    let uid = rustix::process::getuid().as_raw();
    let actor = Actor::Operator {
        uid,
        name: uid.to_string(),
        person: None,
    };
    let principal = Principal::new(actor, client).map_err(|why| usage!("--client: {why}"))?;
    let daemon = connect::daemon(data_dir).await?;
    let server = HostEndpoint::new(Arc::new(daemon), CancellationToken::new());
    stdio::serve(
        server.of(principal),
        tokio::io::stdin(),
        tokio::io::stdout(),
    )
    .await
    .map_err(Failure::Ended)
}
