//! An operator trusts instructions or a skill, or does not any more.

use serde_json::json;

use crate::protocol::enums::SkillKind;
use crate::store::command::{WriteCommand, WriteTx};
use crate::store::error::StoreError;
use crate::store::input::ActorRef;
use crate::store::queries::skills::{TrustedFile, TrustedSkill, load_skill};
use crate::store::sql::{Statements, params};

/// Keeps it as it is now, in place of what was trusted under its name. Durable.
#[derive(Debug, Clone)]
pub struct TrustSkill {
    /// Name of a skill, or `instructions:` and the channel.
    pub name: String,
    pub kind: SkillKind,
    /// The channel of instructions.
    pub channel: Option<String>,
    /// What it is for, redacted.
    pub description: String,
    /// Lower-case hex SHA-256 over its files.
    pub sha256: String,
    /// Its files; texts are redacted.
    pub files: Vec<TrustedFile>,
    pub by: ActorRef,
}

impl WriteCommand for TrustSkill {
    type Output = TrustedSkill;

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<TrustedSkill, StoreError> {
        let before = load_skill(tx.conn, &self.name)?;
        tx.conn
            .run("DELETE FROM skills WHERE name = ?1", [&self.name])?;
        let id: i64 = tx.conn.value(
            "INSERT INTO skills (name, kind, channel, description, sha256, trusted_at, by_label)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) RETURNING id",
            params![
                self.name,
                self.kind,
                self.channel,
                self.description,
                self.sha256,
                tx.now,
                self.by.label
            ],
        )?;
        for file in &self.files {
            tx.conn.run(
                "INSERT INTO skill_files (skill_id, path, sha256, content) VALUES (?1, ?2, ?3, ?4)",
                params![id, file.path, file.sha256, file.text],
            )?;
        }
        tx.audit(
            "skill.trusted",
            &self.by,
            self.channel.as_deref(),
            &self.name,
            &json!({ "name": self.name, "sha256": self.sha256, "before": before.map(|before| before.sha256) }),
        )?;
        load_skill(tx.conn, &self.name)?.ok_or_else(|| StoreError::not_found("skill", &self.name))
    }
}

/// Agents get it no longer. Durable.
#[derive(Debug, Clone)]
pub struct DistrustSkill {
    pub name: String,
    pub by: ActorRef,
}

impl WriteCommand for DistrustSkill {
    type Output = ();

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<(), StoreError> {
        let found = load_skill(tx.conn, &self.name)?
            .ok_or_else(|| StoreError::not_found("trusted skill", &self.name))?;
        tx.conn
            .run("DELETE FROM skills WHERE name = ?1", [&self.name])?;
        tx.audit(
            "skill.distrusted",
            &self.by,
            found.channel.as_deref(),
            &self.name,
            &json!({ "name": self.name, "sha256": found.sha256 }),
        )
    }
}
