//! Samples of tables that people sent.

use leverframe::protocol::dataset::{
    Aggregate, Base64Bytes, ColumnSummary, Condition, Dataset, DatasetColumn, DatasetDescription,
    DatasetPart, DatasetQuery, DatasetRows, DatasetUpload,
};
use leverframe::protocol::enums::{AggregateFunction, ColumnType, Comparison, DatasetFormat};
use leverframe::protocol::ids::{DatasetId, DatasetUploadId};
use leverframe::protocol::request::{
    Answer, AppendDatasetUpload, BeginDatasetUpload, Command, DeleteDataset, ExportDataset,
    FinishDatasetUpload, GetDataset, ListDatasets, Outcome, Query, QueryDataset,
};
use serde_json::{Value, json};

use crate::api_http::samples::{NASTY, at, page};

pub fn upload_id() -> DatasetUploadId {
    DatasetUploadId::from_bytes([7; 16])
}

pub fn dataset() -> Dataset {
    Dataset {
        id: DatasetId::from_bytes([6; 16]),
        channel: "team".to_owned(),
        name: "sales".to_owned(),
        source: NASTY.to_owned(),
        rows: 1234,
        columns: vec![
            DatasetColumn {
                name: "city".to_owned(),
                kind: ColumnType::Text,
            },
            DatasetColumn {
                name: NASTY.to_owned(),
                kind: ColumnType::Integer,
            },
        ],
        bytes: 70_000,
        sha256: "ab".repeat(32),
        notes: vec!["encoding Windows-1252".to_owned()],
        created_at: at(),
        expires_at: Some(at()),
        uploaded_by: NASTY.to_owned(),
        taint: Some("a table that came with a message".to_owned()),
    }
}

pub fn description() -> DatasetDescription {
    DatasetDescription {
        dataset: dataset(),
        columns: vec![
            ColumnSummary {
                name: "city".to_owned(),
                kind: ColumnType::Text,
                missing: 3,
                min: Some(json!("Aachen")),
                max: Some(json!("Zwickau")),
                distinct: 77,
            },
            ColumnSummary {
                name: NASTY.to_owned(),
                kind: ColumnType::Integer,
                missing: 0,
                min: Some(json!(-1)),
                max: None,
                distinct: 1234,
            },
        ],
        sample: vec![
            vec![json!("Bonn"), json!(1)],
            vec![json!(NASTY), Value::Null],
        ],
    }
}

pub fn commands() -> [Command; 5] {
    [
        Command::BeginDatasetUpload(BeginDatasetUpload {
            channel: "team".to_owned(),
            name: Some("sales".to_owned()),
            file: NASTY.to_owned(),
        }),
        Command::AppendDatasetUpload(AppendDatasetUpload {
            upload_id: upload_id(),
            offset: 1 << 33,
            data: Base64Bytes(b"a,b\n\xff".to_vec()),
        }),
        Command::FinishDatasetUpload(FinishDatasetUpload {
            upload_id: upload_id(),
        }),
        Command::ExportDataset(ExportDataset {
            dataset: "team/sales".to_owned(),
            format: DatasetFormat::Parquet,
            part: 3,
        }),
        Command::DeleteDataset(DeleteDataset {
            dataset: "sales".to_owned(),
        }),
    ]
}

pub fn outcomes() -> [Outcome; 3] {
    [
        Outcome::AppendDatasetUpload(DatasetUpload {
            id: upload_id(),
            received: 1 << 33,
            max_bytes: 1 << 28,
        }),
        Outcome::FinishDatasetUpload(dataset()),
        Outcome::ExportDataset(DatasetPart {
            dataset: dataset(),
            data: Base64Bytes(b"PAR1\x00\xff".to_vec()),
            next: Some(1),
        }),
    ]
}

/// Those that a route with parameters asks.
pub fn queries() -> [(Query, Answer); 2] {
    [
        (
            Query::ListDatasets(ListDatasets {
                channel: Some("team".to_owned()),
            }),
            Answer::ListDatasets(page(dataset())),
        ),
        (
            Query::GetDataset(GetDataset {
                dataset: "sales".to_owned(),
            }),
            Answer::GetDataset(description()),
        ),
    ]
}

/// The one that a route with a body asks.
pub fn question() -> (Query, Answer) {
    (
        Query::QueryDataset(QueryDataset {
            dataset: "sales".to_owned(),
            query: DatasetQuery {
                conditions: vec![Condition {
                    column: NASTY.to_owned(),
                    op: Comparison::In,
                    value: json!(["a", 1]),
                }],
                group_by: vec!["city".to_owned()],
                aggregate: vec![Aggregate {
                    function: AggregateFunction::Sum,
                    column: Some(NASTY.to_owned()),
                    name: Some("total".to_owned()),
                }],
                order_by: Some("total".to_owned()),
                descending: true,
                limit: Some(7),
                ..DatasetQuery::default()
            },
        }),
        Answer::QueryDataset(DatasetRows {
            columns: dataset().columns,
            rows: description().sample,
            total: 2,
            matched: 3,
            scanned: 1234,
        }),
    )
}
