//! `leverframe outbox list|show|resolve`.

use clap::Subcommand;

use crate::cli::approval_card::DecisionTarget;
use crate::cli::approvals::{self, Order};
use crate::cli::exit::Failure;
use crate::cli::find::{self, submit};
use crate::cli::list::{self, ListArguments};
use crate::cli::terminal::{Cli, Terminal, cell};
use crate::client::listing::TableRow;
use crate::protocol::command::DeliveryResolution;
use crate::protocol::enums::{DecisionKind, OutboxState};
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
    cli: &mut Cli<'_>,
    state: Option<OutboxState>,
    list: ListArguments,
) -> Result<(), Failure> {
    let query = ListDeliveries {
        state,
        page: list.page(),
    };
    list::run(cli, query, list.watch).await
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

/// Writes one delivery.
pub fn print(terminal: &mut Terminal<'_>, item: &OutboxItem) -> Result<(), Failure> {
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
pub async fn show(cli: &mut Cli<'_>, id: &str) -> Result<(), Failure> {
    let id = find::delivery(cli.client, id).await?;
    cli.query(GetDelivery { id }, print).await
}

/// Settles one delivery. Where it is asked about, that question is answered, so the rule for answers holds: a person
/// is shown the card, a script names the digest.
pub async fn resolve(
    cli: &mut Cli<'_>,
    id: &str,
    resolution: DeliveryResolution,
    digest: Option<String>,
    reason: Option<String>,
) -> Result<(), Failure> {
    let id = find::delivery(cli.client, id).await?;
    let item = cli.client.call(GetDelivery { id }).await?;
    if let Some(question) = item.question {
        let approval = find::approval(cli.client, &question.to_string()).await?;
        let decision = match resolution {
            DeliveryResolution::Sent => DecisionKind::Sent,
            DeliveryResolution::SendAgain => DecisionKind::SendAgain,
            DeliveryResolution::Drop => DecisionKind::Drop,
        };
        let order = Order::new(decision, digest, reason);
        approvals::decide_found(cli, approval, order).await?;
    } else {
        // A failed one is certainly not there: nothing was shown that an answer could be bound to.
        if cli.terminal.is_attended() {
            cli.terminal.show(&item, print)?;
        }
        let command = ResolveDelivery {
            outbox_id: id,
            resolution,
            reason,
        };
        submit(cli.client, command).await?;
    }
    let item = cli.client.call(GetDelivery { id }).await?;
    cli.terminal
        .show_line(&item, || format!("{}  {}", item.id, item.state))
}
