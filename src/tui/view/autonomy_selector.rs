//! The autonomy selector with what would have happened under another level.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

use crate::console::format;
use crate::protocol::enums::{Autonomy, VerdictKind};
use crate::protocol::policy::{Policy, WhatIf, WhatIfCall};
use crate::tui::action::Action;
use crate::tui::keymap::context::Context;
use crate::tui::sanitize;
use crate::tui::state::app::State;
use crate::tui::state::autonomy_selector::AutonomySelector;
use crate::tui::theme::roles::{Role, Theme};
use crate::tui::view::channels::autonomy_role;
use crate::tui::view::paint::{self, span};

/// What a level means, in a few words, with the taint guard in `full` or without.
pub const fn meaning(level: Autonomy, taint_guard_in_full: bool) -> &'static str {
    match level {
        Autonomy::Supervised => "everything not auto-approved asks",
        Autonomy::SemiAuto => "local reads run, the rest asks",
        Autonomy::Full if !taint_guard_in_full => "all but blocked, always-ask run; no taint guard",
        Autonomy::Full => "all but blocked, always-ask, tainted run",
    }
}

/// How long, in words: `15 minutes`, `an hour`, `4 hours`.
fn span_words(seconds: u64) -> String {
    match seconds / 60 {
        60 => "an hour".to_owned(),
        minutes @ 0..=59 => format!("{minutes} minutes"),
        minutes => format!("{} hours", minutes / 60),
    }
}

/// How long a level holds: `for an hour`, `until it is changed`.
pub fn lasting(seconds: Option<u64>) -> String {
    seconds.map_or_else(
        || "until it is changed".to_owned(),
        |seconds| format!("for {}", span_words(seconds)),
    )
}

/// How long the chosen level holds, and with which keys that is changed.
fn holds(state: &State, selector: &AutonomySelector, policy: &Policy) -> String {
    let now = match (policy.expires_at, policy.reverts_to) {
        (Some(at), Some(level)) if selector.chosen == policy.autonomy => {
            format!(
                "{} left, then {level}. ",
                format::left(state.model.now.wall, at)
            )
        }
        _ => String::new(),
    };
    if !selector.raises(policy) {
        return format!("{now}Holds until it is changed.");
    }
    let key = |action| {
        let keys = state.keymap.keys_of(Context::Dialog, action);
        keys.first().cloned().unwrap_or_default()
    };
    let keys = format!(
        "{} longer, {} shorter",
        key(Action::DialogLonger),
        key(Action::DialogShorter)
    );
    match selector.seconds(policy) {
        Some(seconds) => format!(
            "{now}Holds for {}, then it ends by itself ({keys}).",
            span_words(seconds)
        ),
        None => format!("{now}Holds until it is changed ({keys})."),
    }
}

pub fn draw(
    state: &State,
    theme: &Theme,
    selector: &AutonomySelector,
    area: Rect,
    buf: &mut Buffer,
) {
    let Some(channel) = state.model.world().channels.get(&selector.channel) else {
        return;
    };
    // As high as the longest answer so far needs, with room for the question before raising.
    let calls = selector
        .answers
        .values()
        .filter_map(|answer| answer.as_ref().ok())
        .map(|what_if| what_if.calls.len())
        .max()
        .unwrap_or(0);
    let height = paint::cells(calls).saturating_add(12).min(22);
    let title = format!("Autonomy of {}", selector.channel);
    let inner = paint::padded(paint::popup(buf, area, theme, &title, 78, height));
    let width = usize::from(inner.width);
    let mut at = 0;
    for level in Autonomy::ALL {
        let now = if *level == channel.policy.autonomy {
            " (now)"
        } else {
            ""
        };
        let text = meaning(*level, channel.taint_guard_in_full);
        let name = sanitize::column(&format!("{level}{now}"), 18);
        let text = sanitize::line(text, width.saturating_sub(20));
        let spans = vec![
            span(theme, autonomy_role(*level), name),
            span(theme, Role::Text, text),
        ];
        paint::choice(buf, inner, at, theme, *level == selector.chosen, spans);
        at += 1;
    }
    let holds = holds(state, selector, &channel.policy);
    paint::text(buf, inner, at, theme, Role::TextMuted, &holds);
    at += 2;
    let confirm_rows = if selector.confirming.is_some() { 3 } else { 0 };
    let place = Rect {
        y: inner.y.saturating_add(at),
        height: inner.height.saturating_sub(at + confirm_rows),
        ..inner
    };
    let answer = selector.answers.get(&selector.chosen);
    let calls = answer.and_then(|answer| answer.as_ref().ok());
    let calls = calls.into_iter().flat_map(|what_if| &what_if.calls);
    what_if(state, theme, answer, calls.skip(selector.first), place, buf);
    if let Some(chosen) = selector.confirming {
        let text = format!(
            "Raise {} from {} to {} {}?",
            selector.channel,
            channel.policy.autonomy,
            selector.chosen,
            lasting(selector.seconds(&channel.policy))
        );
        confirm(theme, &text, &["Cancel", "Raise"], chosen, inner, buf);
    }
}

/// The question before more is let run, in the last rows.
pub fn confirm(
    theme: &Theme,
    text: &str,
    labels: &[&str],
    chosen: usize,
    inner: Rect,
    buf: &mut Buffer,
) {
    let from = inner.height.saturating_sub(2);
    paint::text(buf, inner, from, theme, Role::NoticeWarning, text);
    let buttons = paint::buttons(theme, labels, chosen);
    paint::line(buf, inner, from + 1, &buttons);
}

/// Draws what would have happened, and to which calls.
pub fn what_if<'a>(
    state: &State,
    theme: &Theme,
    answer: Option<&Result<WhatIf, String>>,
    calls: impl Iterator<Item = &'a WhatIfCall>,
    inner: Rect,
    buf: &mut Buffer,
) {
    let width = usize::from(inner.width);
    let (role, text) = match answer {
        None => (
            Role::TextMuted,
            "asking what would have happened …".to_owned(),
        ),
        Some(Err(problem)) => (Role::NoticeError, problem.clone()),
        Some(Ok(what_if)) if what_if.considered == 0 => (
            Role::TextStrong,
            "this would have changed no call on this channel yet".to_owned(),
        ),
        Some(Ok(what_if)) if what_if.newly_unattended > 0 => (
            Role::NoticeWarning,
            format!(
                "{} of the last {} calls would have run without you; {} of them asked then",
                what_if.would_run, what_if.considered, what_if.newly_unattended
            ),
        ),
        Some(Ok(what_if)) => (
            Role::TextStrong,
            format!(
                "{} of the last {} calls would have run without you",
                what_if.would_run, what_if.considered
            ),
        ),
    };
    let mut at = 0;
    for piece in sanitize::block(&text, width) {
        if at < inner.height {
            paint::put(buf, inner, at, theme, role, &piece);
        }
        at += 1;
    }
    for call in calls {
        if at >= inner.height {
            break;
        }
        let changed = call.was != call.would_be.decision;
        let verdict = format!("{} -> {}", call.was, call.would_be.decision);
        let verdict_role = match call.would_be.decision {
            VerdictKind::Allow if changed => Role::NoticeWarning,
            VerdictKind::Allow | VerdictKind::Ask | VerdictKind::Deny => Role::TextMuted,
        };
        let risk = sanitize::column(call.risk.as_str(), 9);
        let what = format!("{} {}", call.tool, call.preview);
        let what = sanitize::column(&what, width.saturating_sub(30));
        let age = format!(" {}", format::age(state.model.now.wall, call.at));
        let line = Line::from(vec![
            span(theme, verdict_role, sanitize::column(&verdict, 15)),
            span(theme, paint::risk_role(call.risk), risk),
            span(theme, Role::Outside, what),
            span(theme, Role::TextMuted, age),
        ]);
        paint::line(buf, inner, at, &line);
        at += 1;
    }
}
