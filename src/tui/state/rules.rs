//! Rules: rules and session grants, and what they match.
//!
//! Rows are held by id. While one is selected every row keeps its place; what is new stands at the end.

use crate::protocol::event::{Event, EventBody};
use crate::protocol::ids::{ApprovalId, ContinuationId, RuleId, SessionId};
use crate::protocol::problem::Problem;
use crate::protocol::request::{
    AddRule, Answer, ChangeRule, Command, GetRuleMatches, ListGrants, ListRules, Query,
    RemoveGrant, RemoveRule, TestRules,
};
use crate::protocol::rule::{Grant, Rule, RuleMatches, RulePatch, RuleTest};
use crate::protocol::words::{RuleMatcher, VerdictWord};
use crate::tui::action::Action;
use crate::tui::message::Effect;
use crate::tui::state::app::{Screen, State, Tone};
use crate::tui::state::modal::{Confirm, Modal, TextPurpose};
use crate::tui::state::panel::{self, Panel};
use crate::tui::state::queue::Step;
use crate::tui::state::update::problem_text;
use crate::tui::state::{dialogs, submit};

/// A row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    /// A rule.
    Rule(RuleId),
    /// A permission for a shape.
    Grant(ApprovalId),
}

/// What a text of this screen is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleText {
    /// A new rule as JSON.
    Add,
    /// A rule as JSON.
    Edit(RuleId, u64),
    /// `TOOL CHANNEL {arguments}`.
    Test,
}

/// What the screen knows.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RulesPanel {
    /// Rules; none = not answered yet.
    pub rules: Option<Vec<Rule>>,
    /// Permissions for shapes; none = not answered yet.
    pub grants: Option<Vec<Grant>>,
    /// Rows in display order.
    pub order: Vec<Key>,
    /// What is selected.
    pub selected: Option<Key>,
    /// Whether the detail fills the screen.
    pub zoomed: bool,
    /// Lines the detail is scrolled down.
    pub scroll: usize,
    /// What the selected rule matches of the last week.
    pub matches: Option<(RuleId, Result<RuleMatches, String>)>,
    /// What the last test said.
    pub test: Option<Result<RuleTest, String>>,
    /// Why a list could not be read.
    pub problem: Option<String>,
}

impl RulesPanel {
    /// The screen was opened: nothing is selected.
    pub fn opens(&mut self) {
        self.select(None);
        self.test = None;
        self.regroup();
    }

    /// Selects a row, or none.
    pub fn select(&mut self, key: Option<Key>) {
        if self.selected != key {
            self.scroll = 0;
        }
        if key.is_none() {
            self.zoomed = false;
        }
        self.selected = key;
    }

    fn regroup(&mut self) {
        let rules = self.rules.iter().flatten().map(|rule| Key::Rule(rule.id));
        let grants = self.grants.iter().flatten().map(|one| Key::Grant(one.id));
        let all: Vec<Key> = rules.chain(grants).collect();
        if self.selected.is_none_or(|key| !all.contains(&key)) {
            self.select(None);
            self.order = all;
            return;
        }
        self.order.retain(|key| all.contains(key));
        for key in all {
            if !self.order.contains(&key) {
                self.order.push(key);
            }
        }
    }

    /// A rule by id.
    pub fn rule(&self, id: RuleId) -> Option<&Rule> {
        self.rules.iter().flatten().find(|rule| rule.id == id)
    }

    /// A permission by id.
    pub fn grant(&self, id: ApprovalId) -> Option<&Grant> {
        self.grants.iter().flatten().find(|one| one.id == id)
    }

    fn selected_rule(&self) -> Option<&Rule> {
        match self.selected? {
            Key::Rule(id) => self.rule(id),
            Key::Grant(_) => None,
        }
    }
}

/// Its table.
pub const PANEL: Panel = Panel {
    ask,
    answered,
    concerns,
    moved,
    page,
    open,
    back,
    perform,
    copied,
    session,
    continuation,
    channel,
    hints,
};

fn ask(state: &State) -> Vec<Query> {
    let mut queries = vec![
        Query::ListRules(ListRules {}),
        Query::ListGrants(ListGrants {}),
    ];
    queries.extend(matches_of(state));
    queries
}

/// What the selected rule matches.
fn matches_of(state: &State) -> Option<Query> {
    let rule = state.rules.selected_rule()?;
    Some(Query::GetRuleMatches(GetRuleMatches {
        id: Some(rule.id),
        rule: Box::default(),
    }))
}

fn answered(state: &mut State, query: &Query, result: Result<&Answer, &Problem>) {
    let panel = &mut state.rules;
    match (query, result) {
        (Query::ListRules(_), Ok(Answer::ListRules(page))) => {
            panel.rules = Some(page.items.clone());
            panel.problem = None;
        }
        (Query::ListGrants(_), Ok(Answer::ListGrants(page))) => {
            panel.grants = Some(page.items.clone());
        }
        (Query::ListRules(_) | Query::ListGrants(_), Err(problem)) => {
            panel.problem = Some(problem_text(problem));
        }
        (Query::GetRuleMatches(GetRuleMatches { id: Some(id), .. }), result) => {
            let found = match result {
                Ok(Answer::GetRuleMatches(found)) => Ok(found.clone()),
                Ok(_) => return,
                Err(problem) => Err(problem_text(problem)),
            };
            panel.matches = Some((*id, found));
        }
        (Query::TestRules(_), result) => {
            panel.test = match result {
                Ok(Answer::TestRules(test)) => Some(Ok(test.clone())),
                Ok(_) => return,
                Err(problem) => Some(Err(problem_text(problem))),
            };
        }
        _ => {}
    }
    panel.regroup();
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

fn moved(state: &mut State, step: Step) {
    let panel = &mut state.rules;
    if panel.zoomed {
        panel.scroll = match step {
            Step::Down => panel.scroll.saturating_add(1),
            Step::Up => panel.scroll.saturating_sub(1),
            Step::Top => 0,
            Step::Bottom => usize::MAX / 2,
        };
        return;
    }
    let last = panel.order.len().saturating_sub(1);
    let at = panel
        .selected
        .and_then(|key| panel.order.iter().position(|known| *known == key));
    let index = match (step, at) {
        (Step::Down, Some(at)) => (at + 1).min(last),
        (Step::Up, Some(at)) => at.saturating_sub(1),
        (Step::Down | Step::Top, _) => 0,
        (Step::Up | Step::Bottom, _) => last,
    };
    let target = panel.order.get(index).copied();
    panel.select(target);
}

fn page(state: &mut State, lines: i64) {
    for _ in 0..lines.unsigned_abs() {
        moved(state, if lines > 0 { Step::Down } else { Step::Up });
    }
}

fn open(state: &mut State) -> Vec<Effect> {
    let panel = &mut state.rules;
    panel.zoomed = panel.selected.is_some() && !panel.zoomed;
    if panel.selected.is_none() {
        state.flash(Tone::Warning, "open: nothing is selected");
    }
    Vec::new()
}

fn back(state: &mut State) -> bool {
    let panel = &mut state.rules;
    if panel.zoomed {
        panel.zoomed = false;
    } else if panel.test.is_some() {
        panel.test = None;
    } else if panel.selected.is_some() {
        panel.select(None);
        panel.regroup();
    } else {
        return false;
    }
    true
}

fn perform(state: &mut State, action: Action) -> Option<Vec<Effect>> {
    let before = state.rules.selected;
    let half = i64::from((state.size.1 / 2).max(2)) - 1;
    match action {
        Action::MoveDown => moved(state, Step::Down),
        Action::MoveUp => moved(state, Step::Up),
        Action::MoveTop => moved(state, Step::Top),
        Action::MoveBottom => moved(state, Step::Bottom),
        Action::PageDown => page(state, half),
        Action::PageUp => page(state, -half),
        Action::NextPane => return Some(open(state)),
        Action::RuleAdd => return Some(text(state, RuleText::Add)),
        Action::RuleTest => return Some(text(state, RuleText::Test)),
        Action::RuleEdit => {
            let rule = state.rules.selected_rule();
            return Some(match rule.map(|rule| (rule.id, rule.version)) {
                Some((id, version)) => text(state, RuleText::Edit(id, version)),
                None => no_rule(state, action),
            });
        }
        Action::RuleToggle => return Some(toggle(state)),
        Action::RuleRemove => return Some(remove(state)),
        _ => return None,
    }
    if state.rules.selected == before {
        return Some(Vec::new());
    }
    let query = matches_of(state).filter(|query| !state.asking.awaits(query));
    Some(
        query
            .map(|query| panel::ask(state, Screen::Rules, query))
            .into_iter()
            .collect(),
    )
}

fn no_rule(state: &mut State, action: Action) -> Vec<Effect> {
    state.flash(
        Tone::Warning,
        format!("{}: no rule is selected", action.short()),
    );
    Vec::new()
}

fn text(state: &mut State, purpose: RuleText) -> Vec<Effect> {
    if purpose != RuleText::Test
        && let Some(why) = submit::blocked(state)
    {
        state.flash(Tone::Warning, format!("not sent: {why}"));
        return Vec::new();
    }
    dialogs::open_text(state, TextPurpose::Rule(purpose))
}

/// Asks first; Cancel is focused.
fn confirm(
    state: &mut State,
    title: &str,
    label: &'static str,
    line: String,
    command: Command,
) -> Vec<Effect> {
    if let Some(why) = submit::blocked(state) {
        state.flash(Tone::Warning, format!("not sent: {why}"));
        return Vec::new();
    }
    state.modals.push(Modal::Confirm(Confirm {
        title: title.to_owned(),
        lines: vec![line],
        label,
        command,
        bound: None,
        chosen: 0,
    }));
    Vec::new()
}

/// What takes a permission away is done at once; what gives one is asked first.
fn toggle(state: &mut State) -> Vec<Effect> {
    let Some(rule) = state.rules.selected_rule().cloned() else {
        return no_rule(state, Action::RuleToggle);
    };
    let command = Command::ChangeRule(ChangeRule {
        id: rule.id,
        patch: Box::new(RulePatch {
            enabled: Some(!rule.enabled),
            if_version: Some(rule.version),
            ..RulePatch::default()
        }),
    });
    let gives = rule.enabled != (rule.verdict == VerdictWord::Allow);
    if gives {
        return confirm(state, "Let calls run?", "Do it", rule.in_words(), command);
    }
    submit::submit(state, command)
}

fn remove(state: &mut State) -> Vec<Effect> {
    match state.rules.selected {
        Some(Key::Rule(id)) => {
            let line = state.rules.rule(id).map(Rule::in_words);
            let command = Command::RemoveRule(RemoveRule { id });
            confirm(
                state,
                "Remove this rule?",
                "Remove",
                line.unwrap_or_default(),
                command,
            )
        }
        Some(Key::Grant(id)) => {
            let grant = state.rules.grant(id);
            let line = grant.map(|one| format!("{} {}", one.tool, one.preview));
            let command = Command::RemoveGrant(RemoveGrant { id });
            confirm(
                state,
                "Take this permission back?",
                "Take back",
                line.unwrap_or_default(),
                command,
            )
        }
        None => no_rule(state, Action::RuleRemove),
    }
}

/// What a text starts with.
pub fn start(state: &State, purpose: RuleText) -> String {
    let patch = match purpose {
        RuleText::Test => return String::new(),
        RuleText::Add => RulePatch {
            tool: Some("execute_command".to_owned()),
            matcher: Some(RuleMatcher::Prefix),
            value: Some(String::new()),
            verdict: Some(VerdictWord::Allow),
            expires_in_seconds: Some(8 * 3600),
            max_uses: Some(0),
            ..RulePatch::default()
        },
        RuleText::Edit(id, _) => match state.rules.rule(id) {
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
            let query = Query::TestRules(TestRules {
                tool: tool.to_owned(),
                args,
                channel: channel.to_owned(),
                session_id: None,
            });
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
    let panel = &state.rules;
    match (panel.selected?, all) {
        (Key::Rule(id), false) => Some(id.to_string()),
        (Key::Grant(id), false) => Some(id.to_string()),
        (Key::Rule(id), true) => serde_json::to_string_pretty(panel.rule(id)?).ok(),
        (Key::Grant(id), true) => serde_json::to_string_pretty(panel.grant(id)?).ok(),
    }
}

fn session(state: &State) -> Option<SessionId> {
    let panel = &state.rules;
    match panel.selected? {
        Key::Rule(id) => panel.rule(id)?.session_id,
        Key::Grant(id) => Some(panel.grant(id)?.session_id),
    }
}

fn continuation(_state: &State) -> Option<ContinuationId> {
    None
}

fn channel(state: &State) -> Option<String> {
    let panel = &state.rules;
    match panel.selected? {
        Key::Rule(id) => panel.rule(id)?.channel.clone(),
        Key::Grant(id) => Some(panel.grant(id)?.channel.clone()),
    }
}

fn hints(state: &State) -> Vec<Action> {
    match state.rules.selected {
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
