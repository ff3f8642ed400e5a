//! Files of the workspace that a command names, with their digests.
//!
//! They are part of what is approved: a file that a command names and that changed between question and start makes
//! another call of it, and so does one that appeared. What these files include in turn, and what lies in directories, is
//! not bound.

use std::collections::HashSet;
use std::fs::Metadata;
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};

use globset::GlobBuilder;
use sha2::{Digest, Sha256};

use crate::protocol::hex::hex;
use crate::tools::canonical;
use crate::tools::file_version::ABSENT;
use crate::tools::guard::{Guard, GuardedPath, Kind};

/// Most files of one call.
const MAX_OPERANDS: usize = 64;
/// Most words of one call that are looked at.
const MAX_WORDS: usize = 4096;
/// Most words of one call that count although nothing has their name yet.
const MAX_ABSENT: usize = 64;
/// Directories that a command names and whose files its words are looked for in.
const MAX_BASES: usize = 8;
/// Entries of directories that the patterns of one call are compared with.
const MAX_ENTRIES: usize = 10_000;
/// Bytes of one file, and of all files of a call, that are hashed; what is larger counts by its identity, size and
/// times of change.
const MAX_HASHED: u64 = 64 << 20;
const MAX_HASHED_TOGETHER: u64 = 256 << 20;
/// Characters that end a word of a script, quotes left aside.
const ENDS: &str = ";|&()<>`{}$=:,";
/// Shells, which expand patterns.
const SHELLS: [&str; 7] = ["ash", "bash", "dash", "fish", "ksh", "sh", "zsh"];
/// Files that programs read without being told.
struct ImpliedFiles {
    programs: &'static [&'static str],
    /// Seen from the directory of the program, those above it and the workspace.
    files: &'static [&'static str],
    /// Whether one that is not there counts too: where it appears, it is read.
    absent: bool,
}

/// Where one appears, it is read: one that is not there counts too.
const fn implied(
    programs: &'static [&'static str],
    files: &'static [&'static str],
) -> ImpliedFiles {
    ImpliedFiles {
        programs,
        files,
        absent: true,
    }
}

const IMPLIED: [ImpliedFiles; 9] = [
    implied(&["make", "gmake"], &["GNUmakefile", "makefile", "Makefile"]),
    implied(
        &["git"],
        &[
            ".git/config",
            ".git/config.worktree",
            ".git/hooks/*",
            ".gitconfig",
            ".config/git/config",
        ],
    ),
    implied(
        &["vim", "vi", "view", "ex", "nvim", "rvim", "vimdiff"],
        &[
            ".vimrc",
            ".vim/vimrc",
            ".exrc",
            ".config/nvim/init.vim",
            ".config/nvim/init.lua",
        ],
    ),
    // Only a login or interactive shell reads these.
    ImpliedFiles {
        absent: false,
        ..implied(
            &["bash", "sh", "dash", "ksh", "zsh"],
            &[
                ".bashrc",
                ".bash_profile",
                ".bash_login",
                ".profile",
                ".zshrc",
                ".zshenv",
            ],
        )
    },
    implied(&["npm", "npx", "yarn", "pnpm"], &["package.json", ".npmrc"]),
    implied(&["just"], &["justfile", "Justfile", ".justfile"]),
    implied(
        &["cargo"],
        &[
            "Cargo.toml",
            "build.rs",
            ".cargo/config.toml",
            ".cargo/config",
        ],
    ),
    implied(
        &["pytest", "tox"],
        &[
            "conftest.py",
            "pytest.ini",
            "pyproject.toml",
            "setup.cfg",
            "tox.ini",
        ],
    ),
    implied(&["gdb"], &[".gdbinit"]),
];

/// What a command is made of, as far as it can name files.
pub struct Command<'a> {
    /// Where it runs.
    pub cwd: &'a Path,
    /// Its program, as found and with links resolved.
    pub executables: &'a [&'a Path],
    /// Its arguments; of a script those of the shell.
    pub arguments: &'a [String],
    /// The script.
    pub script: Option<&'a str>,
    /// What it reads as its input.
    pub stdin: Option<&'a str>,
}

/// The files that a command names.
#[derive(Debug, Default)]
pub struct Operands {
    /// (path, digest); [`ABSENT`] for one that is named, or that its program would read if it were there.
    pub files: Vec<(String, String)>,
    /// Why these are not all.
    pub incomplete: Option<String>,
}

impl Operands {
    /// The names of those that are there.
    pub fn names(&self) -> Vec<String> {
        self.files
            .iter()
            .filter(|(_, digest)| digest != ABSENT)
            .map(|(name, _)| name.clone())
            .collect()
    }
}

/// Words that may name files, each once, in the order in which they stand.
#[derive(Default)]
struct Words {
    seen: HashSet<String>,
    plain: Vec<String>,
    /// Those that a shell would expand.
    patterns: Vec<String>,
    more: bool,
}

impl Words {
    fn add(&mut self, word: &str, expands: bool) {
        if word.is_empty() || word.contains('\0') || self.seen.contains(word) {
            return;
        }
        if self.seen.len() == MAX_WORDS {
            self.more = true;
            return;
        }
        self.seen.insert(word.to_owned());
        if expands && word.contains(['*', '?', '[']) {
            self.patterns.push(word.to_owned());
        }
        self.plain.push(word.to_owned());
    }

    /// A word, and what stands behind an option (`-fFILE`), an `@` or a `+` in it.
    fn add_all(&mut self, word: &str, expands: bool) {
        self.add(word, expands);
        if let Some(rest) = word.strip_prefix(['@', '+']) {
            self.add(rest, expands);
        }
        if let Some(letters) = word.strip_prefix('-').filter(|rest| !rest.starts_with('-'))
            && let Some((at, _)) = letters.char_indices().nth(1)
        {
            self.add(&letters[at..], expands);
        }
    }

    /// Whole text, then the words in it: of a script, of `--file=x`, of the command inside `sh -c`.
    fn add_text(&mut self, text: &str, expands: bool) {
        self.add_all(text, expands);
        // A space that a backslash keeps in its word.
        let kept = text.replace("\\ ", "\u{1}");
        for word in kept.split(|c: char| c.is_whitespace() || ENDS.contains(c)) {
            for part in word.split(['"', '\'']) {
                self.add_all(&part.replace('\u{1}', " "), expands);
            }
            // `b"uild".sh` and `b\uild.sh` are `build.sh`.
            let bare = word.replace(['"', '\'', '\\'], "").replace('\u{1}', " ");
            self.add_all(&bare, expands);
        }
        // Quotes keep spaces in a word.
        for quote in ['"', '\''] {
            if text.contains(quote) {
                for part in text.split(quote) {
                    self.add_all(part, expands);
                }
            }
        }
    }
}

/// The files that a command names: its program if it is one of the workspace, every argument, every word of its script
/// and of its input, and what its programs read without being told.
pub fn of(guard: &Guard, command: &Command<'_>) -> Operands {
    let name_of = |text: &str| text.rsplit('/').next().unwrap_or(text).to_owned();
    let mut programs: HashSet<String> = command
        .executables
        .iter()
        .map(|path| name_of(&path.to_string_lossy()))
        .collect();
    programs.extend(command.arguments.iter().map(|word| name_of(word)));
    let shell = SHELLS.iter().any(|shell| programs.contains(*shell));
    let mut words = Words::default();
    for executable in command.executables {
        if executable.starts_with(guard.workspace()) {
            words.add(&executable.to_string_lossy(), false);
        }
    }
    // The script is the last argument of its shell as well.
    for text in command.script.into_iter().chain(command.stdin) {
        words.add_text(text, true);
    }
    for text in command
        .arguments
        .iter()
        .filter(|text| Some(text.as_str()) != command.script)
    {
        words.add_text(text, shell || text.contains(char::is_whitespace));
    }
    programs.extend(words.plain.iter().map(|word| name_of(word)));

    let mut collection = Collection {
        guard,
        bases: vec![command.cwd.to_owned()],
        operands: Operands::default(),
        left: MAX_HASHED_TOGETHER,
        entries: MAX_ENTRIES,
        absent: 0,
    };
    if words.more {
        collection.operands.incomplete = Some(format!(
            "it has more than {MAX_WORDS} words: files that the others name are not bound"
        ));
    }
    for word in &words.plain {
        collection.add_base(word);
    }
    for word in &words.plain {
        collection.add(word);
    }
    for pattern in &words.patterns {
        collection.add_pattern(pattern);
    }
    collection.add_implied(&programs);
    for word in &words.plain {
        collection.add_absent(word);
    }
    collection.operands
}

/// Operands as they are collected.
struct Collection<'a> {
    guard: &'a Guard,
    /// Where relative words are looked for: the directory of the command, and those that it names.
    bases: Vec<PathBuf>,
    operands: Operands,
    /// Bytes that are still hashed.
    left: u64,
    /// Directory entries that are still looked at.
    entries: usize,
    /// Names that nothing has yet.
    absent: usize,
}

impl Collection<'_> {
    fn resolve(&self, base: &Path, word: &str) -> Option<GuardedPath> {
        // Words that name nothing in the workspace are no operands.
        self.guard.resolve(&base.join(word).to_string_lossy()).ok()
    }

    /// A directory that is named: `cd sub && sh f`, `make -C sub`.
    fn add_base(&mut self, word: &str) {
        let Some(path) = self.bases.first().and_then(|cwd| self.resolve(cwd, word)) else {
            return;
        };
        if path.kind == Kind::Directory
            && self.bases.len() < MAX_BASES
            && !self.bases.contains(&path.absolute)
        {
            self.bases.push(path.absolute);
        }
    }

    fn add(&mut self, word: &str) {
        for at in 0..self.bases.len() {
            if let Some(path) = self.resolve(&self.bases[at], word) {
                self.add_file(&path);
            }
        }
    }

    /// A name that nothing has yet: `sh f` is another call once there is an `f`.
    ///
    /// Only in the directory of the command, and only where the directory that would hold it is there: most words
    /// are no names of files.
    fn add_absent(&mut self, word: &str) {
        if word.starts_with('-') || self.absent == MAX_ABSENT {
            return;
        }
        let Some(path) = self.bases.first().and_then(|cwd| self.resolve(cwd, word)) else {
            return;
        };
        let name = path.relative();
        let parent = path.absolute.parent();
        if path.kind == Kind::Missing
            && parent.is_some_and(Path::is_dir)
            && !self.operands.files.iter().any(|(known, _)| *known == name)
        {
            self.absent += 1;
            self.operands.files.push((name, ABSENT.to_owned()));
        }
    }

    fn add_file(&mut self, path: &GuardedPath) {
        let name = path.relative();
        if path.kind != Kind::File || self.operands.files.iter().any(|(known, _)| *known == name) {
            return;
        }
        if self.operands.files.len() - self.absent >= MAX_OPERANDS {
            self.operands.incomplete.get_or_insert_with(|| {
                format!("it names more than {MAX_OPERANDS} files: the others are not bound")
            });
            return;
        }
        // What we cannot read, its program cannot read either, as long as the file stays as it is.
        let digest = self
            .digest(path)
            .or_else(|_| std::fs::symlink_metadata(&path.absolute).map(|found| identity(&found)))
            .unwrap_or_else(|error| canonical::sha256_hex(format!("{error}").as_bytes()));
        self.operands.files.push((name, digest));
    }

    /// The files that a pattern of a shell stands for.
    fn add_pattern(&mut self, pattern: &str) {
        for at in 0..self.bases.len() {
            let start = self.bases[at].clone();
            let mut places = vec![start];
            for component in Path::new(pattern).components() {
                places = match component {
                    Component::RootDir => vec![PathBuf::from("/")],
                    Component::CurDir | Component::Prefix(_) => places,
                    Component::ParentDir => {
                        places.into_iter().map(|place| place.join("..")).collect()
                    }
                    Component::Normal(name) => {
                        let name = name.to_string_lossy();
                        places
                            .iter()
                            .flat_map(|place| self.expand(place, &name))
                            .collect()
                    }
                };
            }
            places.sort();
            for place in places {
                if let Ok(path) = self.guard.resolve(&place.to_string_lossy()) {
                    self.add_file(&path);
                }
            }
        }
    }

    /// What one name of a pattern stands for in a directory.
    fn expand(&mut self, place: &Path, name: &str) -> Vec<PathBuf> {
        if !name.contains(['*', '?', '[']) {
            return vec![place.join(name)];
        }
        let Ok(directory) = self.guard.resolve(&place.to_string_lossy()) else {
            return Vec::new();
        };
        let glob = GlobBuilder::new(name).literal_separator(true).build();
        let (Ok(glob), Ok(entries)) = (glob, std::fs::read_dir(&directory.absolute)) else {
            return Vec::new();
        };
        let matcher = glob.compile_matcher();
        let mut found = Vec::new();
        for entry in entries.flatten() {
            if self.entries == 0 {
                self.operands.incomplete.get_or_insert_with(|| {
                    format!("its patterns meet more than {MAX_ENTRIES} names: not all they stand for is bound")
                });
                break;
            }
            self.entries -= 1;
            let entry = entry.file_name();
            let hidden = entry.to_string_lossy().starts_with('.') && !name.starts_with('.');
            if !hidden && matcher.is_match(&entry) {
                found.push(place.join(entry));
            }
        }
        found
    }

    /// What the programs that are named read without being told; what is not there counts as well.
    fn add_implied(&mut self, programs: &HashSet<String>) {
        let mut places: Vec<PathBuf> = Vec::new();
        for base in &self.bases {
            for place in base.ancestors() {
                if place.starts_with(self.guard.workspace())
                    && !places.iter().any(|known| known == place)
                {
                    places.push(place.to_owned());
                }
            }
        }
        let mut absent = Vec::new();
        for implied in IMPLIED {
            if !implied.programs.iter().any(|name| programs.contains(*name)) {
                continue;
            }
            for place in &places {
                for file in implied.files {
                    if file.contains('*') {
                        self.add_hooks(&place.join(file));
                        continue;
                    }
                    match self.resolve(place, file) {
                        Some(path) if path.kind == Kind::File => self.add_file(&path),
                        Some(path) if implied.absent => absent.push(path.relative()),
                        Some(_) | None => {}
                    }
                }
            }
        }
        for name in absent {
            if !self.operands.files.iter().any(|(known, _)| *known == name) {
                self.operands.files.push((name, ABSENT.to_owned()));
            }
        }
    }

    /// The hooks of a git directory, without the samples that it comes with.
    fn add_hooks(&mut self, pattern: &Path) {
        let Some(directory) = pattern.parent() else {
            return;
        };
        let mut hooks = self.expand(directory, "*");
        hooks.retain(|hook| hook.extension().is_none_or(|end| end != "sample"));
        hooks.sort();
        for hook in hooks {
            if let Ok(path) = self.guard.resolve(&hook.to_string_lossy()) {
                self.add_file(&path);
            }
        }
    }

    fn digest(&mut self, path: &GuardedPath) -> std::io::Result<String> {
        let mut file = self.guard.open_file(path)?;
        let metadata = file.metadata()?;
        if metadata.len() > MAX_HASHED || metadata.len() > self.left {
            return Ok(identity(&metadata));
        }
        self.left -= metadata.len();
        let mut hash = Sha256::new();
        let mut chunk = vec![0_u8; 64 * 1024];
        // A file that grows meanwhile is read no further than was allowed for.
        let mut rest = MAX_HASHED;
        loop {
            match file.read(&mut chunk) {
                Ok(0) => return Ok(hex(&hash.finalize())),
                Ok(count) if count as u64 > rest => return Ok(identity(&file.metadata()?)),
                Ok(count) => {
                    rest -= count as u64;
                    hash.update(&chunk[..count]);
                }
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// What a file counts by that is not read. No program can set the time of its last change of state.
fn identity(metadata: &Metadata) -> String {
    let identity = (
        metadata.dev(),
        metadata.ino(),
        metadata.len(),
        (metadata.mtime(), metadata.mtime_nsec()),
        (metadata.ctime(), metadata.ctime_nsec()),
    );
    canonical::sha256_hex(format!("large file {identity:?}").as_bytes())
}
