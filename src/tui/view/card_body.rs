//! The lines of a card, as they are collected. Every byte of a value ends up in some line.

use ratatui::text::{Line, Span};

use crate::tui::code_colors::{CodeColors, CodeKind};
use crate::tui::sanitize;
use crate::tui::theme::roles::{Role, Theme};
use crate::tui::view::diff::{self, DiffColors, DiffLayout};
use crate::tui::view::paint::{self, LABEL, span};
use crate::tui::view::rich;

/// What is known of this one; none = another one was asked about.
pub fn known_of<'k, I: PartialEq, T>(
    known: Option<&'k (I, Result<T, String>)>,
    id: &I,
) -> Option<&'k Result<T, String>> {
    known.filter(|(of, _)| of == id).map(|(_, result)| result)
}

/// Collects the lines of a card.
pub struct Body<'t> {
    theme: &'t Theme,
    width: usize,
    /// The lines so far.
    pub lines: Vec<Line<'static>>,
}

impl<'t> Body<'t> {
    /// Nothing yet.
    pub fn new(theme: &'t Theme, width: usize) -> Self {
        Self {
            theme,
            width,
            lines: Vec::new(),
        }
    }

    pub fn blank(&mut self) {
        self.lines.push(Line::default());
    }

    /// A ruled heading after an empty line.
    pub fn heading(&mut self, text: &str) {
        self.blank();
        self.rule(text);
    }

    /// A ruled heading: on a card every line counts.
    pub fn rule(&mut self, text: &str) {
        let rule = "─".repeat(self.width.saturating_sub(text.len() + 1));
        self.lines.push(Line::from(vec![
            span(self.theme, Role::Title, text),
            Span::raw(" "),
            span(self.theme, Role::Border, rule),
        ]));
    }

    /// Columns of labels; none where values take the whole width.
    fn label_width(&self) -> usize {
        if self.width >= 40 { LABEL } else { 0 }
    }

    /// A label with a wrapped value beside it.
    pub fn field(&mut self, label: &str, role: Role, value: &str) {
        let cells = self.width.saturating_sub(self.label_width());
        self.labelled(label, role, sanitize::block(value, cells));
    }

    /// Texts of a field: on one line where they fit, else each on its own.
    pub fn on_one_line(&self, texts: &[String]) -> String {
        let line = texts.join("; ");
        let fits = sanitize::width(&line) <= self.width.saturating_sub(self.label_width());
        if fits { line } else { texts.join("\n") }
    }

    /// How a text begins, as one paragraph of at most so many lines beside a label.
    pub fn excerpt(&mut self, label: &str, role: Role, value: &str, most: usize) {
        let cells = self.width.saturating_sub(self.label_width());
        let words: Vec<&str> = value.split_whitespace().collect();
        let mut pieces = sanitize::block(&words.join(" "), cells);
        if pieces.len() > most {
            let rest = pieces.split_off(most.saturating_sub(1)).join(" ");
            pieces.push(sanitize::line(&rest, cells));
        }
        self.labelled(label, role, pieces);
    }

    fn labelled(&mut self, label: &str, role: Role, pieces: Vec<String>) {
        let label_width = self.label_width();
        if label_width == 0 {
            let label = sanitize::line(label, self.width);
            self.lines
                .push(Line::from(span(self.theme, Role::Label, label)));
        }
        for (index, piece) in pieces.into_iter().enumerate() {
            let mut spans = Vec::new();
            if label_width > 0 {
                let text = if index == 0 { label } else { "" };
                // A blank stands between a long label and its value.
                let mut text = sanitize::line(text, label_width - 1);
                let used = sanitize::width(&text);
                text.extend(std::iter::repeat_n(' ', label_width.saturating_sub(used)));
                spans.push(span(self.theme, Role::Label, text));
            }
            spans.push(span(self.theme, role, piece));
            self.lines.push(Line::from(spans));
        }
    }

    /// Wrapped text over the whole width.
    pub fn text(&mut self, role: Role, value: &str) {
        for piece in sanitize::block(value, self.width) {
            self.lines.push(Line::from(span(self.theme, role, piece)));
        }
    }

    /// What is known; else a line says why it is not, or that it is asked for.
    pub fn known<'k, T>(
        &mut self,
        known: Option<&'k Result<T, String>>,
        asking: &str,
    ) -> Option<&'k T> {
        match known {
            Some(Ok(known)) => return Some(known),
            Some(Err(why)) => self.text(Role::NoticeError, why),
            None => self.text(Role::TextMuted, asking),
        }
        None
    }

    /// A line that stays one: what is too wide is cut off.
    pub fn whole_line(&mut self, role: Role, value: &str) {
        let piece = sanitize::line(value, self.width);
        self.lines.push(Line::from(span(self.theme, role, piece)));
    }

    /// Words side by side behind so many blanks, the marked ones underlined. A word that is too long is broken.
    pub fn marked_words(&mut self, indent: usize, role: Role, words: &[(String, bool)]) {
        let room = self.width.saturating_sub(indent).max(1);
        let mut line: Vec<Span<'static>> = Vec::new();
        let mut used = 0;
        for (word, is_marked) in words {
            for piece in sanitize::block(&sanitize::whole_line(word), room) {
                let cells = sanitize::width(&piece);
                if used > 0 && used + 1 + cells > room {
                    self.lines.push(Line::from(std::mem::take(&mut line)));
                    used = 0;
                }
                let before = if used == 0 { indent } else { 1 };
                line.push(Span::raw(" ".repeat(before)));
                used += cells + usize::from(used > 0);
                line.push(if *is_marked {
                    Span::styled(piece, paint::marked(self.theme, role))
                } else {
                    span(self.theme, role, piece)
                });
            }
        }
        if !line.is_empty() {
            self.lines.push(Line::from(line));
        }
    }

    pub fn code(&mut self, code: &CodeColors, language: &str, text: &str) {
        let lines = rich::code_lines(self.theme, code, language, text, self.width);
        self.lines.extend(lines);
    }

    /// A unified diff of a file.
    pub fn diff(&mut self, code: &CodeColors, path: &str, unified: &str, layout: DiffLayout) {
        let code = code.get(self.theme, path, CodeKind::Diff, unified);
        let colors = DiffColors {
            theme: self.theme,
            code: code.as_deref(),
        };
        let lines = diff::lines(colors, unified, self.width, layout);
        self.lines.extend(lines);
    }
}
