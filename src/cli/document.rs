//! A document for readers, as Markdown or as one HTML page. Text of others is text: no character of it formats, links or
//! runs anything.

use std::fmt::Write as _;

use crate::text::untrusted::reveal_line;

/// A part of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Block {
    /// A heading of the first or second level.
    Heading(u8, String),
    /// A paragraph.
    Paragraph(String),
    /// Rows under these heads.
    Table(&'static [&'static str], Vec<Vec<String>>),
    /// One line each.
    List(Vec<String>),
}

/// How a document is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum DocumentFormat {
    /// Markdown
    Markdown,
    /// One HTML page
    Html,
}

/// Writes a document. `title` is that of the page.
pub fn write(format: DocumentFormat, title: &str, blocks: &[Block]) -> String {
    match format {
        DocumentFormat::Markdown => markdown(blocks),
        DocumentFormat::Html => html(title, blocks),
    }
}

fn escape_markdown(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in reveal_line(text).chars() {
        if "\\`*_[]<>|#~&!".contains(c) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

fn escape_html(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in reveal_line(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            other => out.push(other),
        }
    }
    out
}

fn markdown(blocks: &[Block]) -> String {
    let mut out = String::new();
    let row = |cells: &[String]| {
        let cells: Vec<String> = cells.iter().map(|cell| escape_markdown(cell)).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    for block in blocks {
        if !out.is_empty() {
            out.push('\n');
        }
        match block {
            Block::Heading(level, text) => {
                let marks = "#".repeat(usize::from(*level));
                let _ = writeln!(out, "{marks} {}", escape_markdown(text));
            }
            Block::Paragraph(text) => {
                let _ = writeln!(out, "{}", escape_markdown(text));
            }
            Block::Table(heads, rows) => {
                let _ = writeln!(out, "| {} |", heads.join(" | "));
                let _ = writeln!(out, "|{}", "---|".repeat(heads.len()));
                for cells in rows {
                    out.push_str(&row(cells));
                }
            }
            Block::List(lines) => {
                for line in lines {
                    let _ = writeln!(out, "- {}", escape_markdown(line));
                }
            }
        }
    }
    out
}

/// A page without scripts that loads nothing.
fn html(title: &str, blocks: &[Block]) -> String {
    const STYLE: &str = "body{font:16px/1.5 sans-serif;max-width:60em;margin:2em auto;padding:0 1em}\
        table{border-collapse:collapse}th,td{border:1px solid #bbb;padding:.2em .6em;text-align:left}";
    let mut out = format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{}</title>\n<style>{STYLE}</style></head><body>\n",
        escape_html(title)
    );
    let cells = |name: &str, cells: &mut dyn Iterator<Item = String>| {
        let mut row = "<tr>".to_owned();
        for cell in cells {
            let _ = write!(row, "<{name}>{cell}</{name}>");
        }
        row + "</tr>\n"
    };
    for block in blocks {
        match block {
            Block::Heading(level, text) => {
                let _ = writeln!(out, "<h{level}>{}</h{level}>", escape_html(text));
            }
            Block::Paragraph(text) => {
                let _ = writeln!(out, "<p>{}</p>", escape_html(text));
            }
            Block::Table(heads, rows) => {
                out.push_str("<table>\n");
                out.push_str(&cells(
                    "th",
                    &mut heads.iter().map(|head| escape_html(head)),
                ));
                for row in rows {
                    out.push_str(&cells("td", &mut row.iter().map(|cell| escape_html(cell))));
                }
                out.push_str("</table>\n");
            }
            Block::List(lines) => {
                out.push_str("<ul>\n");
                for line in lines {
                    let _ = writeln!(out, "<li>{}</li>", escape_html(line));
                }
                out.push_str("</ul>\n");
            }
        }
    }
    out.push_str("</body></html>\n");
    out
}
