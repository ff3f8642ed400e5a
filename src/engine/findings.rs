//! Findings of the doctor, by how each stands.

use crate::protocol::doctor::{Finding, Standing};

/// All is well.
pub fn ok(about: impl Into<String>, detail: impl Into<String>) -> Finding {
    Finding {
        verdict: Standing::Ok,
        about: about.into(),
        detail: detail.into(),
        fix: None,
    }
}

/// Somebody should look.
pub fn warn(
    about: impl Into<String>,
    detail: impl Into<String>,
    fix: impl Into<String>,
) -> Finding {
    Finding {
        verdict: Standing::Warn,
        fix: Some(fix.into()),
        ..ok(about, detail)
    }
}

/// It does not work.
pub fn fail(
    about: impl Into<String>,
    detail: impl Into<String>,
    fix: impl Into<String>,
) -> Finding {
    Finding {
        verdict: Standing::Fail,
        ..warn(about, detail, fix)
    }
}
