//! `leverframe approvals assign` and `leverframe on-call`: who answers. Neither decides anything.

use crate::cli::exit::{Failure, usage};
use crate::cli::find::{self, submit};
use crate::cli::terminal::{Cli, Format, Terminal, cell};
use crate::client::summary_lines;
use crate::clock::Clock;
use crate::protocol::duration;
use crate::protocol::on_call::{AssignRequest, OnCallRequest, OnCallStatus};
use crate::protocol::request::{AssignApproval, GetOnCall, SetOnCall};
use crate::text::untrusted::limit_line;

/// Lets a question wait for somebody, or for nobody any more.
pub async fn assign(
    cli: &mut Cli<'_>,
    id: &str,
    name: String,
    note: Option<String>,
) -> Result<(), Failure> {
    let approval = find::approval(cli.client, id).await?;
    let command = AssignApproval {
        approval_id: approval.id,
        request: AssignRequest {
            to: name,
            note,
            revision: Some(approval.revision),
            digest: approval.digest,
        },
    };
    let approval = submit(cli.client, command).await?;
    match (cli.terminal.format, &approval.assignment) {
        (Format::Json, _) => cli.terminal.json(&approval),
        (Format::Human, Some(one)) => cli.terminal.line(&format!(
            "{}  waiting for {}; all approvers can still decide it",
            approval.id,
            cell(&one.to)
        )),
        (Format::Human, None) => cli
            .terminal
            .line(&format!("{}  assigned to nobody", approval.id)),
    }
}

/// Says who is on call, or sets it.
pub async fn on_call(
    cli: &mut Cli<'_>,
    name: Option<String>,
    time: Option<String>,
    note: Option<String>,
) -> Result<(), Failure> {
    let on_call_status = match name {
        None => cli.client.call(GetOnCall { actor: None }).await?,
        Some(name) => {
            let seconds = time.map(|text| seconds(&text)).transpose()?;
            let command = SetOnCall {
                request: OnCallRequest {
                    name,
                    seconds,
                    note,
                },
            };
            submit(cli.client, command).await?
        }
    };
    cli.terminal.show(&on_call_status, show)
}

fn show(terminal: &mut Terminal<'_>, on_call_status: &OnCallStatus) -> Result<(), Failure> {
    terminal.line(&summary_lines::on_call(
        on_call_status.on_call.as_ref(),
        on_call_status.ended.as_ref(),
        Clock::System.now(),
    ))?;
    if on_call_status.on_call.is_none() {
        let names: Vec<String> = on_call_status.names.iter().map(|name| cell(name)).collect();
        terminal.line(&format!(
            "`leverframe on-call NAME [--for 8h]` sets it; known: {}",
            names.join(", ")
        ))?;
    }
    Ok(())
}

/// `8h` in seconds.
fn seconds(text: &str) -> Result<u32, Failure> {
    duration::seconds(text)
        .and_then(|seconds| u32::try_from(seconds).ok())
        .ok_or_else(|| {
            usage!(
                "--for {}: expected how long, like 30m, 8h or 2d",
                limit_line(text, 64)
            )
        })
}
