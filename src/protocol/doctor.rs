//! What `doctor` and the audit say about an installation: facts with a fix each, rules with counts, rows with hashes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::protocol::enums::Surface;
use crate::protocol::hex::from_hex;

/// How a fact stands.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// As it should be.
    Ok,
    /// Works, and somebody should look.
    Warn,
    /// Does not work.
    Fail,
}

impl Standing {
    /// The word shown: `ok`, `warn`, `fail`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warn => "warn",
            Self::Fail => "fail",
        }
    }
}

/// One fact about the installation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// How it stands.
    pub verdict: Standing,
    /// What it is about, in one or two words: `data directory`, `channel team`.
    pub about: String,
    /// What is the case.
    pub detail: String,
    /// What to do about it; none where nothing has to be done.
    #[serde(default)]
    pub fix: Option<String>,
}

impl Finding {
    /// It in a line: the verdict, what it is about, what is the case, and what to do. Outside text may be in it.
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

/// One rule and what it found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RuleResult {
    /// Name of the invariant: `I1` to `I31`, or `file` for the database file itself.
    pub invariant: String,
    /// What a violation of it would be.
    pub broken: String,
    /// Rows looked at.
    pub rows: u64,
    /// How many break it.
    pub violations: u64,
    /// Which ones, with their ids; at most 100.
    pub found: Vec<String>,
}

/// Every rule and what it found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckReport {
    /// In the order of checking.
    pub rules: Vec<RuleResult>,
    /// Rows looked at, over all rules.
    pub rows: u64,
    /// Violations, over all rules.
    pub violations: u64,
    /// How long it took, in milliseconds.
    pub took_ms: u64,
}

impl CheckReport {
    /// Adds a rule to the report and its sums.
    pub fn add(&mut self, rule: RuleResult) {
        self.rows += rule.rows;
        self.violations += rule.violations;
        self.rules.push(rule);
    }
}

/// How an installation is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Doctor {
    /// When it was looked at.
    pub at: Timestamp,
    /// The database file.
    pub database: String,
    /// Whether the process that owns the database said so; else the file was read without it.
    pub live: bool,
    /// The facts; empty when only the rules of a given file were asked for.
    pub findings: Vec<Finding>,
    /// The rules, when asked for.
    #[serde(default)]
    pub check: Option<CheckReport>,
}

/// One row of the audit: who did what, chained to the row before it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuditRow {
    /// Number, without gaps.
    pub seq: u64,
    /// When.
    pub at: Timestamp,
    /// What: `approval.decided`, `tool.started`, `engine.started`.
    pub action: String,
    /// Label of who did it.
    pub actor: String,
    /// Stable id of who did it.
    pub actor_id: String,
    /// Where.
    pub surface: Surface,
    /// The channel concerned.
    pub channel: Option<String>,
    /// Id of the thing concerned.
    pub subject: String,
    /// Facts as JSON text, byte for byte as it is hashed.
    pub detail: String,
    /// Hash of the row before, lower-case hex; zeros before the first row.
    pub prev: String,
    /// Hash of this row, lower-case hex.
    pub hash: String,
}

/// Where a chain of audit rows breaks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuditBreak {
    /// Number of the first row that does not fit.
    pub seq: u64,
    /// What is wrong with it.
    pub reason: String,
}

/// A place of the chain that was noted outside of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuditAnchor {
    /// Number of a row.
    pub seq: u64,
    /// Its hash as it was then, lower-case hex.
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
    /// The row was archived with the oldest part of the audit; its hash is not kept.
    PutAside,
}

/// An anchor and what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AnchorCheck {
    /// The anchor.
    pub anchor: AuditAnchor,
    /// Whether the chain contains it.
    pub verdict: AnchorVerdict,
}

/// What walking the whole audit showed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuditReport {
    /// Rows walked.
    pub rows: u64,
    /// Number of the first row that is kept; 0 = there is none.
    pub first_seq: u64,
    /// Number of the last row; 0 = there is none.
    pub head_seq: u64,
    /// Its hash, lower-case hex: note it elsewhere to be able to tell later that nothing was cut off.
    pub head_hash: String,
    /// Where the chain breaks.
    pub broken: Option<AuditBreak>,
    /// Anchors that were noted earlier and were compared.
    pub anchors: u64,
    /// Those that the chain does not contain any more.
    pub anchors_missing: Vec<AnchorCheck>,
    /// What became of the anchor that was given.
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

/// Why a piece of text is not an anchor.
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
