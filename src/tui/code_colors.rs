//! Syntax colours of code. Finding them is slow (regular expressions, compiled at their first use), so no frame waits
//! for it: a text is drawn plain until its colours are ready. Nothing here changes, hides or moves a byte of a text.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::hash::BuildHasher as _;
use std::ops::Range;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use foldhash::fast::FixedState;
use syntect::parsing::{ParseState, Scope, ScopeStack, SyntaxReference, SyntaxSet};

use crate::tui::theme::roles::{Role, Theme};

/// Longest text that is coloured, in bytes.
const MAX_TEXT: usize = 64 * 1024;
/// Longest line that is coloured, in bytes.
const MAX_LINE: usize = 2_000;
/// How long a text is worked on.
pub const MAX_TIME: Duration = Duration::from_millis(500);
/// Most bytes of texts whose colours are remembered. What comes on top stays plain.
const MAX_KEPT: usize = 4 * 1024 * 1024;

/// A part of a line, in bytes, and what it is.
pub type CodeSpan = (Range<usize>, Role);
/// The coloured parts of each line, in order. Lines that are missing have none.
pub type CodeLines = Vec<Vec<CodeSpan>>;

/// What a text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CodeKind {
    Code,
    /// A unified diff of code, without the lines that name its file.
    Diff,
}

/// A text, and how its language is found.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CodeText {
    /// Name of a file or of a language.
    pub name: String,
    pub kind: CodeKind,
    pub text: String,
}

/// The colours that are known, and the texts that wait for theirs.
#[derive(Debug, Default)]
pub struct CodeColors {
    known: HashMap<u64, Arc<CodeLines>>,
    pending: HashSet<u64>,
    wanted: RefCell<Vec<(u64, CodeText)>>,
    /// Bytes of the texts of all three.
    bytes: Cell<usize>,
}

impl CodeColors {
    /// The colours of a text; none = not yet, or the theme has none for code.
    pub fn get(
        &self,
        theme: &Theme,
        name: &str,
        kind: CodeKind,
        text: &str,
    ) -> Option<Arc<CodeLines>> {
        let code = [Role::CodeKeyword, Role::CodeString, Role::CodeComment];
        let is_plain = code
            .iter()
            .all(|role| theme.style(*role) == ratatui::style::Style::new());
        if is_plain || name.is_empty() || text.len() > MAX_TEXT {
            return None;
        }
        let key = FixedState::default().hash_one((name, kind, text));
        if let Some(lines) = self.known.get(&key) {
            return Some(Arc::clone(lines));
        }
        let mut wanted = self.wanted.borrow_mut();
        let bytes = self.bytes.get() + text.len();
        let is_new = !self.pending.contains(&key) && wanted.iter().all(|(other, _)| *other != key);
        if is_new && bytes <= MAX_KEPT {
            self.bytes.set(bytes);
            let (name, text) = (name.to_owned(), text.to_owned());
            wanted.push((key, CodeText { name, kind, text }));
        }
        None
    }

    /// The texts that somebody asked for since the last time.
    pub fn take_wanted(&mut self) -> Vec<(u64, CodeText)> {
        let wanted = std::mem::take(self.wanted.get_mut());
        self.pending.extend(wanted.iter().map(|(key, _)| *key));
        wanted
    }

    /// The colours of a text are there.
    pub fn put(&mut self, key: u64, lines: CodeLines) {
        self.pending.remove(&key);
        self.known.insert(key, Arc::new(lines));
    }

    /// Forgets what was shown, where little room is left for more.
    pub fn make_room(&mut self) {
        if self.bytes.get() > MAX_KEPT / 2 {
            *self = Self::default();
        }
    }
}

impl CodeText {
    /// What its words are, as far as that can be found out in this time. Slow.
    pub fn lines(&self, within: Duration) -> CodeLines {
        let Some((set, syntax)) = syntaxes().and_then(|set| Some((set, find(set, &self.name)?)))
        else {
            return Vec::new();
        };
        let until = Instant::now() + within;
        match self.kind {
            CodeKind::Code => {
                let mut parser = Parser::new(set, syntax);
                (self.text.split('\n'))
                    .map_while(|line| (Instant::now() < until).then(|| parser.line(line, 0)))
                    .collect()
            }
            CodeKind::Diff => diff(set, syntax, &self.text, until),
        }
    }
}

/// Old and new are read apart: what begins in a removed line does not go on in an added one.
fn diff(set: &SyntaxSet, syntax: &SyntaxReference, text: &str, until: Instant) -> CodeLines {
    let fresh = || (Parser::new(set, syntax), Parser::new(set, syntax));
    let (mut old, mut new) = fresh();
    let mut in_hunk = false;
    let mut out = Vec::new();
    for line in text.split('\n') {
        if Instant::now() >= until {
            break;
        }
        let content = line.get(1..).unwrap_or_default();
        out.push(match line.as_bytes().first() {
            Some(b'@') if line.starts_with("@@") => {
                in_hunk = true;
                (old, new) = fresh();
                Vec::new()
            }
            Some(b'-') if in_hunk => old.line(content, 1),
            Some(b'+') if in_hunk => new.line(content, 1),
            Some(b' ') if in_hunk => {
                old.line(content, 1);
                new.line(content, 1)
            }
            Some(_) | None => Vec::new(),
        });
    }
    out
}

/// Reads the lines of a text one after the other.
struct Parser<'s> {
    set: &'s SyntaxSet,
    state: ParseState,
    stack: ScopeStack,
}

impl<'s> Parser<'s> {
    fn new(set: &'s SyntaxSet, syntax: &SyntaxReference) -> Self {
        Self {
            set,
            state: ParseState::new(syntax),
            stack: ScopeStack::new(),
        }
    }

    /// The coloured parts of the next line, which begins so many bytes into what is drawn.
    fn line(&mut self, line: &str, offset: usize) -> Vec<CodeSpan> {
        let mut spans: Vec<CodeSpan> = Vec::new();
        if line.len() > MAX_LINE {
            return spans;
        }
        let Ok(steps) = self.state.parse_line(&format!("{line}\n"), self.set) else {
            return spans;
        };
        let mut from = 0;
        let end = (line.len(), None);
        let steps = steps.iter().map(|(at, step)| (*at, Some(step)));
        for (at, step) in steps.chain([end]) {
            let at = at.min(line.len());
            if at > from {
                if let Some(role) = role_of(&self.stack) {
                    match spans.last_mut() {
                        Some((range, known)) if *known == role && range.end == from + offset => {
                            range.end = at + offset;
                        }
                        Some(_) | None => spans.push((from + offset..at + offset, role)),
                    }
                }
                from = at;
            }
            if let Some(step) = step
                && self.stack.apply(step).is_err()
            {
                return Vec::new();
            }
        }
        spans
    }
}

/// Beginnings of scopes and what they are; none = what stands under it has no colour either. The first that fits
/// counts.
const SCOPES: &[(&str, Option<Role>)] = &[
    ("comment", Some(Role::CodeComment)),
    ("constant.character.escape", Some(Role::CodeNumber)),
    ("meta.interpolation", None),
    ("string", Some(Role::CodeString)),
    ("constant", Some(Role::CodeNumber)),
    ("keyword.operator.word", Some(Role::CodeKeyword)),
    ("keyword.operator", None),
    ("keyword", Some(Role::CodeKeyword)),
    ("storage", Some(Role::CodeKeyword)),
    ("variable.language", Some(Role::CodeKeyword)),
    ("entity.name.function", Some(Role::CodeFunction)),
    ("support.function", Some(Role::CodeFunction)),
    ("support.macro", Some(Role::CodeFunction)),
    ("variable.function", Some(Role::CodeFunction)),
    ("entity.name.tag", Some(Role::CodeKeyword)),
    ("entity.name", Some(Role::CodeType)),
    ("entity.other", Some(Role::CodeType)),
    ("support", Some(Role::CodeType)),
    ("markup.heading", Some(Role::CodeKeyword)),
    ("markup.raw", Some(Role::CodeString)),
    ("variable", None),
    ("invalid", None),
];

/// What the innermost scope that says something says.
fn role_of(stack: &ScopeStack) -> Option<Role> {
    static TABLE: OnceLock<Vec<(Scope, Option<Role>)>> = OnceLock::new();
    let table = TABLE.get_or_init(|| {
        let scope = |(name, role): &(&str, Option<Role>)| Some((Scope::new(name).ok()?, *role));
        SCOPES.iter().filter_map(scope).collect()
    });
    let mut scopes = stack.scopes.iter().rev();
    let known = |scope: &Scope| {
        let found = table.iter().find(|(begin, _)| begin.is_prefix_of(*scope));
        found.map(|(_, role)| *role)
    };
    scopes.find_map(known).flatten()
}

/// The syntaxes that the program knows. `syntaxes/make` writes the file.
fn syntaxes() -> Option<&'static SyntaxSet> {
    static SET: OnceLock<Option<SyntaxSet>> = OnceLock::new();
    let bytes = include_bytes!("../../syntaxes/syntaxes.bin");
    SET.get_or_init(|| syntect::dumps::from_uncompressed_data(bytes).ok())
        .as_ref()
}

/// The syntax of a file or language of this name.
fn find<'s>(set: &'s SyntaxSet, name: &str) -> Option<&'s SyntaxReference> {
    let file = name.rsplit('/').next().unwrap_or(name);
    let extension = file.rsplit_once('.').map(|(_, extension)| extension);
    let by_name = set.find_syntax_by_extension(file);
    let found = by_name.or_else(|| set.find_syntax_by_extension(extension?));
    let found = found.or_else(|| set.find_syntax_by_token(file));
    found.filter(|syntax| syntax.name != "Plain Text")
}
