//! The lines of a card, as they are collected. Every byte of a value ends up in some line.

use ratatui::text::{Line, Span};

use crate::tui::sanitize;
use crate::tui::theme::roles::{Role, Theme};
use crate::tui::view::paint::{LABEL, span};
use crate::tui::view::rich;

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

    /// An empty line.
    pub fn blank(&mut self) {
        self.lines.push(Line::default());
    }

    /// A ruled heading after an empty line.
    pub fn heading(&mut self, text: &str) {
        self.blank();
        let rule = "─".repeat(self.width.saturating_sub(text.len() + 1));
        self.lines.push(Line::from(vec![
            span(self.theme, Role::Title, text),
            Span::raw(" "),
            span(self.theme, Role::Border, rule),
        ]));
    }

    /// A label with a wrapped value beside it.
    pub fn field(&mut self, label: &str, role: Role, value: &str) {
        let label_width = if self.width >= 40 { LABEL } else { 0 };
        if label_width == 0 {
            self.lines
                .push(Line::from(span(self.theme, Role::Label, label)));
        }
        for (index, piece) in sanitize::block(value, self.width.saturating_sub(label_width))
            .into_iter()
            .enumerate()
        {
            let mut spans = Vec::new();
            if label_width > 0 {
                let text = if index == 0 { label } else { "" };
                spans.push(span(
                    self.theme,
                    Role::Label,
                    sanitize::column(text, label_width),
                ));
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

    /// A unified diff, each line in its role.
    pub fn diff(&mut self, unified: &str) {
        for source in unified.lines() {
            self.text(rich::diff_role(source, Role::Outside), source);
        }
    }
}
