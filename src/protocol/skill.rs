//! Workspace instructions and skills: the current files, and what an operator trusts.
//!
//! The authors of the files chose names, descriptions and texts: untrusted text, which screens must
//! reveal.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::protocol::enums::{SkillKind, SkillState};

/// The tool that loads skills for agents.
pub const LOAD_SKILL: &str = "load_skill";

/// Workspace instructions or a skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Skill {
    /// Name of the skill, or `instructions:` and the channel.
    pub name: String,
    /// Kind: instructions or a skill.
    pub kind: SkillKind,
    /// State of the files, compared with the trusted version.
    pub state: SkillState,
    /// Channel of the instructions; none = it is a skill.
    pub channel: Option<String>,
    /// Purpose of a skill in its own words: untrusted text.
    pub description: String,
    /// Absolute path of the file or folder; none = it is gone.
    pub path: Option<String>,
    /// Why the files cannot be used; none = they can.
    pub problem: Option<String>,
    /// Number of files.
    pub files: u64,
    /// Size of all files in bytes.
    pub bytes: u64,
    /// SHA-256 over names and contents of the files, in lower-case hex; none = the files cannot be
    /// used.
    pub sha256: Option<String>,
    /// SHA-256 of the trusted version; none = nobody trusts it.
    pub trusted_sha256: Option<String>,
    /// When it was trusted.
    pub trusted_at: Option<Timestamp>,
    /// Label of who trusted it.
    pub trusted_by: Option<String>,
}

/// A skill with everything that a person reads before trusting it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SkillReview {
    /// The skill.
    #[serde(flatten)]
    pub skill: Skill,
    /// Difference between the trusted version and the text files; empty = there is none.
    pub diff: String,
    /// Changed files that are not text: only their digests are compared.
    pub binary: Vec<String>,
}
