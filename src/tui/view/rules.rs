//! The Rules screen: rules and permissions for shapes, and what each matches.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

use crate::clock::Timestamp;
use crate::protocol::rule::{Grant, Rule, RuleMatches, RuleTest};
use crate::protocol::words::VerdictWord;
use crate::tui::format;
use crate::tui::message::{FrameReport, Spot};
use crate::tui::shown;
use crate::tui::state::app::State;
use crate::tui::state::rules::{Key, RuleText, RulesPanel};
use crate::tui::theme::roles::{Role, Theme};
use crate::tui::view::card_body::Body;
use crate::tui::view::detail;
use crate::tui::view::paint::{self, span};

/// Draws the screen.
pub fn draw(state: &State, theme: &Theme, area: Rect, buf: &mut Buffer, report: &mut FrameReport) {
    let panel = &state.rules;
    let detailed = panel.selected.is_some() || panel.test.is_some();
    let (above, below) = detail::split(state, area, panel.order.len(), detailed, panel.zoomed);
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
        let title = match (&panel.test, panel.selected) {
            (Some(test), _) => {
                tested(&mut body, test);
                "what would happen".to_owned()
            }
            (None, Some(key)) => chosen(state, &mut body, key),
            (None, None) => String::new(),
        };
        let lines = body.lines;
        let most = detail::scrolled(buf, area, theme, &title, panel.zoomed, &lines, panel.scroll);
        report.panel_max_scroll = Some(most);
    }
}

fn list(state: &State, theme: &Theme, area: Rect, buf: &mut Buffer, report: &mut FrameReport) {
    let panel = &state.rules;
    let counts = format!(
        "Rules  {} rules, {} permissions",
        panel.rules.as_ref().map_or(0, Vec::len),
        panel.grants.as_ref().map_or(0, Vec::len)
    );
    let inner = paint::padded(paint::panel(buf, area, theme, &counts, !panel.zoomed));
    if panel.order.is_empty() {
        detail::texts(buf, inner, theme, &empty(panel));
        return;
    }
    let width = usize::from(inner.width).saturating_sub(2);
    let heads = columns(width, ["says", "what", "where", "uses", "last", "state"]);
    let head = heads.join(" ");
    paint::line(
        buf,
        inner,
        0,
        &Line::from(vec!["  ".into(), span(theme, Role::TableHead, head)]),
    );
    let height = usize::from(inner.height.saturating_sub(1));
    let at = panel
        .selected
        .and_then(|key| panel.order.iter().position(|known| *known == key));
    let first = paint::first_row(at, panel.order.len(), height);
    for (offset, key) in panel.order.iter().skip(first).take(height).enumerate() {
        let at = 1 + u16::try_from(offset).unwrap_or(u16::MAX);
        let (role, texts) = row(state, *key);
        let texts = columns(width, [0, 1, 2, 3, 4, 5].map(|n: usize| texts[n].as_str()));
        let cells = texts
            .into_iter()
            .enumerate()
            .map(|(n, text)| (if n == 1 { Role::Outside } else { role }, text))
            .collect();
        report.spot(paint::row(inner, at), || Spot::Rule(*key));
        detail::row(buf, inner, theme, at, cells, panel.selected == Some(*key));
    }
    let hidden = panel.order.len().saturating_sub(first + height);
    if hidden > 0 {
        let note = format!("{hidden} more below");
        paint::panel_note(buf, area, theme, Role::TextMuted, &note);
    }
}

/// The cells that fit, the second as wide as what is left.
fn columns(width: usize, texts: [&str; 6]) -> Vec<String> {
    let when = |least: usize, cells: usize| if width >= least { cells } else { 0 };
    let mut widths = [6, 0, when(50, 14), when(40, 8), when(72, 8), when(30, 14)];
    let used: usize = widths
        .iter()
        .filter(|cells| **cells > 0)
        .map(|n| n + 1)
        .sum();
    widths[1] = width.saturating_sub(used).max(1);
    texts
        .iter()
        .zip(widths)
        .filter(|(_, cells)| *cells > 0)
        .map(|(text, cells)| shown::column(text, cells))
        .collect()
}

fn empty(panel: &RulesPanel) -> Vec<(Role, String)> {
    if let Some(problem) = &panel.problem {
        return vec![(Role::NoticeError, problem.clone())];
    }
    if panel.rules.is_none() || panel.grants.is_none() {
        return vec![(Role::TextMuted, "asking for the rules …".to_owned())];
    }
    vec![
        (Role::TextStrong, "No rule yet.".to_owned()),
        (Role::Text, String::new()),
        (
            Role::TextMuted,
            "A rule says of some calls that they run, ask or never run, whatever the level is. Shapes that were \
             allowed for a session stand here too, until they end. `leverframe rules add --help` shows what a rule \
             can say."
                .to_owned(),
        ),
    ]
}

/// Until when, in words.
fn until(state: &State, at: Option<Timestamp>, never: &str) -> String {
    match at {
        None => never.to_owned(),
        Some(at) if at <= state.now.wall => "expired".to_owned(),
        Some(at) => format!("for {}", format::age(at, state.now.wall)),
    }
}

fn last(state: &State, at: Option<Timestamp>) -> String {
    at.map_or_else(
        || "never".to_owned(),
        |at| format!("{} ago", format::age(state.now.wall, at)),
    )
}

fn uses(rule: &Rule) -> String {
    match rule.max_uses {
        Some(max) => format!("{}/{max}", rule.uses),
        None => rule.uses.to_string(),
    }
}

fn in_force(state: &State, rule: &Rule) -> String {
    match rule.idle(state.now.wall) {
        Some(why) => why,
        None => until(state, rule.expires_at, "in force"),
    }
}

fn reach(rule: &Rule) -> String {
    match (&rule.channel, rule.session_id) {
        (Some(channel), _) => channel.clone(),
        (None, Some(_)) => "one session".to_owned(),
        (None, None) => "everywhere".to_owned(),
    }
}

const fn role(verdict: VerdictWord) -> Role {
    match verdict {
        VerdictWord::Allow => Role::StateGood,
        VerdictWord::Ask => Role::StateWaiting,
        VerdictWord::Deny => Role::StateBad,
    }
}

fn row(state: &State, key: Key) -> (Role, [String; 6]) {
    let panel = &state.rules;
    match key {
        Key::Rule(id) => panel.rule(id).map(|rule| {
            let role = match rule.idle(state.now.wall) {
                Some(_) => Role::TextMuted,
                None => role(rule.verdict),
            };
            let field = rule.field.as_deref().unwrap_or("arguments");
            let what = format!("{} {field} {} {}", rule.tool, rule.matcher, rule.value);
            let texts = [
                rule.verdict.to_string(),
                what,
                reach(rule),
                uses(rule),
                last(state, rule.last_used_at),
                in_force(state, rule),
            ];
            (role, texts)
        }),
        Key::Grant(id) => panel.grant(id).map(|one| {
            let texts = [
                "shape".to_owned(),
                format!("{} {}", one.tool, one.preview),
                one.channel.clone(),
                one.uses.to_string(),
                last(state, one.last_used_at),
                until(state, one.expires_at, "with session"),
            ];
            (Role::StateGood, texts)
        }),
    }
    .unwrap_or_else(|| (Role::TextMuted, std::array::from_fn(|_| String::new())))
}

/// The detail of what is selected; its title.
fn chosen(state: &State, body: &mut Body<'_>, key: Key) -> String {
    let panel = &state.rules;
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
            format!("shape allowed with {id}")
        }
    }
}

fn rule_body(state: &State, body: &mut Body<'_>, rule: &Rule) {
    body.field("says", role(rule.verdict), &rule.in_words());
    body.field("state", Role::TextStrong, &in_force(state, rule));
    let reach = match rule.session_id {
        Some(session) => session.to_string(),
        None => reach(rule),
    };
    body.field("where", Role::Text, &reach);
    if let Some(coverage) = rule.coverage() {
        body.field("covers", Role::NoticeWarning, &coverage);
    }
    let used = format!("{}, last {}", uses(rule), last(state, rule.last_used_at));
    body.field("uses", Role::Text, &used);
    let made = format!(
        "by {}, {} ago, version {}",
        rule.by,
        format::age(state.now.wall, rule.updated_at),
        rule.version
    );
    body.field("changed", Role::Text, &made);
    if let Some(note) = &rule.note {
        body.field("note", Role::Outside, note);
    }
    if rule.verdict == VerdictWord::Allow {
        let text = "block and always_ask lists, untrusted content, critical risk and a missing sandbox stay above it";
        body.field("never", Role::TextMuted, text);
    }
    body.heading("The last seven days");
    match &state.rules.matches {
        Some((id, Ok(found))) if *id == rule.id => matched(state, body, found),
        Some((id, Err(why))) if *id == rule.id => body.text(Role::NoticeError, why),
        Some(_) | None => body.text(Role::TextMuted, "asking …"),
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
    if found.doubtful > 0 {
        let text = format!(
            "{} more would ask: nothing proves that they stay clear of it",
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
        let label = format!("{} ago", format::age(state.now.wall, call.at));
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
    let ends = until(state, one.expires_at, "with the session");
    body.field("ends", Role::Text, &ends);
    let used = format!("{}, last {}", one.uses, last(state, one.last_used_at));
    body.field("uses", Role::Text, &used);
    let given = format!(
        "by {}, {} ago",
        one.by,
        format::age(state.now.wall, one.created_at)
    );
    body.field("given", Role::Text, &given);
}

fn tested(body: &mut Body<'_>, test: &Result<RuleTest, String>) {
    match test {
        Err(why) => body.text(Role::NoticeError, why),
        Ok(test) => {
            let what = match test.verdict.decision {
                VerdictWord::Allow => "it runs without asking",
                VerdictWord::Ask => "a person is asked",
                VerdictWord::Deny => "it does not run",
            };
            body.field(
                "call",
                Role::Outside,
                &format!("{} {}", test.tool, test.preview),
            );
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
