//! An editable text. `ratatui-textarea` holds and edits it; a step never ends inside a grapheme. Views reveal the text.

use ratatui_textarea::{CursorMove, TextArea};
use unicode_segmentation::UnicodeSegmentation as _;

/// One line or several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lines {
    /// Enter finishes; pasted line ends become spaces.
    One,
    /// Enter starts a new line.
    Many,
}

/// A text with a cursor.
#[derive(Debug, Clone)]
pub struct TextField {
    area: TextArea<'static>,
    kind: Lines,
}

impl PartialEq for TextField {
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind
            && self.lines() == other.lines()
            && self.area.cursor() == other.area.cursor()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Edit {
    Left,
    Right,
    Up,
    Down,
    WordLeft,
    WordRight,
    Home,
    End,
    DeleteBack,
    DeleteForward,
    /// Delete the word before the cursor.
    DeleteWord,
    /// Delete to the end of the line.
    KillToEnd,
    /// Delete to the start of the line.
    KillToStart,
    Newline,
}

impl TextField {
    /// A field with this text, the cursor at its end.
    pub fn new(kind: Lines, text: &str) -> Self {
        let mut area = TextArea::default();
        // Nothing takes a step back: no memory for it.
        area.set_max_histories(0);
        let mut field = Self { area, kind };
        field.insert(text);
        field
    }

    pub fn text(&self) -> String {
        self.lines().join("\n")
    }

    pub fn lines(&self) -> &[String] {
        self.area.lines()
    }

    /// Cursor: line, and byte within it.
    pub fn cursor(&self) -> (usize, usize) {
        let cursor = self.area.cursor();
        let (row, column) = (cursor.0, cursor.1);
        let line = self.lines().get(row).map_or("", String::as_str);
        let byte = line.char_indices().nth(column).map(|(at, _)| at);
        (row, byte.unwrap_or(line.len()))
    }

    /// One line or several.
    pub fn kind(&self) -> Lines {
        self.kind
    }

    pub fn is_empty(&self) -> bool {
        self.lines().iter().all(String::is_empty)
    }

    pub fn bytes(&self) -> usize {
        let breaks = self.lines().len().saturating_sub(1);
        self.lines().iter().map(String::len).sum::<usize>() + breaks
    }

    /// Inserts text at the cursor.
    pub fn insert(&mut self, text: &str) {
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        let text = match self.kind {
            Lines::One => text.replace('\n', " "),
            Lines::Many => text,
        };
        self.area.insert_str(text);
    }

    /// The line of the cursor, before the cursor and after it.
    fn around(&self) -> (&str, &str) {
        let (row, column) = self.cursor();
        let line = self.lines().get(row).map_or("", String::as_str);
        line.split_at_checked(column).unwrap_or((line, ""))
    }

    /// Characters of the grapheme before the cursor; none at the start of a line.
    fn before(&self) -> Option<usize> {
        let grapheme = self.around().0.graphemes(true).next_back()?;
        Some(grapheme.chars().count())
    }

    /// Characters of the grapheme after the cursor; none at the end of a line.
    fn after(&self) -> Option<usize> {
        let grapheme = self.around().1.graphemes(true).next()?;
        Some(grapheme.chars().count())
    }

    /// Moves the cursor to a character of its line.
    fn go_to(&mut self, column: usize) {
        let cursor = self.area.cursor();
        if let (Ok(row), Ok(column)) = (u16::try_from(cursor.0), u16::try_from(column)) {
            self.area.move_cursor(CursorMove::Jump(row, column));
            return;
        }
        // So far to the right there is no other way than step by step.
        let step = if column < cursor.1 {
            CursorMove::Back
        } else {
            CursorMove::Forward
        };
        for _ in 0..column.abs_diff(cursor.1) {
            self.area.move_cursor(step);
        }
    }

    /// Moves the cursor, and back to the start of the grapheme it lands in.
    fn go(&mut self, to: CursorMove) {
        self.area.move_cursor(to);
        let (row, byte) = self.cursor();
        let line = self.lines().get(row).map_or("", String::as_str);
        let starts = line.grapheme_indices(true).map(|(at, _)| at);
        let start = starts.take_while(|at| *at <= byte).last().unwrap_or(0);
        if byte < line.len() {
            let column = line.get(..start).unwrap_or("").chars().count();
            self.go_to(column);
        }
    }

    /// Carries out an editing step.
    pub fn edit(&mut self, edit: Edit) {
        match edit {
            Edit::Left => match self.before() {
                Some(characters) => self.go_to(self.area.cursor().1.saturating_sub(characters)),
                None => self.area.move_cursor(CursorMove::Back),
            },
            Edit::Right => match self.after() {
                Some(characters) => self.go_to(self.area.cursor().1 + characters),
                None => self.area.move_cursor(CursorMove::Forward),
            },
            Edit::Up => self.go(CursorMove::Up),
            Edit::Down => self.go(CursorMove::Down),
            Edit::WordLeft => self.go(CursorMove::WordBack),
            Edit::WordRight => self.go(CursorMove::WordForward),
            Edit::Home => self.area.move_cursor(CursorMove::Head),
            Edit::End => self.area.move_cursor(CursorMove::End),
            Edit::DeleteBack => {
                for _ in 0..self.before().unwrap_or(1) {
                    self.area.delete_char();
                }
            }
            Edit::DeleteForward => {
                for _ in 0..self.after().unwrap_or(1) {
                    self.area.delete_next_char();
                }
            }
            Edit::DeleteWord => {
                self.area.delete_word();
            }
            Edit::KillToEnd => {
                self.area.delete_line_by_end();
            }
            Edit::KillToStart => {
                self.area.delete_line_by_head();
            }
            Edit::Newline => match self.kind {
                Lines::One => {}
                Lines::Many => self.area.insert_newline(),
            },
        }
    }
}
