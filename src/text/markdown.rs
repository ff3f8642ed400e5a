//! Markdown to what chat platforms show. Every output is balanced, and nothing of the source is taken
//! for markup of the platform: raw HTML and unknown links come out as text.

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag as Node, TagEnd};

use crate::text::width::display_width;

/// Deeper lists are indented no further.
const MAX_LIST_INDENT: usize = 8;

/// The HTML subset of Telegram: b, i, s, code, pre, a (http and https only) and blockquote.
///
/// Source: Bot API, "HTML style". Entities that may not contain each other are closed and opened again.
pub fn to_telegram_html(markdown: &str) -> String {
    render(markdown, Markup::TelegramHtml)
}

/// Plain text: structure without markup, links with their address.
pub fn to_plain(markdown: &str) -> String {
    render(markdown, Markup::Plain)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Markup {
    TelegramHtml,
    Plain,
}

/// A tag of the output.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Tag {
    Bold,
    Italic,
    Strike,
    Code,
    Pre { language: Option<String> },
    Link { address: String },
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

/// Text with tags, opened only when something is written under them.
struct Writer {
    markup: Markup,
    out: String,
    /// Tags that the next text shall stand under; `None` for one that is already there.
    wanted: Vec<Option<Tag>>,
    /// Tags that are open in `out`.
    open: Vec<Tag>,
    /// Line breaks due before the next text.
    breaks: usize,
}

impl Writer {
    fn enter(&mut self, tag: Tag) {
        let there = self
            .wanted
            .iter()
            .flatten()
            .any(|other| std::mem::discriminant(other) == std::mem::discriminant(&tag));
        self.wanted.push((!there).then_some(tag));
    }

    fn leave(&mut self) {
        self.wanted.pop();
    }

    /// The next text starts at least this many line breaks further down.
    fn gap(&mut self, breaks: usize) {
        if !self.out.is_empty() {
            self.breaks = self.breaks.max(breaks);
        }
    }

    fn text(&mut self, text: &str) {
        let wanted: Vec<Tag> = self.wanted.iter().flatten().cloned().collect();
        self.text_under(text, wanted);
    }

    /// Text under `tag` alone: code and links hold nothing and stand in nothing.
    fn text_alone(&mut self, text: &str, tag: Tag) {
        self.text_under(text, vec![tag]);
    }

    fn text_under(&mut self, text: &str, wanted: Vec<Tag>) {
        if text.is_empty() {
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
            if let Some(tag) = self.open.pop() {
                self.out.push_str(tag.close());
            }
        }
        self.write_breaks();
        for tag in wanted.into_iter().skip(same) {
            tag.open(&mut self.out);
            self.open.push(tag);
        }
        escape(text, &mut self.out);
    }

    fn write_breaks(&mut self) {
        self.out.extend(std::iter::repeat_n('\n', self.breaks));
        self.breaks = 0;
    }

    /// Ends the open tags, so that the next text cannot continue them.
    fn close_all(&mut self) {
        while let Some(tag) = self.open.pop() {
            self.out.push_str(tag.close());
        }
    }

    fn finish(mut self) -> String {
        self.close_all();
        self.out
    }
}

/// A table being read.
#[derive(Default)]
struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    fn cell(&mut self) -> Option<&mut String> {
        self.rows.last_mut()?.last_mut()
    }

    /// Columns padded to the same width, a rule under the head.
    fn text(&self) -> String {
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

/// A link being read.
struct Link {
    address: String,
    /// What its text has been so far.
    text: String,
}

struct Renderer {
    writer: Writer,
    /// Number of the next item of each open list; `None` for bullets.
    lists: Vec<Option<u64>>,
    /// An item has started and nothing has been written in it.
    item_start: bool,
    table: Option<Table>,
    link: Option<Link>,
    code_block: Option<(Tag, String)>,
}

fn render(markdown: &str, markup: Markup) -> String {
    let mut renderer = Renderer {
        writer: Writer {
            markup,
            out: String::with_capacity(markdown.len() + markdown.len() / 4),
            wanted: Vec::new(),
            open: Vec::new(),
            breaks: 0,
        },
        lists: Vec::new(),
        item_start: false,
        table: None,
        link: None,
        code_block: None,
    };
    let options =
        Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TABLES | Options::ENABLE_TASKLISTS;
    for event in Parser::new_ext(markdown, options) {
        renderer.event(event);
    }
    renderer.writer.finish()
}

impl Renderer {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(node) => self.start(node),
            Event::End(node) => self.end(node),
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => self.text(&text),
            Event::Code(code) => self.code(&code),
            Event::SoftBreak | Event::HardBreak => self.text("\n"),
            Event::Rule => {
                self.gap(2);
                self.writer.text("———");
                self.gap(2);
            }
            Event::TaskListMarker(done) => self.text(if done { "[x] " } else { "[ ] " }),
            // Extensions that are not switched on; their text must not vanish if one ever is.
            Event::InlineMath(text) | Event::DisplayMath(text) | Event::FootnoteReference(text) => {
                self.text(&text);
            }
        }
    }

    fn start(&mut self, node: Node<'_>) {
        match node {
            Node::Paragraph | Node::HtmlBlock => self.gap(2),
            Node::Heading { .. } => {
                self.gap(2);
                self.writer.enter(Tag::Bold);
            }
            Node::BlockQuote(_) => {
                self.gap(2);
                if !self
                    .writer
                    .wanted
                    .iter()
                    .flatten()
                    .any(|t| *t == Tag::Quote)
                {
                    self.writer.close_all();
                }
                self.writer.enter(Tag::Quote);
            }
            Node::CodeBlock(kind) => {
                self.gap(2);
                let language = match kind {
                    CodeBlockKind::Indented => None,
                    CodeBlockKind::Fenced(info) => language_of(&info),
                };
                self.code_block = Some((Tag::Pre { language }, String::new()));
            }
            Node::List(first) => {
                self.gap(if self.lists.is_empty() { 2 } else { 1 });
                self.lists.push(first);
            }
            Node::Item => self.item(),
            Node::Table(_) => {
                self.gap(2);
                self.table = Some(Table::default());
            }
            Node::TableHead | Node::TableRow => {
                if let Some(table) = &mut self.table {
                    table.rows.push(Vec::new());
                }
            }
            Node::TableCell => {
                if let Some(row) = self.table.as_mut().and_then(|table| table.rows.last_mut()) {
                    row.push(String::new());
                }
            }
            Node::Emphasis => self.writer.enter(Tag::Italic),
            Node::Strong => self.writer.enter(Tag::Bold),
            Node::Strikethrough => self.writer.enter(Tag::Strike),
            Node::Link { dest_url, .. } | Node::Image { dest_url, .. } => {
                // An image inside a link: the outer address counts, the inner one is shown at its end.
                if let Some(outer) = self.link.take() {
                    self.end_link(outer);
                    self.writer.leave();
                    self.writer.wanted.push(None);
                }
                let address = dest_url.into_string();
                if is_web(&address) {
                    let address = address.clone();
                    self.writer.enter(Tag::Link { address });
                } else {
                    self.writer.wanted.push(None);
                }
                let text = String::new();
                self.link = Some(Link { address, text });
            }
            // Extensions that are not switched on.
            Node::FootnoteDefinition(_)
            | Node::DefinitionList
            | Node::DefinitionListTitle
            | Node::DefinitionListDefinition
            | Node::MetadataBlock(_)
            | Node::Superscript
            | Node::Subscript => self.gap(1),
        }
    }

    fn end(&mut self, node: TagEnd) {
        match node {
            TagEnd::Paragraph | TagEnd::HtmlBlock => {
                let tight = !self.lists.is_empty();
                self.gap(if tight { 1 } else { 2 });
            }
            TagEnd::Heading(_) => {
                self.writer.leave();
                self.gap(2);
            }
            TagEnd::BlockQuote(_) => {
                self.writer.leave();
                self.gap(2);
            }
            TagEnd::CodeBlock => {
                if let Some((tag, code)) = self.code_block.take() {
                    let code = code.strip_suffix('\n').unwrap_or(&code);
                    self.mark_item();
                    self.writer.close_all();
                    self.writer.text_alone(code, tag);
                    self.writer.close_all();
                }
                self.gap(2);
            }
            TagEnd::List(_) => {
                self.lists.pop();
                self.item_start = false;
                self.gap(if self.lists.is_empty() { 2 } else { 1 });
            }
            TagEnd::Item => {
                // An item without anything in it still shows its mark.
                self.mark_item();
                self.gap(1);
            }
            TagEnd::Table => {
                if let Some(table) = self.table.take() {
                    self.mark_item();
                    self.writer.close_all();
                    let tag = Tag::Pre { language: None };
                    self.writer.text_alone(&table.text(), tag);
                    self.writer.close_all();
                }
                self.gap(2);
            }
            TagEnd::TableHead | TagEnd::TableRow | TagEnd::TableCell => {}
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => self.writer.leave(),
            TagEnd::Link | TagEnd::Image => {
                if let Some(link) = self.link.take() {
                    self.end_link(link);
                }
                self.writer.leave();
            }
            TagEnd::FootnoteDefinition
            | TagEnd::DefinitionList
            | TagEnd::DefinitionListTitle
            | TagEnd::DefinitionListDefinition
            | TagEnd::MetadataBlock(_)
            | TagEnd::Superscript
            | TagEnd::Subscript => self.gap(1),
        }
    }

    fn item(&mut self) {
        // The mark of an item that holds only a list stands before the inner mark.
        self.mark_item();
        self.gap(1);
        self.item_start = true;
    }

    /// Writes the mark of an item that has just started.
    fn mark_item(&mut self) {
        if !std::mem::take(&mut self.item_start) {
            return;
        }
        let depth = self.lists.len().saturating_sub(1).min(MAX_LIST_INDENT);
        let mark = match self.lists.last_mut() {
            Some(Some(number)) => {
                let mark = format!("{number}. ");
                *number = number.saturating_add(1);
                mark
            }
            Some(None) | None => "• ".to_owned(),
        };
        self.writer
            .text_under(&format!("{}{mark}", "  ".repeat(depth)), self.quote());
    }

    /// What a list mark stands under: a quote, but no emphasis.
    fn quote(&self) -> Vec<Tag> {
        let wanted = self.writer.wanted.iter().flatten();
        wanted.filter(|tag| **tag == Tag::Quote).cloned().collect()
    }

    fn gap(&mut self, breaks: usize) {
        // Nothing may come between the mark of an item and its text.
        if !self.item_start {
            let breaks = if self.lists.is_empty() { breaks } else { 1 };
            self.writer.gap(breaks);
        }
    }

    fn text(&mut self, text: &str) {
        if let Some((_, code)) = &mut self.code_block {
            code.push_str(text);
            return;
        }
        if let Some(link) = &mut self.link {
            link.text.push_str(text);
        }
        if let Some(table) = &mut self.table {
            let flat = text.replace('\n', " ");
            if let Some(cell) = table.cell() {
                cell.push_str(&flat);
            }
            return;
        }
        self.mark_item();
        self.writer.text(text);
    }

    fn code(&mut self, code: &str) {
        // A link may not hold code, nor a table anything.
        if self.link.is_some() || self.table.is_some() {
            self.text(code);
            return;
        }
        self.mark_item();
        self.writer.text_alone(code, Tag::Code);
        self.writer.close_all();
    }

    /// Writes the address where the reader cannot see or follow it otherwise.
    fn end_link(&mut self, link: Link) {
        let shown = link.text.trim();
        let followed = self.writer.markup == Markup::TelegramHtml
            && self.table.is_none()
            && is_web(&link.address)
            && !shown.is_empty();
        let same = shown == link.address || format!("mailto:{shown}") == link.address;
        if followed || same || link.address.is_empty() {
            return;
        }
        if shown.is_empty() {
            self.text(&link.address);
        } else {
            self.text(&format!(" ({})", link.address));
        }
    }
}

/// Whether an address may become a link.
fn is_web(address: &str) -> bool {
    let scheme = address.split_once("://").map(|(scheme, _)| scheme);
    scheme.is_some_and(|s| s.eq_ignore_ascii_case("http") || s.eq_ignore_ascii_case("https"))
}

/// The first word of an info string, when it looks like the name of a language.
fn language_of(info: &str) -> Option<String> {
    let word = info.split_whitespace().next()?;
    let plain = |c: char| c.is_ascii_alphanumeric() || "_+#.-".contains(c);
    (word.len() <= 32 && word.chars().all(plain)).then(|| word.to_owned())
}
