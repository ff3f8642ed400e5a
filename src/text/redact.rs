//! Takes secrets out of text before it reaches a log, a screen, a chat or the database.
//!
//! Two nets: every secret the program was given, in each form it may reappear in (raw, URL-encoded,
//! JSON-escaped, Markdown-escaped, base64 at any alignment), and the shapes of well-known credentials. Nothing
//! here prints a secret, not even in `Debug`.

pub mod seam;

use std::borrow::Cow;
use std::fmt::Write as _;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use regex::Regex;
use serde_json::Value;

/// What stands in place of a secret.
pub const REDACTED: &str = "[redacted]";

/// Shorter values are not registered: they would hit ordinary words.
pub const SHORTEST: usize = 6;

/// Shortest base64 fragment worth looking for.
const SHORTEST_FRAGMENT: usize = 8;

/// Shapes of credentials: PEM private keys, Telegram bot tokens, OpenAI and Anthropic keys, bearer
/// headers, AWS ids and secrets, Slack and GitHub tokens, Google keys. Markdown may escape `_` and `-` in them.
const SHAPES: &[&str] = &[
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----(?s:.*?)(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY-----|\z)",
    r"[0-9]{6,}:(?:[A-Za-z0-9_-]|\\[_-]){30,}",
    r"(?-u:\b)sk-(?:[A-Za-z0-9_-]|\\[_-]){16,}",
    r"(?i:bearer)[ \t]+[A-Za-z0-9._~+/=-]{16,}",
    r"(?-u:\b)(?:AKIA|ASIA)[A-Z0-9]{16}",
    r#"(?i:aws\\?_secret\\?_access\\?_key)["']?[ \t]*[=:][ \t]*["']?[A-Za-z0-9/+=]{40}"#,
    r"(?-u:\b)xox[abprs]-[A-Za-z0-9-]{10,}",
    r"(?-u:\b)xapp-[A-Za-z0-9-]{10,}",
    r"(?-u:\b)gh[pousr]\\?_[A-Za-z0-9]{36,}",
    r"(?-u:\b)github\\?_pat\\?_(?:[A-Za-z0-9_]|\\_){22,}",
    r"(?-u:\b)AIza(?:[A-Za-z0-9_-]|\\[_-]){35}",
];

/// Marks of Markdown that models escape in prose: the commonest first, then all that can be escaped.
const MARKS: &[&str] = &["_", "_*", "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"];

/// The registry of secrets. Clones share it.
#[derive(Clone, Default)]
pub struct Redactor {
    shared: Arc<RwLock<Registry>>,
}

#[derive(Default)]
struct Registry {
    /// Every form of every secret, longest first.
    forms: Vec<String>,
    /// The forms in alphabetical order, for looking up what begins with a text.
    sorted: Vec<String>,
    /// The forms as one expression; none while there are none.
    literals: Option<Regex>,
}

impl std::fmt::Debug for Redactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Redactor")
    }
}

impl Redactor {
    /// A redactor that knows the shapes, and no secret yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a secret. Surrounding white space is not part of it; values under six characters are ignored.
    pub fn register(&self, secret: &str) {
        let secret = secret.trim();
        if secret.chars().count() < SHORTEST {
            return;
        }
        let mut registry = self.shared.write().unwrap_or_else(PoisonError::into_inner);
        for form in forms_of(secret) {
            if !registry.forms.contains(&form) {
                registry.forms.push(form);
            }
        }
        // Longest first: the expression takes the first alternative that matches.
        let registry = &mut *registry;
        registry
            .forms
            .sort_unstable_by_key(|form| std::cmp::Reverse(form.len()));
        registry.sorted.clone_from(&registry.forms);
        registry.sorted.sort_unstable();
        let alternatives: Vec<String> = registry.forms.iter().map(|f| regex::escape(f)).collect();
        registry.literals = Regex::new(&alternatives.join("|")).ok();
    }

    /// `text` with every secret replaced by `[redacted]`; borrowed when there was none.
    pub fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match self.without_registered(text) {
            Cow::Borrowed(text) => without_shapes(text),
            Cow::Owned(text) => Cow::Owned(without_shapes(&text).into_owned()),
        }
    }

    /// `text` redacted, and so is the beginning of a registered secret that an excerpt cut off (`…`).
    pub fn redact_excerpts(&self, text: &str) -> String {
        let clean = self.redact(text);
        let Some((before, last)) = clean.rsplit_once('…') else {
            return clean.into_owned();
        };
        let mut out = String::with_capacity(clean.len());
        for piece in before.split('…') {
            out.push_str(&self.without_beginning(piece));
            out.push('…');
        }
        out.push_str(last);
        out
    }

    /// `text` without the beginning of a registered secret at its end. One under six characters stays.
    fn without_beginning<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let registry = self.shared.read().unwrap_or_else(PoisonError::into_inner);
        let at = registry.beginning(text, 0);
        match text.split_at_checked(at) {
            Some((before, beginning)) if beginning.chars().count() >= SHORTEST => {
                Cow::Owned(format!("{before}{REDACTED}"))
            }
            Some(_) | None => Cow::Borrowed(text),
        }
    }

    /// Takes registered secrets out of every string and every key in `value`, and nothing else: for opaque blocks, in
    /// which the shape of a credential can stand by chance.
    pub fn redact_registered_json(&self, value: &mut Value) {
        redact_json_with(value, &|text| self.without_registered(text));
    }

    /// Redacts every string and every key in `value`.
    pub fn redact_json(&self, value: &mut Value) {
        redact_json_with(value, &|text| self.redact(text));
    }

    fn without_registered<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let registry = self.shared.read().unwrap_or_else(PoisonError::into_inner);
        if registry.forms.is_empty() {
            return Cow::Borrowed(text);
        }
        if let Some(literals) = &registry.literals {
            return literals.replace_all(text, REDACTED);
        }
        // The expression was too large to compile: one pass for each form.
        let mut clean = Cow::Borrowed(text);
        for form in &registry.forms {
            if clean.contains(form.as_str()) {
                clean = Cow::Owned(clean.replace(form.as_str(), REDACTED));
            }
        }
        clean
    }
}

impl Registry {
    /// Where the beginning of a form starts that `text` ends in, at or after `from`; its length when there is none.
    fn beginning(&self, text: &str, from: usize) -> usize {
        let longest = self.forms.first().map_or(0, String::len);
        let first = text
            .len()
            .saturating_sub(longest.saturating_sub(1))
            .max(from);
        (first..text.len())
            .find(|at| text.get(*at..).is_some_and(|tail| self.is_beginning(tail)))
            .unwrap_or(text.len())
    }

    /// The first form in `text` at or after `from`, the longest one of that place.
    fn first_form(&self, text: &str, from: usize) -> Option<(usize, usize)> {
        let rest = text.get(from..)?;
        let found = self.forms.iter().filter_map(|form| {
            let start = from + rest.find(form.as_str())?;
            Some((start, std::cmp::Reverse(start + form.len())))
        });
        found.min().map(|(start, end)| (start, end.0))
    }

    /// Whether a form goes on after `text`.
    fn is_beginning(&self, text: &str) -> bool {
        let at = self.sorted.partition_point(|form| form.as_str() < text);
        let next = self.sorted.iter().skip(at).take(2);
        next.into_iter()
            .any(|form| form.len() > text.len() && form.starts_with(text))
    }
}

fn redact_json_with(value: &mut Value, redact: &impl Fn(&str) -> Cow<'_, str>) {
    match value {
        Value::Null | Value::Bool(_) => {}
        Value::Number(number) => {
            // A long number can be a secret in itself.
            if let Cow::Owned(text) = redact(&number.to_string()) {
                *value = Value::String(text);
            }
        }
        Value::String(text) => {
            if let Cow::Owned(clean) = redact(text) {
                *text = clean;
            }
        }
        Value::Array(items) => {
            for item in items {
                redact_json_with(item, redact);
            }
        }
        Value::Object(fields) => {
            let old = std::mem::take(fields);
            for (key, mut field) in old {
                redact_json_with(&mut field, redact);
                let mut clean = redact(&key).into_owned();
                // Two redacted keys must not swallow each other's value.
                while fields.contains_key(&clean) {
                    clean.push('\'');
                }
                fields.insert(clean, field);
            }
        }
    }
}

/// The shapes as one expression. They are constants; a test compiles them, so `None` does not happen.
fn shapes() -> Option<&'static Regex> {
    static EXPRESSION: OnceLock<Option<Regex>> = OnceLock::new();
    EXPRESSION
        .get_or_init(|| Regex::new(&SHAPES.join("|")).ok())
        .as_ref()
}

fn without_shapes(text: &str) -> Cow<'_, str> {
    match shapes() {
        Some(shapes) => shapes.replace_all(text, REDACTED),
        None => Cow::Borrowed(text),
    }
}

fn forms_of(secret: &str) -> Vec<String> {
    let mut forms = vec![
        secret.to_owned(),
        percent_encoded(secret, Case::Upper),
        percent_encoded(secret, Case::Lower),
        percent_encoded(secret, Case::Upper).replace("%20", "+"),
    ];
    // Twice: what a tool prints is often JSON that quotes JSON.
    let mut escaped = secret.to_owned();
    for _ in 0..2 {
        let Ok(quoted) = serde_json::to_string(&escaped) else {
            break;
        };
        let inner = quoted.strip_prefix('"').unwrap_or(&quoted);
        let inner = inner.strip_suffix('"').unwrap_or(inner).to_owned();
        forms.push(inner.replace('/', "\\/"));
        forms.push(inner.clone());
        escaped = inner;
    }
    for marks in MARKS {
        forms.push(markdown_escaped(secret, marks));
    }
    for alphabet in [STANDARD, URL_SAFE] {
        forms.push(base64(secret.as_bytes(), alphabet));
        for offset in 0..3 {
            forms.extend(base64_fragment(secret.as_bytes(), offset, alphabet));
        }
    }
    forms.sort_unstable();
    forms.dedup();
    forms.retain(|form| form.len() >= SHORTEST);
    forms
}

/// With a backslash before each of these marks. What shows Markdown takes it away.
fn markdown_escaped(text: &str, marks: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if marks.contains(c) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

#[derive(Clone, Copy)]
enum Case {
    Upper,
    Lower,
}

/// RFC 3986: everything but the unreserved characters.
fn percent_encoded(text: &str, case: Case) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = match case {
                Case::Upper => write!(out, "%{byte:02X}"),
                Case::Lower => write!(out, "%{byte:02x}"),
            };
        }
    }
    out
}

const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const URL_SAFE: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// RFC 4648 § 4 and § 5, without padding.
fn base64(bytes: &[u8], alphabet: &[u8; 64]) -> String {
    let mut out = String::with_capacity(bytes.len() * 4 / 3 + 4);
    for group in bytes.chunks(3) {
        let bits = (0..3).fold(0_u32, |bits, i| {
            bits << 8 | u32::from(group.get(i).copied().unwrap_or(0))
        });
        for digit in 0..=group.len() {
            let index = (bits >> (18 - 6 * digit)) & 63;
            out.extend(alphabet.get(index as usize).map(|b| char::from(*b)));
        }
    }
    out
}

/// The digits that depend on `bytes` alone when `offset` other bytes stand before them in their group
/// and any bytes behind: how a secret looks inside longer encoded text (`user:password`).
fn base64_fragment(bytes: &[u8], offset: usize, alphabet: &[u8; 64]) -> Option<String> {
    let mut padded = vec![0; offset];
    padded.extend_from_slice(bytes);
    let first = (offset * 8).div_ceil(6);
    let end = padded.len() * 8 / 6;
    let encoded = base64(&padded, alphabet);
    let fragment = encoded.get(first..end)?;
    (fragment.len() >= SHORTEST_FRAGMENT).then(|| fragment.to_owned())
}
