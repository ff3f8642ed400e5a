//! What a backup holds, and what making or restoring one gave.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::protocol::uncertain::UncertainTotals;

/// Ending of the directory beside the data directory in which a restore unpacks.
pub const RESTORING: &str = ".restoring";

/// Version of the layout of a backup file. A reader refuses a newer one.
pub const BACKUP_FORMAT: u32 = 2;

/// One file inside a backup.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BackupMember {
    /// Path inside the file: `leverframe.db`, `artifacts/…`, `config/…`.
    pub path: String,
    /// Bytes.
    pub size: u64,
    /// Lower-case hex SHA-256.
    pub sha256: String,
}

/// First member of a backup: what the rest must be. Unknown fields are of a newer version of the same format.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BackupManifest {
    /// [`BACKUP_FORMAT`].
    pub format: u32,
    /// Version of the program that made it.
    pub version: String,
    /// Schema version of the database.
    pub schema: i64,
    /// Boot counter of the database.
    pub epoch: u64,
    /// Number of its last event; 0 = none.
    pub last_event_seq: u64,
    /// Number of its last audit row; 0 = none.
    pub audit_seq: u64,
    /// Lower-case hex hash of that row.
    pub audit_hash: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// Everything else in it, in order.
    pub members: Vec<BackupMember>,
}

/// What is in a backup, for people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BackupReport {
    /// The file.
    pub path: String,
    /// Its bytes.
    pub size: u64,
    /// Sessions in it.
    pub sessions: u64,
    /// Continuations in it.
    pub continuations: u64,
    /// Continuations that had not ended.
    pub open_continuations: u64,
    /// Approvals that waited.
    pub pending_approvals: u64,
    /// Artifacts in it.
    pub artifacts: u64,
    /// Configuration files in it.
    pub config_files: u64,
    /// Number of the last event in it.
    pub last_event_seq: u64,
    /// When it was made.
    pub created_at: Timestamp,
    /// How long that took, in milliseconds.
    pub duration_ms: u64,
    /// What was left out or changed, in words.
    pub notes: Vec<String>,
}

/// What restoring a backup into a directory that went away again has shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BackupVerification {
    /// The backup.
    pub path: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// Version of the program that made it.
    pub version: String,
    /// Schema version of its database.
    pub schema: i64,
    /// The schema version that its database was brought to; none = it has this program's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub migrated_to: Option<i64>,
    /// Files in it, each with the size and the SHA-256 that the manifest says.
    pub members: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Rules of the database that were checked.
    pub rules: u64,
    /// Rows that they looked at.
    pub rows: u64,
    /// Rows of the audit, whose chain holds.
    pub audit_rows: u64,
    /// Sessions in it.
    pub sessions: u64,
    /// Continuations in it.
    pub continuations: u64,
    /// Artifacts in it, each with the content that its name says.
    pub artifacts: u64,
    /// Configuration files in it.
    pub config_files: u64,
    /// What does not hold; empty = it can be relied on.
    pub violations: Vec<String>,
    /// How long that took, in milliseconds.
    pub duration_ms: u64,
}

/// What restoring a backup gave.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RestoreReport {
    /// The backup.
    pub backup: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// The data directory it lies in now.
    pub data_dir: String,
    /// Where what was there before lies now.
    pub moved_aside: Option<String>,
    /// Configuration files that were written.
    pub config_files: Vec<String>,
    /// What is uncertain in it.
    pub uncertain: UncertainTotals,
}
