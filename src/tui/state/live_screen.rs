//! What Live lists, asks and does: every session and what it is doing. The peek needs the end of the transcript; the rest
//! comes with the snapshot and the events.

use std::collections::BTreeSet;

use crate::console::format;
use crate::console::world::SessionStatus;
use crate::protocol::enums::{ContinuationState, SessionState};
use crate::protocol::event::Event;
use crate::protocol::ids::{ContinuationId, SessionId};
use crate::protocol::problem::Problem;
use crate::protocol::request::{Answer, GetTranscript, Query};
use crate::protocol::session::Session;
use crate::tui::action::Action;
use crate::tui::message::Effect;
use crate::tui::state::app::State;
use crate::tui::state::list::Cell;
use crate::tui::state::panel::{self, ListScreen, Opening, Panel};
use crate::tui::state::screen::Screen;

/// Entries of a transcript that the peek asks for.
const ENTRIES: u32 = 12;

pub const PANEL: Panel = Panel {
    ask: |state| transcript_query(state).into_iter().collect(),
    answered,
    concerns,
    open,
    copied: |state, all| {
        let session = selected(state)?;
        panel::copied(session.id, Some(session), all)
    },
    session: |state| state.screens.live.selected,
    continuation,
    channel: |state| Some(selected(state)?.channel.clone()),
    hints: |_| {
        vec![
            Action::Open,
            Action::NextPane,
            Action::Compose,
            Action::NewSession,
            Action::Autonomy,
            Action::PauseSession,
            Action::TakeOver,
            Action::KillContinuation,
        ]
    },
    ..Panel::new(ListScreen {
        after_move,
        ..ListScreen::new(|state| &mut state.screens.live, |_| COLUMNS, arrange)
    })
};

pub fn selected(state: &State) -> Option<&Session> {
    let id = state.screens.live.selected?;
    state.model.world().sessions.get(&id)
}

fn transcript_query(state: &State) -> Option<Query> {
    Some(Query::GetTranscript(GetTranscript {
        session_id: state.screens.live.selected?,
        before: None,
        limit: Some(ENTRIES),
    }))
}

fn answered(state: &mut State, query: &Query, result: Result<&Answer, &Problem>) {
    if let Query::GetTranscript(GetTranscript { session_id, .. }) = query
        && let Some(page) = panel::reply::<GetTranscript>(result)
    {
        state.screens.transcript_end = Some((*session_id, page.map(|page| page.items)));
    }
}

fn concerns(event: &Event) -> bool {
    event.seq.is_some() && event.session_id.is_some()
}

/// What was said in the session that is selected now is asked for.
fn after_move(state: &mut State) -> Vec<Effect> {
    let known = state.screens.transcript_end.as_ref().map(|(id, _)| *id);
    let is_new = known != state.screens.live.selected && state.is_live();
    let query = transcript_query(state).filter(|_| is_new);
    panel::ask_more(state, Screen::Live, query)
}

pub const COLUMNS: &[&str] = &[
    "state",
    "channel",
    "who",
    "last line",
    "tools",
    "tokens",
    "cost",
    "age",
];

/// Sessions keep their places. Without a selection, those that wait for the operator go first.
pub fn arrange(state: &mut State, afresh: bool) {
    let world = state.model.world();
    let mut all = if afresh {
        Vec::new()
    } else {
        state.screens.live.order.clone()
    };
    all.retain(|id| world.sessions.contains_key(id));
    let mut listed: BTreeSet<SessionId> = all.iter().copied().collect();
    let new = world.sessions_by_change().into_iter().map(|one| one.id);
    let new = new.chain(world.sessions.keys().copied());
    all.extend(new.filter(|id| listed.insert(*id)));
    let waits = |id: &SessionId| {
        let session = world.sessions.get(id);
        session.is_some_and(|one| world.session_status(one) == SessionStatus::WaitingOnYou)
    };
    all.sort_by_cached_key(|id| !waits(id));
    panel::arrange(
        state,
        afresh,
        |state| &mut state.screens.live,
        all,
        |state, id| cells(state, *id),
    );
}

/// What a session waits for beside its tools, or its tools in flight: for one line.
pub fn in_flight(state: &State, session: &Session) -> String {
    let world = state.model.world();
    let Some(open) = &session.open_continuation else {
        return String::new();
    };
    match (world.retries.get(&open.id), world.waiting_for.get(&open.id)) {
        (Some(at), _) => {
            let left = at.millis_since(state.model.now.wall).div_ceil(1000);
            format!("retry in {left} s")
        }
        (None, Some(provider)) => format!("waits: {provider}"),
        (None, None) if open.state == ContinuationState::Pending => match open.waiting_files {
            0 => String::new(),
            1 => "1 file to come".to_owned(),
            files => format!("{files} files to come"),
        },
        (None, None) => open.tools_in_flight.join(" "),
    }
}

/// What the list shows of a session, in the order of its columns.
pub fn cells(state: &State, id: SessionId) -> Vec<Cell> {
    let world = state.model.world();
    let Some(session) = world.sessions.get(&id) else {
        return Vec::new();
    };
    let line = match (&session.title, &session.last_line) {
        // Direct chats are titled by their only person, who has a column already.
        (Some(title), Some(last)) if session.last_sender.as_ref() == Some(title) => last.clone(),
        (Some(title), Some(last)) => format!("{title}: {last}"),
        (Some(text), None) | (None, Some(text)) => text.clone(),
        (None, None) => String::new(),
    };
    let tokens = session.usage.input_tokens + session.usage.output_tokens;
    vec![
        Cell::new(status(state, session)),
        Cell::new(match &session.external {
            Some(external) => external.assurance(),
            None => &session.channel,
        }),
        Cell::new(session.last_sender.as_deref().unwrap_or("")),
        Cell::new(line),
        Cell::new(in_flight(state, session)),
        Cell::ranked(format::count(tokens), tokens as f64),
        Cell::ranked(
            format::money(session.usage.cost_usd),
            session.usage.cost_usd.unwrap_or(-1.0),
        ),
        Cell::ranked(
            format::age(state.model.now.wall, session.updated_at),
            -(session.updated_at.as_millis() as f64),
        ),
    ]
}

/// How a session stands, in a word or two.
pub fn status(state: &State, session: &Session) -> String {
    if session.state == SessionState::Active {
        state
            .model
            .world()
            .session_status(session)
            .as_str()
            .to_owned()
    } else {
        session.state.as_str().to_owned()
    }
}

fn open(state: &mut State) -> Opening {
    match state.screens.live.selected {
        Some(id) => Opening::Session(id, None),
        None => Opening::Here(state.nothing(Action::Open)),
    }
}

fn continuation(state: &State) -> Option<ContinuationId> {
    Some(selected(state)?.open_continuation.as_ref()?.id)
}
