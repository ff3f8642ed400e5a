//! `leverframe continuations resolve`: answers what nobody knows about a call that was in flight.

use crate::cli::approvals::{self, Order};
use crate::cli::exit::{Failure, usage};
use crate::cli::find;
use crate::cli::terminal::{Cli, cell};
use crate::client::console_client::ConsoleClient;
use crate::protocol::approval::Approval;
use crate::protocol::enums::{ApprovalKind, ApprovalState};
use crate::protocol::ids::{ContinuationId, ToolCallId};
use crate::protocol::request::{ExplainCall, GetContinuation, ListApprovals};
use crate::protocol::snapshot::PageRequest;
use crate::text::untrusted::limit_line;

/// What is asked about.
enum About {
    Call(ToolCallId),
    Continuation(ContinuationId),
}

/// Every question about unknown outcomes of it, newest first.
async fn questions(client: &dyn ConsoleClient, about: &About) -> Result<Vec<Approval>, Failure> {
    let mut found = Vec::new();
    let mut cursor = None;
    loop {
        let query = ListApprovals {
            state: None,
            page: PageRequest {
                limit: Some(500),
                cursor,
            },
        };
        let page = client.call(query).await?;
        found.extend(page.items.into_iter().filter(|approval| {
            approval.kind == ApprovalKind::ResolveUnknown
                && match about {
                    About::Call(id) => approval.tool_call_id == Some(*id),
                    About::Continuation(id) => approval.continuation_id == Some(*id),
                }
        }));
        cursor = page.next_cursor;
        if cursor.is_none() {
            return Ok(found);
        }
    }
}

/// Answers the one question about a call or continuation.
pub async fn run(cli: &mut Cli<'_>, id: &str, order: Order) -> Result<(), Failure> {
    let about = match id.parse::<ToolCallId>() {
        Ok(call) => About::Call(call),
        Err(_) => About::Continuation(find::continuation(cli.client, id).await?),
    };
    // The kind of what is not there is named by whoever would have it.
    match &about {
        About::Call(tool_call_id) => {
            let tool_call_id = *tool_call_id;
            cli.client.call(ExplainCall { tool_call_id }).await?;
        }
        About::Continuation(id) => {
            cli.client.call(GetContinuation { id: *id }).await?;
        }
    }
    let mut all = questions(cli.client, &about).await?;
    let pending = |approval: &Approval| approval.state == ApprovalState::Pending;
    if all.iter().any(pending) {
        all.retain(pending);
    } else {
        // Answered already: the same word again changes nothing, another one meets who was first.
        all.truncate(1);
    }
    if all.len() > 1 {
        let listed: Vec<String> = all
            .iter()
            .map(|approval| {
                let call = approval
                    .tool_call_id
                    .map_or_else(String::new, |id| id.to_string());
                let args = limit_line(&approval.args.to_string(), 60);
                format!("{call}  {}  {args}", cell(&approval.tool))
            })
            .collect();
        return Err(usage!(
            "{} calls of it have unknown outcomes; name one:\n{}",
            all.len(),
            listed.join("\n")
        ));
    }
    let Some(approval) = all.pop() else {
        return Err(usage!(
            "{} needs no answer: none of its outcomes is unknown",
            limit_line(id, 64)
        ));
    };
    let decided = approvals::decide_found(cli, approval, order).await?;
    cli.terminal
        .show_line(&decided, || format!("{}  {}", decided.id, decided.state))
}
