//! A TOML file with its text, so that every error names line, column and key. No error quotes a value: it could be a
//! secret in the wrong place.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::config::error::{ConfigError, ConfigLocation, Fault};

/// Larger files are refused: nobody writes them.
const MAX_BYTES: u64 = 1 << 20;

/// The text of one file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TomlText {
    path: PathBuf,
    text: String,
}

impl TomlText {
    /// Reads a file; none when there is none. `step` is what to do when it cannot be read.
    pub fn read(path: &Path, step: &str) -> Result<Option<Self>, ConfigError> {
        let place = || ConfigLocation::File {
            path: path.to_owned(),
            line: None,
            column: None,
        };
        let cannot = |error: &std::io::Error| {
            let fault = Fault::new(place(), format!("cannot be read: {error}"));
            ConfigError::from(fault.next_step(step))
        };
        let mut file = match std::fs::File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(cannot(&error)),
        };
        if file.metadata().is_ok_and(|about| about.is_dir()) {
            let step = format!(
                "Name the file in it, for example {}",
                path.join("config.toml").display()
            );
            let fault = Fault::new(place(), "is a directory").expected("a TOML file");
            return Err(fault.next_step(step).into());
        }
        let mut bytes = Vec::new();
        let limited = file.by_ref().take(MAX_BYTES + 1);
        { limited }
            .read_to_end(&mut bytes)
            .map_err(|e| cannot(&e))?;
        if bytes.len() as u64 > MAX_BYTES {
            let fault = Fault::new(place(), "is larger than 1 MiB").expected("a TOML file");
            return Err(fault.into());
        }
        let text = String::from_utf8(bytes).map_err(|error| {
            let good = error.utf8_error().valid_up_to();
            let text = String::from_utf8_lossy(error.as_bytes().get(..good).unwrap_or_default());
            let (line, column) = position(&text, good);
            let place = ConfigLocation::File {
                path: path.to_owned(),
                line: Some(line),
                column: Some(column),
            };
            let fault = Fault::new(place, "is not UTF-8 text from here on");
            ConfigError::from(fault.next_step("Save the file as UTF-8"))
        })?;
        Ok(Some(Self::new(path, text)))
    }

    /// Text as if it were the file at `path`.
    pub fn new(path: &Path, text: impl Into<String>) -> Self {
        let text = text.into();
        // Editors of some platforms start a file with a byte order mark.
        let text = match text.strip_prefix('\u{feff}') {
            Some(rest) => rest.to_owned(),
            None => text,
        };
        Self {
            path: path.to_owned(),
            text,
        }
    }

    /// Where it lies.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What it says.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, ConfigError> {
        toml::from_str(&self.text).map_err(|error| self.explain(&error).into())
    }

    /// Every value as TOML, by dotted key; nothing where the text is not TOML.
    pub fn values(&self) -> BTreeMap<String, String> {
        let mut values = BTreeMap::new();
        if let Ok(table) = toml::from_str::<toml::Table>(&self.text) {
            flatten("", &table, &mut values);
        }
        values
    }

    /// A fault at a key of this file; at the nearest table around it when the key is not written.
    pub fn fault(&self, keys: &[&str], problem: impl Into<String>) -> Fault {
        let start = DeTable::parse(&self.text)
            .ok()
            .and_then(|table| start_of(table.get_ref(), keys));
        Fault::new(self.place(start), problem).key(keys.join("."))
    }

    /// The same text with spaces in place of an entry, so that everything else stays where it is. Where the last keys are
    /// not written, the table around them goes. None when nothing can be left out.
    pub fn without(&self, keys: &[&str]) -> Option<Self> {
        let table = DeTable::parse(&self.text).ok()?;
        let (range, whole) = entry_of(table.get_ref(), keys)?;
        let line = self
            .text
            .get(..range.start)?
            .rfind('\n')
            .map_or(0, |at| at + 1);
        let header = self
            .text
            .get(line..range.start)?
            .trim_start()
            .starts_with('[');
        let range = match (header, whole) {
            (true, _) => line..self.end_of_table(line),
            (false, true) => range,
            (false, false) => return None,
        };
        let blank: String = self
            .text
            .get(range.clone())?
            .chars()
            .map(|c| if c == '\n' { c } else { ' ' })
            .collect();
        let mut text = self.text.clone();
        text.replace_range(range, &blank);
        (text != self.text).then(|| Self {
            path: self.path.clone(),
            text,
        })
    }

    /// Where the table ends whose header is the line at this offset, with the tables in it.
    fn end_of_table(&self, line: usize) -> usize {
        let rest = self.text.get(line..).unwrap_or_default();
        let mut lines = rest.split_inclusive('\n');
        let header = lines.next().unwrap_or_default();
        let name = header.trim().trim_matches(['[', ']']).to_owned();
        let inner = format!("[{name}.");
        let body: usize = lines
            .take_while(|line| !line.starts_with('[') || line.starts_with(&inner))
            .map(str::len)
            .sum();
        line + header.len() + body
    }

    fn place(&self, start: Option<usize>) -> ConfigLocation {
        let (line, column) = start.map(|start| position(&self.text, start)).unzip();
        ConfigLocation::File {
            path: self.path.clone(),
            line,
            column,
        }
    }

    fn explain(&self, error: &toml::de::Error) -> Fault {
        let span = error.span();
        let start = span.as_ref().map(|span| span.start);
        let place = self.place(start);
        let mut fault = explain(place, error.message());
        let table = DeTable::parse(&self.text).ok();
        let keys = table.zip(start).map(|(table, start)| {
            let mut keys = Vec::new();
            keys_at(table.get_ref(), start, &mut keys);
            keys
        });
        fault.key = keys.filter(|keys| !keys.is_empty()).map(|k| k.join("."));
        fault
    }
}

/// Turns a message of the parser into ours. The parser's quotes of values are left out: a value may be a
/// secret in the wrong place.
fn explain(place: ConfigLocation, message: &str) -> Fault {
    let words = quoted(message);
    let (first, others) = words.split_first().unwrap_or((&"", &[]));
    let list = |words: &[&str]| match words {
        [] => "no key at all".to_owned(),
        [one] => format!("`{one}`"),
        many => format!("one of {}", many.join(", ")),
    };
    if message.starts_with("unknown field") {
        let fault = Fault::new(place, format!("unknown key `{first}`"));
        let fault = fault.nearest(first, others.iter().copied());
        return fault.expected(list(others));
    }
    if message.starts_with("unknown variant") {
        let fault = Fault::new(place, format!("`{first}` is not known here"));
        let fault = fault.nearest(first, others.iter().copied());
        return fault.expected(list(others));
    }
    if let Some((_, known)) = message.split_once(": expected one of ") {
        let known: Vec<&str> = known.split(", ").collect();
        let fault = Fault::new(place, format!("`{first}` is not known here"));
        let fault = fault.nearest(first, known.iter().copied());
        return fault.expected(list(&known));
    }
    if message.starts_with("missing field") {
        let step = format!("Add `{first} = …` to this table");
        return Fault::new(place, format!("`{first}` is missing")).next_step(step);
    }
    let expected = message.rsplit_once(", expected ").map(|(_, e)| in_words(e));
    if let Some(found) = message.strip_prefix("invalid type: ") {
        let end = found.find([',', '"', '`']).unwrap_or(found.len());
        let found = found.get(..end).unwrap_or_default().trim();
        let found = if found == "map" { "table" } else { found };
        let found = if found == "sequence" { "list" } else { found };
        let fault = Fault::new(place, format!("wrong type: this is of type {found}"));
        return fault.expected(expected.unwrap_or_default());
    }
    if message.starts_with("invalid value: integer") {
        let fault = Fault::new(place, "the number is out of range");
        return fault.expected(expected.unwrap_or_default());
    }
    if message.starts_with("duplicate key") {
        return Fault::new(place, "is written twice").next_step("Keep one of the two");
    }
    Fault::new(place, format!("not valid TOML: {message}"))
}

/// The words between backticks.
fn quoted(message: &str) -> Vec<&str> {
    message.split('`').skip(1).step_by(2).collect()
}

/// Names of types as people know them.
fn in_words(expected: &str) -> String {
    match expected {
        "u32" | "u64" | "usize" => "a whole number from 0".to_owned(),
        "f64" => "a number".to_owned(),
        "a boolean" => "true or false".to_owned(),
        "a string" | "a borrowed string" => "text in quotes".to_owned(),
        "a sequence" => "a list".to_owned(),
        "a map" => "a table".to_owned(),
        other if other.starts_with("struct ") => "a table".to_owned(),
        other => other.to_owned(),
    }
}

fn flatten(prefix: &str, table: &toml::Table, values: &mut BTreeMap<String, String>) {
    for (name, value) in table {
        let key = match prefix {
            "" => name.clone(),
            prefix => format!("{prefix}.{name}"),
        };
        match value {
            toml::Value::Table(inner) => flatten(&key, inner, values),
            value => {
                values.insert(key, value.to_string());
            }
        }
    }
}

/// Line and column of a byte offset, both from 1; the column counts characters.
fn position(text: &str, offset: usize) -> (usize, usize) {
    let before = text
        .get(..text.floor_char_boundary(offset))
        .unwrap_or_default();
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    let line = before.matches('\n').count() + 1;
    let column = before.get(line_start..).unwrap_or_default().chars().count() + 1;
    (line, column)
}

/// Where the deepest written part of `keys` starts. An entry of a list is named by its number, from 0.
fn start_of(table: &DeTable<'_>, keys: &[&str]) -> Option<usize> {
    let (first, rest) = keys.split_first()?;
    let (key, value) = table.iter().find(|(key, _)| key.get_ref() == first)?;
    let inner = match value.get_ref() {
        DeValue::Table(table) => start_of(table, rest),
        DeValue::Array(items) => rest.split_first().and_then(|(number, rest)| {
            let item = items.get(number.parse::<usize>().ok()?)?;
            let inner = item
                .get_ref()
                .as_table()
                .and_then(|table| start_of(table, rest));
            Some(inner.unwrap_or(item.span().start))
        }),
        _ => None,
    };
    Some(inner.unwrap_or(key.span().start))
}

/// The bytes of the entry at these keys, or of the nearest one around it that is written; and whether they are all of it.
fn entry_of(table: &DeTable<'_>, keys: &[&str]) -> Option<(std::ops::Range<usize>, bool)> {
    let (first, rest) = keys.split_first()?;
    let (key, value) = table.iter().find(|(key, _)| key.get_ref() == first)?;
    let inner = match value.get_ref() {
        DeValue::Table(table) => entry_of(table, rest),
        _ => None,
    };
    let whole = value.get_ref().as_table().is_none();
    Some(inner.unwrap_or((key.span().start..value.span().end, whole)))
}

/// The keys around a byte offset, outermost first.
fn keys_at(table: &DeTable<'_>, offset: usize, keys: &mut Vec<String>) -> bool {
    for (key, value) in table {
        let depth = keys.len();
        keys.push(key.get_ref().to_string());
        let inside = covers(key, offset) || covers(value, offset);
        if let Some(inner) = value.get_ref().as_table()
            && keys_at(inner, offset, keys)
        {
            return true;
        }
        if inside {
            return true;
        }
        keys.truncate(depth);
    }
    false
}

fn covers<T>(part: &Spanned<T>, offset: usize) -> bool {
    part.span().contains(&offset)
}
