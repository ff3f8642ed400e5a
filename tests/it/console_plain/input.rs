//! Lines that somebody types or pastes.

use std::io::Cursor;

use leverframe::cli::plain::input::{InputEvent, read};
use tokio::sync::mpsc;

#[test]
fn lines_that_come_together_are_pasted_ones() {
    let (say, mut queue) = mpsc::channel(8);
    read(&mut Cursor::new(b"one\r\ntwo\nthree"), &say);
    let mut lines = Vec::new();
    while let Ok(said) = queue.try_recv() {
        match said {
            InputEvent::Line(line) => lines.push((line.text, line.pasted)),
            other => assert_eq!(other, InputEvent::End),
        }
    }
    let wanted = [("one", false), ("two", true), ("three", true)];
    assert_eq!(
        lines,
        wanted.map(|(text, pasted)| (text.to_owned(), pasted))
    );
}
