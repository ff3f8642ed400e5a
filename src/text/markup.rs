//! What Markdown is written as: tags of a platform, plain text, or pieces that know what they look like. Every tag
//! that is opened is closed, in order.

use crate::text::discord;
use crate::text::width::display_width;

/// What is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Markup {
    /// The HTML subset of Telegram.
    TelegramHtml,
    /// The Markdown of Discord.
    Discord,
    /// The mrkdwn of Slack.
    SlackMrkdwn,
    /// The HTML that clients of Matrix show.
    MatrixHtml,
    /// Text without markup.
    Plain,
    /// Pieces of text, each with what it looks like.
    Pieces,
}

/// A tag of the output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tag {
    Bold,
    Italic,
    Strike,
    /// Code within a line.
    Code,
    /// Code of its own lines.
    Pre {
        /// The name of its language.
        language: Option<String>,
    },
    Link {
        /// Where it leads.
        address: String,
    },
    Quote,
}

impl Tag {
    fn open(&self, out: &mut String) {
        match self {
            Tag::Bold => out.push_str("<b>"),
            Tag::Italic => out.push_str("<i>"),
            Tag::Strike => out.push_str("<s>"),
            Tag::Code => out.push_str("<code>"),
            Tag::Pre { language: None } => out.push_str("<pre>"),
            Tag::Pre {
                language: Some(language),
            } => {
                out.push_str("<pre><code class=\"language-");
                escape(language, out);
                out.push_str("\">");
            }
            Tag::Link { address } => {
                out.push_str("<a href=\"");
                escape(address, out);
                out.push_str("\">");
            }
            Tag::Quote => out.push_str("<blockquote>"),
        }
    }

    fn close(&self) -> &'static str {
        match self {
            Tag::Bold => "</b>",
            Tag::Italic => "</i>",
            Tag::Strike => "</s>",
            Tag::Code => "</code>",
            Tag::Pre { language: None } => "</pre>",
            Tag::Pre { language: Some(_) } => "</code></pre>",
            Tag::Link { .. } => "</a>",
            Tag::Quote => "</blockquote>",
        }
    }

    /// A mark of a quote stands at the start of a line. Code is written whole, and links show their address.
    fn open_in_discord(&self) -> &'static str {
        match self {
            Tag::Quote => "> ",
            Tag::Bold
            | Tag::Italic
            | Tag::Strike
            | Tag::Code
            | Tag::Pre { .. }
            | Tag::Link { .. } => self.close_in_discord(),
        }
    }

    fn close_in_discord(&self) -> &'static str {
        match self {
            Tag::Bold => "**",
            Tag::Italic => "_",
            Tag::Strike => "~~",
            Tag::Code | Tag::Pre { .. } | Tag::Link { .. } | Tag::Quote => "",
        }
    }
}

fn escape(text: &str, out: &mut String) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            _ => out.push(c),
        }
    }
}

/// Escapes text where line ends and runs of spaces would vanish.
fn escape_flowing(text: &str, out: &mut String) {
    let mut escaped = String::with_capacity(text.len());
    escape(text, &mut escaped);
    out.push_str(&escaped.replace('\n', "<br>").replace("  ", "&nbsp; "));
}

/// What a piece of text looks like.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TextStyle {
    /// Strong, or a heading.
    pub strong: bool,
    pub emphasis: bool,
    pub struck: bool,
    /// Code within a line.
    pub code: bool,
    /// Part of a block of code or a table: its lines are not flowing text.
    pub pre: bool,
    /// Part of a block that shows changes.
    pub diff: bool,
    /// A link's text.
    pub link: bool,
    /// Part of a quotation.
    pub quote: bool,
}

impl TextStyle {
    fn of(tags: &[Tag]) -> Self {
        let mut look = Self::default();
        for tag in tags {
            match tag {
                Tag::Bold => look.strong = true,
                Tag::Italic => look.emphasis = true,
                Tag::Strike => look.struck = true,
                Tag::Code => look.code = true,
                Tag::Pre { language } => {
                    look.pre = true;
                    look.diff = language
                        .as_deref()
                        .is_some_and(|name| ["diff", "patch", "udiff"].contains(&name));
                }
                Tag::Link { .. } => look.link = true,
                Tag::Quote => look.quote = true,
            }
        }
        look
    }
}

/// Text of one look. A `\n` in it ends a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// What it says: outside text.
    pub text: String,
    /// What it looks like.
    pub look: TextStyle,
    /// The language of a block of code, where the source names it.
    pub language: Option<String>,
}

/// Text under the same tags.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// What it says: outside text.
    pub text: String,
    /// The tags it stands under, the outermost first.
    pub tags: Vec<Tag>,
}

/// Text with tags, opened only when something is written under them.
pub struct Writer {
    pub(crate) markup: Markup,
    out: String,
    pieces: Vec<Piece>,
    runs: Vec<Run>,
    /// Tags that the next text shall stand under; `None` for one that is already there.
    pub(crate) wanted: Vec<Option<Tag>>,
    /// Tags that are open in `out`.
    open: Vec<Tag>,
    /// Line breaks due before the next text.
    breaks: usize,
    /// Whether an address is being written, for Discord.
    address: discord::Address,
    /// Something other than white space was written.
    shows_words: bool,
}

impl Writer {
    /// Writes about as much as `length` bytes of source.
    pub fn new(markup: Markup, length: usize) -> Self {
        Self {
            markup,
            out: String::with_capacity(length + length / 4),
            pieces: Vec::new(),
            runs: Vec::new(),
            wanted: Vec::new(),
            open: Vec::new(),
            breaks: 0,
            address: discord::Address::default(),
            shows_words: false,
        }
    }

    /// What follows stands under `tag` too.
    pub fn enter(&mut self, tag: Tag) {
        let there = self
            .wanted
            .iter()
            .flatten()
            .any(|other| std::mem::discriminant(other) == std::mem::discriminant(&tag));
        self.wanted.push((!there).then_some(tag));
    }

    /// The innermost tag ends.
    pub fn leave(&mut self) {
        self.wanted.pop();
    }

    /// The next text starts at least this many line breaks further down.
    pub fn gap(&mut self, breaks: usize) {
        if !self.out.is_empty() || !self.pieces.is_empty() || !self.runs.is_empty() {
            self.breaks = self.breaks.max(breaks);
        }
    }

    /// Text under the wanted tags.
    pub fn text(&mut self, text: &str) {
        let wanted: Vec<Tag> = self.wanted.iter().flatten().cloned().collect();
        self.text_under(text, wanted);
    }

    /// Text under `tag` alone: code and links hold nothing and stand in nothing.
    pub fn text_alone(&mut self, text: &str, tag: Tag) {
        self.text_under(text, vec![tag]);
    }

    /// Text under these tags.
    pub fn text_under(&mut self, text: &str, wanted: Vec<Tag>) {
        if text.is_empty() {
            return;
        }
        self.shows_words |= !text.trim().is_empty();
        if self.markup == Markup::Pieces {
            if self.breaks > 0 {
                let (text, look) = ("\n".repeat(self.breaks), TextStyle::default());
                let language = None;
                self.pieces.push(Piece {
                    text,
                    look,
                    language,
                });
                self.breaks = 0;
            }
            let (text, look) = (text.to_owned(), TextStyle::of(&wanted));
            let language = wanted.into_iter().find_map(|tag| match tag {
                Tag::Pre { language } => language,
                _ => None,
            });
            self.pieces.push(Piece {
                text,
                look,
                language,
            });
            return;
        }
        if self.markup == Markup::SlackMrkdwn {
            let breaks = std::mem::take(&mut self.breaks);
            if breaks > 0 {
                self.runs.push(Run {
                    text: "\n".repeat(breaks),
                    tags: Vec::new(),
                });
            }
            let (text, tags) = (text.to_owned(), wanted);
            self.runs.push(Run { text, tags });
            return;
        }
        if self.markup == Markup::Plain {
            self.write_breaks();
            self.out.push_str(text);
            return;
        }
        let same = self
            .open
            .iter()
            .zip(&wanted)
            .take_while(|(open, wanted)| open == wanted)
            .count();
        while self.open.len() > same {
            self.close_one();
        }
        self.write_breaks();
        for tag in wanted.into_iter().skip(same) {
            if self.markup == Markup::Discord {
                self.address.end();
                self.out.push_str(tag.open_in_discord());
            } else {
                tag.open(&mut self.out);
            }
            self.open.push(tag);
        }
        match self.markup {
            Markup::Discord => match self.open.last() {
                Some(Tag::Code) => discord::code(text, &mut self.out),
                Some(Tag::Pre { language }) => {
                    discord::block(text, language.as_deref(), &mut self.out);
                }
                Some(_) | None => {
                    let quoted = self.open.contains(&Tag::Quote);
                    discord::escape(text, quoted, &mut self.address, &mut self.out);
                }
            },
            Markup::MatrixHtml if !self.open.iter().any(|tag| matches!(tag, Tag::Pre { .. })) => {
                escape_flowing(text, &mut self.out);
            }
            Markup::MatrixHtml
            | Markup::TelegramHtml
            | Markup::SlackMrkdwn
            | Markup::Plain
            | Markup::Pieces => escape(text, &mut self.out),
        }
    }

    fn write_breaks(&mut self) {
        let line_end = match self.markup {
            Markup::MatrixHtml => "<br>",
            Markup::Discord if self.open.contains(&Tag::Quote) => "\n> ",
            Markup::Discord
            | Markup::TelegramHtml
            | Markup::SlackMrkdwn
            | Markup::Plain
            | Markup::Pieces => "\n",
        };
        self.out.extend(std::iter::repeat_n(line_end, self.breaks));
        if self.markup == Markup::Discord && self.breaks > 0 {
            self.address.end();
        }
        self.breaks = 0;
    }

    fn close_one(&mut self) {
        if let Some(tag) = self.open.pop() {
            if self.markup == Markup::Discord {
                self.address.end();
                self.out.push_str(tag.close_in_discord());
            } else {
                self.out.push_str(tag.close());
            }
        }
    }

    /// Ends the open tags, so that the next text cannot continue them.
    pub fn close_all(&mut self) {
        while !self.open.is_empty() {
            self.close_one();
        }
    }

    /// Whether a reader sees anything of it.
    pub fn shows_words(&self) -> bool {
        self.shows_words
    }

    /// The text.
    pub fn finish(mut self) -> String {
        self.close_all();
        self.out
    }

    pub fn into_runs(self) -> Vec<Run> {
        self.runs
    }

    pub fn into_pieces(self) -> Vec<Piece> {
        self.pieces
    }
}

/// A table being read.
#[derive(Default)]
pub struct Table {
    /// Rows of cells; the head is the first.
    pub rows: Vec<Vec<String>>,
}

impl Table {
    /// The cell that is being read.
    pub fn cell(&mut self) -> Option<&mut String> {
        self.rows.last_mut()?.last_mut()
    }

    /// Columns padded to the same width, a rule under the head.
    pub fn text(&self) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let widths: Vec<usize> = (0..columns)
            .map(|column| {
                let cells = self.rows.iter().filter_map(|row| row.get(column));
                cells.map(|cell| display_width(cell)).max().unwrap_or(0)
            })
            .collect();
        let mut lines = Vec::with_capacity(self.rows.len() + 1);
        for (index, row) in self.rows.iter().enumerate() {
            let cells = row.iter().zip(&widths).map(|(cell, width)| {
                let missing = width.saturating_sub(display_width(cell));
                format!("{cell}{}", " ".repeat(missing))
            });
            let line = cells.collect::<Vec<_>>().join("  ");
            lines.push(line.trim_end().to_owned());
            if index == 0 {
                let rules = widths.iter().map(|width| "-".repeat((*width).max(1)));
                lines.push(rules.collect::<Vec<_>>().join("  "));
            }
        }
        lines.join("\n")
    }
}
