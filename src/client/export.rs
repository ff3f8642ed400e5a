//! A whole session as a document: every entry, oldest first, page after page, none left out.
//!
//! In Markdown, headings and lists are ours alone: what people, models and tools said stands in blocks and
//! escaped lines, so that no text can pass for something another one said.

use std::fmt::Write as _;
use std::str::FromStr;

use crate::client::console_client::ConsoleClient;
use crate::clock::Timestamp;
use crate::protocol::ids::{ContinuationId, SessionId};
use crate::protocol::problem::Problem;
use crate::protocol::request::{GetSession, GetTranscriptFrom};
use crate::protocol::session::{
    Session, Step, StepBody, ToolCall, TranscriptBody, TranscriptEntry, Usage,
};
use crate::text::untrusted::escape_line;
use crate::text::verbatim::{block, inline};

/// Entries asked for at once.
const PAGE: u32 = 500;

/// What the document is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportFormat {
    /// For people.
    Markdown,
    /// One JSON object `{"session": …, "entries": […]}` with the API's objects.
    Json,
}

impl ExportFormat {
    /// The end of a file's name.
    pub const fn extension(self) -> &'static str {
        match self {
            Self::Markdown => "md",
            Self::Json => "json",
        }
    }
}

impl FromStr for ExportFormat {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        match word {
            "markdown" | "md" => Ok(Self::Markdown),
            "json" => Ok(Self::Json),
            _ => Err("expected one of markdown, json".to_owned()),
        }
    }
}

/// Where an export is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    Head,
    From(u64),
    End,
    Done,
}

/// An export under way. It holds one page at a time.
#[derive(Debug)]
pub struct Export {
    session_id: SessionId,
    format: ExportFormat,
    made_at: Timestamp,
    at: At,
    entries: u64,
    /// The newest visible text of a model, to say an answer once only.
    said: Option<(ContinuationId, String)>,
}

impl Export {
    /// The export of a session, made at this time.
    pub fn new(session_id: SessionId, format: ExportFormat, made_at: Timestamp) -> Self {
        Self {
            session_id,
            format,
            made_at,
            at: At::Head,
            entries: 0,
            said: None,
        }
    }

    /// Entries written so far.
    pub fn entries(&self) -> u64 {
        self.entries
    }

    /// The next part of the document; none = it is complete.
    ///
    /// # Errors
    /// What the engine answers: the session does not exist, the connection is lost. The document is then not whole.
    pub async fn next(&mut self, client: &dyn ConsoleClient) -> Result<Option<String>, Problem> {
        match self.at {
            At::Head => {
                let id = self.session_id;
                let session = client.call(GetSession { id }).await?;
                self.at = At::From(0);
                self.head(&session).map(Some)
            }
            At::From(from) => {
                let query = GetTranscriptFrom {
                    session_id: self.session_id,
                    from,
                    limit: Some(PAGE),
                };
                let page = client.call(query).await?;
                self.at = match page.next_cursor {
                    None => At::End,
                    Some(cursor) => At::From(cursor.parse().map_err(|_| {
                        Problem::internal("the engine did not say where the transcript goes on")
                    })?),
                };
                let mut out = String::new();
                for entry in &page.items {
                    self.entry(&mut out, entry)?;
                    self.entries += 1;
                }
                Ok(Some(out))
            }
            At::End => {
                self.at = At::Done;
                Ok(Some(match self.format {
                    ExportFormat::Markdown => format!(
                        "---\n\nEnd of the session as it was at {}: {} entries.\n",
                        self.made_at, self.entries
                    ),
                    ExportFormat::Json => "\n]}\n".to_owned(),
                }))
            }
            At::Done => Ok(None),
        }
    }

    fn head(&self, session: &Session) -> Result<String, Problem> {
        match self.format {
            ExportFormat::Markdown => Ok(head(session, self.made_at)),
            ExportFormat::Json => Ok(format!(
                "{{\"exported_at\":{},\"session\":{},\"entries\":[",
                json(&self.made_at)?,
                json(session)?
            )),
        }
    }

    fn entry(&mut self, out: &mut String, entry: &TranscriptEntry) -> Result<(), Problem> {
        if self.format == ExportFormat::Json {
            out.push_str(if self.entries == 0 { "\n" } else { ",\n" });
            out.push_str(&json(entry)?);
            return Ok(());
        }
        match &entry.body {
            TranscriptBody::User { sender, text } => {
                heading(out, entry.at, "user", sender);
                out.push_str(&block(text, ""));
            }
            TranscriptBody::Step { step, tool_calls } => self.step(out, step, tool_calls),
            TranscriptBody::Compacted {
                turns,
                facts,
                tokens_before,
                tokens_after,
            } => {
                heading(out, entry.at, "compaction", &format!("{turns} turns"));
                fact(out, "facts", &facts.to_string());
                let after = tokens_after.map_or_else(|| "?".to_owned(), |after| after.to_string());
                fact(
                    out,
                    "next prompt",
                    &format!("{tokens_before} to {after} tokens"),
                );
            }
            TranscriptBody::State { state, error } => {
                heading(out, entry.at, "turn", state.as_str());
                if let Some(error) = error {
                    told(out, "error", &error.code);
                    out.push('\n');
                    out.push_str(&block(&error.message, ""));
                }
            }
        }
        out.push('\n');
        Ok(())
    }

    fn step(&mut self, out: &mut String, step: &Step, tool_calls: &[ToolCall]) {
        match &step.body {
            StepBody::Model {
                model,
                text,
                usage,
                latency_ms,
                attempts,
                dropped,
                notes,
                cached,
                ..
            } => {
                heading(out, step.at, "model", model);
                fact(out, "used", &used(usage));
                fact(
                    out,
                    "took",
                    &format!("{latency_ms} ms, attempts {attempts}"),
                );
                if let Some(cached) = cached {
                    fact(out, "cached response", &format!("of {}", cached.stored_at));
                }
                for line in dropped {
                    told(out, "left out", line);
                }
                for line in notes {
                    told(out, "note", line);
                }
                out.push('\n');
                if !text.is_empty() {
                    out.push_str(&block(text, ""));
                    self.said = Some((step.continuation_id, text.clone()));
                }
                for one in tool_calls {
                    call(out, one);
                }
            }
            StepBody::ToolResult {
                call_id,
                name,
                state,
                content,
                is_error,
                duration_ms,
                artifact,
                cached,
                ..
            } => {
                heading(out, step.at, "tool result", name);
                fact(out, "call", &call_id.to_string());
                fact(out, "state", state.as_str());
                if *is_error {
                    fact(out, "to the model", "an error");
                }
                if let Some(ms) = duration_ms {
                    fact(out, "took", &format!("{ms} ms"));
                }
                if let Some(cached) = cached {
                    fact(out, "kept result", &format!("of {}", cached.stored_at));
                }
                if let Some(artifact) = artifact {
                    fact(
                        out,
                        "whole result",
                        &format!("artifact {} ({} bytes)", artifact.hash, artifact.size),
                    );
                }
                out.push('\n');
                out.push_str(&block(content, ""));
            }
            StepBody::OperatorNote { by, text } => {
                heading(out, step.at, "operator", by);
                out.push_str(&block(text, ""));
            }
            StepBody::Final {
                text, citations, ..
            } => {
                heading(out, step.at, "answer", "");
                for line in citations.lines() {
                    told(out, "source", &line);
                }
                if !citations.is_empty() {
                    out.push('\n');
                }
                let same = self
                    .said
                    .take()
                    .is_some_and(|(id, said)| id == step.continuation_id && said == *text);
                if same {
                    out.push_str("The last text of the model above, word for word.\n");
                } else {
                    out.push_str(&block(text, ""));
                }
            }
            StepBody::Error { error } => {
                heading(out, step.at, "error", &error.code);
                out.push_str(&block(&error.message, ""));
            }
        }
    }
}

fn json(value: &impl serde::Serialize) -> Result<String, Problem> {
    let text =
        serde_json::to_string(value).map_err(|error| Problem::internal(error.to_string()))?;
    Ok(escape_line(&text).into_owned())
}

/// `kind` is a word of ours, `who` is outside text.
fn heading(out: &mut String, at: Timestamp, kind: &str, who: &str) {
    let gap = if who.is_empty() { "" } else { ": " };
    // Writing to a String cannot fail.
    let _ = write!(out, "## {at} · {kind}{gap}{}\n\n", inline(who));
}

/// `name` and `value` are words and numbers of ours.
fn fact(out: &mut String, name: &str, value: &str) {
    let _ = writeln!(out, "- {name}: {value}");
}

/// `name` is a word of ours, `value` is outside text.
fn told(out: &mut String, name: &str, value: &str) {
    fact(out, name, &inline(value));
}

fn used(usage: &Usage) -> String {
    let cost = usage.cost_usd.map_or_else(
        || "cost unknown".to_owned(),
        |cost| format!("{cost:.4} USD"),
    );
    format!(
        "{} tokens in ({} cached), {} out, {cost}",
        usage.input_tokens, usage.cached_input_tokens, usage.output_tokens
    )
}

fn head(session: &Session, made_at: Timestamp) -> String {
    let mut out = format!("# Session {}\n\n", session.id);
    told(&mut out, "channel", &session.channel);
    told(&mut out, "conversation", &session.conversation);
    if let Some(title) = &session.title {
        told(&mut out, "title", title);
    }
    if let Some(preferences) = &session.preferences {
        told(&mut out, "preferences", preferences);
    }
    fact(&mut out, "state", session.state.as_str());
    fact(&mut out, "turns", &session.turns.to_string());
    fact(&mut out, "used", &used(&session.usage));
    fact(&mut out, "first message", &session.created_at.to_string());
    fact(&mut out, "exported", &made_at.to_string());
    out.push_str(
        "\nBlocks quote people, models and tools word for word. Characters that would hide or \
         reorder text appear as `<U+XXXX>`. Headings and lists come from Leverframe.\n\n",
    );
    out
}

fn call(out: &mut String, call: &ToolCall) {
    let _ = write!(out, "\n### call {}\n\n", inline(&call.name));
    fact(out, "id", &call.id.to_string());
    fact(out, "state", call.state.as_str());
    told(
        out,
        "verdict",
        &format!("{}, {}", call.verdict.decision, call.verdict.rule),
    );
    fact(out, "risk", call.risk.as_str());
    for reason in &call.risk_reasons {
        told(out, "risk reason", reason);
    }
    if let Some(id) = &call.approval_id {
        fact(out, "approval", &id.to_string());
    }
    if call.attempts > 1 {
        fact(out, "started", &format!("{} times", call.attempts));
    }
    out.push('\n');
    let args = serde_json::to_string_pretty(&call.args).unwrap_or_else(|_| call.args.to_string());
    out.push_str(&block(&args, "json"));
}
