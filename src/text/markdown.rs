//! Markdown to what chat platforms and the screen show. Every output is balanced, and nothing of the source is taken
//! for markup of the platform: raw HTML and unknown links come out as text.

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag as Node, TagEnd};

use crate::text::definitions;
use crate::text::markup::{Markup, Piece, Table, Tag, Writer};
use crate::text::mrkdwn::mrkdwn;

/// Deeper lists are indented no further.
const MAX_LIST_INDENT: usize = 8;

/// The HTML subset of Telegram: b, i, s, code, pre, a (http and https only) and blockquote.
///
/// Source: Bot API, "HTML style". Entities that may not contain each other are closed and opened again.
pub fn to_telegram_html(markdown: &str) -> String {
    render(markdown, Markup::TelegramHtml).finish()
}

/// The Markdown of Discord. Links show their address; nothing mentions or pings anybody by its markup.
///
/// Source: Discord's help page "Markdown Text 101".
pub fn to_discord(markdown: &str) -> String {
    render(markdown, Markup::Discord).finish()
}

/// Slack's mrkdwn: `*b*`, `_i_`, `~s~`, code, links (http and https only) and quotes.
pub fn to_slack(markdown: &str) -> String {
    mrkdwn(&render(markdown, Markup::SlackMrkdwn).into_runs())
}

/// The HTML of Matrix: the same tags, with line ends that HTML knows. A link that clients would show as a person or a
/// room is text.
///
/// Source: client-server API, "m.room.message msgtypes", the HTML that clients may show.
pub fn to_matrix_html(markdown: &str) -> String {
    render(markdown, Markup::MatrixHtml).finish()
}

/// Plain text: structure without markup, links with their address.
pub fn to_plain(markdown: &str) -> String {
    render(markdown, Markup::Plain).finish()
}

/// Pieces of text with their look, for a screen. Nothing that the source says vanishes: addresses and titles of
/// links, words beside a fence, and definitions that no text refers to are part of it.
pub fn to_pieces(markdown: &str) -> Vec<Piece> {
    render(markdown, Markup::Pieces).into_pieces()
}

/// A link being read.
struct Link {
    address: String,
    title: String,
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

fn render(markdown: &str, markup: Markup) -> Writer {
    let mut renderer = Renderer {
        writer: Writer::new(markup, markdown.len()),
        lists: Vec::new(),
        item_start: false,
        table: None,
        link: None,
        code_block: None,
    };
    let options =
        Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TABLES | Options::ENABLE_TASKLISTS;
    let whole = definitions::with_unused_shown(markdown, options);
    let source = whole.as_deref().unwrap_or(markdown);
    Parser::new_ext(source, options).for_each(|event| renderer.event(event));
    // A block of nothing shows its marks: no platform takes a message that shows nothing.
    if !renderer.writer.shows_words() {
        renderer.text(markdown.trim());
    }
    renderer.writer
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
            Node::Heading { level, .. } => {
                self.gap(2);
                self.writer.enter(Tag::Bold);
                if self.writer.markup == Markup::Pieces {
                    self.text(&format!("{} ", "#".repeat(level as usize)));
                }
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
                    CodeBlockKind::Fenced(info) => {
                        if self.writer.markup == Markup::Pieces && !info.is_empty() {
                            self.text(&format!("{info}:"));
                            self.gap(1);
                        }
                        language_of(&info)
                    }
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
            Node::Link {
                dest_url, title, ..
            }
            | Node::Image {
                dest_url, title, ..
            } => {
                // An image inside a link: the outer address counts, the inner one is shown at its end.
                if let Some(outer) = self.link.take() {
                    self.end_link(outer);
                    self.writer.leave();
                    self.writer.wanted.push(None);
                }
                let address = dest_url.into_string();
                if self.may_link(&address) {
                    let address = address.clone();
                    self.writer.enter(Tag::Link { address });
                } else {
                    self.writer.wanted.push(None);
                }
                let text = String::new();
                let title = title.into_string();
                self.link = Some(Link {
                    address,
                    title,
                    text,
                });
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
        if self.writer.markup == Markup::Pieces {
            // Seen as code without any colour too.
            self.writer.text_alone(&format!("`{code}`"), Tag::Code);
            return;
        }
        self.writer.text_alone(code, Tag::Code);
        self.writer.close_all();
    }

    /// Whether an address becomes a link of the platform.
    fn may_link(&self, address: &str) -> bool {
        let is_pill = self.writer.markup == Markup::MatrixHtml && leads_to_matrix(address);
        is_web(address) && !is_pill
    }

    /// Writes the address where the reader cannot see or follow it otherwise.
    fn end_link(&mut self, link: Link) {
        if self.writer.markup == Markup::Pieces && !link.title.is_empty() {
            self.text(&format!(" ({} \"{}\")", link.address, link.title));
            return;
        }
        let shown = link.text.trim();
        let shows_links = match self.writer.markup {
            Markup::TelegramHtml | Markup::MatrixHtml | Markup::SlackMrkdwn => true,
            Markup::Discord | Markup::Plain | Markup::Pieces => false,
        };
        let followed = shows_links
            && self.table.is_none()
            && self.may_link(&link.address)
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

/// Whether clients of Matrix show a link to this address as a person, a room or a message of theirs.
fn leads_to_matrix(address: &str) -> bool {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    host.to_ascii_lowercase().contains("matrix.to")
}

/// The first word of an info string, when it looks like the name of a language.
fn language_of(info: &str) -> Option<String> {
    let word = info.split_whitespace().next()?;
    let plain = |c: char| c.is_ascii_alphanumeric() || "_+#.-".contains(c);
    (word.len() <= 32 && word.chars().all(plain)).then(|| word.to_owned())
}
