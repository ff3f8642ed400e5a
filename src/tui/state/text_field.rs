//! An editable text: lines, cursor, readline-like editing. Holds the text as it is; views reveal it.

use unicode_segmentation::UnicodeSegmentation;

/// One line or several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lines {
    /// Enter finishes; pasted line ends become spaces.
    One,
    /// Enter starts a new line.
    Many,
}

/// A text with a cursor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextField {
    lines: Vec<String>,
    /// Line of the cursor.
    row: usize,
    /// Byte within that line, always between two graphemes.
    column: usize,
    kind: Lines,
}

/// An editing step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Edit {
    /// Cursor left.
    Left,
    /// Cursor right.
    Right,
    /// Cursor up.
    Up,
    /// Cursor down.
    Down,
    /// A word left.
    WordLeft,
    /// A word right.
    WordRight,
    /// Start of the line.
    Home,
    /// End of the line.
    End,
    /// Delete before the cursor.
    DeleteBack,
    /// Delete under the cursor.
    DeleteForward,
    /// Delete the word before the cursor.
    DeleteWord,
    /// Delete to the end of the line.
    KillToEnd,
    /// Delete to the start of the line.
    KillToStart,
    /// Break the line.
    Newline,
}

impl TextField {
    /// A field with this text, the cursor at its end.
    pub fn new(kind: Lines, text: &str) -> Self {
        let mut field = Self {
            lines: vec![String::new()],
            row: 0,
            column: 0,
            kind,
        };
        field.insert(text);
        field
    }

    /// The text.
    pub fn text(&self) -> String {
        self.lines.join("\n")
    }

    /// Its lines.
    pub fn lines(&self) -> &[String] {
        &self.lines
    }

    /// Cursor: line, and byte within it.
    pub fn cursor(&self) -> (usize, usize) {
        (self.row, self.column)
    }

    /// One line or several.
    pub fn kind(&self) -> Lines {
        self.kind
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.lines.iter().all(String::is_empty)
    }

    /// Bytes of the text.
    pub fn bytes(&self) -> usize {
        let breaks = self.lines.len().saturating_sub(1);
        self.lines.iter().map(String::len).sum::<usize>() + breaks
    }

    fn line(&self) -> &str {
        self.lines.get(self.row).map_or("", String::as_str)
    }

    fn line_mut(&mut self) -> Option<&mut String> {
        self.lines.get_mut(self.row)
    }

    /// Inserts text at the cursor.
    pub fn insert(&mut self, text: &str) {
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        let mut pieces = text.split('\n');
        if let Some(first) = pieces.next() {
            self.insert_piece(first);
        }
        for piece in pieces {
            match self.kind {
                Lines::One => self.insert_piece(" "),
                Lines::Many => self.newline(),
            }
            self.insert_piece(piece);
        }
    }

    fn insert_piece(&mut self, piece: &str) {
        let column = self.column;
        if let Some(line) = self.line_mut() {
            line.insert_str(column, piece);
            self.column = column + piece.len();
        }
    }

    fn newline(&mut self) {
        let column = self.column;
        if let Some(line) = self.line_mut() {
            let rest = line.split_off(column);
            self.row += 1;
            self.lines.insert(self.row, rest);
            self.column = 0;
        }
    }

    /// Bytes of the grapheme before the cursor.
    fn before(&self) -> Option<usize> {
        self.line()
            .get(..self.column)?
            .graphemes(true)
            .next_back()
            .map(str::len)
    }

    /// Bytes of the grapheme under the cursor.
    fn after(&self) -> Option<usize> {
        self.line()
            .get(self.column..)?
            .graphemes(true)
            .next()
            .map(str::len)
    }

    fn word_left(&self) -> usize {
        let before = self.line().get(..self.column).unwrap_or("");
        let trimmed = before.trim_end();
        trimmed.rfind(char::is_whitespace).map_or(0, |at| {
            at + trimmed
                .get(at..)
                .and_then(|t| t.chars().next())
                .map_or(1, char::len_utf8)
        })
    }

    fn word_right(&self) -> usize {
        let rest = self.line().get(self.column..).unwrap_or("");
        let skipped = rest.len() - rest.trim_start().len();
        let word = rest.trim_start();
        self.column + skipped + word.find(char::is_whitespace).unwrap_or(word.len())
    }

    /// Carries out an editing step.
    pub fn edit(&mut self, edit: Edit) {
        match edit {
            Edit::Left => match self.before() {
                Some(n) => self.column -= n,
                None if self.row > 0 => {
                    self.row -= 1;
                    self.column = self.line().len();
                }
                None => {}
            },
            Edit::Right => match self.after() {
                Some(n) => self.column += n,
                None if self.row + 1 < self.lines.len() => {
                    self.row += 1;
                    self.column = 0;
                }
                None => {}
            },
            Edit::Up => self.move_row(self.row.saturating_sub(1)),
            Edit::Down => self.move_row((self.row + 1).min(self.lines.len().saturating_sub(1))),
            Edit::WordLeft => self.column = self.word_left(),
            Edit::WordRight => self.column = self.word_right(),
            Edit::Home => self.column = 0,
            Edit::End => self.column = self.line().len(),
            Edit::DeleteBack => match self.before() {
                Some(n) => {
                    self.column -= n;
                    self.remove(self.column, self.column + n);
                }
                None if self.row > 0 => {
                    let rest = self.lines.remove(self.row);
                    self.row -= 1;
                    self.column = self.line().len();
                    if let Some(line) = self.line_mut() {
                        line.push_str(&rest);
                    }
                }
                None => {}
            },
            Edit::DeleteForward => match self.after() {
                Some(n) => self.remove(self.column, self.column + n),
                None if self.row + 1 < self.lines.len() => {
                    let rest = self.lines.remove(self.row + 1);
                    if let Some(line) = self.line_mut() {
                        line.push_str(&rest);
                    }
                }
                None => {}
            },
            Edit::DeleteWord => {
                let from = self.word_left();
                self.remove(from, self.column);
                self.column = from;
            }
            Edit::KillToEnd => self.remove(self.column, self.line().len()),
            Edit::KillToStart => {
                self.remove(0, self.column);
                self.column = 0;
            }
            Edit::Newline => match self.kind {
                Lines::One => {}
                Lines::Many => self.newline(),
            },
        }
    }

    fn remove(&mut self, from: usize, to: usize) {
        if let Some(line) = self.line_mut()
            && from <= to
            && to <= line.len()
        {
            line.replace_range(from..to, "");
        }
    }

    fn move_row(&mut self, row: usize) {
        let graphemes = self
            .line()
            .get(..self.column)
            .unwrap_or("")
            .graphemes(true)
            .count();
        self.row = row;
        self.column = self
            .line()
            .grapheme_indices(true)
            .nth(graphemes)
            .map_or(self.line().len(), |(at, _)| at);
    }
}
