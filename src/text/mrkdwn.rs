//! Runs of text with tags as Slack's mrkdwn. No run can form a control sequence: `&`, `<` and `>` of a text come out
//! escaped, so that it mentions nobody and links nowhere.
//!
//! mrkdwn knows no nesting across lines, no markup within a word and no escape for its marks. So marks end with their
//! line, a zero-width space parts a mark from a word, and code that holds a backtick stays without marks.
//! Source: <https://docs.slack.dev/messaging/formatting-message-text>.

use crate::text::markup::{Run, Tag};

/// Parts a mark from a word.
const ZERO_WIDTH_SPACE: char = '\u{200b}';

/// Escapes text. Slack knows exactly these three.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            _ => escaped.push(c),
        }
    }
    escaped
}

/// A block of fixed width. Text cannot end it.
pub fn preformatted(text: &str) -> String {
    let text = escape(text).replace("```", "``\u{200b}`");
    format!("```\n{text}\n```")
}

/// One line in bold; as it is when mrkdwn cannot show it so.
pub fn bold(line: &str) -> String {
    let line = escape(line);
    let trimmed = line.trim();
    if trimmed.is_empty() || trimmed.contains(['*', '\n']) {
        return line;
    }
    format!("*{trimmed}*")
}

/// The runs, one after the other.
pub fn mrkdwn(runs: &[Run]) -> String {
    let mut lines = Lines::default();
    let runs = joined(runs);
    for (index, run) in runs.iter().enumerate() {
        // A gap between two runs of a quotation is a part of it.
        let in_quote = |run: Option<&Run>| run.is_some_and(|run| run.tags.contains(&Tag::Quote));
        let gap = run.tags.is_empty() && run.text.chars().all(|c| c == '\n');
        let quoted = run.tags.contains(&Tag::Quote)
            || gap
                && in_quote(index.checked_sub(1).and_then(|before| runs.get(before)))
                && in_quote(runs.get(index + 1));
        lines.run(run, quoted);
    }
    lines.finish()
}

/// Neighbours under the same tags as one run: two pairs of marks side by side would not be marks.
fn joined(runs: &[Run]) -> Vec<Run> {
    let mut all: Vec<Run> = Vec::with_capacity(runs.len());
    for run in runs {
        match all.last_mut() {
            Some(last) if last.tags == run.tags && !run.tags.is_empty() => {
                last.text.push_str(&run.text);
            }
            _ => all.push(run.clone()),
        }
    }
    all
}

#[derive(Default)]
struct Lines {
    out: String,
    /// Marks that are open in the line.
    open: Vec<char>,
    /// Something was written in the line.
    begun: bool,
    /// A mark was closed last: a word must not follow at once.
    closed: bool,
}

impl Lines {
    fn run(&mut self, run: &Run, quoted: bool) {
        if run.tags.iter().any(|tag| matches!(tag, Tag::Pre { .. })) {
            self.close_to(0);
            self.out.push_str(&preformatted(&run.text));
            self.begun = true;
            return;
        }
        let marks: Vec<char> = run.tags.iter().filter_map(mark).collect();
        let link = run.tags.iter().find_map(|tag| match tag {
            Tag::Link { address } => Some(address.as_str()),
            Tag::Bold | Tag::Italic | Tag::Strike | Tag::Code | Tag::Pre { .. } | Tag::Quote => {
                None
            }
        });
        let code = run.tags.contains(&Tag::Code);
        for (index, line) in run.text.split('\n').enumerate() {
            if index > 0 {
                self.end_line(quoted);
            }
            if line.is_empty() {
                continue;
            }
            self.start_line(quoted);
            if code {
                self.close_to(0);
                self.code(line);
            } else {
                self.words(line, &marks, link);
            }
        }
    }

    fn start_line(&mut self, quoted: bool) {
        if !self.begun && quoted {
            self.out.push_str("> ");
        }
        self.begun = true;
    }

    fn end_line(&mut self, quoted: bool) {
        self.close_to(0);
        if quoted && !self.begun {
            self.out.push('>');
        }
        self.out.push('\n');
        self.begun = false;
        self.closed = false;
    }

    fn code(&mut self, text: &str) {
        let escaped = escape(text);
        if text.contains('`') || text.trim().is_empty() {
            self.out.push_str(&escaped);
            return;
        }
        self.part_from_word();
        self.out.push('`');
        self.out.push_str(&escaped);
        self.out.push('`');
        self.closed = true;
    }

    fn words(&mut self, text: &str, marks: &[char], link: Option<&str>) {
        let same = self
            .open
            .iter()
            .zip(marks)
            .take_while(|(open, wanted)| open == wanted)
            .count();
        self.close_to(same);
        let core = text.trim_start();
        if core.is_empty() {
            self.out.push_str(text);
            self.closed = false;
            return;
        }
        let spaces = text.len() - core.len();
        if spaces > 0 {
            self.out.push_str(&text[..spaces]);
            self.closed = false;
        }
        for mark in marks.iter().skip(same) {
            if self.open.is_empty() {
                self.part_from_word();
            }
            self.out.push(*mark);
            self.open.push(*mark);
            self.closed = false;
        }
        if self.closed && core.starts_with(char::is_alphanumeric) {
            self.out.push(ZERO_WIDTH_SPACE);
        }
        self.closed = false;
        match link {
            Some(address) => {
                self.out.push('<');
                self.out.push_str(&link_address(address));
                self.out.push('|');
                self.out.push_str(&escape(core));
                self.out.push('>');
            }
            None => self.out.push_str(&escape(core)),
        }
    }

    fn part_from_word(&mut self) {
        if self.out.ends_with(char::is_alphanumeric) {
            self.out.push(ZERO_WIDTH_SPACE);
        }
    }

    /// Closes all but the outermost `keep` marks. Spaces stand behind a mark that closes.
    fn close_to(&mut self, keep: usize) {
        if self.open.len() <= keep {
            return;
        }
        let kept = self.out.trim_end_matches(' ').len();
        let spaces = self.out.split_off(kept);
        while self.open.len() > keep {
            if let Some(mark) = self.open.pop() {
                self.out.push(mark);
            }
        }
        self.closed = spaces.is_empty();
        self.out.push_str(&spaces);
    }

    fn finish(mut self) -> String {
        self.close_to(0);
        self.out
    }
}

fn mark(tag: &Tag) -> Option<char> {
    match tag {
        Tag::Bold => Some('*'),
        Tag::Italic => Some('_'),
        Tag::Strike => Some('~'),
        Tag::Code | Tag::Pre { .. } | Tag::Link { .. } | Tag::Quote => None,
    }
}

/// An address that cannot end its link.
fn link_address(address: &str) -> String {
    let mut safe = String::with_capacity(address.len());
    for c in address.chars() {
        match c {
            '|' => safe.push_str("%7C"),
            '<' => safe.push_str("%3C"),
            '>' => safe.push_str("%3E"),
            '&' => safe.push_str("&amp;"),
            c if c.is_whitespace() || c.is_control() => safe.push_str("%20"),
            c => safe.push(c),
        }
    }
    safe
}
