//! `load_dataset`: a table that people sent becomes a variable of the session's Python.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};

use crate::protocol::approval::{PlanFacts, Preview};
use crate::protocol::dataset::LOAD_DATASET;
use crate::protocol::enums::{Access, DatasetFormat, Effect};
use crate::tools::python::dataset::DatasetError;
use crate::tools::python::tool::Python;
use crate::tools::read_file::text;
use crate::tools::risk::RiskReason;
use crate::tools::tool::{
    EffectDisposition, Plan, PrepareError, Tool, ToolContext, ToolOutcome, ToolSpec, arguments,
};

/// The tool.
pub struct LoadDataset {
    spec: ToolSpec,
    python: Arc<Python>,
}

impl LoadDataset {
    /// The tool for the sessions of this Python.
    pub fn new(python: Arc<Python>) -> Self {
        Self {
            spec: ToolSpec {
                name: LOAD_DATASET.into(),
                description: "Make a table a variable of this session's Python.".into(),
                input_schema: arguments!(["name"], {
                    "name": {"type": "string", "minLength": 1},
                    "as": {"type": "string", "minLength": 1, "description": "the variable, default the name"}
                }),
                access: Access::Exec,
                // Once more, it gives the same variable the same rows.
                effect: Effect::Idempotent,
                max_duration: Duration::from_secs(330),
                key_lifetime: None,
                cacheable: None,
            },
            python,
        }
    }

    async fn load(&self, context: &ToolContext<'_>, args: &Value) -> Result<String, DatasetError> {
        let name = text(args, "name").unwrap_or_default();
        let variable = text(args, "as").map_or_else(|| variable_of(name), str::to_owned);
        // Without pyarrow nothing in Python reads Parquet.
        let format = if self.python.reads_parquet() {
            DatasetFormat::Parquet
        } else {
            DatasetFormat::Csv
        };
        let copy = context.host.dataset_file(name, format).await;
        let copy = copy.map_err(DatasetError::Invalid)?;
        self.python
            .assign_dataset(context, &variable, Path::new(&copy.name))
            .await
    }
}

/// The variable for a dataset where none is named.
pub fn variable_of(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let variable: String = name.chars().map(plain).collect();
    if variable.starts_with(|c: char| c.is_ascii_digit()) {
        format!("_{variable}")
    } else {
        variable
    }
}

#[async_trait]
impl Tool for LoadDataset {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn is_offered(&self, has_datasets: bool) -> bool {
        has_datasets
    }

    fn prepare(&self, context: &ToolContext<'_>, args: &Value) -> Result<Plan, PrepareError> {
        let name = text(args, "name").unwrap_or_default();
        let variable = text(args, "as").map_or_else(|| variable_of(name), str::to_owned);
        let python = self.python.prepare(context, &json!({"code": "pass"}))?;
        Ok(Plan {
            risk_reasons: vec![RiskReason::LoadsDataset],
            facts: PlanFacts {
                bound: Vec::new(),
                unbound: None,
                ..python.facts
            },
            operands: Vec::new(),
            preview: Preview::Text {
                text: format!("{variable} = the rows of {name}"),
            },
            ..python
        })
    }

    async fn execute(&self, context: &ToolContext<'_>, args: &Value) -> ToolOutcome {
        let loaded = self.load(context, args).await;
        let disposition = match &loaded {
            Ok(_) => EffectDisposition::Done,
            Err(DatasetError::Invalid(_)) => EffectDisposition::ConfirmedNoEffect,
            Err(DatasetError::Failed(_)) => EffectDisposition::Unknown,
        };
        ToolOutcome {
            is_error: loaded.is_err(),
            content: loaded.unwrap_or_else(|error| error.to_string()),
            disposition,
            partial: false,
        }
    }
}
