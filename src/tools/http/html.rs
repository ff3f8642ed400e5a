//! What people read of a page of HTML, as lines of text with the addresses of its links. Pure.
//!
//! It goes through the page once; nothing here nests as deep as a page does, and no text is made longer than the page
//! but by marks of headings, entries and links.

use html5gum::{DefaultEmitter, StartTag, Token, Tokenizer};
use reqwest::Url;

/// Elements whose content nobody reads.
const UNREAD: [&str; 10] = [
    "canvas", "iframe", "math", "noscript", "object", "script", "select", "style", "svg",
    "template",
];
/// Elements with an empty line before and after.
const PARAGRAPHS: [&str; 22] = [
    "address",
    "article",
    "aside",
    "blockquote",
    "body",
    "details",
    "dl",
    "fieldset",
    "figure",
    "footer",
    "form",
    "header",
    "hr",
    "main",
    "nav",
    "ol",
    "p",
    "pre",
    "section",
    "table",
    "title",
    "ul",
];
/// Elements that begin on a line of their own.
const LINES: [&str; 11] = [
    "caption",
    "dd",
    "div",
    "dt",
    "figcaption",
    "legend",
    "li",
    "option",
    "summary",
    "tr",
    "br",
];

/// The text as it grows.
#[derive(Default)]
struct Lines {
    text: String,
    /// Line breaks that come before the next word.
    breaks: u8,
    /// Whether a space comes before the next word.
    space: bool,
    /// What comes before the next word of a new line: `- `, `## `.
    mark: String,
}

impl Lines {
    fn end_line(&mut self, breaks: u8) {
        self.space = false;
        if !self.text.is_empty() {
            self.breaks = self.breaks.max(breaks);
        }
    }

    fn before_word(&mut self) {
        if self.breaks > 0 {
            for _ in 0..std::mem::take(&mut self.breaks) {
                self.text.push('\n');
            }
        } else if self.space && !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push(' ');
        }
        self.space = false;
        self.text.push_str(&std::mem::take(&mut self.mark));
    }

    fn words(&mut self, text: &str) {
        for (number, word) in text.split(char::is_whitespace).enumerate() {
            self.space |= number > 0;
            if !word.is_empty() {
                self.before_word();
                self.text.push_str(word);
            }
        }
    }

    fn as_it_stands(&mut self, text: &str) {
        if !text.trim().is_empty() {
            self.before_word();
            self.text.push_str(text);
        }
    }
}

/// A page as it is read.
struct Reader<'a> {
    lines: Lines,
    base: &'a Url,
    /// The element whose content is skipped, and how often it is open.
    unread: Option<(Vec<u8>, u32)>,
    /// How often `pre` is open.
    as_it_stands: u32,
    /// Where the words of a link begin, once there are any, and where the link leads.
    link: Option<(Option<usize>, String)>,
}

fn name_of(tag: &[u8]) -> &str {
    std::str::from_utf8(tag).unwrap_or_default()
}

impl Reader<'_> {
    fn attribute(tag: &StartTag<()>, name: &str) -> Option<String> {
        let value = tag.attributes.get(name.as_bytes())?;
        Some(String::from_utf8_lossy(value).into_owned())
    }

    fn start(&mut self, tag: &StartTag<()>) {
        let name = name_of(&tag.name);
        if let Some((open, depth)) = &mut self.unread {
            if open.as_slice() == tag.name.as_slice() && !tag.self_closing {
                *depth += 1;
            }
            return;
        }
        if UNREAD.contains(&name) {
            if !tag.self_closing {
                self.unread = Some((tag.name.to_vec(), 1));
            }
            return;
        }
        self.boundary(name);
        match name {
            "li" => self.lines.mark.push_str("- "),
            "td" | "th" if !self.lines.text.is_empty() && self.lines.breaks == 0 => {
                self.lines.text.push_str(" |");
                self.lines.space = true;
            }
            "pre" => self.as_it_stands += 1,
            "img" => {
                if let Some(alt) = Self::attribute(tag, "alt").filter(|alt| !alt.trim().is_empty())
                {
                    self.read(&format!("[image: {}]", alt.trim()));
                }
            }
            "a" => {
                self.end_link();
                let address = Self::attribute(tag, "href").and_then(|to| self.leads_to(&to));
                self.link = address.map(|address| (None, address));
            }
            _ => {
                if let Some(level) = heading(name) {
                    self.lines.mark = format!("{} ", "#".repeat(level));
                }
            }
        }
    }

    fn end(&mut self, tag: &[u8]) {
        if let Some((open, depth)) = &mut self.unread {
            if open.as_slice() == tag {
                *depth -= 1;
                if *depth == 0 {
                    self.unread = None;
                }
            }
            return;
        }
        let name = name_of(tag);
        match name {
            "pre" => self.as_it_stands = self.as_it_stands.saturating_sub(1),
            "a" => self.end_link(),
            _ => {}
        }
        self.boundary(name);
    }

    fn boundary(&mut self, name: &str) {
        let breaks = if PARAGRAPHS.contains(&name) || heading(name).is_some() {
            2
        } else if LINES.contains(&name) {
            1
        } else {
            return;
        };
        self.end_link();
        self.lines.mark.clear();
        self.lines.end_line(breaks);
    }

    /// An address that could be fetched; none = it leads to a part of this page, or is none.
    fn leads_to(&self, href: &str) -> Option<String> {
        if href.trim_start().starts_with('#') {
            return None;
        }
        let url = self.base.join(href.trim()).ok()?;
        matches!(url.scheme(), "http" | "https").then(|| url.to_string())
    }

    fn end_link(&mut self) {
        let Some((Some(from), address)) = self.link.take() else {
            return;
        };
        let shown = self.lines.text.get(from..).unwrap_or_default();
        if !shown.is_empty() && shown != address {
            self.lines.text.insert(from, '[');
            self.lines.text.push_str(&format!("]({address})"));
        }
    }

    fn read(&mut self, text: &str) {
        let mut text = text;
        if let Some((begins @ None, _)) = &mut self.link
            && !text.trim().is_empty()
        {
            // The break, mark or space before the first word is not part of the link.
            let words = text.trim_start();
            self.lines.space |= words.len() < text.len();
            self.lines.before_word();
            *begins = Some(self.lines.text.len());
            text = words;
        }
        if self.as_it_stands > 0 {
            self.lines.as_it_stands(text);
        } else {
            self.lines.words(text);
        }
    }

    fn string(&mut self, text: &[u8]) {
        if self.unread.is_none() {
            self.read(&String::from_utf8_lossy(text));
        }
    }
}

fn heading(name: &str) -> Option<usize> {
    let level = name.strip_prefix('h')?.parse().ok()?;
    (1..=6).contains(&level).then_some(level)
}

/// The text of a page; its links are relative to `base`.
pub fn text(page: &str, base: &Url) -> String {
    let mut reader = Reader {
        lines: Lines::default(),
        base,
        unread: None,
        as_it_stands: 0,
        link: None,
    };
    let mut emitter = DefaultEmitter::default();
    emitter.naively_switch_states(true);
    for Ok(token) in Tokenizer::new_with_emitter(page, emitter) {
        match token {
            Token::StartTag(tag) => reader.start(&tag),
            Token::EndTag(tag) => reader.end(&tag.name),
            Token::String(text) => reader.string(&text),
            Token::Comment(_) | Token::Doctype(_) | Token::Error(_) => {}
        }
    }
    reader.end_link();
    reader.lines.text
}
