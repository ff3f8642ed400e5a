//! The lines of one transcript entry.

use ratatui::text::{Line, Span};

use crate::clock::Timestamp;
use crate::console::format;
use crate::protocol::artifact::ArtifactRef;
use crate::protocol::enums::{CitationKind, VerdictKind};
use crate::protocol::session::{
    BY_HAND, CachedAnswer, CachedResult, NO_MODEL, StepBody, ToolCall, TranscriptBody,
    TranscriptEntry, call_duration, call_word,
};
use crate::tui::code_colors::{CodeColors, CodeKind};
use crate::tui::links::{self, Link};
use crate::tui::sanitize;
use crate::tui::theme::roles::{Role, Theme};
use crate::tui::view::console::{call_role, decided_by};
use crate::tui::view::diff::{self, DiffColors, DiffLayout};
use crate::tui::view::paint::span;
use crate::tui::view::rich;

/// Lines of a result that a folded card shows.
const FOLDED_LINES: usize = 3;

/// Lines in the making.
struct Maker<'t> {
    theme: &'t Theme,
    code: &'t CodeColors,
    width: usize,
    /// Texts of models as they were written.
    raw: bool,
    unfold: &'t str,
    lines: Vec<Line<'static>>,
}

impl Maker<'_> {
    fn head(&mut self, parts: Vec<(Role, String)>) {
        let mut spans = Vec::new();
        let mut room = self.width;
        for (role, text) in parts {
            let text = sanitize::line(&text, room);
            room = room.saturating_sub(sanitize::width(&text));
            spans.push(span(self.theme, role, text));
        }
        self.lines.push(Line::from(spans));
    }

    /// A name in its role, with a note behind it.
    fn titled(&mut self, role: Role, name: impl Into<String>, note: &str) {
        self.head(vec![
            (role, name.into()),
            (Role::TextMuted, format!("  {note}")),
        ]);
    }

    /// A line of a tool card.
    fn card_line(&mut self, parts: impl IntoIterator<Item = (Role, String)>) {
        let edge = (Role::Border, "  │ ".to_owned());
        self.head([edge].into_iter().chain(parts).collect());
    }

    fn hidden(&self, lines: usize) -> String {
        if self.unfold.is_empty() {
            return format!("… {lines} more lines");
        }
        format!("… {lines} more lines ({} unfolds)", self.unfold)
    }

    /// What a model wrote.
    fn markdown(&mut self, text: &str) {
        if self.raw {
            return self.text(Role::Outside, 2, text, usize::MAX);
        }
        self.lines
            .extend(model_text(self.theme, self.code, text, self.width));
    }

    fn text(&mut self, role: Role, indent: usize, text: &str, at_most: usize) {
        let pieces = sanitize::block(text, self.width.saturating_sub(indent));
        let hidden = pieces.len().saturating_sub(at_most);
        for piece in pieces.into_iter().take(at_most) {
            self.lines.push(Line::from(vec![
                Span::raw(" ".repeat(indent)),
                span(self.theme, role, piece),
            ]));
        }
        if hidden > 0 {
            self.lines.push(Line::from(vec![
                Span::raw(" ".repeat(indent)),
                span(self.theme, Role::TextMuted, self.hidden(hidden)),
            ]));
        }
    }
}

/// What a model wrote, indented as every text is.
pub fn model_text(
    theme: &Theme,
    code: &CodeColors,
    text: &str,
    width: usize,
) -> Vec<Line<'static>> {
    let mut lines = rich::markdown(theme, code, text, width.saturating_sub(2));
    for line in &mut lines {
        line.spans.insert(0, Span::raw("  "));
    }
    lines
}

const fn verdict_role(verdict: VerdictKind) -> Role {
    match verdict {
        VerdictKind::Allow => Role::TextMuted,
        VerdictKind::Ask => Role::StateWaiting,
        VerdictKind::Deny => Role::StateBad,
    }
}

/// How an entry is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Manner<'a> {
    /// Columns.
    pub width: usize,
    /// Its tool cards are folded.
    pub folded: bool,
    /// Its text is shown by a later entry; only the facts are drawn.
    pub repeated: bool,
    /// Texts of models as they were written, not as the Markdown they are.
    pub raw: bool,
    /// The key that unfolds, for what is folded away.
    pub unfold: &'a str,
}

pub fn lines(
    theme: &Theme,
    code: &CodeColors,
    entry: &TranscriptEntry,
    manner: Manner<'_>,
) -> Vec<Line<'static>> {
    let Manner {
        width,
        folded,
        repeated,
        raw,
        unfold,
    } = manner;
    let mut maker = Maker {
        theme,
        code,
        width,
        raw,
        unfold,
        lines: Vec::new(),
    };
    let clock = format::clock(entry.at);
    match &entry.body {
        TranscriptBody::User { sender, text } => {
            maker.titled(Role::OutsideUser, sender, &clock);
            maker.text(Role::Outside, 2, text, usize::MAX);
        }
        TranscriptBody::Step { step, tool_calls } => match &step.body {
            StepBody::Model {
                model,
                text,
                usage,
                latency_ms,
                attempts,
                dropped,
                notes,
                cached: kept,
                ..
            } => {
                if model == NO_MODEL {
                    maker.titled(Role::Text, NO_MODEL, &format!("{clock} · no model"));
                    for call in tool_calls {
                        tool_card(&mut maker, call, folded);
                    }
                    maker.lines.push(Line::default());
                    return maker.lines;
                }
                if let Some(kept) = kept {
                    let note = format!("{clock} · {}", kept_line(entry.at, kept));
                    maker.titled(Role::OutsideModel, model, &note);
                    if !repeated && !text.is_empty() {
                        maker.markdown(text);
                    }
                    maker.lines.push(Line::default());
                    return maker.lines;
                }
                let cached = if usage.cached_input_tokens > 0 {
                    format!(" ({} cached)", format::count(usage.cached_input_tokens))
                } else {
                    String::new()
                };
                let retries = if *attempts > 1 {
                    format!(" · {attempts} attempts")
                } else {
                    String::new()
                };
                let note = format!(
                    "{clock} · {} in{cached} · {} out · {} · {}{retries}",
                    format::count(usage.input_tokens),
                    format::count(usage.output_tokens),
                    format::money(usage.cost_usd),
                    format::duration(*latency_ms)
                );
                maker.titled(Role::OutsideModel, model, &note);
                if !repeated && !text.is_empty() {
                    maker.markdown(text);
                }
                for note in dropped {
                    maker.text(Role::TextMuted, 2, &format!("left out: {note}"), usize::MAX);
                }
                for note in notes {
                    maker.text(Role::TextMuted, 2, &format!("note: {note}"), usize::MAX);
                }
                for call in tool_calls {
                    tool_card(&mut maker, call, folded);
                }
            }
            StepBody::ToolResult {
                name,
                state,
                content,
                duration_ms,
                artifact,
                cached,
                ..
            } => {
                let took = took(call_duration(name, *duration_ms), cached.as_ref());
                maker.head(vec![
                    (Role::OutsideTool, name.clone()),
                    (
                        call_role(*state),
                        format!("  {}{took}", call_word(name, *state)),
                    ),
                ]);
                let lines = if folded { FOLDED_LINES } else { usize::MAX };
                maker.text(Role::Outside, 2, content, lines);
                if let Some(artifact) = artifact {
                    maker.text(Role::TextMuted, 2, &artifact_line(artifact), 1);
                }
            }
            StepBody::OperatorNote { by, text } => {
                maker.titled(Role::NoticeInfo, format!("operator {by}"), &clock);
                maker.text(Role::Outside, 2, text, usize::MAX);
            }
            StepBody::Final {
                text,
                stop,
                citations,
            } => {
                let by_hand = stop == BY_HAND;
                let word = if by_hand { "answer, by hand" } else { "answer" };
                maker.titled(Role::OutsideModel, word, &clock);
                maker.markdown(text);
                if !citations.is_empty() {
                    maker.text(Role::TextMuted, 2, "sources", 1);
                    for line in citations.lines() {
                        maker.text(Role::TextMuted, 4, &line, 1);
                    }
                }
            }
            StepBody::Error { error } => {
                maker.titled(Role::NoticeError, format!("error {}", error.code), &clock);
                maker.text(Role::Outside, 2, &error.message, usize::MAX);
            }
        },
        TranscriptBody::State { state, error } => {
            let name = format!("turn {}", state.as_str().replace('_', " "));
            maker.titled(Role::NoticeWarning, name, &clock);
            if let Some(error) = error {
                maker.text(Role::Outside, 2, &error.message, usize::MAX);
            }
        }
        TranscriptBody::Compacted {
            turns,
            facts,
            tokens_before,
            tokens_after,
        } => {
            let after = tokens_after.map_or_else(|| "?".to_owned(), format::count);
            let said = format!(
                "compacted {turns} exchanges, {} → {after} tokens",
                format::count(*tokens_before)
            );
            let note = format!("{clock} · {facts} facts found");
            maker.titled(Role::NoticeInfo, said, &note);
        }
    }
    maker.lines.push(Line::default());
    maker.lines
}

/// What an entry may link to.
pub fn links(workspace: Option<&str>, entry: &TranscriptEntry) -> Vec<Link> {
    let json = serde_json::to_string(entry).unwrap_or_default();
    let mut links = links::web_links(&json);
    let (Some(workspace), TranscriptBody::Step { step, tool_calls }) = (workspace, &entry.body)
    else {
        return links;
    };
    let plans = tool_calls.iter().map(|call| &call.plan);
    let mut paths: Vec<&str> = plans
        .flat_map(|plan| plan.path.iter().chain(&plan.paths))
        .map(String::as_str)
        .collect();
    if let StepBody::Final { citations, .. } = &step.body {
        let files = citations.items.iter();
        let files = files.filter(|one| one.kind == CitationKind::File);
        paths.extend(files.map(|one| one.source.as_str()));
    }
    links.extend(
        paths
            .into_iter()
            .filter_map(|path| links::file_link(workspace, path)),
    );
    links
}

/// Where a cached response came from: `cached, 3m old, saved 1.2k tokens`.
fn kept_line(at: Timestamp, kept: &CachedAnswer) -> String {
    let how = if kept.coalesced {
        "answered together with the same question".to_owned()
    } else {
        format!("cached, {} old", format::age(at, kept.stored_at))
    };
    format!(
        "{how}, saved {} tokens",
        format::count(kept.saved.input_tokens + kept.saved.output_tokens)
    )
}

/// How long a call took, or how old the result is that was given instead: ` · 84ms`, ` · cached 12 s ago`.
fn took(duration_ms: Option<u64>, cached: Option<&CachedResult>) -> String {
    match (cached, duration_ms) {
        (Some(cached), _) => format!(" · cached {} s ago", cached.age_ms / 1000),
        (None, Some(ms)) => format!(" · {}", format::duration(ms)),
        (None, None) => String::new(),
    }
}

fn tool_card(maker: &mut Maker<'_>, call: &ToolCall, folded: bool) {
    let took = took(
        call_duration(&call.name, call.duration_ms),
        call.cached.as_ref(),
    );
    let again = if call.attempts > 1 {
        format!(" · started {} times", call.attempts)
    } else {
        String::new()
    };
    maker.head(vec![
        (Role::Border, "  ┌ ".to_owned()),
        (Role::OutsideTool, call.name.clone()),
        (
            call_role(call.state),
            format!("  {}", call_word(&call.name, call.state)),
        ),
        (
            Role::TextMuted,
            format!("{took}{again} · risk {}", call.risk),
        ),
    ]);
    let verdict = call.verdict.decision;
    maker.card_line([
        (verdict_role(verdict), verdict.to_string()),
        (Role::TextMuted, format!(": {}", call.verdict.rule)),
    ]);
    if let Some(decision) = &call.decision {
        maker.card_line([(Role::TextMuted, decided_by(decision))]);
    }
    let lines = if folded { FOLDED_LINES } else { usize::MAX };
    if folded {
        maker.card_line([(Role::Outside, call.args.to_string())]);
    } else {
        let args = serde_json::to_string_pretty(&call.args);
        let args = args.unwrap_or_else(|_| call.args.to_string());
        framed(maker, Role::Outside, &args, usize::MAX);
    }
    if let Some(result) = &call.result {
        framed(maker, Role::TextMuted, result, lines);
    }
    if let Some(report) = &call.report {
        maker.card_line([(Role::TextMuted, report.in_words().to_owned())]);
        let result = report.result.as_deref().filter(|text| !text.is_empty());
        if let Some(result) = result {
            framed(maker, Role::TextMuted, result, lines);
        }
    }
    if let Some(artifact) = &call.artifact {
        framed(maker, Role::TextMuted, &artifact_line(artifact), 1);
    }
    maker
        .lines
        .push(Line::from(span(maker.theme, Role::Border, "  └")));
}

/// Where the whole of a result is.
fn artifact_line(artifact: &ArtifactRef) -> String {
    format!(
        "artifact {} {}",
        format::bytes(artifact.size),
        artifact.hash
    )
}

fn framed(maker: &mut Maker<'_>, role: Role, text: &str, at_most: usize) {
    let room = maker.width.saturating_sub(4);
    let lines: Vec<Line<'static>> = if rich::is_diff(text) {
        let path = text.lines().find_map(|line| line.strip_prefix("+++ "));
        let path = path.unwrap_or_default();
        let code = maker.code.get(maker.theme, path, CodeKind::Diff, text);
        let colors = DiffColors {
            theme: maker.theme,
            code: code.as_deref(),
        };
        diff::lines(colors, text, room, DiffLayout::Unified)
    } else {
        let pieces = sanitize::block(text, room).into_iter();
        pieces
            .map(|piece| Line::from(span(maker.theme, role, piece)))
            .collect()
    };
    let hidden = lines.len().saturating_sub(at_most);
    for mut line in lines.into_iter().take(at_most) {
        line.spans
            .insert(0, span(maker.theme, Role::Border, "  │ "));
        maker.lines.push(line);
    }
    if hidden > 0 {
        maker.lines.push(Line::from(vec![
            span(maker.theme, Role::Border, "  │ "),
            span(maker.theme, Role::TextMuted, maker.hidden(hidden)),
        ]));
    }
}
