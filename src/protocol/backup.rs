//! What a backup contains, and the results of making, verifying and restoring one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::protocol::uncertain::UncertainTotals;

/// Ending of the directory beside the data directory into which a restore unpacks.
pub const RESTORING: &str = ".restoring";

/// Version of the layout of a backup file. A reader refuses a newer one.
pub const BACKUP_FORMAT: u32 = 2;

/// One file inside a backup.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BackupMember {
    /// Path inside the file: `leverframe.db`, `artifacts/…`, `config/…`.
    pub path: String,
    /// Size in bytes.
    pub size: u64,
    /// SHA-256 in lower-case hex.
    pub sha256: String,
}

/// First member of a backup: it describes the rest. A reader ignores unknown fields, which newer
/// versions of the same format may add.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BackupManifest {
    /// Format version: [`BACKUP_FORMAT`].
    pub format: u32,
    /// Version of Leverframe that made the backup.
    pub version: String,
    /// Schema version of the database.
    pub schema: i64,
    /// Boot counter of the database.
    pub epoch: u64,
    /// Number of the last event; 0 = none.
    pub last_event_seq: u64,
    /// Number of the last audit row; 0 = none.
    pub audit_seq: u64,
    /// Hash of that audit row, in lower-case hex.
    pub audit_hash: String,
    /// When the backup was made.
    pub created_at: Timestamp,
    /// All other members, in order.
    pub members: Vec<BackupMember>,
}

/// What a backup contains.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BackupReport {
    /// Path of the backup file.
    pub path: String,
    /// Size of the file in bytes.
    pub size: u64,
    /// Sessions in it.
    pub sessions: u64,
    /// Continuations in it.
    pub continuations: u64,
    /// Continuations that had not ended.
    pub open_continuations: u64,
    /// Approvals that were pending.
    pub pending_approvals: u64,
    /// Artifacts in it.
    pub artifacts: u64,
    /// Configuration files in it.
    pub config_files: u64,
    /// Number of the last event in it.
    pub last_event_seq: u64,
    /// When the backup was made.
    pub created_at: Timestamp,
    /// How long making it took, in milliseconds.
    pub duration_ms: u64,
    /// What the backup leaves out or changed, in words.
    pub notes: Vec<String>,
}

/// What a trial restore into a temporary directory showed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BackupVerification {
    /// Path of the backup file.
    pub path: String,
    /// When the backup was made.
    pub created_at: Timestamp,
    /// Version of Leverframe that made it.
    pub version: String,
    /// Schema version of its database.
    pub schema: i64,
    /// The schema version after migration; none = no migration was needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub migrated_to: Option<i64>,
    /// Files in it, each with the size and SHA-256 that the manifest lists.
    pub members: u64,
    /// Size of these files in bytes.
    pub bytes: u64,
    /// Consistency rules that were checked.
    pub rules: u64,
    /// Database rows that the rules read.
    pub rows: u64,
    /// Audit rows; their hash chain is intact.
    pub audit_rows: u64,
    /// Sessions in it.
    pub sessions: u64,
    /// Continuations in it.
    pub continuations: u64,
    /// Artifacts in it, each with the content that its hash names.
    pub artifacts: u64,
    /// Configuration files in it.
    pub config_files: u64,
    /// Violations that were found; empty = every rule holds.
    pub violations: Vec<String>,
    /// Those of the violations that name damaged or missing content; empty = all of it is there and readable.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub damage: Vec<String>,
    /// How long the verification took, in milliseconds.
    pub duration_ms: u64,
}

/// What a restore did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RestoreReport {
    /// Path of the backup file.
    pub backup: String,
    /// When the backup was made.
    pub created_at: Timestamp,
    /// The data directory that the restore filled.
    pub data_dir: String,
    /// Where the previous data directory is now; none = there was none.
    pub moved_aside: Option<String>,
    /// Configuration files that the restore wrote.
    pub config_files: Vec<String>,
    /// What the restored database leaves uncertain.
    pub uncertain: UncertainTotals,
}
