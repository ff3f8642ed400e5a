//! Tables that people sent.

use crate::clock::Timestamp;
use crate::protocol::backup::BackupMember;
use crate::protocol::dataset::Dataset;
use crate::protocol::ids::DatasetId;
use crate::store::dataset_files::member;
use crate::store::error::StoreError;
use crate::store::queries::sweep::RawId;
use crate::store::reader::Reader;
use crate::store::sql::{Connection, Row, Statements, columns, params};

const DATASET: &str = "SELECT id, channel, name, source, row_count, columns, bytes, sha256, notes, uploaded_by, taint,
        created_at, expires_at
     FROM datasets";

fn dataset_row(row: &Row<'_>) -> Result<Dataset, StoreError> {
    Ok(columns!(row => Dataset {
        id, channel, name, source, rows = "row_count", bytes, sha256, created_at, expires_at,
        uploaded_by, taint;
        columns: row.json("columns")?,
        notes: row.json("notes")?,
    }))
}

/// A dataset; none = it is gone.
pub(crate) fn load_dataset(
    conn: &Connection,
    id: DatasetId,
) -> Result<Option<Dataset>, StoreError> {
    conn.row_opt(&format!("{DATASET} WHERE id = ?1"), [id], dataset_row)
}

impl Reader<'_> {
    /// Datasets by channel and name; `channel` = only of this one.
    pub fn datasets(&self, channel: Option<&str>) -> Result<Vec<Dataset>, StoreError> {
        self.conn.rows(
            &format!("{DATASET} WHERE ?1 IS NULL OR channel = ?1 ORDER BY channel, name"),
            [channel],
            dataset_row,
        )
    }

    /// One.
    pub fn dataset(&self, id: DatasetId) -> Result<Dataset, StoreError> {
        load_dataset(self.conn, id)?.ok_or_else(|| StoreError::not_found("dataset", id))
    }

    /// The dataset of a channel that was made of the same content.
    pub fn same_dataset(&self, channel: &str, sha256: &str) -> Result<Option<Dataset>, StoreError> {
        self.conn.row_opt(
            &format!("{DATASET} WHERE channel = ?1 AND sha256 = ?2 LIMIT 1"),
            params![channel, sha256],
            dataset_row,
        )
    }

    /// Whether a channel has a dataset.
    pub fn has_datasets(&self, channel: &str) -> Result<bool, StoreError> {
        self.conn.value(
            "SELECT EXISTS (SELECT 1 FROM datasets WHERE channel = ?1)",
            [channel],
        )
    }

    /// Whether a row names this file.
    pub fn dataset_known(&self, channel: &str, name: &str) -> Result<bool, StoreError> {
        self.conn.value(
            "SELECT EXISTS (SELECT 1 FROM datasets WHERE channel = ?1 AND name = ?2)",
            params![channel, name],
        )
    }

    /// Bytes that the datasets of a channel take.
    pub fn dataset_bytes(&self, channel: &str) -> Result<u64, StoreError> {
        self.conn.value(
            "SELECT coalesce(sum(bytes), 0) FROM datasets WHERE channel = ?1",
            [channel],
        )
    }

    /// Datasets whose time is over.
    pub fn expired_datasets(&self, now: Timestamp) -> Result<Vec<RawId>, StoreError> {
        self.conn
            .values("SELECT id FROM datasets WHERE expires_at <= ?1", [now])
    }

    /// The files of datasets, as a backup has them.
    pub(crate) fn dataset_files(&self) -> Result<Vec<BackupMember>, StoreError> {
        self.conn.rows(
            "SELECT channel, name, bytes, sha256 FROM datasets ORDER BY channel, name",
            [],
            |row| {
                Ok(columns!(row => BackupMember {
                    size = "bytes", sha256;
                    path: member(&row.get::<String>("channel")?, &row.get::<String>("name")?),
                }))
            },
        )
    }
}
