//! Names, keeps, removes and notes datasets.

use serde_json::json;

use crate::clock::Timestamp;
use crate::protocol::dataset::Dataset;
use crate::protocol::ids::DatasetId;
use crate::store::command::{Durability, WriteCommand, WriteTx};
use crate::store::commands::remove::{Deletion, Removal};
use crate::store::error::StoreError;
use crate::store::input::ActorRef;
use crate::store::queries::datasets::load_dataset;
use crate::store::queries::sweep::RawId;
use crate::store::sql::{Json, Statements, params};

/// Names a durable file. Durable: whoever sent it is told that it is here.
#[derive(Debug, Clone)]
pub struct PutDataset {
    pub dataset: Dataset,
    /// Stable platform id of who sent the message that it came with.
    pub sender: Option<String>,
    pub by: ActorRef,
}

impl WriteCommand for PutDataset {
    type Output = ();

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<(), StoreError> {
        let dataset = &self.dataset;
        tx.conn.run(
            "INSERT INTO datasets (id, channel, name, source, row_count, columns, bytes, sha256, notes, uploaded_by,
                sender, taint, created_at, expires_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
            params![
                dataset.id,
                dataset.channel,
                dataset.name,
                dataset.source,
                dataset.rows,
                Json(&dataset.columns),
                dataset.bytes,
                dataset.sha256,
                Json(&dataset.notes),
                dataset.uploaded_by,
                self.sender,
                dataset.taint,
                dataset.created_at,
                dataset.expires_at
            ],
        )?;
        tx.audit(
            "dataset.added",
            &self.by,
            Some(&dataset.channel),
            dataset.id,
            &json!({ "name": dataset.name, "rows": dataset.rows, "bytes": dataset.bytes, "sha256": dataset.sha256 }),
        )
    }

    fn committed(&self) {
        crate::crash_point!("dataset.post");
    }
}

/// Keeps a dataset longer that was sent once more.
#[derive(Debug, Clone)]
pub struct KeepDataset {
    pub id: DatasetId,
    /// Until when; none = for ever.
    pub expires_at: Option<Timestamp>,
    /// What it counts as from now on: none only where it did before and who sends it now is trusted too.
    pub taint: Option<String>,
}

impl WriteCommand for KeepDataset {
    type Output = ();

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<(), StoreError> {
        tx.conn.run(
            "UPDATE datasets SET expires_at = ?2, taint = coalesce(taint, ?3) WHERE id = ?1",
            params![self.id, self.expires_at, self.taint],
        )?;
        Ok(())
    }
}

/// Removes the row of a dataset; its file may go once this is durable.
#[derive(Debug, Clone)]
pub struct DeleteDataset {
    pub id: DatasetId,
    pub by: ActorRef,
}

impl WriteCommand for DeleteDataset {
    type Output = Dataset;

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<Dataset, StoreError> {
        let dataset = load_dataset(tx.conn, self.id)?
            .ok_or_else(|| StoreError::not_found("dataset", self.id))?;
        tx.conn
            .run("DELETE FROM datasets WHERE id = ?1", [self.id])?;
        tx.audit(
            "dataset.deleted",
            &self.by,
            Some(&dataset.channel),
            dataset.id,
            &json!({ "name": dataset.name, "rows": dataset.rows }),
        )?;
        Ok(dataset)
    }

    fn committed(&self) {
        crate::crash_point!("dataset.pre_unlink");
    }
}

/// Datasets whose time is over. Durable: were it lost with the power after the file is gone, a row would name nothing.
#[derive(Debug, Clone)]
pub struct ExpiredDatasets {
    pub now: Timestamp,
}

impl Removal for ExpiredDatasets {
    type Key = RawId;
    const DURABILITY: Durability = Durability::Durable;

    fn remove(&self, tx: &mut WriteTx<'_>, id: &RawId) -> Result<Option<u64>, StoreError> {
        let rows = tx.conn.run(
            "DELETE FROM datasets WHERE id = ?1 AND expires_at <= ?2",
            params![id, self.now],
        )?;
        Ok((rows > 0).then_some(rows as u64))
    }
}

/// Datasets of a person who is erased, by id.
#[derive(Debug, Clone)]
pub struct DatasetsOfPerson;

impl Removal for DatasetsOfPerson {
    type Key = RawId;
    const DURABILITY: Durability = Durability::Durable;
    const DELETION: Deletion = Deletion::Overwriting;

    fn remove(&self, tx: &mut WriteTx<'_>, id: &RawId) -> Result<Option<u64>, StoreError> {
        let rows = tx.conn.run("DELETE FROM datasets WHERE id = ?1", [id])?;
        Ok((rows > 0).then_some(rows as u64))
    }
}
