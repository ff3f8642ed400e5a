//! What Rules asks, lists and does. What it knows is in `rules`; nothing here is drawn.

use crate::clock::Timestamp;
use crate::console::format;
use crate::protocol::enums::{RuleMatcher, VerdictKind};
use crate::protocol::event::{Event, EventBody};
use crate::protocol::ids::SessionId;
use crate::protocol::problem::Problem;
use crate::protocol::request::{
    AddRule, Answer, ChangeRule, Command, GetRuleMatches, ListGrants, ListRules, Query,
    RemoveGrant, RemoveRule, SuggestRules, TestRules,
};
use crate::protocol::rule::{Rule, RulePatch};
use crate::tui::action::Action;
use crate::tui::message::Effect;
use crate::tui::state::app::State;
use crate::tui::state::list::Cell;
use crate::tui::state::modal::TextPurpose;
use crate::tui::state::panel::{self, ListScreen, Panel, reply};
use crate::tui::state::rules::{Key, RuleText};
use crate::tui::state::screen::Screen;
use crate::tui::state::{opening, submit};

/// Seconds after which suggestions are asked for again.
const SUGGESTIONS_SECONDS: i64 = 600;

pub const PANEL: Panel = Panel {
    ask,
    answered,
    concerns,
    perform,
    copied,
    session,
    channel,
    hints,
    ..Panel::new(ListScreen {
        after_move,
        close,
        ..ListScreen::new(|state| &mut state.screens.rules.list, |_| COLUMNS, arrange)
    })
};

fn ask(state: &State) -> Vec<Query> {
    let mut queries = vec![
        Query::ListRules(ListRules {}),
        Query::ListGrants(ListGrants {}),
    ];
    queries.extend(matches_of(state));
    // It reads many calls, so not with each event.
    let asked = state.screens.rules.suggestions.as_ref().map(|(at, _)| *at);
    let again = |at: Timestamp| at.plus_seconds(SUGGESTIONS_SECONDS) <= state.model.now.wall;
    if asked.is_none_or(again) {
        queries.push(Query::SuggestRules(SuggestRules {
            days: None,
            channel: None,
        }));
    }
    queries
}

/// What the selected rule matches.
fn matches_of(state: &State) -> Option<Query> {
    let rule = state.screens.rules.selected_rule()?;
    Some(Query::GetRuleMatches(GetRuleMatches {
        id: Some(rule.id),
        rule: Box::default(),
    }))
}

fn answered(state: &mut State, query: &Query, result: Result<&Answer, &Problem>) {
    let panel = &mut state.screens.rules;
    match query {
        Query::ListRules(_) => {
            let page = reply::<ListRules>(result);
            panel::take_list(page, &mut panel.rules, &mut panel.problem);
        }
        Query::ListGrants(_) => match reply::<ListGrants>(result) {
            Some(Ok(page)) => panel.grants = Some(page.items),
            Some(Err(why)) => panel.problem = Some(why),
            None => {}
        },
        Query::SuggestRules(_) => {
            if let Some(Ok(found)) = reply::<SuggestRules>(result) {
                panel.suggestions = Some((state.model.now.wall, found));
            }
        }
        Query::GetRuleMatches(GetRuleMatches { id: Some(id), .. }) => {
            if let Some(found) = reply::<GetRuleMatches>(result) {
                panel.matches = Some((*id, found));
            }
        }
        Query::TestRules(_) => panel::take::<TestRules, _>(&mut panel.test, result, |test| test),
        _ => {}
    }
}

fn concerns(event: &Event) -> bool {
    matches!(
        event.body,
        EventBody::RuleChanged { .. }
            | EventBody::GrantRemoved { .. }
            | EventBody::ApprovalDecided { .. }
            | EventBody::ToolProposed { .. }
            | EventBody::SessionEnded { .. }
    )
}

pub const COLUMNS: &[&str] = &["says", "what", "where", "uses", "last", "state"];

fn arrange(state: &mut State, afresh: bool) {
    let panel = &state.screens.rules;
    let rules = panel.rules.iter().flatten().map(|rule| Key::Rule(rule.id));
    let grants = panel.grants.iter().flatten().map(|one| Key::Grant(one.id));
    let all = rules.chain(grants).collect();
    panel::arrange(
        state,
        afresh,
        |state| &mut state.screens.rules.list,
        all,
        |state, key| cells(state, *key),
    );
}

fn close(state: &mut State) -> bool {
    state.screens.rules.test.take().is_some()
}

/// What the selected rule matches is asked for.
fn after_move(state: &mut State) -> Vec<Effect> {
    let panel = &state.screens.rules;
    let known = panel.matches.as_ref().map(|(id, _)| *id);
    let selected = panel.selected_rule().map(|rule| rule.id);
    let query = matches_of(state).filter(|_| known != selected);
    panel::ask_more(state, Screen::Rules, query)
}

/// Until when something holds, in words.
pub fn until(state: &State, at: Option<Timestamp>, never: &str) -> String {
    match at {
        None => never.to_owned(),
        Some(at) if at <= state.model.now.wall => "expired".to_owned(),
        Some(at) => format!("for {}", format::age(at, state.model.now.wall)),
    }
}

/// When something was used last, in words.
pub fn last(state: &State, at: Option<Timestamp>) -> String {
    at.map_or_else(
        || "never".to_owned(),
        |at| format!("{} ago", format::age(state.model.now.wall, at)),
    )
}

/// How often a rule was used, and how often it may be.
pub fn uses(rule: &Rule) -> String {
    match rule.max_uses {
        Some(max) => format!("{}/{max}", rule.uses),
        None => rule.uses.to_string(),
    }
}

/// Whether and until when a rule is in force, in words.
pub fn in_force(state: &State, rule: &Rule) -> String {
    let now = state.model.now.wall;
    match rule.idle(now).or_else(|| rule.unused(now)) {
        Some(why) => why,
        None if rule.continuation_id.is_some() => until(state, rule.expires_at, "until turn ends"),
        None => until(state, rule.expires_at, "in force"),
    }
}

/// Where a rule holds, in words.
pub fn reach(rule: &Rule) -> String {
    match (&rule.channel, rule.session_id, rule.continuation_id) {
        (Some(channel), _, _) => channel.clone(),
        (None, _, Some(_)) => "one turn".to_owned(),
        (None, Some(_), None) => "one session".to_owned(),
        (None, None, None) => "everywhere".to_owned(),
    }
}

fn last_cell(state: &State, at: Option<Timestamp>) -> Cell {
    let rank = at.map_or(f64::MAX, |at| -(at.as_millis() as f64));
    Cell::ranked(last(state, at), rank)
}

/// What the list shows of a row, in the order of its columns.
pub fn cells(state: &State, key: Key) -> Vec<Cell> {
    let panel = &state.screens.rules;
    match key {
        Key::Rule(id) => panel.rule(id).map(|rule| {
            let field = rule.field.as_deref().unwrap_or("arguments");
            let what = format!("{} {field} {} {}", rule.tool, rule.matcher, rule.value);
            vec![
                Cell::new(rule.verdict.to_string()),
                Cell::new(what),
                Cell::new(reach(rule)),
                Cell::ranked(uses(rule), rule.uses as f64),
                last_cell(state, rule.last_used_at),
                Cell::new(in_force(state, rule)),
            ]
        }),
        Key::Grant(id) => panel.grant(id).map(|one| {
            vec![
                Cell::new("shape"),
                Cell::new(format!("{} {}", one.tool, one.preview)),
                Cell::new(&one.channel),
                Cell::ranked(one.uses.to_string(), one.uses as f64),
                last_cell(state, one.last_used_at),
                Cell::new(until(
                    state,
                    one.expires_at,
                    match one.continuation_id {
                        Some(_) => "until turn ends",
                        None => "with session",
                    },
                )),
            ]
        }),
    }
    .unwrap_or_default()
}

fn perform(state: &mut State, action: Action) -> Option<Vec<Effect>> {
    Some(match action {
        Action::RuleAdd => text(state, RuleText::Add),
        Action::RuleTest => text(state, RuleText::Test),
        Action::RuleEdit => {
            let rule = state.screens.rules.selected_rule();
            match rule.map(|rule| (rule.id, rule.version)) {
                Some((id, version)) => text(state, RuleText::Edit(id, version)),
                None => no_rule(state, action),
            }
        }
        Action::RuleToggle => toggle(state),
        Action::RuleRemove => remove(state),
        _ => return None,
    })
}

fn no_rule(state: &mut State, action: Action) -> Vec<Effect> {
    state.warn(format!("{}: no rule is selected", action.short()))
}

fn text(state: &mut State, purpose: RuleText) -> Vec<Effect> {
    if purpose != RuleText::Test && submit::refuses(state) {
        return Vec::new();
    }
    let start = start(state, purpose);
    opening::open_begun(state, TextPurpose::Rule(purpose), &start)
}

/// Asks first; Cancel is focused.
fn confirm(
    state: &mut State,
    title: &str,
    label: &'static str,
    line: String,
    command: impl Into<Command>,
) -> Vec<Effect> {
    if submit::refuses(state) {
        return Vec::new();
    }
    opening::ask_first(state, title, vec![line], label, command)
}

/// What takes a permission away is done at once; what gives one is asked first.
fn toggle(state: &mut State) -> Vec<Effect> {
    let Some(rule) = state.screens.rules.selected_rule().cloned() else {
        return no_rule(state, Action::RuleToggle);
    };
    let command = ChangeRule {
        id: rule.id,
        patch: Box::new(RulePatch {
            enabled: Some(!rule.enabled),
            if_version: Some(rule.version),
            ..RulePatch::default()
        }),
    };
    let gives = rule.enabled != (rule.verdict == VerdictKind::Allow);
    if gives {
        return confirm(state, "Let calls run?", "Do it", rule.in_words(), command);
    }
    submit::submit(state, command)
}

fn remove(state: &mut State) -> Vec<Effect> {
    match state.screens.rules.list.selected {
        Some(Key::Rule(id)) => {
            let line = state.screens.rules.rule(id).map(Rule::in_words);
            let (title, line) = ("Remove this rule?", line.unwrap_or_default());
            confirm(state, title, "Remove", line, RemoveRule { id })
        }
        Some(Key::Grant(id)) => {
            let grant = state.screens.rules.grant(id);
            let line = grant.map(|one| format!("{} {}", one.tool, one.preview));
            let (title, line) = ("Revoke this session grant?", line.unwrap_or_default());
            confirm(state, title, "Revoke", line, RemoveGrant { id })
        }
        None => no_rule(state, Action::RuleRemove),
    }
}

fn start(state: &State, purpose: RuleText) -> String {
    let patch = match purpose {
        RuleText::Test => return String::new(),
        RuleText::Add => RulePatch {
            tool: Some("execute_command".to_owned()),
            matcher: Some(RuleMatcher::Prefix),
            value: Some(String::new()),
            verdict: Some(VerdictKind::Allow),
            expires_in_seconds: Some(8 * 3600),
            max_uses: Some(0),
            ..RulePatch::default()
        },
        RuleText::Edit(id, _) => match state.screens.rules.rule(id) {
            None => RulePatch::default(),
            Some(rule) => RulePatch {
                tool: Some(rule.tool.clone()),
                field: Some(rule.field.clone().unwrap_or_default()),
                matcher: Some(rule.matcher),
                value: Some(rule.value.clone()),
                cwd: rule.cwd.clone(),
                verdict: Some(rule.verdict),
                max_uses: Some(rule.max_uses.unwrap_or(0)),
                note: Some(rule.note.clone().unwrap_or_default()),
                ..RulePatch::default()
            },
        },
    };
    serde_json::to_string_pretty(&patch).unwrap_or_default()
}

/// Takes a finished text: what follows, or why it is not taken.
pub fn finish(state: &mut State, purpose: RuleText, text: &str) -> Result<Vec<Effect>, String> {
    let patch = || serde_json::from_str::<RulePatch>(text).map_err(|error| error.to_string());
    let command = match purpose {
        RuleText::Test => {
            let words: Vec<&str> = text.trim().splitn(3, char::is_whitespace).collect();
            let [tool, channel, args] = words[..] else {
                return Err("expected a tool, a channel and the arguments as JSON".to_owned());
            };
            let args = serde_json::from_str(args).map_err(|error| format!("arguments: {error}"))?;
            let query = TestRules {
                tool: tool.to_owned(),
                args,
                channel: channel.to_owned(),
                session_id: None,
            };
            return Ok(vec![panel::ask(state, Screen::Rules, query)]);
        }
        RuleText::Add => Command::AddRule(AddRule {
            rule: Box::new(patch()?),
        }),
        RuleText::Edit(id, version) => Command::ChangeRule(ChangeRule {
            id,
            patch: Box::new(RulePatch {
                if_version: Some(version),
                ..patch()?
            }),
        }),
    };
    Ok(submit::submit(state, command))
}

fn copied(state: &State, all: bool) -> Option<String> {
    let rules = &state.screens.rules;
    match rules.list.selected? {
        Key::Rule(id) => panel::copied(id, rules.rule(id), all),
        Key::Grant(id) => panel::copied(id, rules.grant(id), all),
    }
}

fn session(state: &State) -> Option<SessionId> {
    let panel = &state.screens.rules;
    match panel.list.selected? {
        Key::Rule(id) => panel.rule(id)?.session_id,
        Key::Grant(id) => Some(panel.grant(id)?.session_id),
    }
}

fn channel(state: &State) -> Option<String> {
    let panel = &state.screens.rules;
    match panel.list.selected? {
        Key::Rule(id) => panel.rule(id)?.channel.clone(),
        Key::Grant(id) => Some(panel.grant(id)?.channel.clone()),
    }
}

fn hints(state: &State) -> Vec<Action> {
    match state.screens.rules.list.selected {
        Some(Key::Rule(_)) => vec![
            Action::Open,
            Action::RuleEdit,
            Action::RuleToggle,
            Action::RuleRemove,
            Action::RuleTest,
        ],
        Some(Key::Grant(_)) => vec![Action::Open, Action::RuleRemove, Action::RuleTest],
        None => vec![Action::MoveDown, Action::RuleAdd, Action::RuleTest],
    }
}
