//! Findings of the check of an account.

use crate::channels::channel::ChannelError;
use crate::protocol::doctor::{Finding, Standing};

/// As it should be.
pub fn ok(about: &str, detail: impl Into<String>) -> Finding {
    Finding {
        verdict: Standing::Ok,
        about: about.to_owned(),
        detail: detail.into(),
        fix: None,
    }
}

/// It works, and `fix` makes it better.
pub fn warn(about: &str, detail: impl Into<String>, fix: impl Into<String>) -> Finding {
    Finding {
        verdict: Standing::Warn,
        fix: Some(fix.into()),
        ..ok(about, detail)
    }
}

/// It does not work before `fix` is done.
pub fn fail(about: &str, detail: impl Into<String>, fix: impl Into<String>) -> Finding {
    Finding {
        verdict: Standing::Fail,
        ..warn(about, detail, fix)
    }
}

/// What ends a bridge. `passing`: what to do about a fault that may pass.
pub fn failure(about: &str, error: &ChannelError, passing: Option<&str>) -> Finding {
    let (detail, fix) = match error {
        ChannelError::Fatal { detail, fix } => (detail, Some(fix.as_str())),
        ChannelError::Transient { detail, .. } => (detail, passing),
    };
    Finding {
        verdict: Standing::Fail,
        fix: fix.map(str::to_owned),
        ..ok(about, detail)
    }
}
