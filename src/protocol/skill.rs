//! Instructions of workspaces and skills: what lies in the files, and what an operator trusts of it.
//!
//! Names, descriptions and texts are written by whoever wrote the files: outside text, to be revealed before it is
//! shown.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::protocol::enums::{SkillKind, SkillState};

/// The tool with which agents read skills.
pub const LOAD_SKILL: &str = "load_skill";

/// Instructions or a skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Skill {
    /// Name of a skill, or `instructions:` and the channel.
    pub name: String,
    /// What it is.
    pub kind: SkillKind,
    /// How the files stand to what is trusted.
    pub state: SkillState,
    /// The channel of instructions; none = a skill.
    pub channel: Option<String>,
    /// What a skill is for, in its own words.
    pub description: String,
    /// Absolute path of the file or folder; none = it is gone.
    pub path: Option<String>,
    /// Why the files cannot be used; none = they can.
    pub problem: Option<String>,
    /// How many files it has.
    pub files: u64,
    /// Bytes of all of them.
    pub bytes: u64,
    /// Lower-case hex SHA-256 over names and contents of the files; none = they cannot be used.
    pub sha256: Option<String>,
    /// The same of what is trusted; none = nothing is.
    pub trusted_sha256: Option<String>,
    /// When that was trusted.
    pub trusted_at: Option<Timestamp>,
    /// Who trusted it.
    pub trusted_by: Option<String>,
}

/// A skill with what a person reads before trusting it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SkillReview {
    /// Which.
    #[serde(flatten)]
    pub skill: Skill,
    /// Difference from what is trusted to the files, of all that are text; empty where nothing differs.
    pub diff: String,
    /// Files that are no text and differ: only their digests are compared.
    pub binary: Vec<String>,
}
