//! The Markdown of Discord: text in which nothing is taken for markup, and code.
//!
//! An address is written as it is, because a backslash in it would be part of it.

/// Whether characters of an address are being written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Address(bool);

impl Address {
    /// What follows is no part of an address.
    pub fn end(&mut self) {
        self.0 = false;
    }
}

/// Writes text; inside a quote every line carries its mark.
pub fn escape(text: &str, quoted: bool, address: &mut Address, out: &mut String) {
    for c in text.chars() {
        if c.is_whitespace() || matches!(c, '<' | '>') {
            address.end();
        }
        let at_line_start = || {
            let line = out.rsplit('\n').next().unwrap_or_default();
            line.chars().all(|c| matches!(c, ' ' | '>'))
        };
        let special = match c {
            '\\' | '*' | '_' | '~' | '`' | '|' | '<' | '[' => true,
            '>' | '#' | '-' => at_line_start(),
            _ => false,
        };
        if special && !address.0 {
            out.push('\\');
        }
        out.push(c);
        if c == '\n' && quoted {
            out.push_str("> ");
        }
        if c == '/' && (out.ends_with("http://") || out.ends_with("https://")) {
            address.0 = true;
        }
    }
}

/// Code within a line, fenced with more backticks than it holds in a row.
pub fn code(text: &str, out: &mut String) {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    let space = if text.starts_with('`') || text.ends_with('`') {
        " "
    } else {
        ""
    };
    for part in [&fence, space, text, space, &fence] {
        out.push_str(part);
    }
}

/// Code of its own lines. A fence in it is broken by a blank of no width: Discord has no other way to show one.
pub fn block(text: &str, language: Option<&str>, out: &mut String) {
    if !out.is_empty() && !out.ends_with('\n') {
        out.push('\n');
    }
    out.push_str("```");
    out.push_str(language.unwrap_or_default());
    out.push('\n');
    out.push_str(&text.replace("```", "``\u{200b}`"));
    out.push_str("\n```");
}

/// One line of text, escaped.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    escape(text, false, &mut Address::default(), &mut out);
    out
}
