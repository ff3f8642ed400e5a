//! Reports of `doctor` and of the audit: findings with a fix, checked rules, and audit rows with
//! hashes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::protocol::enums::Surface;
use crate::protocol::hex::from_hex;

/// Severity of a finding.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// Nothing is wrong.
    Ok,
    /// It works, but somebody should look.
    Warn,
    /// It does not work.
    Fail,
}

impl Standing {
    /// The word on screen: `ok`, `warn`, `fail`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warn => "warn",
            Self::Fail => "fail",
        }
    }
}

/// One finding about the installation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// Severity of the finding.
    pub verdict: Standing,
    /// Subject in one or two words: `data directory`, `channel team`.
    pub about: String,
    /// What the check found.
    pub detail: String,
    /// What to do about it; none = nothing.
    #[serde(default)]
    pub fix: Option<String>,
}

impl Finding {
    /// A finding that needs no action.
    pub fn ok(about: impl Into<String>, detail: impl Into<String>) -> Self {
        Self {
            verdict: Standing::Ok,
            about: about.into(),
            detail: detail.into(),
            fix: None,
        }
    }

    /// A finding that somebody should look at; `fix` says what to do.
    pub fn warn(
        about: impl Into<String>,
        detail: impl Into<String>,
        fix: impl Into<String>,
    ) -> Self {
        Self {
            verdict: Standing::Warn,
            fix: Some(fix.into()),
            ..Self::ok(about, detail)
        }
    }

    /// A finding of something that does not work before somebody does `fix`.
    pub fn fail(
        about: impl Into<String>,
        detail: impl Into<String>,
        fix: impl Into<String>,
    ) -> Self {
        Self {
            verdict: Standing::Fail,
            ..Self::warn(about, detail, fix)
        }
    }

    /// The finding in one line: verdict, subject, detail and fix. May contain untrusted text.
    pub fn line(&self) -> String {
        // The reasons of a refused configuration have several lines.
        let detail: Vec<&str> = self.detail.lines().collect();
        let fix = self.fix.as_ref();
        format!(
            "{:<4}  {:<16}  {}{}",
            self.verdict.as_str(),
            self.about,
            detail.join(" "),
            fix.map_or_else(String::new, |fix| format!("  — {fix}"))
        )
    }
}

/// One checked rule and its violations.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RuleResult {
    /// Name of the invariant: `I1` to `I31`, or `file` for the database file itself.
    pub invariant: String,
    /// What a violation of the rule means.
    pub broken: String,
    /// Number of rows checked.
    pub rows: u64,
    /// Number of rows that violate the rule.
    pub violations: u64,
    /// Violations with their ids; at most 100.
    pub found: Vec<String>,
}

/// Results of all rules.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckReport {
    /// Results in the order of checking.
    pub rules: Vec<RuleResult>,
    /// Rows checked over all rules.
    pub rows: u64,
    /// Violations over all rules.
    pub violations: u64,
    /// Duration of the check in milliseconds.
    pub took_ms: u64,
}

impl CheckReport {
    /// Adds a rule to the report and to its sums.
    pub fn add(&mut self, rule: RuleResult) {
        self.rows += rule.rows;
        self.violations += rule.violations;
        self.rules.push(rule);
    }
}

/// State of the installation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Doctor {
    /// When the check was made.
    pub at: Timestamp,
    /// Path of the database file.
    pub database: String,
    /// Whether the running daemon answered; false = the file was read without it.
    pub live: bool,
    /// The findings; empty when only the rules of a given file were checked.
    pub findings: Vec<Finding>,
    /// Results of the rules, when the request asked for them.
    #[serde(default)]
    pub check: Option<CheckReport>,
}

/// One row of the audit: who did what, with a hash chain to the row before it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuditRow {
    /// Row number, without gaps.
    pub seq: u64,
    /// When it happened.
    pub at: Timestamp,
    /// The action: `approval.decided`, `tool.started`, `engine.started`.
    pub action: String,
    /// Label of who did it.
    pub actor: String,
    /// Stable id of who did it.
    pub actor_id: String,
    /// Where the action came from.
    pub surface: Surface,
    /// Channel name; none = the action concerns no channel.
    pub channel: Option<String>,
    /// Id of the thing that the action concerns.
    pub subject: String,
    /// Details as JSON text, byte for byte as the hash covers them.
    pub detail: String,
    /// Hash of the previous row in lower-case hex; zeros for the first row.
    pub prev: String,
    /// Hash of this row in lower-case hex.
    pub hash: String,
}

/// The place where the audit chain breaks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuditBreak {
    /// Number of the first row that does not fit.
    pub seq: u64,
    /// What is wrong with it.
    pub reason: String,
}

/// A row of the chain whose hash was noted elsewhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuditAnchor {
    /// Row number.
    pub seq: u64,
    /// Hash of the row at that time, in lower-case hex.
    pub hash: String,
}

/// Whether the chain still contains an anchor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AnchorVerdict {
    /// The row is there with that hash.
    Contained,
    /// The row is there with another hash: the chain was rewritten.
    Differs,
    /// The chain ends before it: its end was cut off.
    BeyondEnd,
    /// The row was archived with the oldest part of the audit; its hash is no longer stored.
    PutAside,
}

/// An anchor and the result of its check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AnchorCheck {
    /// The anchor.
    pub anchor: AuditAnchor,
    /// Whether the chain contains it.
    pub verdict: AnchorVerdict,
}

/// Result of a walk over the whole audit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuditReport {
    /// Number of rows read.
    pub rows: u64,
    /// Number of the first stored row; 0 = there is none.
    pub first_seq: u64,
    /// Number of the last row; 0 = there is none.
    pub head_seq: u64,
    /// Hash of the last row in lower-case hex. Note it elsewhere to detect later that rows were cut
    /// off.
    pub head_hash: String,
    /// Where the chain breaks; none = it is intact.
    pub broken: Option<AuditBreak>,
    /// Number of stored anchors that were compared.
    pub anchors: u64,
    /// Anchors that the chain no longer contains.
    pub anchors_missing: Vec<AnchorCheck>,
    /// Result for the anchor in the request.
    #[serde(default)]
    pub given: Option<AnchorCheck>,
}

impl AuditReport {
    /// Whether the chain is whole and contains every anchor.
    pub fn is_sound(&self) -> bool {
        let given = self.given.as_ref().map(|given| given.verdict);
        self.broken.is_none()
            && self.anchors_missing.is_empty()
            && !matches!(
                given,
                Some(AnchorVerdict::Differs | AnchorVerdict::BeyondEnd)
            )
    }
}

/// Error: the text is not an anchor.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not SEQ:HASH, a number and 64 hex digits as `leverframe audit verify` prints them"
)]
pub struct AnchorError(String);

impl std::str::FromStr for AuditAnchor {
    type Err = AnchorError;

    fn from_str(text: &str) -> Result<Self, AnchorError> {
        let wrong = || AnchorError(text.chars().take(100).collect());
        let (seq, hash) = text.split_once(':').ok_or_else(wrong)?;
        let seq = seq.trim().parse().map_err(|_| wrong())?;
        let hash = hash.trim().to_ascii_lowercase();
        from_hex::<32>(&hash).ok_or_else(wrong)?;
        Ok(Self { seq, hash })
    }
}
