//! Link definitions of Markdown: lines such as `[1]: https://a.example`, which Markdown itself never shows.
//!
//! A line that looks like one is often meant as text: `[PASS]: login`.

use std::collections::HashSet;
use std::ops::Range;

use pulldown_cmark::{Event, LinkType, Options, Parser, Tag};

/// The source in which every definition that no link uses is text, at its place. None where it has no definition.
pub fn with_unused_shown(markdown: &str, options: Options) -> Option<String> {
    let parser = Parser::new_ext(markdown, options);
    parser.reference_definitions().iter().next()?;
    let mut events = parser.into_offset_iter();
    let mut shown: Vec<Range<usize>> = Vec::new();
    let mut used: HashSet<usize> = HashSet::new();
    while let Some((event, range)) = events.next() {
        match event {
            // What they hold comes by itself.
            Event::Start(Tag::List(_) | Tag::Item | Tag::BlockQuote(_)) | Event::End(_) => continue,
            Event::Start(Tag::Link { link_type, id, .. } | Tag::Image { link_type, id, .. })
                if names_definition(link_type) =>
            {
                let definition = events.reference_definitions().get(&id);
                used.extend(definition.map(|definition| definition.span.start));
            }
            _ => {}
        }
        shown.push(range);
    }
    let mut out = String::with_capacity(markdown.len() * 2);
    let mut shown = shown.into_iter().peekable();
    let mut shown_until = 0;
    let mut at = 0;
    let mut after_text = false;
    for line in markdown.split_inclusive('\n') {
        let words = line.trim_start_matches(begins_block);
        let start = at + line.len() - words.len();
        at += line.len();
        while let Some(range) = shown.next_if(|range| range.start <= start) {
            shown_until = shown_until.max(range.end);
        }
        let is_definition = words.starts_with('[') && start >= shown_until;
        let (before, words) = line.split_at(line.len() - words.len());
        if !is_definition || used.contains(&start) {
            // No definition can stand within a paragraph.
            if is_definition && after_text && before.trim().is_empty() {
                out.push('\n');
            }
            out.push_str(line);
            after_text = false;
            continue;
        }
        out.push_str(before);
        for c in words.chars() {
            if c.is_ascii_punctuation() {
                out.push('\\');
            }
            out.push(c);
        }
        after_text = true;
    }
    Some(out)
}

/// Whether a character may stand before the words of a line: of a quote or of an item.
fn begins_block(c: char) -> bool {
    c.is_whitespace() || c.is_ascii_digit() || matches!(c, '>' | '-' | '+' | '*' | '.' | ')')
}

fn names_definition(link: LinkType) -> bool {
    matches!(
        link,
        LinkType::Reference | LinkType::Collapsed | LinkType::Shortcut
    )
}
