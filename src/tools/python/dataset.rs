//! Datasets of a channel become variables of a session's Python.

use std::path::{Component, Path};
use std::time::Duration;

use serde_json::json;

use crate::tools::python::interpreter::{CellEnd, PythonInterpreter};
use crate::tools::python::outputs;
use crate::tools::python::tool::Python;
use crate::tools::tool::ToolContext;

/// Longest load.
const LOAD: Duration = Duration::from_secs(300);
/// Longest name of a variable, in characters.
const MAX_NAME: usize = 64;
/// Words that no variable can be named by, and names that every piece of code relies on. The driver knows all of them.
const TAKEN: [&str; 3] = ["True", "False", "None"];

/// Why a dataset did not become a variable. The model reads the message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DatasetError {
    /// The name or the path cannot be used. Nothing ran.
    #[error("{0}")]
    Invalid(String),
    /// Python did not load it.
    #[error("{0}")]
    Failed(String),
}

impl Python {
    /// Gives a variable of a session's Python the rows of a Parquet or CSV file, which lies at `file` in the directory of
    /// datasets of its channel. What became of it, in words; where Python is new, why it is.
    pub async fn assign_dataset(
        &self,
        context: &ToolContext<'_>,
        variable: &str,
        file: &Path,
    ) -> Result<String, DatasetError> {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let is_name = variable.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && variable.len() <= MAX_NAME
            && variable.chars().all(plain);
        if !is_name || variable.starts_with("__") || TAKEN.contains(&variable) {
            return Err(DatasetError::Invalid(format!(
                "`{}` cannot be the name of a variable: letters, digits and `_`, at most {MAX_NAME}, no keyword",
                variable.chars().take(MAX_NAME).collect::<String>()
            )));
        }
        let is_inside = file
            .components()
            .all(|part| matches!(part, Component::Normal(_)));
        if !is_inside || file.as_os_str().is_empty() {
            return Err(DatasetError::Invalid(format!(
                "`{}` is no file of the channel's datasets",
                file.display()
            )));
        }
        let shown = format!("(dataset) {variable}");
        let request = |python: &PythonInterpreter| {
            let directory = python.datasets().ok_or("no directory of datasets is here: the channel has none, or another channel has its workspace too")?;
            let path = directory.join(file).to_string_lossy().into_owned();
            Ok(
                json!({"assign": [variable, path], "directory": outputs::directory(context.call_id)}),
            )
        };
        let finished = Box::pin(self.run(context, &shown, request, LOAD.as_secs()))
            .await
            .map_err(DatasetError::Failed)?;
        let new = finished.notice();
        match &finished.ran.ended {
            CellEnd::Answered(reply) => match (&reply.value, &reply.error) {
                (Some(value), None) => Ok(format!("{new}{value}")),
                (_, Some(error)) => Err(DatasetError::Failed(format!(
                    "{new}{}",
                    error.lines().last().unwrap_or_default()
                ))),
                (None, None) => Err(DatasetError::Failed(finished.end().0)),
            },
            CellEnd::Died(_) | CellEnd::Killed(_) => Err(DatasetError::Failed(finished.end().0)),
        }
    }
}
