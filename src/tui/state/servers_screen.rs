//! What Servers asks, lists and does. What it knows is in `servers`; nothing here is drawn.

use crate::client::server_lines::state_words;
use crate::console::format;
use crate::console::model::Tone;
use crate::protocol::event::{Event, EventBody};
use crate::protocol::mcp::{McpServer, McpServerReview};
use crate::protocol::problem::Problem;
use crate::protocol::request::{
    Answer, DistrustMcpServer, GetMcpServer, ListMcpServers, Query, StartMcpServer, StopMcpServer,
    TestMcpServer, TrustMcpServer,
};
use crate::tui::action::Action;
use crate::tui::message::Effect;
use crate::tui::sanitize;
use crate::tui::state::app::State;
use crate::tui::state::list::Cell;
use crate::tui::state::panel::{self, ListScreen, Panel, reply};
use crate::tui::state::screen::Screen;
use crate::tui::state::{opening, submit};

pub const PANEL: Panel = Panel {
    ask,
    answered,
    concerns,
    perform,
    copied,
    hints,
    ..Panel::new(ListScreen {
        after_move,
        ..ListScreen::new(
            |state| &mut state.screens.servers.list,
            |_| COLUMNS,
            arrange,
        )
    })
};

pub const COLUMNS: &[&str] = &[
    "name", "state", "tools", "review", "calls", "errors", "p50", "protocol", "place",
];

fn ask(state: &State) -> Vec<Query> {
    let list = Query::ListMcpServers(ListMcpServers {});
    std::iter::once(list).chain(reviewed(state)).collect()
}

/// What the selected one offers.
fn reviewed(state: &State) -> Option<Query> {
    let name = state.screens.servers.list.selected.clone()?;
    Some(Query::GetMcpServer(GetMcpServer { name }))
}

fn answered(state: &mut State, query: &Query, result: Result<&Answer, &Problem>) {
    let panel = &mut state.screens.servers;
    match query {
        Query::ListMcpServers(_) => {
            let page = reply::<ListMcpServers>(result);
            panel::take_list(page, &mut panel.servers, &mut panel.problem);
        }
        Query::GetMcpServer(GetMcpServer { name }) => {
            if let Some(found) = reply::<GetMcpServer>(result) {
                panel.review = Some((name.clone(), found));
            }
        }
        _ => {}
    }
}

/// A server that changed, and turns, whose calls are counted.
fn concerns(event: &Event) -> bool {
    matches!(event.body, EventBody::McpChanged { .. }) || event.continuation_id.is_some()
}

fn arrange(state: &mut State, afresh: bool) {
    let servers = state.screens.servers.servers.iter().flatten();
    let all = servers.map(|one| one.name.clone()).collect();
    panel::arrange(
        state,
        afresh,
        |state| &mut state.screens.servers.list,
        all,
        |state, name| cells(state, name),
    );
}

/// What the selected one offers is asked for.
fn after_move(state: &mut State) -> Vec<Effect> {
    let panel = &state.screens.servers;
    let known = panel.review.as_ref().map(|(name, _)| name);
    let query = reviewed(state).filter(|_| known != panel.list.selected.as_ref());
    panel::ask_more(state, Screen::Servers, query)
}

/// What the list shows of a row, in the order of its columns.
pub fn cells(state: &State, name: &str) -> Vec<Cell> {
    let Some(one) = state.screens.servers.server(name) else {
        return Vec::new();
    };
    let number = |count: u64| Cell::ranked(count.to_string(), count as f64);
    let median = one.p50_ms;
    vec![
        Cell::new(&one.name),
        Cell::new(state_words(one.state)),
        number(one.tools),
        number(one.quarantined),
        number(one.calls),
        number(one.errors),
        Cell::ranked(
            median.map_or_else(String::new, format::duration),
            median.map_or(-1.0, |ms| ms as f64),
        ),
        Cell::new(one.protocol_version.as_deref().unwrap_or_default()),
        Cell::new(sanitize::line(&one.place, 200)),
    ]
}

fn perform(state: &mut State, action: Action) -> Option<Vec<Effect>> {
    let name = match action {
        Action::ServerTest
        | Action::ServerTrust
        | Action::ServerDistrust
        | Action::ServerStart
        | Action::ServerStop => state.screens.servers.list.selected.clone(),
        _ => return None,
    };
    let Some(name) = name else {
        let text = format!("{}: no server is selected", action.short());
        return Some(state.warn(text));
    };
    if submit::refuses(state) {
        return Some(Vec::new());
    }
    Some(match action {
        Action::ServerTest => {
            state.toast(Tone::Info, "connecting the server …");
            submit::submit(state, TestMcpServer { name })
        }
        Action::ServerStart => submit::submit(state, StartMcpServer { name }),
        Action::ServerStop => {
            let lines = vec!["Calls of its tools fail until you start it again.".to_owned()];
            let title = format!("Stop {name}?");
            opening::ask_first(state, title, lines, "Stop", StopMcpServer { name })
        }
        Action::ServerDistrust => {
            let lines = vec!["Agents then get none of its tools.".to_owned()];
            let title = format!("Stop trusting {name}?");
            opening::ask_first(state, title, lines, "Distrust", DistrustMcpServer { name })
        }
        _ => trust(state, name),
    })
}

/// Asks first, for exactly what is on the screen.
fn trust(state: &mut State, name: String) -> Vec<Effect> {
    let refused = match state.screens.servers.review() {
        None => Err("what it offers is not known yet".to_owned()),
        Some(Err(why)) => Err(why.clone()),
        Some(Ok(review)) => to_trust(review).and_then(|(lines, sha256)| {
            if state.screens.servers.read.as_ref() == Some(&sha256) {
                Ok((lines, sha256))
            } else {
                Err("you have not seen all that it offers: scroll to the end (enter)".to_owned())
            }
        }),
    };
    match refused {
        Ok((lines, sha256)) => {
            let title = format!("Let agents call the tools of {name} as shown?");
            let command = TrustMcpServer {
                name,
                sha256,
                tools: None,
            };
            opening::ask_first(state, title, lines, "Trust", command)
        }
        Err(why) => state.warn(sanitize::line(&why, 200)),
    }
}

/// What a trust would be given for, and its digest; else why there is nothing to trust.
fn to_trust(review: &McpServerReview) -> Result<(Vec<String>, String), String> {
    let server = &review.server;
    let Some(sha256) = review.offered_sha256.clone() else {
        return Err(format!(
            "nobody has seen what {} offers: connect it first (t)",
            server.name
        ));
    };
    if server.quarantined == 0 && !server.identity_changed {
        return Err(format!("all that {} offers is trusted", server.name));
    }
    let mut lines = vec![changes(server)];
    if server.identity_changed {
        lines.push("It identifies itself as another server than before.".to_owned());
    }
    if !server.claims_count {
        lines.push("Its claims do not count: each call is of unknown class.".to_owned());
    }
    Ok((lines, sha256))
}

fn changes(server: &McpServer) -> String {
    match server.quarantined {
        1 => "1 tool is new, changed or gone.".to_owned(),
        many => format!("{many} tools are new, changed or gone."),
    }
}

fn copied(state: &State, all: bool) -> Option<String> {
    let panel = &state.screens.servers;
    if all {
        return match panel.review()? {
            Ok(review) => serde_json::to_string_pretty(review).ok(),
            Err(_) => None,
        };
    }
    panel.list.selected.clone()
}

fn hints(state: &State) -> Vec<Action> {
    match state.screens.servers.list.selected {
        Some(_) => vec![
            Action::Open,
            Action::ServerTrust,
            Action::ServerTest,
            Action::ServerStart,
            Action::ServerStop,
            Action::ServerDistrust,
        ],
        None => vec![Action::MoveDown, Action::Filter],
    }
}
