//! The first words with a program: we say which version of the protocol is spoken, and it says who it is.

use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};

use crate::channels::channel::ChannelError;
use crate::channels::process::decode::{self, Line};
use crate::channels::process::lines::Lines;
use crate::channels::process::wire::{
    BridgeMessage, Hello, MAX_FILE, ProgramMessage, ProgramState, VERSION,
};
use crate::text::untrusted::limit_line;

/// Cells of a program's words in an error of ours.
const SAID: usize = 300;

/// Tells a program to start and waits for its hello.
///
/// # Errors
/// It said none, or one of another version; with what to do.
pub async fn greet<R: AsyncRead + Unpin>(
    channel: &str,
    input: &mut (impl AsyncWrite + Unpin),
    lines: &mut Lines<R>,
    longest: Duration,
) -> Result<Hello, ChannelError> {
    let start = BridgeMessage::Start {
        protocol: VERSION,
        channel: channel.to_owned(),
        conform: false,
        max_file_bytes: MAX_FILE,
    };
    let mut odd = None;
    let greeting = async {
        // One that does not read says no hello either.
        let _ = input.write_all(&start.line()).await;
        let _ = input.flush().await;
        loop {
            let line = match lines.next().await {
                Ok(Some(line)) => decode::line(&line),
                Ok(None) => {
                    return Err(ChannelError::transient(
                        "its program ended before its hello",
                    ));
                }
                Err(error) => return Err(ChannelError::transient(error.to_string())),
            };
            let message = match line {
                Line::Blank | Line::Unknown(_) => continue,
                Line::Unfit { why, .. } => {
                    odd = Some(why);
                    continue;
                }
                Line::Message(message) => *message,
            };
            match message {
                ProgramMessage::Hello(hello) => return Ok(hello),
                ProgramMessage::Health {
                    state: ProgramState::Failed,
                    detail,
                    fix,
                } => return Err(failed(&detail, &fix)),
                // It may have trouble to find out who it is.
                ProgramMessage::Health { detail, .. } => odd = Some(limit_line(&detail, SAID)),
                ProgramMessage::Message(_)
                | ProgramMessage::Click { .. }
                | ProgramMessage::Other { .. }
                | ProgramMessage::Sent { .. }
                | ProgramMessage::Failed { .. }
                | ProgramMessage::Retry { .. }
                | ProgramMessage::Unknown { .. }
                | ProgramMessage::NotSent { .. }
                | ProgramMessage::Fetched { .. }
                | ProgramMessage::Pong { .. } => {
                    odd = Some("it said something else before it".to_owned());
                }
            }
        }
    };
    let greeted = tokio::time::timeout(longest, greeting).await;
    let hello = greeted.unwrap_or_else(|_| {
        let seconds = longest.as_secs();
        let odd = odd.map_or_else(String::new, |odd| format!(" ({odd})"));
        Err(ChannelError::transient(format!(
            "its program said no `hello` within {seconds} s{odd}; it answers `start` on its standard output, and \
             `leverframe channels conform` tries a program"
        )))
    })?;
    if hello.protocol != VERSION {
        return Err(ChannelError::fatal(
            format!(
                "its program speaks version {} of the bridge protocol, and this Leverframe version {VERSION}",
                hello.protocol
            ),
            "update the older of the two",
        ));
    }
    Ok(hello)
}

/// What a program said that cannot go on.
pub fn failed(detail: &str, fix: &str) -> ChannelError {
    ChannelError::fatal(
        said(detail, "its program says that it cannot go on"),
        said(fix, "see the log for what its program wrote"),
    )
}

/// A program's words, or ours where it has none.
pub fn said(text: &str, or: &str) -> String {
    let text = limit_line(text, SAID);
    if text.is_empty() { or.to_owned() } else { text }
}
