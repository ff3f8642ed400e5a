//! `leverframe outbox list|show|resolve`.

use clap::Subcommand;

use crate::cli::approval_card::DecisionTarget;
use crate::cli::approvals::{self, Order};
use crate::cli::exit::Failure;
use crate::cli::find::{self, submit};
use crate::cli::list::{self, ListArguments};
use crate::cli::terminal::{Attendance, Format, Terminal, cell};
use crate::client::console_client::ConsoleClient;
use crate::client::listing::TableRow;
use crate::protocol::command::DeliveryResolution;
use crate::protocol::enums::{DecisionKind, OutboxState};
use crate::protocol::ids::OutboxId;
use crate::protocol::request::{GetDelivery, ListDeliveries, ResolveDelivery};
use crate::protocol::session::OutboxItem;
use crate::text::untrusted::{limit_line, reveal};

/// `outbox`.
#[derive(Debug, Subcommand)]
pub enum OutboxCommands {
    /// List deliveries, newest first
    List {
        /// Only this state
        #[arg(long)]
        state: Option<OutboxState>,
        /// How it is shown
        #[command(flatten)]
        list: ListArguments,
    },
    /// Show a delivery
    Show {
        /// Id or unique prefix
        id: String,
    },
    /// Record the outcome of an unknown or failed delivery; on a terminal shows the card and asks
    Resolve {
        /// Id or unique prefix
        id: String,
        /// sent, send-again or drop
        #[arg(value_parser = delivery_resolution)]
        resolution: DeliveryResolution,
        /// What was looked at
        #[command(flatten)]
        seen: DecisionTarget,
    },
}

fn delivery_resolution(word: &str) -> Result<DeliveryResolution, String> {
    match word {
        "sent" => Ok(DeliveryResolution::Sent),
        "send-again" | "send_again" => Ok(DeliveryResolution::SendAgain),
        "drop" => Ok(DeliveryResolution::Drop),
        _ => Err("expected one of sent, send-again, drop".to_owned()),
    }
}

/// Lists deliveries, newest first.
pub async fn list(
    client: &dyn ConsoleClient,
    terminal: &mut Terminal<'_>,
    format: Format,
    state: Option<OutboxState>,
    list: ListArguments,
) -> Result<(), Failure> {
    let query = ListDeliveries {
        state,
        page: list.page(),
    };
    list::run(client, terminal, format, query, list.watch).await
}

impl TableRow for OutboxItem {
    const HEADS: &'static [&'static str] = &[
        "ID", "CHANNEL", "CLASS", "STATE", "PART", "SENT", "CHANGED", "TEXT",
    ];
    const NOTHING: &'static str = "no deliveries";

    fn cells(&self) -> Vec<String> {
        vec![
            self.id.to_string(),
            cell(&self.channel),
            self.class.to_string(),
            self.state.to_string(),
            format!("{}/{}", self.part, self.parts),
            self.attempts.to_string(),
            self.updated_at.to_string(),
            limit_line(&self.preview, 50),
        ]
    }
}

/// One delivery.
pub async fn read(client: &dyn ConsoleClient, id: OutboxId) -> Result<OutboxItem, Failure> {
    let item = client.call(GetDelivery { id }).await?;
    Ok(item)
}

/// Writes one delivery.
pub fn print(
    terminal: &mut Terminal<'_>,
    format: Format,
    item: &OutboxItem,
) -> Result<(), Failure> {
    if format == Format::Json {
        return terminal.json(item);
    }
    terminal.line(&format!("{}  {}", item.id, item.state))?;
    terminal.line(&format!(
        "channel   {} in {}",
        cell(&item.channel),
        cell(&item.conversation)
    ))?;
    if let Some(id) = item.continuation_id {
        terminal.line(&format!("answer of {id}"))?;
    }
    terminal.line(&format!(
        "part      {} of {}, {}",
        item.part, item.parts, item.class
    ))?;
    terminal.line(&format!(
        "sent      {} times, last change {}",
        item.attempts, item.updated_at
    ))?;
    if let Some(error) = &item.last_error {
        terminal.line(&format!("error     {}", cell(error)))?;
    }
    if let Some(question) = item.question {
        terminal.line(&format!("question  {question}"))?;
    }
    terminal.line(&format!("text      {}", reveal(&item.preview)))
}

/// Shows one delivery.
pub async fn show(
    client: &dyn ConsoleClient,
    terminal: &mut Terminal<'_>,
    format: Format,
    id: &str,
) -> Result<(), Failure> {
    let id = find::delivery(client, id).await?;
    let item = read(client, id).await?;
    print(terminal, format, &item)
}

/// Settles one delivery. Where it is asked about, that question is answered, so the rule for answers holds: a person
/// is shown the card, a script names the digest.
pub async fn resolve(
    client: &dyn ConsoleClient,
    terminal: &mut Terminal<'_>,
    format: Format,
    id: &str,
    resolution: DeliveryResolution,
    digest: Option<String>,
    reason: Option<String>,
) -> Result<(), Failure> {
    let id = find::delivery(client, id).await?;
    let item = read(client, id).await?;
    if let Some(question) = item.question {
        let approval = find::approval(client, &question.to_string()).await?;
        let decision = match resolution {
            DeliveryResolution::Sent => DecisionKind::Sent,
            DeliveryResolution::SendAgain => DecisionKind::SendAgain,
            DeliveryResolution::Drop => DecisionKind::Drop,
        };
        let order = Order::new(decision, digest, reason);
        approvals::decide_found(client, terminal, approval, order).await?;
    } else {
        // A failed one is certainly not there: nothing was shown that an answer could be bound to.
        if terminal.attended == Attendance::Person && format == Format::Human {
            print(terminal, format, &item)?;
        }
        let command = ResolveDelivery {
            outbox_id: id,
            resolution,
            reason,
        };
        submit(client, command).await?;
    }
    let item = read(client, id).await?;
    match format {
        Format::Json => terminal.json(&item),
        Format::Human => terminal.line(&format!("{}  {}", item.id, item.state)),
    }
}
