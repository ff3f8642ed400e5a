//! The lines of a text that are most like lines that are not in it, for the message to the model. Pure.

use std::fmt::Write as _;

use crate::tools::output::first;

/// Lines of a text that are compared.
const MAX_LINES: usize = 20_000;
/// Bytes of a line that are compared.
const MAX_COMPARED: usize = 200;
/// Bytes of a line that are shown.
const MAX_SHOWN: usize = 240;
/// Lines of one place that are shown.
const MAX_HEIGHT: usize = 12;
/// Places that are shown.
const MAX_PLACES: usize = 2;
/// What a line must have in common with the one that is missed, from 0 to 1.
const LEAST: f64 = 0.4;

/// Says which lines are nearest to those that are missed: number and text of each.
pub fn nearest(text: &str, missed: &[&str]) -> String {
    let lines: Vec<&str> = text.lines().take(MAX_LINES).collect();
    // The longest line says most about where it belongs.
    let anchor = (0..missed.len()).max_by_key(|at| (missed[*at].trim().len(), usize::MAX - at));
    let Some(anchor) = anchor.filter(|at| !missed[*at].trim().is_empty()) else {
        return HINT.to_owned();
    };
    let wanted = cut(missed[anchor]);
    let mut likely: Vec<(f64, usize)> = lines
        .iter()
        .enumerate()
        .map(|(at, line)| (likeness(cut(line), wanted), at))
        .filter(|(likeness, _)| *likeness >= LEAST)
        .collect();
    likely.sort_by(|left, right| right.0.total_cmp(&left.0).then(left.1.cmp(&right.1)));
    let Some(best) = likely.first().map(|(likeness, _)| *likeness) else {
        return format!("No line of the file is like it. {HINT}");
    };
    let mut said = "The nearest lines of the file:\n".to_owned();
    let equal = likely.iter().filter(|(likeness, _)| *likeness >= best);
    for (_, at) in equal.take(MAX_PLACES) {
        let start = at.saturating_sub(anchor);
        let height = missed.len().min(MAX_HEIGHT);
        for (number, line) in lines.iter().enumerate().skip(start).take(height) {
            let shown = first(line, MAX_SHOWN);
            let more = if shown.len() < line.len() { "…" } else { "" };
            let _ = writeln!(said, "{}: {shown}{more}", number + 1);
        }
    }
    said + HINT
}

const HINT: &str =
    "Copy the lines as read_file shows them, with their spaces, from the file as it is now.";

fn cut(line: &str) -> &str {
    first(line.trim(), MAX_COMPARED)
}

/// What two lines have in common, from 0 to 1. Lines that differ in length only can be alike at most so far.
fn likeness(line: &str, wanted: &str) -> f64 {
    if line == wanted {
        return 1.0;
    }
    let (short, long) = (line.len().min(wanted.len()), line.len().max(wanted.len()));
    // The most that pairs of letters can have in common.
    if short * 4 < long {
        return 0.0;
    }
    strsim::sorensen_dice(line, wanted)
}
