//! A daemon as a [`ConsoleClient`]: each request over the connection, events by the stream.

use std::time::Duration;

use async_trait::async_trait;

use crate::client::console_client::{ConsoleClient, EventStream};
use crate::client::remote::connection::RemoteClient;
use crate::client::remote::events;
use crate::client::remote::target::Address;
use crate::client::remote::wire::Submission;
use crate::protocol::enums::Scope;
use crate::protocol::event::EventFilter;
use crate::protocol::problem::Problem;
use crate::protocol::request::{Answer, Command, Envelope, Outcome, Query};

/// Whether a command may take longer than a request usually may.
fn takes_long(command: &Command) -> bool {
    matches!(
        command,
        Command::Sweep(_)
            | Command::RunHygiene(_)
            | Command::UndoHygiene(_)
            | Command::CreateBackup(_)
            | Command::EraseUser(_)
            | Command::ImportMemories(_)
            | Command::CompactSession(_)
            | Command::RehearseCall(_)
            | Command::RunInShell(_)
            | Command::FinishDatasetUpload(_)
            | Command::ExportDataset(_)
    )
}

#[async_trait]
impl ConsoleClient for RemoteClient {
    async fn submit(&self, envelope: Envelope) -> Result<Outcome, Problem> {
        let long = takes_long(&envelope.command);
        self.post(
            "v1/submit",
            &Submission {
                command: envelope.command,
                surface: envelope.surface,
                idempotency_key: envelope.idempotency_key,
            },
            long,
        )
        .await
    }

    async fn query(&self, query: Query) -> Result<Answer, Problem> {
        let long = matches!(
            query,
            Query::PreviewHygiene(_) | Query::GetDataset(_) | Query::QueryDataset(_)
        );
        self.post("v1/query", &query, long).await
    }

    async fn events(&self, filter: EventFilter) -> Result<EventStream, Problem> {
        events::follow(self, &filter).await
    }

    fn scopes(&self) -> Option<Vec<Scope>> {
        self.scopes.lock().ok()?.clone()
    }

    fn retry_after(&self) -> Duration {
        match &*self.address {
            // Trying costs nothing, and the daemon is back within a second.
            Address::Unix(_) | Address::Ssh(_) => Duration::from_secs(1),
            Address::Http(_) => Duration::from_secs(10),
        }
    }

    fn description(&self) -> String {
        // A certificate that a person compared, not one that an authority signed.
        let pinned = if self.pin.is_some() { ", pinned" } else { "" };
        format!("attached to {}{pinned}", self.address)
    }
}
