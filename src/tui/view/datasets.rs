//! The Datasets screen: tables by channel and name, what is in one, and the answer to a question of it.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::client::dataset_lines::{COLUMN_HEADS, columns, counts, sample, table};
use crate::client::listing::size;
use crate::protocol::dataset::{Dataset, DatasetRows, grouped};
use crate::tui::message::{FrameReport, HitRegion};
use crate::tui::sanitize;
use crate::tui::state::app::State;
use crate::tui::state::datasets_screen::{COLUMNS, cells, expires};
use crate::tui::theme::roles::{Role, Theme};
use crate::tui::view::card_body::{Body, known_of};
use crate::tui::view::detail;
use crate::tui::view::list_panel::{ListPanel, nothing};
use crate::tui::view::table::{Column, Fit, column};

const TABLE: [Column; 7] = [
    column(18, 0, Role::Text, Fit::Rest),
    column(12, 1, Role::Text, Fit::Left),
    column(11, 2, Role::Text, Fit::Right),
    column(7, 5, Role::Text, Fit::Right),
    column(9, 4, Role::Text, Fit::Right),
    column(16, 6, Role::Outside, Fit::Left),
    column(8, 3, Role::Text, Fit::Left),
];
/// Cells that a column of a table takes at most.
const WIDEST: usize = 24;

/// What stands where there is none.
const NO_DATASET: (&str, &str) = (
    "No dataset yet.",
    "A CSV, TSV or JSON file that somebody sends becomes a dataset of the channel. Agents of the \
     channel filter, group and aggregate it without a program. `:upload CHANNEL FILE` sends one from here.",
);

pub fn draw(state: &State, theme: &Theme, area: Rect, buf: &mut Buffer, report: &mut FrameReport) {
    let panel = &state.screens.datasets;
    let list = &panel.list;
    let shown = ListPanel {
        title: match &panel.datasets {
            Some(_) => format!("Datasets  {}", list.count()),
            None => "Datasets".to_owned(),
        },
        empty: nothing(
            panel.problem.as_ref(),
            panel.datasets.is_some(),
            "the datasets",
            NO_DATASET,
        ),
        cells: &|id| cells(state, *id),
        region: Some(&HitRegion::Dataset),
        ..ListPanel::new(list, COLUMNS, &TABLE)
    };
    shown.draw_with_detail(state, theme, area, buf, report, |area| {
        let one = panel.selected()?;
        let mut body = Body::new(theme, detail::columns(area));
        match panel.answer() {
            Some(answer) => answered(&mut body, &answer.line, answer.rows.as_ref()),
            None => described(state, &mut body, one),
        }
        Some((format!("{}/{}", one.channel, one.name), body.lines))
    });
}

fn described(state: &State, body: &mut Body<'_>, one: &Dataset) {
    body.field("file", Role::Outside, &one.source);
    body.field("from", Role::Outside, &one.uploaded_by);
    let what = format!(
        "{} rows, {} columns, {}, expires {}",
        grouped(one.rows),
        one.columns.len(),
        size(one.bytes),
        expires(state, one)
    );
    body.field("size", Role::Text, &what);
    if let Some(taint) = &one.taint {
        body.field("untrusted", Role::NoticeWarning, taint);
    }
    if !one.notes.is_empty() {
        body.field("notes", Role::Outside, &one.notes.join(", "));
    }
    body.blank();
    let known = known_of(state.screens.datasets.description.as_ref(), &one.id);
    if let Some(description) = body.known(known, "asking what is in it …") {
        body.rule("columns");
        let heads = COLUMN_HEADS.map(|head| head.to_lowercase());
        rows(body, &heads, &columns(description));
        if !description.sample.is_empty() {
            body.heading("first rows");
            let (heads, cells) = sample(description);
            rows(body, &heads, &cells);
        }
    }
}

fn answered(body: &mut Body<'_>, line: &str, answer: Option<&Result<DatasetRows, String>>) {
    body.field("asked", Role::Outside, line);
    body.blank();
    if let Some(found) = body.known(answer, "asking …") {
        let (heads, cells) = table(found);
        rows(body, &heads, &cells);
        body.blank();
        body.text(Role::TextMuted, &counts(found));
    }
}

/// Heads and rows, one below the other. What is too wide for the panel is cut off at its right.
fn rows(body: &mut Body<'_>, heads: &[String], cells: &[Vec<String>]) {
    let widths: Vec<usize> = heads
        .iter()
        .enumerate()
        .map(|(at, head)| {
            let texts = cells.iter().filter_map(|row| row.get(at));
            let widest = texts.map(|text| sanitize::width(text)).max().unwrap_or(0);
            widest.max(sanitize::width(head)).min(WIDEST)
        })
        .collect();
    let line = |row: &[String]| {
        let cells = row.iter().zip(&widths);
        let cells: Vec<String> = cells
            .map(|(text, width)| sanitize::column(text, *width))
            .collect();
        cells.join("  ").trim_end().to_owned()
    };
    body.whole_line(Role::TextMuted, &line(heads));
    for row in cells {
        body.whole_line(Role::Outside, &line(row));
    }
}
