//! What Datasets asks, lists and does. What it knows is in `datasets`; nothing here is drawn.

use std::path::PathBuf;

use crate::client::dataset_lines::question;
use crate::client::listing::size;
use crate::console::format;
use crate::console::model::Tone;
use crate::protocol::dataset::{Dataset, grouped};
use crate::protocol::event::{Event, EventBody};
use crate::protocol::ids::DatasetId;
use crate::protocol::problem::Problem;
use crate::protocol::request::{
    Answer, DeleteDataset, GetDataset, ListDatasets, Query, QueryDataset,
};
use crate::tui::action::Action;
use crate::tui::message::Effect;
use crate::tui::sanitize;
use crate::tui::state::app::State;
use crate::tui::state::datasets::DatasetAnswer;
use crate::tui::state::list::Cell;
use crate::tui::state::panel::{self, ListScreen, Panel, reply};
use crate::tui::state::screen::Screen;
use crate::tui::state::text_dialog::TextPurpose;
use crate::tui::state::{opening, submit};

pub const PANEL: Panel = Panel {
    ask,
    answered,
    concerns,
    perform,
    copied: |state, all| {
        let one = state.screens.datasets.selected()?;
        panel::copied(one.id, Some(one), all)
    },
    channel: |state| Some(state.screens.datasets.selected()?.channel.clone()),
    hints,
    ..Panel::new(ListScreen {
        after_move,
        close,
        ..ListScreen::new(
            |state| &mut state.screens.datasets.list,
            |_| COLUMNS,
            arrange,
        )
    })
};

pub const COLUMNS: &[&str] = &[
    "name", "channel", "rows", "columns", "size", "from", "expires",
];

fn ask(state: &State) -> Vec<Query> {
    let list = Query::ListDatasets(ListDatasets { channel: None });
    std::iter::once(list).chain(described(state)).collect()
}

/// What is in the selected one.
fn described(state: &State) -> Option<Query> {
    let dataset = state.screens.datasets.list.selected?.to_string();
    Some(Query::GetDataset(GetDataset { dataset }))
}

fn answered(state: &mut State, query: &Query, result: Result<&Answer, &Problem>) {
    let panel = &mut state.screens.datasets;
    match query {
        Query::ListDatasets(_) => {
            let page = reply::<ListDatasets>(result);
            panel::take_list(page, &mut panel.datasets, &mut panel.problem);
        }
        Query::GetDataset(GetDataset { dataset }) => {
            if let (Ok(id), Some(found)) = (dataset.parse(), reply::<GetDataset>(result)) {
                panel.description = Some((id, found));
            }
        }
        Query::QueryDataset(asked) => {
            // Another question may have been asked since.
            let answer = panel.answer.as_mut().filter(|answer| {
                answer.dataset.to_string() == asked.dataset && answer.question == asked.query
            });
            if let Some(answer) = answer {
                panel::take::<QueryDataset, _>(&mut answer.rows, result, |rows| rows);
            }
        }
        _ => {}
    }
}

fn concerns(event: &Event) -> bool {
    matches!(event.body, EventBody::DatasetsChanged { .. })
}

fn arrange(state: &mut State, afresh: bool) {
    let datasets = state.screens.datasets.datasets.iter().flatten();
    let all = datasets.map(|one| one.id).collect();
    panel::arrange(
        state,
        afresh,
        |state| &mut state.screens.datasets.list,
        all,
        |state, id| cells(state, *id),
    );
}

/// The answer to a question is closed before the list goes back.
fn close(state: &mut State) -> bool {
    let panel = &mut state.screens.datasets;
    panel.answer().is_some() && panel.answer.take().is_some()
}

/// What is in the selected one is asked for.
fn after_move(state: &mut State) -> Vec<Effect> {
    let panel = &state.screens.datasets;
    let known = panel.description.as_ref().map(|(id, _)| *id);
    let query = described(state).filter(|_| known != panel.list.selected);
    panel::ask_more(state, Screen::Datasets, query)
}

/// How long one stays, in words.
pub fn expires(state: &State, dataset: &Dataset) -> String {
    let now = state.model.now.wall;
    match dataset.expires_at {
        None => "never".to_owned(),
        Some(at) if at <= now => "now".to_owned(),
        Some(at) => format!("in {}", format::age(at, now)),
    }
}

/// What the list shows of a row, in the order of its columns.
pub fn cells(state: &State, id: DatasetId) -> Vec<Cell> {
    let Some(one) = state.screens.datasets.dataset(id) else {
        return Vec::new();
    };
    let until = one.expires_at.map_or(f64::MAX, |at| at.as_millis() as f64);
    vec![
        Cell::new(&one.name),
        Cell::new(&one.channel),
        Cell::ranked(grouped(one.rows), one.rows as f64),
        Cell::ranked(one.columns.len().to_string(), one.columns.len() as f64),
        Cell::ranked(size(one.bytes), one.bytes as f64),
        Cell::new(&one.uploaded_by),
        Cell::ranked(expires(state, one), until),
    ]
}

fn perform(state: &mut State, action: Action) -> Option<Vec<Effect>> {
    Some(match action {
        Action::DatasetUpload => {
            let channel = state.screens.datasets.selected();
            let line = channel.map_or_else(
                || "upload ".to_owned(),
                |one| format!("upload {} ", one.channel),
            );
            opening::open_begun(state, TextPurpose::CommandLine, &line)
        }
        Action::DatasetAsk => {
            let Some(one) = state.screens.datasets.selected() else {
                return Some(none_selected(state, action));
            };
            let line = format!("ask {}/{} ", one.channel, one.name);
            opening::open_begun(state, TextPurpose::CommandLine, &line)
        }
        Action::DatasetDelete => delete(state),
        _ => return None,
    })
}

fn none_selected(state: &mut State, action: Action) -> Vec<Effect> {
    state.warn(format!("{}: no dataset is selected", action.short()))
}

/// Asks first; Cancel is focused.
fn delete(state: &mut State) -> Vec<Effect> {
    let Some(one) = state.screens.datasets.selected().cloned() else {
        return none_selected(state, Action::DatasetDelete);
    };
    if submit::refuses(state) {
        return Vec::new();
    }
    let line = format!("{}/{}: {} rows", one.channel, one.name, grouped(one.rows));
    let dataset = one.id.to_string();
    let (title, command) = ("Remove this dataset for good?", DeleteDataset { dataset });
    opening::ask_first(state, title, vec![line], "Remove", command)
}

/// `:upload CHANNEL FILE [NAME]`.
pub fn upload(state: &mut State, argument: Option<&str>) -> Vec<Effect> {
    let words: Vec<&str> = argument.unwrap_or_default().split_whitespace().collect();
    let ([channel, file] | [channel, file, _]) = words[..] else {
        let text = "upload CHANNEL FILE [NAME]: a table becomes a dataset of the channel";
        return state.tell(text);
    };
    if submit::refuses(state) {
        return Vec::new();
    }
    state.toast(Tone::Info, "sending the file …");
    vec![Effect::UploadDataset {
        channel: channel.to_owned(),
        file: PathBuf::from(file),
        name: words.get(2).map(|name| (*name).to_owned()),
    }]
}

pub fn uploaded(state: &mut State, result: Result<Dataset, String>) {
    match result {
        Ok(dataset) => {
            let text = sanitize::line(&dataset.line(), 200);
            state.toast(Tone::Info, text);
            state.screens.in_flight.now();
        }
        Err(why) => state.toast(Tone::Error, why),
    }
}

/// `:ask CHANNEL/NAME QUESTION`.
pub fn asked(state: &mut State, argument: Option<&str>) -> Vec<Effect> {
    let (name, line) = argument
        .and_then(|argument| argument.split_once(char::is_whitespace))
        .unwrap_or((argument.unwrap_or_default(), ""));
    let named =
        |one: &&Dataset| format!("{}/{}", one.channel, one.name) == name || one.name == name;
    let found = state.screens.datasets.datasets.iter().flatten().find(named);
    let Some(id) = found.map(|one| one.id) else {
        let text =
            "ask CHANNEL/NAME [where A > 1; group B; sum C; order C desc; limit 20], on Datasets";
        return state.tell(text);
    };
    let query = match question(line) {
        Ok(query) => query,
        Err(why) => {
            return state.warn(sanitize::line(&why, 200));
        }
    };
    state.screens.datasets.list.select(Some(id));
    state.screens.datasets.answer = Some(DatasetAnswer {
        dataset: id,
        line: line.to_owned(),
        question: query.clone(),
        rows: None,
    });
    let asked = QueryDataset {
        dataset: id.to_string(),
        query,
    };
    vec![panel::ask(state, Screen::Datasets, asked)]
}

fn hints(state: &State) -> Vec<Action> {
    match state.screens.datasets.list.selected {
        Some(_) => vec![
            Action::Open,
            Action::DatasetAsk,
            Action::DatasetUpload,
            Action::DatasetDelete,
        ],
        None => vec![Action::MoveDown, Action::DatasetUpload, Action::Filter],
    }
}
