//! The Continuations screen: what runs, waits, was interrupted or has ended, and how far each came.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

use crate::console::format;
use crate::protocol::enums::{ContinuationState, Surface};
use crate::protocol::ids::ContinuationId;
use crate::protocol::options::TurnOptions;
use crate::protocol::session::{
    Continuation, NO_MODEL, RefusedCalls, Step, StepBody, call_duration, call_word,
};
use crate::tui::action::Action;
use crate::tui::keymap::context::Context;
use crate::tui::message::{FrameReport, HitRegion};
use crate::tui::state::app::State;
use crate::tui::state::continuations::{Group, in_flight, uncertain, word};
use crate::tui::state::continuations_screen::{self, COLUMNS, cells, model, names};
use crate::tui::theme::roles::{Role, Theme};
use crate::tui::view::card_body::Body;
use crate::tui::view::console::outcome;
use crate::tui::view::detail;
use crate::tui::view::list_panel::ListPanel;
use crate::tui::view::table::{Column, Fit, column};

/// Characters of a message or an answer that the detail shows; the session has all of it.
const TEXT_SHOWN: usize = 1_200;
/// Characters of a step's text.
const STEP_SHOWN: usize = 160;

/// The role of a state's word.
const fn role(state: ContinuationState) -> Role {
    match state {
        ContinuationState::Running | ContinuationState::Streaming => Role::StateRunning,
        ContinuationState::AwaitingApproval | ContinuationState::Interrupted => Role::StateWaiting,
        ContinuationState::Pending => Role::Text,
        ContinuationState::Completed => Role::StateGood,
        ContinuationState::Failed => Role::StateBad,
        ContinuationState::Cancelled | ContinuationState::Expired => Role::StateIdle,
    }
}

/// The role of a turn's state: a completed one of which calls were refused is not all well.
fn state_role(turn: &Continuation) -> Role {
    match turn.state {
        ContinuationState::Completed if turn.refused_calls() > 0 => Role::StateWaiting,
        state => role(state),
    }
}

pub fn draw(state: &State, theme: &Theme, area: Rect, buf: &mut Buffer, report: &mut FrameReport) {
    let panel = &state.screens.continuations;
    let older = if panel.next.is_some() { "+" } else { "" };
    let rows = panel.rows();
    let is_new = |(group, _): &&(Option<Group>, _)| *group == Some(Group::Arrived);
    let shown = ListPanel {
        title: format!("Continuations  {}{older}", panel.list.count()),
        news: match rows.iter().filter(is_new).count() {
            0 => String::new(),
            new => format!("  {new} new at the end"),
        },
        empty: empty(state),
        none_left: empty(state),
        headings: headings(&rows),
        cells: &|id| cells(state, *id),
        roles: &|id| {
            let turn = panel.known.get(id);
            turn.map_or_else(Vec::new, |turn| vec![(0, state_role(turn))])
        },
        region: Some(&HitRegion::Turn),
        ..ListPanel::new(&panel.list, COLUMNS, &TABLE)
    };
    shown.draw_with_detail(state, theme, area, buf, report, |area| {
        let turn = panel.turn()?;
        let refused = match turn.refused_calls() {
            0 => String::new(),
            refused => format!(", {}", RefusedCalls::text(refused)),
        };
        let waits = turn.waits();
        let waits = waits.map_or_else(String::new, |why| format!(", {why}"));
        let title = format!("{}{refused}{waits}  {}", word(turn.state), turn.id);
        Some((title, body(state, theme, turn, detail::columns(area))))
    });
}

/// The heading of each group, with the number of its first row.
fn headings(rows: &[(Option<Group>, ContinuationId)]) -> Vec<(usize, String)> {
    let mut first = 0;
    let mut headings = Vec::new();
    for run in rows.chunk_by(|before, after| before.0 == after.0) {
        if let Some((Some(group), _)) = run.first() {
            headings.push((first, format!("{}  {}", group.title(), run.len())));
        }
        first += run.len();
    }
    headings
}

const TABLE: [Column; 9] = [
    column(14, 0, Role::Text, Fit::Left),
    column(10, 1, Role::TextMuted, Fit::Left),
    column(10, 2, Role::Outside, Fit::Left),
    column(4, 5, Role::TextMuted, Fit::Right),
    column(14, 0, Role::Outside, Fit::Rest),
    column(18, 7, Role::TextMuted, Fit::Left),
    column(7, 6, Role::TextMuted, Fit::Right),
    column(7, 4, Role::TextMuted, Fit::Right),
    column(4, 3, Role::TextMuted, Fit::Right),
];

fn empty(state: &State) -> Vec<(Role, String)> {
    let panel = &state.screens.continuations;
    if let Some(problem) = &panel.problem {
        return vec![(Role::NoticeError, problem.clone())];
    }
    if !panel.answered {
        return vec![(Role::TextMuted, "asking for the turns …".to_owned())];
    }
    if !panel.list.filter.is_empty() {
        let more = if panel.next.is_some() {
            " among the newest; a state word (failed, interrupted …) also looks among older ones"
        } else {
            ""
        };
        let text = format!("No turn has the words of the filter{more}. esc shows all.");
        return vec![(Role::TextStrong, text)];
    }
    vec![
        (Role::TextStrong, "No turn yet.".to_owned()),
        (Role::Text, String::new()),
        (
            Role::TextMuted,
            "Each accepted message becomes a turn. It runs, waits for you, and stays here when it has ended. After a \
             crash you can resume it from its last durable step."
                .to_owned(),
        ),
    ]
}

fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{} …", text.get(..end).unwrap_or(text)),
        None => text.to_owned(),
    }
}

/// Where a turn came from.
fn begun(turn: &Continuation) -> String {
    let from = match (turn.requester.id.strip_prefix("routine:"), turn.surface) {
        (Some(routine), _) => format!("routine {routine}"),
        (None, Surface::Console) => "a message at this desk's console".to_owned(),
        (None, Surface::Http) => "a message over HTTP".to_owned(),
        (None, Surface::Cli) => "a message on the command line".to_owned(),
        (None, Surface::Chat) => format!("a message on {}", turn.channel),
        (None, Surface::Scripted) => "a scripted message of the demo".to_owned(),
        (None, Surface::Engine) => "the engine itself".to_owned(),
        (None, Surface::Gate) => "a hook of an external agent".to_owned(),
        (None, Surface::Mcp) => "a host of the Model Context Protocol".to_owned(),
    };
    match &turn.retry_of {
        Some(id) => format!("{from}; again, after {id}"),
        None => from,
    }
}

fn at(state: &State, when: crate::clock::Timestamp) -> String {
    let age = format::age(state.model.now.wall, when);
    format!("{} ({age} ago)", format::clock(when))
}

fn body(state: &State, theme: &Theme, turn: &Continuation, width: usize) -> Vec<Line<'static>> {
    let mut body = Body::new(theme, width);
    if let Some(error) = &turn.error {
        let role = if turn.state == ContinuationState::Failed {
            Role::StateBad
        } else {
            Role::StateWaiting
        };
        body.field("why", role, &format!("{}: {}", error.code, error.message));
    }
    let unknown = names(uncertain(turn));
    if unknown.is_empty() {
        body.field("unknown", Role::TextMuted, "no effect is uncertain");
    } else {
        let text = format!("{unknown}: started, outcome unknown");
        body.field("unknown", Role::StateBad, &text);
    }
    let running = names(in_flight(turn));
    if !running.is_empty() {
        body.field("in flight", Role::StateRunning, &running);
    }
    let refused = turn.refused_calls();
    if refused > 0 {
        let text = format!(
            "{}: too many approvals waited, so nobody was asked",
            RefusedCalls::text(refused)
        );
        body.field("refused", Role::StateWaiting, &text);
    }
    let steps = state
        .screens
        .continuations
        .steps
        .as_ref()
        .filter(|(id, _)| *id == turn.id);
    let checkpoint = match steps.map(|(_, steps)| steps) {
        Some(Ok(steps)) => steps.last().map_or_else(
            || "none: only the message is stored".to_owned(),
            |step| format!("step {}: {} · {}", step.n, step.kind, at(state, step.at)),
        ),
        Some(Err(why)) => why.clone(),
        None => format!("step {} (asking for the steps …)", turn.steps),
    };
    body.field("checkpoint", Role::TextStrong, &checkpoint);
    body.field("begun by", Role::Text, &begun(turn));
    let place = format!("{} · {}", turn.channel, turn.conversation);
    body.field("channel", Role::Text, &place);
    let person = match &turn.requester.person {
        Some(person) => format!("known as {person}"),
        None => "not linked to a person".to_owned(),
    };
    let requester = &turn.requester;
    let by = format!("{} · {} · {person}", requester.display, requester.id);
    body.field("asked by", Role::Outside, &by);
    let times = format!(
        "came {} · changed {} · attempt {}",
        at(state, turn.created_at),
        at(state, turn.updated_at),
        turn.attempt
    );
    body.field("times", Role::Text, &times);
    body.field("model", Role::Text, model(state, turn));
    let usage = &turn.usage;
    let used = format!(
        "{} in ({} cached) · {} out · {}",
        format::count(usage.input_tokens),
        format::count(usage.cached_input_tokens),
        format::count(usage.output_tokens),
        format::money(usage.cost_usd)
    );
    body.field("used", Role::Text, &used);
    body.field(
        "message",
        Role::Outside,
        &cut(&turn.request.text, TEXT_SHOWN),
    );
    for line in turn.options.iter().flat_map(TurnOptions::lines) {
        body.field("option", Role::Outside, &cut(&line, TEXT_SHOWN));
    }
    if let Some(response) = &turn.response {
        body.field("answer", Role::Outside, &cut(&response.text, TEXT_SHOWN));
    }
    for line in turn.citations.lines() {
        body.field("source", Role::Outside, &cut(&line, TEXT_SHOWN));
    }
    questions(state, turn, &mut body);
    calls(state, turn, &mut body);
    if let Some((_, Ok(steps))) = steps {
        body.heading("Steps");
        if steps.is_empty() {
            body.text(Role::TextMuted, "none yet");
        }
        for step in steps {
            let (role, text) = step_line(step);
            let label = format!("{:>3} {}", step.n, format::clock(step.at));
            body.field(&label, role, &text);
        }
    }
    deliveries(state, turn, &mut body);
    body.lines
}

fn questions(state: &State, turn: &Continuation, body: &mut Body<'_>) {
    body.heading("Approvals");
    if turn.approvals.is_empty() {
        body.text(Role::TextMuted, "none");
    }
    for id in &turn.approvals {
        match continuations_screen::approval(state, *id) {
            Some(approval) => {
                let (role, end) = outcome(approval);
                let what = if approval.tool.is_empty() {
                    approval.kind.as_str()
                } else {
                    approval.tool.as_str()
                };
                let text = format!("{} {what}: {end}", approval.kind);
                body.field(&approval.short_code, role, &text);
            }
            None => body.field("", Role::TextMuted, &format!("{id} (asking …)")),
        }
    }
}

fn calls(state: &State, turn: &Continuation, body: &mut Body<'_>) {
    body.heading("Tool calls");
    if turn.tool_calls.is_empty() {
        body.text(Role::TextMuted, "none");
        return;
    }
    for call in &turn.tool_calls {
        let role = if call.state.is_settled() {
            Role::Outside
        } else {
            Role::StateWaiting
        };
        let took = call_duration(&call.name, call.duration_ms);
        let took = took.map(format::duration).unwrap_or_default();
        let text = format!(
            "{} {} · {} {took} · {}: {}",
            call.name,
            cut(&call.args.to_string(), STEP_SHOWN),
            call_word(&call.name, call.state),
            call.verdict.decision,
            call.verdict.rule
        );
        body.field(&format!("step {}", call.step), role, &text);
    }
    let key = state.keymap.key_of(Context::Continuations, Action::Why);
    if let Some(key) = key {
        let text = format!("{key} tells why each ran, asked or was refused");
        body.text(Role::TextMuted, &text);
    }
}

fn step_line(step: &Step) -> (Role, String) {
    match &step.body {
        StepBody::Model {
            model,
            text,
            tool_calls,
            usage,
            latency_ms,
            cached,
            ..
        } => {
            if model == NO_MODEL {
                let calls = tool_calls.len();
                return (Role::Text, format!("{NO_MODEL} · {calls} call, no model"));
            }
            let kept = if cached.is_some() {
                " · cached response"
            } else {
                ""
            };
            let text = format!(
                "model {model} · {} · {} in {} out · {} · {}{kept} · {}",
                match tool_calls.len() {
                    1 => "1 call".to_owned(),
                    many => format!("{many} calls"),
                },
                format::count(usage.input_tokens),
                format::count(usage.output_tokens),
                format::money(usage.cost_usd),
                format::duration(*latency_ms),
                cut(text, STEP_SHOWN)
            );
            (Role::OutsideModel, text)
        }
        StepBody::ToolResult {
            name,
            state,
            content,
            duration_ms,
            ..
        } => {
            let took = call_duration(name, *duration_ms);
            let took = took.map(format::duration).unwrap_or_default();
            let state = call_word(name, *state);
            let text = format!("{name} {state} {took} · {}", cut(content, STEP_SHOWN));
            (Role::OutsideTool, text)
        }
        StepBody::OperatorNote { by, text } => (Role::Text, format!("note of {by}: {text}")),
        StepBody::Final { text, .. } => (
            Role::OutsideModel,
            format!("answer · {}", cut(text, STEP_SHOWN)),
        ),
        StepBody::Error { error } => (
            Role::StateBad,
            format!("error {}: {}", error.code, error.message),
        ),
    }
}

/// The snapshot holds what is under way, failed or unknown; what arrived is not kept by the console.
fn deliveries(state: &State, turn: &Continuation, body: &mut Body<'_>) {
    body.heading("Deliveries");
    let mut any = false;
    for item in state.model.world().deliveries.values() {
        if item.continuation_id != Some(turn.id) {
            continue;
        }
        any = true;
        let error = item.last_error.as_deref().unwrap_or("");
        let text = format!(
            "{} · part {} of {} · {} · tried {} times {error}",
            item.class, item.part, item.parts, item.state, item.attempts
        );
        body.field(&item.channel, Role::Text, &text);
    }
    if !any {
        let text =
            "none under way, failed or unknown (`leverframe outbox list` shows what was sent)";
        body.text(Role::TextMuted, text);
    }
}
