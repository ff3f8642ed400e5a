//! Moving, opening and going back. Nothing here decides.

use crate::console::item::{self, ItemKey, QueueKey};
use crate::console::model::Tone;
use crate::console::queue::{Keep, Step};
use crate::protocol::ids::SessionId;
use crate::tui::action::Action;
use crate::tui::message::Effect;
use crate::tui::state::app::State;
use crate::tui::state::background_search::SearchTarget;
use crate::tui::state::going::{go, open_session, open_session_at, stays_in_replay};
use crate::tui::state::jump_target::JumpTarget;
use crate::tui::state::panel::{Opening, ScreenKind};
use crate::tui::state::screen::Screen;
use crate::tui::state::selection::{focused_channel, focused_session, session_of};
use crate::tui::state::{audit_screen, lists, panels};

/// Moves the selection or scrolls the open card.
pub fn moved(state: &mut State, step: Step) -> Vec<Effect> {
    match panels::of(state.screen) {
        ScreenKind::Queue => {
            if state.model.queue.zoomed {
                match step {
                    Step::Down => state.model.queue.scroll_card(1),
                    Step::Up => state.model.queue.scroll_card(-1),
                    Step::Top => state.model.queue.card_scroll = 0,
                    Step::Bottom => state.model.queue.card_scroll = usize::MAX / 2,
                }
            } else {
                let before = state.model.queue.selected.clone();
                state.model.queue.select(step, state.model.now.steady);
                if before != state.model.queue.selected {
                    state.high = None;
                }
            }
        }
        ScreenKind::List(_) => return lists::step(state, step),
        ScreenKind::Session => {
            let report = state.screens.session.report;
            let inside = match step {
                Step::Down => report.is_some_and(|r| r.selected_below),
                Step::Up => report.is_some_and(|r| r.selected_above),
                Step::Top | Step::Bottom => false,
            };
            match step {
                Step::Bottom => state.screens.session.follow(),
                // A long entry is read line by line before the next one is selected.
                Step::Down if inside && state.screens.session.selected.is_some() => {
                    state.screens.session.scroll(1);
                }
                Step::Up if inside && state.screens.session.selected.is_some() => {
                    state.screens.session.scroll(-1);
                }
                Step::Top if state.screens.session.search_for_start() => {}
                Step::Down | Step::Up | Step::Top => state.screens.session.select(step),
            }
        }
    }
    Vec::new()
}

/// Half a page down (1) or up (-1).
pub fn page(state: &mut State, direction: i64) -> Vec<Effect> {
    let half = i64::from((state.size.1 / 2).max(2)) - 1;
    match panels::of(state.screen) {
        ScreenKind::Queue => {
            if state.model.queue.selected.is_some() {
                state.model.queue.scroll_card(direction * (half / 2).max(3));
            }
        }
        ScreenKind::Session => state.screens.session.scroll(direction * half),
        ScreenKind::List(_) => return lists::page(state, direction * half),
    }
    Vec::new()
}

/// Goes to the next item of the Queue that waits for a person. From another screen it goes to one of the session that
/// has the focus there, if any waits.
pub fn next_waiting(state: &mut State) -> Vec<Effect> {
    if stays_in_replay(state) {
        return Vec::new();
    }
    let session = match state.screen {
        Screen::Queue => None,
        _ => focused_session(state),
    };
    let effects = go(state, Screen::Queue);
    let Some(next) = waiting_of(state, session) else {
        let why = if state.model.queue.hidden.is_empty() {
            "nothing else waits for a person"
        } else {
            "only items that the filter hides wait for a person"
        };
        state.toast(Tone::Info, why);
        return effects;
    };
    state.high = None;
    // A card that fits is read at once.
    state.model.queue.zoomed |= state.cuts_cards();
    state.model.queue.pick(next);
    let now = state.model.now.steady;
    state.model.queue.prune(now, Keep::Selected);
    effects
}

/// What waits next in the list: of this session, if any of its items waits.
fn waiting_of(state: &State, session: Option<SessionId>) -> Option<QueueKey> {
    let hosts = &state.model.hosts;
    let is_its_own = |key: &QueueKey| {
        key.host == hosts.focused()
            && session.is_some()
            && session_of(state.model.world(), &key.item) == session
    };
    let waiting = || state.model.queue.waiting_next(hosts);
    let own = waiting().find(|key| is_its_own(key));
    own.or_else(|| waiting().next()).cloned()
}

/// Opens what is selected. Decides nothing.
pub fn open(state: &mut State) -> Vec<Effect> {
    match panels::of(state.screen) {
        ScreenKind::Queue => match state.model.queue.selected.clone() {
            None => state.nothing(Action::Open),
            Some(_) if !state.model.queue.zoomed => {
                state.model.queue.zoomed = true;
                Vec::new()
            }
            Some(key) => match (focused_session(state), place_of(state, &key.item)) {
                (Some(id), Some(place)) => open_session_at(state, id, place),
                (Some(id), None) => open_session(state, id),
                (None, _) => Vec::new(),
            },
        },
        ScreenKind::Session => fold(state),
        ScreenKind::List(panel) => match (panel.open)(state) {
            Opening::Here(effects) => effects,
            Opening::Detail => lists::open(state),
            Opening::Channel(name) => open_channel(state, name),
            Opening::Audit(actor) => open_audit_of(state, actor),
            Opening::Session(id, None) => open_session(state, id),
            Opening::Session(id, Some(place)) => open_session_at(state, id, place),
        },
    }
}

/// Shows the audit of an actor.
fn open_audit_of(state: &mut State, actor: String) -> Vec<Effect> {
    audit_screen::of_actor(state, actor);
    go(state, Screen::Audit)
}

/// Shows a channel of the host that has the focus, on Channels.
pub fn open_channel(state: &mut State, name: String) -> Vec<Effect> {
    let effects = go(state, Screen::Channels);
    state.screens.channels.select(Some(name));
    effects
}

/// Shows of the Queue what is of the channel that has the focus.
pub fn queue_of_channel(state: &mut State) -> Vec<Effect> {
    if stays_in_replay(state) {
        return Vec::new();
    }
    let Some(channel) = focused_channel(state) else {
        return state.nothing(Action::QueueOfChannel);
    };
    let effects = go(state, Screen::Queue);
    let filter = item::of_channel(&channel);
    state.model.queue.set_filter(&state.model.hosts, &filter);
    if state.model.queue.order.is_empty() {
        let text = format!("nothing of {channel} needs a person");
        state.toast(Tone::Info, text);
    }
    effects
}

/// Folds or unfolds the selected entry of the transcript.
pub fn fold(state: &mut State) -> Vec<Effect> {
    if let Some(position) = state.screens.session.selected
        && !state.screens.session.toggled.remove(&position)
    {
        state.screens.session.toggled.insert(position);
    }
    Vec::new()
}

/// Goes to the question that the selected turn waits for; it is answered on its card.
pub fn open_question(state: &mut State) -> Vec<Effect> {
    let Some(id) = state.screens.continuations.list.selected else {
        return state.warn("its question: nothing is selected");
    };
    let question = state
        .model
        .world()
        .pending()
        .find(|approval| approval.continuation_id == Some(id))
        .map(|approval| state.model.key(ItemKey::Approval(approval.id)));
    let Some(key) = question else {
        return state.warn("this turn has no open question");
    };
    let effects = go(state, Screen::Queue);
    if state.model.queue.order.contains(&key) {
        state.model.queue.pick(key);
        state.model.queue.zoomed = true;
    } else {
        state.toast(Tone::Warning, "its question is snoozed");
    }
    effects
}

/// Where the transcript of an item's session shows what the item is about.
fn place_of(state: &State, item: &ItemKey) -> Option<SearchTarget> {
    let world = state.model.world();
    match item {
        ItemKey::Approval(id) => {
            let approval = world.approvals.get(id)?;
            let call = approval.tool_call_id.map(SearchTarget::Call);
            call.or(approval.continuation_id.map(SearchTarget::Turn))
        }
        ItemKey::Continuation(id) => Some(SearchTarget::Turn(*id)),
        ItemKey::Delivery(id) => world
            .deliveries
            .get(id)?
            .continuation_id
            .map(SearchTarget::Turn),
        ItemKey::Leftovers(id) => Some(SearchTarget::Call(*id)),
        ItemKey::RefusedCalls(_)
        | ItemKey::Flood(_)
        | ItemKey::Channel(_)
        | ItemKey::Problem(_) => None,
    }
}

/// Closes what was opened last; false when nothing was left to close.
pub fn back(state: &mut State) -> bool {
    if state.high.take().is_some() {
        return true;
    }
    match panels::of(state.screen) {
        ScreenKind::Queue if state.model.queue.zoomed => state.model.queue.zoomed = false,
        ScreenKind::Queue if state.model.queue.selected.is_some() => {
            state.model.queue.selected = None;
        }
        ScreenKind::Queue if !state.model.queue.marks.is_empty() => state.model.queue.marks.clear(),
        ScreenKind::Queue if !state.model.queue.filter.is_empty() => {
            state.model.queue.set_filter(&state.model.hosts, "");
        }
        ScreenKind::Session if state.screens.session.background_search.is_some() => {
            state.screens.session.background_search = None;
        }
        ScreenKind::Session if state.screens.session.search.is_some() => {
            state.screens.session.search = None;
        }
        ScreenKind::Session if state.screens.session.selected.is_some() => {
            state.screens.session.selected = None;
        }
        ScreenKind::Queue | ScreenKind::Session => return false,
        ScreenKind::List(_) => return lists::back(state),
    }
    true
}

/// Goes to the next match of the search.
pub fn search(state: &mut State, forward: bool) -> Vec<Effect> {
    if state.screens.session.search.is_none() {
        return state.warn("no search: / starts one");
    }
    let words = state
        .screens
        .session
        .search
        .as_ref()
        .map(|s| s.query.clone());
    let words = SearchTarget::Words(words.unwrap_or_default());
    if !state.screens.session.next_match(forward) {
        look_further(state, words, forward);
    }
    Vec::new()
}

/// Looks beyond what is loaded, or says that there is nothing more.
fn look_further(state: &mut State, target: SearchTarget, forward: bool) {
    let way = if forward { "below" } else { "above" };
    let text = format!("no further {} {way}", target.words());
    if !state.screens.session.search_for(target, forward) {
        state.toast(Tone::Info, text);
    }
}

/// Goes to the next call that asked, or the next thing that failed.
pub fn jump(state: &mut State, jump_target: JumpTarget, forward: bool) -> Vec<Effect> {
    if state.screen != Screen::Session {
        return state.warn("only in the transcript of a session");
    }
    if !state.screens.session.next_landmark(jump_target, forward) {
        look_further(state, SearchTarget::JumpTarget(jump_target), forward);
    }
    Vec::new()
}
