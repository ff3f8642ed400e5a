//! Whom a running call speaks to: people who watch it, and the person who answers what its server wants to know.

use std::sync::Arc;

use async_trait::async_trait;

/// Takes a line for the log of a server: outside text, of any length.
pub type Log = Arc<dyn Fn(&str) + Send + Sync>;

/// Back to whoever runs a call.
#[async_trait]
pub trait Caller: Send + Sync {
    /// What the server says of its progress. Decorative: may be dropped.
    fn progress(&self, text: &str);

    /// The rest of what was shown is left out.
    fn omitted(&self) {}

    /// A person's answer to a question: the text of a choice where there are choices. Else why there is none.
    async fn ask(&self, question: &str, choices: &[String]) -> Result<String, String>;
}
