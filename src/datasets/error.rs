//! Why there is no table, or no answer.

/// Why there is no table, or no answer.
#[derive(Debug, thiserror::Error)]
pub enum DatasetError {
    /// What is given cannot be used. The message is for whoever gave it.
    #[error("{0}")]
    Refused(String),
    /// A file cannot be read or written.
    #[error(transparent)]
    File(#[from] std::io::Error),
    /// A file of ours is not as it was written.
    #[error("the file of the dataset is damaged: {0}")]
    Damaged(String),
}

impl DatasetError {
    /// What is given cannot be used.
    pub fn refused(why: impl Into<String>) -> Self {
        Self::Refused(why.into())
    }
}
