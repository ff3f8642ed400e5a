//! Tables and text of generated Markdown.

/// A part of a page that grows line by line.
#[derive(Default)]
pub struct Page {
    text: String,
}

impl Page {
    /// A page with a title.
    pub fn new(title: &str) -> Self {
        Self {
            text: format!("# {title}\n"),
        }
    }

    /// A heading below the title; 2 is the highest.
    pub fn heading(&mut self, level: usize, text: &str) {
        self.text
            .push_str(&format!("\n{} {text}\n", "#".repeat(level)));
    }

    /// A paragraph, written as it is.
    pub fn paragraph(&mut self, text: &str) {
        self.text.push_str(&format!("\n{}\n", text.trim_end()));
    }

    /// A table. Nothing is written where there are no rows.
    pub fn table<const N: usize>(&mut self, heads: [&str; N], rows: &[[String; N]]) {
        if rows.is_empty() {
            return;
        }
        self.text.push_str(&format!(
            "\n| {} |\n|{}\n",
            heads.join(" | "),
            "---|".repeat(N)
        ));
        for row in rows {
            let cells: Vec<String> = row.iter().map(|cell| cell.replace('|', "\\|")).collect();
            self.text.push_str(&format!("| {} |\n", cells.join(" | ")));
        }
    }

    /// All of it.
    pub fn finish(self) -> String {
        self.text
    }
}

/// Text of a source on one line: what looks like a tag or a link outside of code is written so that it is neither.
pub fn prose(text: &str) -> String {
    let mut out = String::new();
    let mut in_code = false;
    for letter in text.replace("[`", "`").replace("`]", "`").chars() {
        in_code ^= letter == '`';
        match letter {
            '<' if !in_code => out.push_str("&lt;"),
            '[' if !in_code => out.push_str("\\["),
            '\n' => out.push(' '),
            _ => out.push(letter),
        }
    }
    out
}

/// A name or word as code; nothing for nothing.
pub fn code(text: &str) -> String {
    if text.is_empty() {
        String::new()
    } else {
        format!("`{text}`")
    }
}

/// The words as code, with commas between.
pub fn codes<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    let words: Vec<String> = words.into_iter().map(code).collect();
    words.join(", ")
}
