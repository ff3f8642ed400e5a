//! `leverframe sessions list`.

use crate::cli::exit::{Failure, unexpected};
use crate::cli::table;
use crate::cli::terminal::{Format, Terminal, cell};
use crate::client::console_client::ConsoleClient;
use crate::protocol::snapshot::{Answer, PageRequest, Query};
use crate::protocol::words::SessionState;

/// Lists sessions, newest change first.
pub async fn list(
    client: &dyn ConsoleClient,
    terminal: &mut Terminal<'_>,
    format: Format,
    state: Option<SessionState>,
    channel: Option<String>,
    limit: Option<u32>,
) -> Result<(), Failure> {
    let query = Query::Sessions {
        state,
        channel,
        page: PageRequest {
            limit,
            cursor: None,
        },
    };
    let Answer::Sessions(page) = client.query(query).await? else {
        return Err(unexpected("sessions"));
    };
    match format {
        Format::Json => page.items.iter().try_for_each(|item| terminal.json(item)),
        Format::Human => {
            let rows: Vec<Vec<String>> = page
                .items
                .iter()
                .map(|session| {
                    let open = session
                        .open_continuation
                        .as_ref()
                        .map_or("-", |open| open.state.as_str());
                    vec![
                        session.id.to_string(),
                        cell(&session.channel),
                        session.state.to_string(),
                        open.to_owned(),
                        session.pending_approvals.to_string(),
                        session.turns.to_string(),
                        session.updated_at.to_string(),
                        cell(session.title.as_deref().unwrap_or(&session.conversation)),
                    ]
                })
                .collect();
            let heads = [
                "ID", "CHANNEL", "STATE", "TURN", "WAITING", "TURNS", "CHANGED", "TITLE",
            ];
            table::print(terminal, &heads, &rows, "no sessions")
        }
    }
}
