//! The lists of a channel with what would have happened under a change.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::protocol::policy::ToolListing;
use crate::tui::action::Action;
use crate::tui::keymap::context::Context;
use crate::tui::sanitize;
use crate::tui::state::app::State;
use crate::tui::state::tool_lists::ToolLists;
use crate::tui::theme::roles::{Role, Theme};
use crate::tui::view::autonomy_selector;
use crate::tui::view::paint::{self, span};

/// Rows of tools that are shown at once.
const TOOLS: usize = 8;
/// Columns of a tool's name.
const NAME: usize = 24;

const fn standing_role(standing: ToolListing) -> Role {
    match standing {
        ToolListing::RunsAlone => Role::NoticeWarning,
        ToolListing::Blocked | ToolListing::AlwaysAsks => Role::TextStrong,
        ToolListing::Level => Role::TextMuted,
    }
}

pub fn draw(state: &State, theme: &Theme, lists: &ToolLists, area: Rect, buf: &mut Buffer) {
    let Some(channel) = state.model.world().channels.get(&lists.channel) else {
        return;
    };
    let policy = &channel.policy;
    let title = format!("Tools of {}", lists.channel);
    let inner = paint::padded(paint::popup(buf, area, theme, &title, 78, 22));
    let first = lists.selected.saturating_sub(TOOLS - 1);
    let rows = lists.tools.iter().enumerate().skip(first).take(TOOLS);
    let mut at = 0;
    for (index, tool) in rows {
        let selected = index == lists.selected;
        let now = policy.standing(tool);
        let mut spans = vec![
            span(theme, Role::Text, sanitize::column(tool, NAME)),
            span(theme, standing_role(now), now.text()),
        ];
        if selected && lists.chosen != now {
            spans.push(span(theme, Role::TextMuted, " -> "));
            let role = standing_role(lists.chosen);
            spans.push(span(theme, role, lists.chosen.text()));
        }
        paint::choice(buf, inner, at, theme, selected, spans);
        at += 1;
    }
    let key = |action| {
        let keys = state.keymap.keys_of(Context::Dialog, action);
        keys.first().cloned().unwrap_or_default()
    };
    let hint = format!(
        "{} lets it do more, {} less; {} takes the choice. Level: {}",
        key(Action::DialogLonger),
        key(Action::DialogShorter),
        key(Action::DialogAccept),
        policy.autonomy
    );
    paint::text(buf, inner, at, theme, Role::TextMuted, &hint);
    at += 2;
    let confirm_rows = if lists.confirming.is_some() { 3 } else { 0 };
    let place = Rect {
        y: inner.y.saturating_add(at),
        height: inner.height.saturating_sub(at + confirm_rows),
        ..inner
    };
    if lists.patch(policy).is_some() {
        let answer = lists.answer(policy);
        let calls = answer.and_then(|answer| answer.as_ref().ok());
        let calls = calls.into_iter().flat_map(|what_if| what_if.changed());
        autonomy_selector::what_if(state, theme, answer, calls.skip(lists.first), place, buf);
    }
    if let (Some(chosen), Some(tool)) = (lists.confirming, lists.tool()) {
        let text = format!(
            "{tool} on {}: {} -> {}?",
            lists.channel,
            policy.standing(tool).text(),
            lists.chosen.text()
        );
        let labels = ["Cancel", "Change"];
        autonomy_selector::confirm(theme, &text, &labels, chosen, inner, buf);
    }
}
