//! The Rules screen: rules and permissions for shapes, and what each matches.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::console::{format, lifetime};
use crate::protocol::enums::VerdictKind;
use crate::protocol::rule::{Grant, Rule, RuleMatches, RuleTest};
use crate::tui::message::{FrameReport, HitRegion};
use crate::tui::state::app::State;
use crate::tui::state::rules::{Key, RuleText};
use crate::tui::state::rules_screen::{COLUMNS, cells, in_force, last, reach, uses};
use crate::tui::theme::roles::{Role, Theme};
use crate::tui::view::card_body::{Body, known_of};
use crate::tui::view::list_panel::{ListPanel, nothing};
use crate::tui::view::table::{Column, Fit, column};
use crate::tui::view::{detail, paint};

pub fn draw(state: &State, theme: &Theme, area: Rect, buf: &mut Buffer, report: &mut FrameReport) {
    let panel = &state.screens.rules;
    let detailed = panel.list.selected.is_some() || panel.test.is_some();
    let (rows, zoomed) = (panel.list.order.len(), panel.list.zoomed);
    let (above, below) = detail::split(state, area, rows, detailed, zoomed);
    // One pane: the test covers the list until it is closed.
    let (above, below) = match below {
        None if panel.test.is_some() => (None, Some(area)),
        other => (above, other),
    };
    if let Some(area) = above {
        list(state, theme, area, buf, report);
    }
    if let Some(area) = below {
        let mut body = Body::new(theme, detail::columns(area));
        let title = match (&panel.test, panel.list.selected) {
            (Some(test), _) => {
                tested(&mut body, test);
                "what would happen".to_owned()
            }
            (None, Some(key)) => chosen(state, &mut body, key),
            (None, None) => String::new(),
        };
        let (lines, scroll) = (body.lines, panel.list.scroll);
        let most = detail::scrolled(buf, area, theme, &title, zoomed, &lines, scroll);
        report.panel_max_scroll = Some(most);
    }
}

fn list(state: &State, theme: &Theme, area: Rect, buf: &mut Buffer, report: &mut FrameReport) {
    let panel = &state.screens.rules;
    let counts = format!(
        "Rules  {} rules, {} grants",
        panel.rules.as_ref().map_or(0, Vec::len),
        panel.grants.as_ref().map_or(0, Vec::len)
    );
    let counts = if panel.list.filter.is_empty() {
        counts
    } else {
        format!("Rules  {}", panel.list.count())
    };
    let shown = ListPanel {
        title: counts,
        empty: nothing(
            panel.problem.as_ref(),
            panel.rules.is_some() && panel.grants.is_some(),
            "the rules",
            NO_RULE,
        ),
        cells: &|key| cells(state, *key),
        roles: &|key| {
            let role = row_role(state, *key);
            [0, 2, 3, 4, 5].map(|column| (column, role)).to_vec()
        },
        region: Some(&HitRegion::Rule),
        ..ListPanel::new(&panel.list, COLUMNS, &TABLE)
    };
    shown.draw(theme, area, buf, report);
    if let Some((_, found)) = &panel.suggestions
        && !found.rules.is_empty()
    {
        let note = format!("{}: leverframe rules suggest", found.in_words());
        paint::panel_note(buf, area, theme, Role::NoticeInfo, &note);
    }
}

const TABLE: [Column; 6] = [
    column(6, 0, Role::Text, Fit::Left),
    column(12, 0, Role::Outside, Fit::Rest),
    column(14, 3, Role::Text, Fit::Left),
    column(8, 2, Role::Text, Fit::Left),
    column(8, 4, Role::Text, Fit::Left),
    column(14, 1, Role::Text, Fit::Left),
];

/// What stands where there is none.
const NO_RULE: (&str, &str) = (
    "No rule yet.",
    "A rule makes matching calls run, ask or never run, whatever the level is. Session grants are listed \
     here too, until they end. `leverframe rules add --help` shows what a rule can say.",
);

const fn role(verdict: VerdictKind) -> Role {
    match verdict {
        VerdictKind::Allow => Role::StateGood,
        VerdictKind::Ask => Role::StateWaiting,
        VerdictKind::Deny => Role::StateBad,
    }
}

fn row_role(state: &State, key: Key) -> Role {
    match key {
        Key::Rule(id) => match state.screens.rules.rule(id) {
            Some(rule) if rule.idle(state.model.now.wall).is_none() => role(rule.verdict),
            Some(_) | None => Role::TextMuted,
        },
        Key::Grant(_) => Role::StateGood,
    }
}

/// The detail of what is selected; its title.
fn chosen(state: &State, body: &mut Body<'_>, key: Key) -> String {
    let panel = &state.screens.rules;
    match key {
        Key::Rule(id) => {
            if let Some(rule) = panel.rule(id) {
                rule_body(state, body, rule);
            }
            id.to_string()
        }
        Key::Grant(id) => {
            if let Some(one) = panel.grant(id) {
                grant_body(state, body, one);
            }
            format!("session grant of {id}")
        }
    }
}

fn rule_body(state: &State, body: &mut Body<'_>, rule: &Rule) {
    body.field("says", role(rule.verdict), &rule.in_words());
    body.field("state", Role::TextStrong, &in_force(state, rule));
    let reach = match (rule.session_id, rule.continuation_id) {
        (Some(session), Some(turn)) => format!("turn {turn} of {session}, until it ends"),
        (Some(session), None) => format!("{session}, while it lasts"),
        (None, _) => reach(rule),
    };
    body.field("where", Role::Text, &reach);
    let ends = match rule.expires_at {
        Some(at) => lifetime::at_most(at, state.model.now.wall),
        None if rule.continuation_id.is_some() => "with the turn".to_owned(),
        None if rule.session_id.is_some() => "with the session".to_owned(),
        None => "never, until it is removed".to_owned(),
    };
    body.field("ends", Role::Text, &ends);
    if let Some(coverage) = rule.coverage() {
        body.field("covers", Role::NoticeWarning, &coverage);
    }
    let used = format!("{}, last {}", uses(rule), last(state, rule.last_used_at));
    body.field("uses", Role::Text, &used);
    let made = format!(
        "by {}, {} ago, version {}",
        rule.by,
        format::age(state.model.now.wall, rule.updated_at),
        rule.version
    );
    body.field("changed", Role::Text, &made);
    if let Some(note) = &rule.note {
        body.field("note", Role::Outside, note);
    }
    if rule.verdict == VerdictKind::Allow {
        let text = "block and always_ask lists, untrusted content, critical risk and a missing sandbox stay above it";
        body.field("never", Role::TextMuted, text);
    }
    body.heading("The last seven days");
    let known = known_of(state.screens.rules.matches.as_ref(), &rule.id);
    if let Some(found) = body.known(known, "asking …") {
        matched(state, body, found);
    }
}

/// What a rule would have matched: the count, then the newest calls.
pub fn matched(state: &State, body: &mut Body<'_>, found: &RuleMatches) {
    let at_most = if found.more { "; only the newest" } else { "" };
    let text = format!(
        "matches {} of {} calls{at_most}: {} ran unasked, {} approved, {} denied, {} refused",
        found.matched,
        found.considered,
        found.ran_unasked,
        found.approved,
        found.denied,
        found.refused
    );
    body.text(Role::TextStrong, &text);
    if let Some(warning) = found.warning() {
        body.text(Role::NoticeWarning, warning);
    }
    if found.doubtful > 0 {
        let text = format!(
            "{} more would ask: nothing proves that they do not match",
            found.doubtful
        );
        body.text(Role::Text, &text);
    }
    for call in &found.calls {
        let decided = match (call.decision, &call.by) {
            (Some(decision), Some(by)) => format!("{decision} by {by}"),
            (Some(decision), None) => decision.to_string(),
            (None, _) => call.was.to_string(),
        };
        let kept = call
            .kept_by
            .as_deref()
            .map_or_else(String::new, |why| format!(" (asks still: {why})"));
        let label = format!("{} ago", format::age(state.model.now.wall, call.at));
        let text = format!(
            "{} {}: {decided}, {}{kept}",
            call.tool, call.preview, call.state
        );
        body.field(&label, Role::Outside, &text);
    }
}

fn grant_body(state: &State, body: &mut Body<'_>, one: &Grant) {
    body.field("tool", Role::TextStrong, &one.tool);
    let shape = match &one.args {
        Some(args) => serde_json::to_string_pretty(args).unwrap_or_default(),
        None => one.preview.clone(),
    };
    body.field("exactly", Role::Outside, &shape);
    let place = format!(
        "{} · {} · {}",
        one.channel, one.conversation, one.session_id
    );
    body.field("session", Role::Outside, &place);
    body.field("for", Role::Outside, &one.requester_id);
    let ends = match one.expires_at {
        Some(at) => format!(
            "{}, or {}",
            lifetime::at_most(at, state.model.now.wall),
            one.ends_with()
        ),
        None => one.ends_with().to_owned(),
    };
    body.field("ends", Role::Text, &ends);
    let used = format!("{}, last {}", one.uses, last(state, one.last_used_at));
    body.field("uses", Role::Text, &used);
    let given = format!(
        "by {}, {} ago",
        one.by,
        format::age(state.model.now.wall, one.created_at)
    );
    body.field("given", Role::Text, &given);
}

fn tested(body: &mut Body<'_>, test: &Result<RuleTest, String>) {
    match test {
        Err(why) => body.text(Role::NoticeError, why),
        Ok(test) => {
            let what = match test.verdict.decision {
                VerdictKind::Allow => "it runs without asking",
                VerdictKind::Ask => "a person is asked",
                VerdictKind::Deny => "it does not run",
            };
            let call = format!("{} {}", test.tool, test.preview);
            body.field("call", Role::Outside, &call);
            body.field("then", role(test.verdict.decision), what);
            body.field("because", Role::Text, &test.verdict.rule);
            if let Some(risk) = test.risk {
                body.field("risk", Role::Text, &format!("{risk}, {}", test.access));
            }
            for rule in &test.matching {
                let text = format!("{} {}", rule.id, rule.in_words());
                body.field("matched by", Role::Text, &text);
            }
            if test.matching.is_empty() {
                body.field("matched by", Role::TextMuted, "no rule in force");
            }
        }
    }
}

/// Title and note of a text of this screen.
pub fn entry_words(purpose: RuleText) -> (String, String) {
    let (title, note) = match purpose {
        RuleText::Add => (
            "New rule",
            "JSON: tool, field, matcher (exact prefix pattern), value, verdict, channel, expires_in_seconds, max_uses; 0 = no limit",
        ),
        RuleText::Edit(..) => (
            "Rule",
            "JSON; what you leave out stays; max_uses 0 = any number",
        ),
        RuleText::Test => (
            "What would happen to",
            "TOOL CHANNEL {\"argument\": …}; nothing is run",
        ),
    };
    (title.to_owned(), note.to_owned())
}
