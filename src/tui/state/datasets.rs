//! Datasets: the tables of every channel, what is in the selected one, and the answer to a question of it.

use crate::protocol::dataset::{Dataset, DatasetDescription, DatasetRows};
use crate::protocol::ids::DatasetId;
use crate::tui::state::list::ListDetail;

/// The rows that were asked for, or why there are none.
pub type Reply = Result<DatasetRows, String>;

/// What the screen knows.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DatasetsPanel {
    /// Datasets; none = not answered yet.
    pub datasets: Option<Vec<Dataset>>,
    /// The list of them.
    pub list: ListDetail<DatasetId>,
    /// What is in the selected one.
    pub description: Option<(DatasetId, Result<DatasetDescription, String>)>,
    /// The line that was asked last, and its answer; an inner none = it is on its way.
    pub answer: Option<(DatasetId, String, Option<Reply>)>,
    /// Why the list could not be read.
    pub problem: Option<String>,
}

impl DatasetsPanel {
    /// A dataset by id.
    pub fn dataset(&self, id: DatasetId) -> Option<&Dataset> {
        self.datasets.iter().flatten().find(|one| one.id == id)
    }

    /// The selected one.
    pub fn selected(&self) -> Option<&Dataset> {
        self.dataset(self.list.selected?)
    }

    /// The answer to a question of the selected one.
    pub fn answer(&self) -> Option<(&str, Option<&Reply>)> {
        let (of, line, answer) = self.answer.as_ref()?;
        (Some(*of) == self.list.selected).then_some((line.as_str(), answer.as_ref()))
    }
}
