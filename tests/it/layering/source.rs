//! Just enough of Rust's lexical structure: comments and texts out, words with their lines, paths.

/// `text` with comments, string literals and character literals replaced by spaces; lines are kept.
pub fn code_of(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let at = |index: usize| chars.get(index).copied().unwrap_or('\0');
    let mut out = String::with_capacity(text.len());
    let mut index = 0;
    while index < chars.len() {
        let end = match (at(index), at(index + 1)) {
            ('/', '/') => (index..chars.len())
                .find(|i| at(*i) == '\n')
                .unwrap_or(chars.len()),
            ('/', '*') => end_of_comment(&chars, index),
            ('"', _) => end_of_text(&chars, index),
            ('r', '"' | '#')
                if !is_word(at(index.wrapping_sub(1))) || is_byte_prefix(&chars, index) =>
            {
                end_of_raw_text(&chars, index)
            }
            ('\'', _) => end_of_character(&chars, index),
            _ => index,
        };
        if end == index {
            out.push(chars[index]);
            index += 1;
        } else {
            out.extend(
                chars[index..end]
                    .iter()
                    .map(|c| if *c == '\n' { '\n' } else { ' ' }),
            );
            index = end;
        }
    }
    out
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Whether the `r` at `index` is that of `br"` or `cr"`.
fn is_byte_prefix(chars: &[char], index: usize) -> bool {
    let before = |by: usize| index.checked_sub(by).and_then(|i| chars.get(i)).copied();
    matches!(before(1), Some('b' | 'c')) && !before(2).is_some_and(is_word)
}

fn end_of_comment(chars: &[char], start: usize) -> usize {
    let mut depth = 0;
    let mut index = start;
    while index < chars.len() {
        match (chars[index], chars.get(index + 1)) {
            ('/', Some('*')) => (depth, index) = (depth + 1, index + 2),
            ('*', Some('/')) => (depth, index) = (depth - 1, index + 2),
            _ => index += 1,
        }
        if depth == 0 {
            return index;
        }
    }
    chars.len()
}

fn end_of_text(chars: &[char], start: usize) -> usize {
    let mut index = start + 1;
    while index < chars.len() {
        match chars[index] {
            '\\' => index += 2,
            '"' => return index + 1,
            _ => index += 1,
        }
    }
    chars.len()
}

/// The end of `r"…"` or `r#"…"#`; `start` itself when it is a raw identifier.
fn end_of_raw_text(chars: &[char], start: usize) -> usize {
    let hashes = chars[start + 1..].iter().take_while(|c| **c == '#').count();
    let open = start + 1 + hashes;
    if chars.get(open) != Some(&'"') {
        return start;
    }
    let closes = |index: usize| {
        chars[index] == '"'
            && chars[index + 1..]
                .iter()
                .take(hashes)
                .filter(|c| **c == '#')
                .count()
                == hashes
    };
    (open + 1..chars.len())
        .find(|index| closes(*index))
        .map_or(chars.len(), |end| end + 1 + hashes)
}

/// The end of a character literal; `start` itself when it is a lifetime.
fn end_of_character(chars: &[char], start: usize) -> usize {
    match (chars.get(start + 1), chars.get(start + 2)) {
        (Some('\\'), _) => {
            let close = (start + 3..chars.len()).find(|index| chars[*index] == '\'');
            close.map_or(chars.len(), |close| close + 1)
        }
        (Some(_), Some('\'')) => start + 3,
        _ => start,
    }
}

/// Identifiers, `::`, and every other character that is no space, each with its line from 1.
pub fn words_of(code: &str) -> Vec<(usize, String)> {
    let mut words: Vec<(usize, String)> = Vec::new();
    for (number, line) in code.lines().enumerate() {
        let mut chars = line.chars().peekable();
        while let Some(c) = chars.next() {
            let mut word = String::from(c);
            if is_word(c) {
                while let Some(next) = chars.next_if(|c| is_word(*c)) {
                    word.push(next);
                }
            } else if c == ':' && chars.next_if_eq(&':').is_some() {
                word.push(':');
            } else if c.is_whitespace() {
                continue;
            }
            words.push((number + 1, word));
        }
    }
    words
}

/// The start of a path below the crate.
#[derive(Debug, PartialEq, Eq)]
pub struct Path {
    pub line: usize,
    pub first: String,
    pub second: Option<String>,
}

/// Every path that starts with `root::`, those in braces one by one.
pub fn paths_from(words: &[(usize, String)], root: &str) -> Vec<Path> {
    let word = |index: usize| words.get(index).map_or("", |(_, word)| word.as_str());
    let mut paths = Vec::new();
    let mut path_at = |index: usize| {
        let second = (word(index + 1) == "::").then(|| word(index + 2).to_owned());
        paths.push(Path {
            line: words[index].0,
            first: word(index).to_owned(),
            second,
        });
    };
    for index in 0..words.len() {
        if word(index) != root || word(index + 1) != "::" || index + 2 >= words.len() {
            continue;
        }
        if word(index + 2) != "{" {
            path_at(index + 2);
            continue;
        }
        let (mut depth, mut item_start) = (0, false);
        for inner in index + 2..words.len() {
            match word(inner) {
                "{" => (depth, item_start) = (depth + 1, depth == 0),
                "}" => depth -= 1,
                "," => item_start = depth == 1,
                _ if item_start && depth == 1 => {
                    path_at(inner);
                    item_start = false;
                }
                _ => {}
            }
            if depth == 0 {
                break;
            }
        }
    }
    paths
}
