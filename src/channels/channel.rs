//! What every bridge is: a platform's transport, run until told to stop.
//!
//! A bridge never decides anything and holds no state that is not at the platform or behind its
//! [`ChannelPort`]; ending its task at any moment loses nothing.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;

use crate::channels::http::CallError;
use crate::client::channel_port::ChannelPort;
use crate::config::secret::Secret;
use crate::protocol::bridge::{Delivery, Outbound};
use crate::protocol::channel::ChannelCapabilities;
use crate::protocol::doctor::{Finding, Standing};
use crate::protocol::enums::ChannelKind;

/// Why a bridge stopped. No text in it contains a credential.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChannelError {
    /// Trying again cannot help until a person changes something.
    #[error("{detail}: {fix}")]
    Fatal {
        /// What happened.
        detail: String,
        /// What to do, in words.
        fix: String,
    },
    /// Trying again may help.
    #[error("{detail}")]
    Transient {
        /// What happened.
        detail: String,
        /// The platform asked us to stay away this long.
        retry_after: Option<Duration>,
    },
}

impl ChannelError {
    /// What a person must change, and how.
    pub fn fatal(detail: impl Into<String>, fix: impl Into<String>) -> Self {
        Self::Fatal {
            detail: detail.into(),
            fix: fix.into(),
        }
    }

    /// What may pass by itself.
    pub fn transient(detail: impl Into<String>) -> Self {
        Self::Transient {
            detail: detail.into(),
            retry_after: None,
        }
    }

    /// A failed call that may do later.
    pub fn of_call(error: &CallError) -> Self {
        Self::Transient {
            detail: error.to_string(),
            retry_after: error.retry_after(),
        }
    }

    /// The finding of a check that this error ends. `passing`: what to do about a fault that may pass.
    pub fn finding(&self, about: &str, passing: Option<&str>) -> Finding {
        let (detail, fix) = match self {
            Self::Fatal { detail, fix } => (detail, Some(fix.as_str())),
            Self::Transient { detail, .. } => (detail, passing),
        };
        Finding {
            verdict: Standing::Fail,
            fix: fix.map(str::to_owned),
            ..Finding::ok(about, detail)
        }
    }

    /// No client can be made for an address.
    pub fn no_client(base: &str, error: &str) -> Self {
        Self::fatal(
            format!("no HTTP client for {base}: {error}"),
            "check api_base, and that this machine has CA certificates",
        )
    }
}

/// Where the account goes on.
///
/// # Errors
/// The engine cannot say it now.
pub async fn stored_cursor(port: &dyn ChannelPort) -> Result<Option<String>, ChannelError> {
    match port.account_state().await {
        Ok(state) => Ok(state.cursor),
        Err(problem) => Err(ChannelError::transient(format!(
            "the channel's state cannot be read: {problem}"
        ))),
    }
}

/// A token that can be sent. `fits`: the bytes it may have; others would change the request.
///
/// # Errors
/// `missing` or `unfit`.
pub fn usable_token(
    token: Option<&Secret>,
    fits: impl Fn(u8) -> bool,
    missing: impl FnOnce() -> ChannelError,
    unfit: impl FnOnce() -> ChannelError,
) -> Result<Secret, ChannelError> {
    let token = token
        .filter(|token| !token.expose().is_empty())
        .ok_or_else(missing)?;
    if !token.expose().bytes().all(fits) {
        return Err(unfit());
    }
    Ok(token.clone())
}

/// A bridge between one account on a platform and its port.
#[async_trait]
pub trait Bridge: Send + Sync {
    /// Which platform.
    fn kind(&self) -> ChannelKind;

    /// What the platform can do.
    fn capabilities(&self) -> ChannelCapabilities;

    /// Asks the platform whether this account is set up as it must be; only reads. One finding for each thing asked, each
    /// fault with what to do and where.
    async fn check(&self) -> Vec<Finding> {
        Vec::new()
    }

    /// Looks at the platform whether an earlier send of this part arrived. Only reads; called beside [`Bridge::run`],
    /// once it reported a connection, for bridges whose capabilities say more than `none`. `NotSent` promises that the
    /// earlier send cannot arrive any more.
    async fn look_up(&self, _part: &Outbound) -> Delivery {
        Delivery::Unclear {
            detail: "this platform cannot be asked".to_owned(),
        }
    }

    /// Sends what waits in the outbox while nothing can be received, until `stop` (then `Ok`); whatever has begun is
    /// finished and recorded before this returns. The supervisor calls it between two runs, never beside one.
    ///
    /// Only a platform that answered in the run before is sent something. A bridge that cannot send without its
    /// connection sends nothing here. An error means that the token is refused: a person must mend it.
    async fn send(
        &self,
        _port: Arc<dyn ChannelPort>,
        stop: CancellationToken,
    ) -> Result<(), ChannelError> {
        stop.cancelled().await;
        Ok(())
    }

    /// Runs until `shutdown` (then `Ok`) or until the connection cannot go on. Can be called again
    /// after it returned. A send that has begun is finished and recorded before this returns.
    ///
    /// The bridge never calls [`ChannelPort::pause_changed`]: pausing belongs to the supervisor.
    async fn run(
        &self,
        port: Arc<dyn ChannelPort>,
        shutdown: CancellationToken,
    ) -> Result<(), ChannelError>;
}
