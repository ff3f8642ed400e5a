//! Instructions and skills that an operator trusts, as they were then.

use crate::clock::Timestamp;
use crate::protocol::enums::SkillKind;
use crate::store::error::StoreError;
use crate::store::reader::Reader;
use crate::store::sql::{Connection, Row, Statements, columns, params};

/// What is trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustedSkill {
    /// Name of a skill, or `instructions:` and the channel.
    pub name: String,
    pub kind: SkillKind,
    /// The channel of instructions.
    pub channel: Option<String>,
    /// What it is for, in its own words.
    pub description: String,
    /// Lower-case hex SHA-256 over its files.
    pub sha256: String,
    /// When it was trusted.
    pub trusted_at: Timestamp,
    pub by: String,
}

/// A file of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustedFile {
    /// Path below its folder.
    pub path: String,
    /// Lower-case hex SHA-256 of its bytes.
    pub sha256: String,
    /// What it says; none = it is no text.
    pub text: Option<String>,
}

const SKILL: &str =
    "SELECT name, kind, channel, description, sha256, trusted_at, by_label FROM skills";

fn skill_row(row: &Row<'_>) -> Result<TrustedSkill, StoreError> {
    Ok(columns!(row => TrustedSkill {
        name, kind, channel, description, sha256, trusted_at, by = "by_label",
    }))
}

/// What is trusted under a name; none = nothing is.
pub(crate) fn load_skill(
    conn: &Connection,
    name: &str,
) -> Result<Option<TrustedSkill>, StoreError> {
    conn.row_opt(&format!("{SKILL} WHERE name = ?1"), [name], skill_row)
}

impl Reader<'_> {
    /// Everything that is trusted, by name.
    pub fn trusted_skills(&self) -> Result<Vec<TrustedSkill>, StoreError> {
        self.conn
            .rows(&format!("{SKILL} ORDER BY name"), [], skill_row)
    }

    /// The files of what is trusted under a name, by path.
    pub fn trusted_files(&self, name: &str) -> Result<Vec<TrustedFile>, StoreError> {
        self.conn.rows(
            "SELECT path, skill_files.sha256 AS sha256, content FROM skill_files JOIN skills ON id = skill_id
             WHERE name = ?1 ORDER BY path",
            params![name],
            |row| Ok(columns!(row => TrustedFile { path, sha256, text = "content" })),
        )
    }
}
