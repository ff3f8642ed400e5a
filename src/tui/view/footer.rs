//! The last two lines: the notice, and the keys that work now.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::console::item::ItemKey;
use crate::console::model::Tone;
use crate::protocol::enums::Access;
use crate::tui::action::Action;
use crate::tui::keymap::context::Context;
use crate::tui::sanitize;
use crate::tui::state::app::State;
use crate::tui::state::modal::{About, Modal};
use crate::tui::state::panel::ScreenKind;
use crate::tui::state::text_dialog::{Below, Enter, TextPurpose};
use crate::tui::state::text_field::Lines;
use crate::tui::state::{decide, disabled_reason, offering, panels};
use crate::tui::theme::roles::{Role, Theme};
use crate::tui::view::paint::{self, span};

pub fn notice(state: &State, theme: &Theme, area: Rect, buf: &mut Buffer) {
    if let Some(toast) = &state.toast {
        let role = match toast.tone {
            Tone::Info => Role::NoticeInfo,
            Tone::Warning => Role::NoticeWarning,
            Tone::Error => Role::NoticeError,
        };
        let text = sanitize::line(&toast.text, usize::from(area.width).saturating_sub(2));
        paint::line(
            buf,
            area,
            0,
            &Line::from(vec![Span::raw(" "), span(theme, role, text)]),
        );
    } else if let Some(why) = disabled_because(state) {
        let text = sanitize::line(&why, usize::from(area.width).saturating_sub(2));
        let line = Line::from(vec![Span::raw(" "), span(theme, Role::TextMuted, text)]);
        paint::line(buf, area, 0, &line);
    }
}

/// Why keys of the card do not count now, each reason once.
fn disabled_because(state: &State) -> Option<String> {
    if !state.modals.is_empty() {
        return None;
    }
    let mut reasons: Vec<String> = Vec::new();
    for reason in hints(state, state.context())
        .into_iter()
        .filter_map(|hint| hint.disabled)
    {
        if !reasons.contains(&reason) {
            reasons.push(reason);
        }
    }
    (!reasons.is_empty()).then(|| reasons.join("; "))
}

/// A key that is listed: its action, and why it does not work now.
struct Hint {
    action: Action,
    disabled: Option<String>,
}

pub fn keys(state: &State, theme: &Theme, area: Rect, buf: &mut Buffer) {
    buf.set_style(area, theme.style(Role::Footer));
    let context = state.context();
    let hints = hints(state, context);
    let room = usize::from(area.width);
    let mut texts: Vec<(&Hint, String, usize)> = hints
        .iter()
        .filter_map(|hint| {
            let key = state.keymap.key_of(context, hint.action);
            let key = key.or_else(|| state.keymap.key_of(Context::Global, hint.action))?;
            let width = sanitize::width(&key) + 1 + hint.action.short().len() + 2;
            Some((hint, key, width))
        })
        .collect();
    // The keys that are pinned take their room first; the others share what is left, in their order.
    let pinned = texts.iter().filter(|(hint, _, _)| is_pinned(hint.action));
    let mut left = room.saturating_sub(1 + pinned.map(|(_, _, width)| width).sum::<usize>());
    texts.retain(|(hint, _, width)| {
        let fits = is_pinned(hint.action) || *width <= left;
        if fits && !is_pinned(hint.action) {
            left -= width;
        }
        fits
    });
    let mut spans = vec![Span::raw(" ")];
    for (hint, key, _) in texts {
        let (key_role, text_role) = if hint.disabled.is_some() {
            (Role::FooterDisabled, Role::FooterDisabled)
        } else {
            (Role::FooterKey, Role::Footer)
        };
        spans.push(span(theme, key_role, key));
        let text = format!(" {}  ", hint.action.short());
        spans.push(span(theme, text_role, text));
    }
    paint::line(buf, area, 0, &Line::from(spans));
}

/// Whether a key stands in the footer however narrow it is.
const fn is_pinned(action: Action) -> bool {
    matches!(action, Action::Help | Action::EmergencyStop)
}

fn hints(state: &State, context: Context) -> Vec<Hint> {
    let plain = |actions: &[Action]| {
        actions
            .iter()
            .map(|action| Hint {
                action: *action,
                disabled: disabled_reason::scope(*action)
                    .and_then(|scope| state.model.lacks(scope)),
            })
            .collect::<Vec<_>>()
    };
    match state.modals.last() {
        Some(Modal::Text(entry)) => {
            let mut actions = match entry.purpose.enter() {
                Enter::Finishes | Enter::Sends => vec![Action::TextEnter],
                Enter::Breaks => vec![Action::TextSubmit],
            };
            actions.push(Action::TextCancel);
            if entry.purpose.below() == Below::Choices {
                actions.push(Action::TextComplete);
            }
            if entry.purpose == TextPurpose::CommandLine {
                actions.push(Action::TextUp);
            }
            if entry.field.kind() == Lines::Many && state.has_editor {
                actions.push(Action::TextEditor);
            }
            return plain(&actions);
        }
        Some(Modal::Help(_)) => {
            return plain(&[
                Action::TextUp,
                Action::TextDown,
                Action::TextEnter,
                Action::TextCancel,
            ]);
        }
        Some(Modal::Models(_)) => {
            return plain(&[
                Action::DialogNext,
                Action::DialogAccept,
                Action::DialogFilter,
                Action::DialogDiscover,
                Action::DialogCancel,
            ]);
        }
        Some(Modal::AutonomySelector(_) | Modal::Tools(_)) => {
            return plain(&[
                Action::DialogNext,
                Action::DialogLonger,
                Action::DialogShorter,
                Action::DialogPageDown,
                Action::DialogAccept,
                Action::DialogCancel,
            ]);
        }
        Some(Modal::Why(_) | Modal::Summary(_)) => {
            return plain(&[
                Action::DialogNext,
                Action::DialogPageDown,
                Action::DialogCancel,
            ]);
        }
        Some(Modal::Deciding(dialog)) => {
            return plain(match dialog.about {
                About::Shape(_) => &[
                    Action::DialogAgain,
                    Action::DialogCancel,
                    Action::DialogLonger,
                    Action::DialogShorter,
                    Action::DialogPageDown,
                ],
                About::Batch(ref batch) if batch.is_again(Action::DialogApprove) => &[
                    Action::DialogApprove,
                    Action::DialogNext,
                    Action::DialogAccept,
                    Action::DialogPageDown,
                    Action::DialogCancel,
                ],
                About::Batch(ref batch) if batch.is_again(Action::DialogAgain) => &[
                    Action::DialogAgain,
                    Action::DialogNext,
                    Action::DialogAccept,
                    Action::DialogCancel,
                    Action::DialogLonger,
                    Action::DialogShorter,
                    Action::DialogPageDown,
                ],
                About::Rule(_) => &[
                    Action::DialogNext,
                    Action::DialogAccept,
                    Action::DialogCancel,
                    Action::DialogLonger,
                    Action::DialogShorter,
                    Action::DialogPageDown,
                ],
                About::Batch(_) => &[
                    Action::DialogNext,
                    Action::DialogAccept,
                    Action::DialogPageDown,
                    Action::DialogCancel,
                ],
            });
        }
        Some(Modal::Quit { .. } | Modal::Release(_) | Modal::Confirm(_) | Modal::Snooze { .. }) => {
            return plain(&[
                Action::DialogNext,
                Action::DialogAccept,
                Action::DialogCancel,
            ]);
        }
        None => {}
    }
    let mut hints = match panels::of(state.screen) {
        _ if state.replay.is_some() => plain(&[
            Action::ReplayPause,
            Action::ReplayForward,
            Action::ReplayBack,
            Action::ReplayFaster,
            Action::ReplaySlower,
            Action::ReplayLater,
            Action::ReplayEarlier,
            Action::Back,
        ]),
        ScreenKind::Queue => queue_hints(state),
        ScreenKind::Session if state.screens.session.session_id.is_none() => Vec::new(),
        ScreenKind::Session => plain(&[
            Action::Compose,
            Action::Search,
            Action::Fold,
            if state.screens.session.anchor.is_some() {
                Action::Follow
            } else {
                Action::Freeze
            },
            Action::Autonomy,
            Action::TakeOver,
            Action::CopyAll,
            Action::KillContinuation,
            Action::NextWaiting,
        ]),
        ScreenKind::List(panel) => plain(&(panel.hints)(state)),
    };
    hints.extend(plain(&[
        Action::Help,
        Action::CommandLine,
        Action::EmergencyStop,
        Action::Quit,
    ]));
    hints.retain(|hint| !state.keymap.keys_of(context, hint.action).is_empty());
    hints
}

/// Keys that work whatever else holds.
fn enabled(actions: &[Action]) -> Vec<Hint> {
    let hint = |action: &Action| Hint {
        action: *action,
        disabled: None,
    };
    actions.iter().map(hint).collect()
}

fn queue_hints(state: &State) -> Vec<Hint> {
    let Some(key) = state.model.selected() else {
        return enabled(&[
            Action::MoveDown,
            Action::MoveUp,
            Action::NextWaiting,
            Action::Filter,
            Action::GroupQueue,
        ]);
    };
    if !state.model.queue.marks.is_empty() {
        return enabled(&[
            Action::Mark,
            Action::Approve,
            Action::Deny,
            Action::DenyWithReason,
            Action::DenyAndStop,
            Action::Snooze,
            Action::AllowShape,
        ]);
    }
    let decision = |action: Action| Hint {
        action,
        disabled: decide::unavailable(state, action).or_else(|| {
            let refusal = decide::armed(state, action).err()?;
            Some(format!("not armed: {}", refusal.why()))
        }),
    };
    match key {
        ItemKey::Approval(id) => {
            let Some(approval) = state.model.world().approvals.get(id) else {
                return Vec::new();
            };
            let all = [
                Action::Approve,
                Action::Deny,
                Action::SettleHappened,
                Action::SettleAgain,
                Action::SettleGiveUp,
                Action::DenyWithReason,
                Action::EditArguments,
                Action::Rehearse,
                Action::AnswerInstead,
                Action::DenyAndStop,
                Action::Snooze,
                Action::AllowShape,
                Action::MakeRule,
            ];
            all.into_iter()
                .filter(|action| {
                    // Why a command is not rehearsed is said, not left out.
                    let tells = *action == Action::Rehearse && approval.access == Access::Exec;
                    tells || offering::offers(approval, *action).is_ok()
                })
                .map(decision)
                .chain(enabled(&[Action::NextWaiting, Action::Mark, Action::Open]))
                .collect()
        }
        ItemKey::Continuation(_) => enabled(&[
            Action::ResumeContinuation,
            Action::KillContinuation,
            Action::Open,
        ]),
        ItemKey::Delivery(_) => [
            Action::SettleHappened,
            Action::SettleAgain,
            Action::SettleGiveUp,
        ]
        .into_iter()
        .map(decision)
        .collect(),
        ItemKey::Leftovers(_) | ItemKey::RefusedCalls(_) => {
            [Action::Dismiss].into_iter().map(decision).collect()
        }
        ItemKey::Flood(_) => enabled(&[Action::ResumeContinuation, Action::Open]),
        ItemKey::Channel(_) => enabled(&[Action::PauseChannel]),
        ItemKey::Problem(_) => Vec::new(),
    }
}
