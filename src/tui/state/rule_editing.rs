//! The rule editor of a card: what is asked for it, and what keys do in it.
//! The press that decides goes through `deciding`.

use crate::console::decision::{self, Bound};
use crate::protocol::approval::Approval;
use crate::protocol::duration;
use crate::protocol::enums::{RuleMatcher, RuleScope, VerdictKind};
use crate::protocol::problem::Problem;
use crate::protocol::request::{Answer, GetRuleMatches, Query};
use crate::tui::message::Effect;
use crate::tui::state::app::State;
use crate::tui::state::modal::{About, Deciding, Modal, TextPurpose};
use crate::tui::state::rule_editor::{Place, RuleEditor, compared, fields};
use crate::tui::state::{deciding, opening, panel, shape};

/// Opens the editor, with the narrowest rule that is not this call alone.
pub fn open(state: &mut State, bound: Bound, approval: Approval) -> Vec<Effect> {
    let verdict = match approval.rules_only_deny() {
        Some(_) => VerdictKind::Deny,
        None => VerdictKind::Allow,
    };
    let field = fields(&compared(&approval)).into_iter().next().flatten();
    let mut editor = RuleEditor {
        bound,
        approval: Box::new(approval),
        place: Place::Matcher,
        matcher: RuleMatcher::Exact,
        field,
        value: String::new(),
        scope: RuleScope::Channel,
        verdict,
        life: 1,
        until: None,
        uses: 0,
        found: None,
        refused: None,
        asked: None,
    };
    editor.suggest();
    deciding::open(state, About::Rule(editor));
    ask(state)
}

fn editor(state: &mut State) -> Option<&mut RuleEditor> {
    match &mut deciding::top(state)?.about {
        About::Rule(editor) => Some(editor),
        About::Shape(_) | About::Batch(_) => None,
    }
}

/// Asks what it would have matched, unless that is asked already.
fn ask(state: &mut State) -> Vec<Effect> {
    let Some(editor) = editor(state) else {
        return Vec::new();
    };
    let compared = Box::new(editor.compared());
    if editor.asked.as_ref() == Some(&compared) {
        return Vec::new();
    }
    editor.asked = Some(compared.clone());
    editor.found = None;
    let query = Query::GetRuleMatches(GetRuleMatches {
        id: None,
        rule: compared,
    });
    vec![Effect::Query(query)]
}

/// Takes what it would have matched; false when it was not asked from here.
pub fn answered(state: &mut State, query: &Query, result: Result<&Answer, &Problem>) -> bool {
    let Query::GetRuleMatches(GetRuleMatches { id: None, rule }) = query else {
        return false;
    };
    for modal in &mut state.modals {
        if let Modal::Deciding(dialog) = modal
            && let Deciding {
                about: About::Rule(editor),
                exposure,
            } = dialog.as_mut()
        {
            if editor.asked.as_ref() == Some(rule) {
                let other = || Err("an answer to something else".to_owned());
                let found = panel::reply::<GetRuleMatches>(result).unwrap_or_else(other);
                editor.found = Some(found.map(Box::new));
                exposure.changed();
            }
            return true;
        }
    }
    false
}

/// The chosen line was taken.
pub fn press(state: &mut State) -> Vec<Effect> {
    let now = state.model.now.wall;
    let Some(editor) = editor(state) else {
        return Vec::new();
    };
    match editor.place {
        Place::Cancel => {
            state.modals.pop();
            Vec::new()
        }
        Place::Value => {
            let value = editor.value.clone();
            opening::open_begun(state, TextPurpose::RuleValue, &value)
        }
        Place::Life if editor.life_is_last() => {
            opening::open_begun(state, TextPurpose::RuleLife, "")
        }
        Place::Make => {
            let mut request = decision::request(&editor.bound, editor.decision());
            request.rule = Some(Box::new(editor.rule(now)));
            let bound = editor.bound.clone();
            deciding::send(state, &bound, request)
        }
        Place::Matcher
        | Place::Field
        | Place::Scope
        | Place::Verdict
        | Place::Life
        | Place::Uses => {
            editor.refused = None;
            editor.next_choice();
            deciding::changed(state);
            ask(state)
        }
    }
}

/// Until when it holds was written. The error says what was expected.
pub fn life_written(state: &mut State, text: &str) -> Result<(), String> {
    let at = duration::ahead(text, state.model.now.wall)
        .ok_or_else(|| format!("expected {}", shape::EXPECTED))?;
    state.modals.pop();
    if let Some(editor) = editor(state) {
        editor.refused = None;
        editor.until = Some(at);
    }
    deciding::changed(state);
    Ok(())
}

/// The value was written: the field closes and what it would match is asked.
pub fn written(state: &mut State, text: String) -> Vec<Effect> {
    state.modals.pop();
    let Some(editor) = editor(state) else {
        return Vec::new();
    };
    editor.refused = None;
    editor.value = text;
    deciding::changed(state);
    ask(state)
}
