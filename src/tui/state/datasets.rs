//! Datasets: the tables of every channel, what is in the selected one, and the answer to a question of it.

use crate::protocol::dataset::{Dataset, DatasetDescription, DatasetQuery, DatasetRows};
use crate::protocol::ids::DatasetId;
use crate::tui::state::list::ListDetail;

#[derive(Debug, Clone, Default, PartialEq)]
pub struct DatasetsPanel {
    /// Datasets; none = not answered yet.
    pub datasets: Option<Vec<Dataset>>,
    pub list: ListDetail<DatasetId>,
    /// What is in the selected one.
    pub description: Option<(DatasetId, Result<DatasetDescription, String>)>,
    pub answer: Option<DatasetAnswer>,
    /// Why the list could not be read.
    pub problem: Option<String>,
}

/// A question of a dataset and its answer.
#[derive(Debug, Clone, PartialEq)]
pub struct DatasetAnswer {
    pub dataset: DatasetId,
    pub line: String,
    pub question: DatasetQuery,
    /// The rows, or why there are none; none = they are on their way.
    pub rows: Option<Result<DatasetRows, String>>,
}

impl DatasetsPanel {
    pub fn dataset(&self, id: DatasetId) -> Option<&Dataset> {
        self.datasets.iter().flatten().find(|one| one.id == id)
    }

    pub fn selected(&self) -> Option<&Dataset> {
        self.dataset(self.list.selected?)
    }

    /// The answer to a question of the selected one.
    pub fn answer(&self) -> Option<&DatasetAnswer> {
        let answer = self.answer.as_ref();
        answer.filter(|answer| Some(answer.dataset) == self.list.selected)
    }
}
