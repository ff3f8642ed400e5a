//! Which programs a command starts, as far as its words tell: for rules that forbid programs.
//!
//! What is forbidden is looked for under every name of the program and behind the wrappers that start others. Where
//! the words do not prove that a program stays away, the answer is "perhaps", and a person is asked.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::engine::call_shape::{ARGV, CallShape, words, words_match};
use crate::protocol::enums::RuleMatcher;
use crate::protocol::rule::Rule;
use crate::tools::execute_command::system_program;
use crate::tools::script::simple_commands;

/// Wrappers inside wrappers that are followed.
const MAX_DEPTH: u32 = 8;
/// Programs that stand for many, by the name they are called with.
const MULTI_CALL: [&str; 4] = ["busybox", "coreutils", "toybox", "uutils"];
/// Programs that start no other, whatever their arguments are.
const LONERS: [&str; 78] = [
    "[",
    "arch",
    "b2sum",
    "base32",
    "base64",
    "basename",
    "cat",
    "chgrp",
    "chmod",
    "chown",
    "cksum",
    "cmp",
    "comm",
    "cp",
    "cut",
    "date",
    "dd",
    "df",
    "dirname",
    "du",
    "echo",
    "expand",
    "expr",
    "factor",
    "false",
    "fmt",
    "fold",
    "grep",
    "groups",
    "head",
    "hostname",
    "id",
    "join",
    "link",
    "ln",
    "ls",
    "md5sum",
    "mkdir",
    "mkfifo",
    "mktemp",
    "mv",
    "nl",
    "nproc",
    "numfmt",
    "od",
    "paste",
    "pathchk",
    "pr",
    "printenv",
    "printf",
    "pwd",
    "readlink",
    "realpath",
    "rm",
    "rmdir",
    "seq",
    "sha1sum",
    "sha224sum",
    "sha256sum",
    "sha384sum",
    "sha512sum",
    "shred",
    "shuf",
    "sleep",
    "stat",
    "sum",
    "sync",
    "tac",
    "tail",
    "tee",
    "test",
    "touch",
    "tr",
    "true",
    "truncate",
    "uname",
    "uniq",
    "wc",
];
/// Shells that run their argument behind `-c`, and read no file of the workspace first.
pub const SHELLS: [&str; 5] = ["ash", "bash", "dash", "ksh", "sh"];
/// Options of a shell, together or alone, that change nothing of what `-c` runs.
const SHELL_OPTIONS: &str = "ceux";
/// Variables that decide nothing about which program runs.
const PLAIN_VARIABLES: [&str; 7] = [
    "COLUMNS",
    "LANG",
    "LANGUAGE",
    "LINES",
    "POSIXLY_CORRECT",
    "TERM",
    "TZ",
];

/// Whether what a rule forbids is in a command. Ordered: the last says most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fit {
    /// It is not.
    Never,
    /// Nothing proves that it is not.
    Perhaps,
    /// It is.
    Sure,
}

/// A program that starts the one named behind its own options.
struct Wrapper {
    name: &'static str,
    /// Short options without a value.
    flags: &'static str,
    /// Short options with one, attached or the next word.
    values: &'static str,
    /// Short options with one that is attached, or none.
    attached: &'static str,
    long_flags: &'static [&'static str],
    long_values: &'static [&'static str],
    /// Words before the command that are its own.
    operands: usize,
    /// Whether `NAME=value` may stand before the command.
    assignments: bool,
    /// Whether it adds words to the command.
    adds: bool,
}

const PLAIN: Wrapper = Wrapper {
    name: "",
    flags: "",
    values: "",
    attached: "",
    long_flags: &[],
    long_values: &[],
    operands: 0,
    assignments: false,
    adds: false,
};

const WRAPPERS: [Wrapper; 16] = [
    Wrapper {
        name: "env",
        flags: "i0v",
        values: "uC",
        long_flags: &["ignore-environment", "null", "debug"],
        long_values: &["unset", "chdir"],
        assignments: true,
        ..PLAIN
    },
    Wrapper {
        name: "nice",
        flags: "0123456789",
        values: "n",
        long_values: &["adjustment"],
        ..PLAIN
    },
    Wrapper {
        name: "nohup",
        ..PLAIN
    },
    Wrapper {
        name: "timeout",
        flags: "vfp",
        values: "ks",
        long_flags: &["foreground", "preserve-status", "verbose"],
        long_values: &["kill-after", "signal"],
        operands: 1,
        ..PLAIN
    },
    Wrapper {
        name: "setsid",
        flags: "cfw",
        long_flags: &["ctty", "fork", "wait"],
        ..PLAIN
    },
    Wrapper {
        name: "stdbuf",
        values: "ioe",
        long_values: &["input", "output", "error"],
        ..PLAIN
    },
    Wrapper {
        name: "time",
        flags: "apvq",
        values: "fo",
        long_flags: &["append", "portability", "verbose", "quiet"],
        long_values: &["format", "output"],
        ..PLAIN
    },
    Wrapper {
        name: "ionice",
        flags: "t",
        values: "cn",
        long_flags: &["ignore"],
        long_values: &["class", "classdata"],
        ..PLAIN
    },
    Wrapper {
        name: "xargs",
        flags: "0rtpxo",
        // What `-I` and `-i` replace may be the program itself: they are not known here.
        values: "adELnPs",
        attached: "el",
        long_flags: &[
            "null",
            "no-run-if-empty",
            "verbose",
            "interactive",
            "exit",
            "open-tty",
            "eof",
            "max-lines",
        ],
        long_values: &[
            "arg-file",
            "delimiter",
            "max-args",
            "max-procs",
            "max-chars",
            "process-slot-var",
        ],
        adds: true,
        ..PLAIN
    },
    Wrapper {
        name: "sudo",
        flags: "nEHPSb",
        values: "ugpCDRhrtT",
        long_flags: &["non-interactive", "preserve-env", "set-home", "background"],
        long_values: &["user", "group", "prompt", "chdir", "chroot"],
        assignments: true,
        ..PLAIN
    },
    Wrapper {
        name: "doas",
        flags: "n",
        values: "uC",
        ..PLAIN
    },
    Wrapper {
        name: "busybox",
        ..PLAIN
    },
    Wrapper {
        name: "toybox",
        ..PLAIN
    },
    Wrapper {
        name: "command",
        flags: "p",
        ..PLAIN
    },
    Wrapper {
        name: "exec",
        flags: "cl",
        values: "a",
        ..PLAIN
    },
    Wrapper {
        name: "builtin",
        ..PLAIN
    },
];

/// What stands behind a wrapper.
struct Inner<'a> {
    words: &'a [String],
    /// Whether a variable was set that may decide which program runs.
    other_program: bool,
}

impl Wrapper {
    /// The command that is started; none = an option that is not known.
    fn inner<'a>(&self, words: &'a [String]) -> Option<Inner<'a>> {
        let mut at = 1;
        while let Some(word) = words.get(at).filter(|word| word.starts_with('-')) {
            if word == "--" {
                at += 1;
                break;
            }
            at += self.option(word)?;
        }
        let mut other_program = false;
        while self.assignments
            && let Some((name, _)) = words.get(at).and_then(|word| word.split_once('='))
        {
            other_program |= !PLAIN_VARIABLES.contains(&name) && !name.starts_with("LC_");
            at += 1;
        }
        at += self.operands;
        Some(Inner {
            words: words.get(at..).unwrap_or_default(),
            other_program,
        })
    }

    /// Words that an option takes, itself included; none = it is not known.
    fn option(&self, word: &str) -> Option<usize> {
        if let Some(long) = word.strip_prefix("--") {
            let (name, value) = match long.split_once('=') {
                Some((name, _)) => (name, true),
                None => (long, false),
            };
            return if self.long_flags.contains(&name) {
                Some(1)
            } else if self.long_values.contains(&name) {
                Some(if value { 1 } else { 2 })
            } else {
                None
            };
        }
        // `env -` is `env -i`.
        let letters = &word[1..];
        if letters.is_empty() {
            return (self.name == "env").then_some(1);
        }
        for (index, letter) in letters.char_indices() {
            if self.values.contains(letter) {
                let last = index + letter.len_utf8() == letters.len();
                return Some(if last { 2 } else { 1 });
            }
            if self.attached.contains(letter) {
                return Some(1);
            }
            if !self.flags.contains(letter) {
                return None;
            }
        }
        Some(1)
    }
}

/// What a rule forbids.
struct Forbidden<'a> {
    matcher: RuleMatcher,
    words: Vec<String>,
    /// Its program, where the first word stands for itself.
    real: Option<PathBuf>,
    workspace: &'a Path,
    cwd: PathBuf,
}

/// The words that a wrapper starts as a command; none = it is no wrapper, or one of its options is not known.
pub fn started(argv: &[String]) -> Option<&[String]> {
    let name = file_name(argv.first()?);
    let wrapper = WRAPPERS.iter().find(|wrapper| wrapper.name == name)?;
    wrapper.inner(argv).map(|inner| inner.words)
}

pub fn file_name(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

/// Whether what a rule on the words of commands forbids is in a call.
pub fn fit(rule: &Rule, call: &CallShape<'_>) -> Fit {
    let argv = match call.args.get(ARGV) {
        Some(Value::Array(items)) if items.iter().all(Value::is_string) => items
            .iter()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect::<Vec<String>>(),
        _ => match call.script() {
            Some(script) => ["/bin/sh", "-c", script].map(str::to_owned).to_vec(),
            None => return Fit::Never,
        },
    };
    let Some(words) = words(&rule.value) else {
        return Fit::Never;
    };
    let workspace = Path::new(call.workspace);
    let cwd = call.plan.cwd.as_ref().map(PathBuf::from);
    let mut forbidden = Forbidden {
        matcher: rule.matcher,
        words,
        real: None,
        workspace,
        cwd: cwd.unwrap_or_else(|| workspace.to_owned()),
    };
    let named = forbidden
        .words
        .first()
        .filter(|word| rule.matcher != RuleMatcher::Pattern || !word.contains(['*', '?']));
    forbidden.real = named.and_then(|word| real(word, workspace));
    let executable = call.plan.executable.as_ref().map(PathBuf::from);
    forbidden.in_command(&argv, executable, false, 0)
}

/// What a first word leads to, links resolved.
fn real(word: &str, cwd: &Path) -> Option<PathBuf> {
    let path = if word.contains('/') {
        cwd.join(word)
    } else {
        system_program(word)?
    };
    path.canonicalize().ok()
}

impl Forbidden<'_> {
    /// Whether a program is the forbidden one, under whatever name.
    fn is_program(&self, word: &str, found: Option<&Path>) -> bool {
        let Some(wanted) = self.words.first() else {
            return false;
        };
        if word == wanted || !wanted.contains('/') && file_name(word) == wanted {
            return true;
        }
        let (Some(real), Some(found)) = (self.real.as_deref(), found) else {
            return false;
        };
        let name = |path: &Path| {
            path.file_name()
                .map(|name| name.to_string_lossy().into_owned())
        };
        let many = name(real).is_some_and(|name| MULTI_CALL.contains(&name.as_str()));
        real == found && (!many || file_name(word) == file_name(wanted))
    }

    fn fits(&self, words: &[String]) -> bool {
        words_match(self.matcher, &self.words, words)
    }

    /// Whether it is in a command, `found` being what its first word leads to. `adds`: more words may follow.
    fn in_command(&self, argv: &[String], found: Option<PathBuf>, adds: bool, depth: u32) -> Fit {
        let Some((program, arguments)) = argv.split_first() else {
            return if adds { Fit::Perhaps } else { Fit::Never };
        };
        let found = found.or_else(|| real(program, &self.cwd));
        let same = self.is_program(program, found.as_deref());
        let mut called = vec![file_name(program).to_owned()];
        called.extend_from_slice(arguments);
        if self.fits(argv) || self.fits(&called) {
            return Fit::Sure;
        }
        let mut direct = Fit::Never;
        if same && let Some(wanted) = self.words.first() {
            called[0].clone_from(wanted);
            if self.fits(&called) {
                return Fit::Sure;
            }
            // Options can stand in another order, or elsewhere.
            if adds || self.matcher != RuleMatcher::Exact && self.words.len() > 1 {
                direct = Fit::Perhaps;
            }
        }
        direct.max(self.in_started(argv, found.as_deref(), adds, depth))
    }

    /// Whether it is in what a command starts.
    fn in_started(&self, argv: &[String], found: Option<&Path>, adds: bool, depth: u32) -> Fit {
        let program = argv.first().map_or("", String::as_str);
        let name = file_name(program);
        // What a name stands for is known of the programs of the system only.
        let of_system = program.starts_with('/') && !Path::new(program).starts_with(self.workspace);
        let known = !program.contains('/')
            || of_system && found.is_some() && found == real(name, &self.cwd).as_deref();
        let own = found.is_some_and(|found| found.starts_with(self.workspace));
        if depth >= MAX_DEPTH || own || !known {
            return Fit::Perhaps;
        }
        if LONERS.contains(&name) {
            return Fit::Never;
        }
        if name == "find" {
            let starts = |word: &String| word.starts_with("-exec") || word.starts_with("-ok");
            return if adds || argv.iter().any(starts) {
                Fit::Perhaps
            } else {
                Fit::Never
            };
        }
        if SHELLS.contains(&name) {
            return self.in_shell(argv, depth);
        }
        let Some(wrapper) = WRAPPERS.iter().find(|wrapper| wrapper.name == name) else {
            return Fit::Perhaps;
        };
        let Some(inner) = wrapper.inner(argv) else {
            return Fit::Perhaps;
        };
        let least = if inner.other_program && !inner.words.is_empty() {
            Fit::Perhaps
        } else {
            Fit::Never
        };
        // Without a command `xargs` writes its words, unless it is given others in turn.
        let adds = adds || wrapper.adds && !inner.words.is_empty();
        least.max(self.in_command(inner.words, None, adds, depth + 1))
    }

    /// Whether it is in one of the simple commands that a shell is given; any other script can start anything.
    fn in_shell(&self, argv: &[String], depth: u32) -> Fit {
        let mut script = None;
        for (at, word) in argv.iter().enumerate().skip(1) {
            let Some(letters) = word.strip_prefix('-').filter(|rest| !rest.is_empty()) else {
                break;
            };
            if !letters.chars().all(|letter| SHELL_OPTIONS.contains(letter)) {
                return Fit::Perhaps;
            }
            if letters.contains('c') {
                script = argv.get(at + 1);
                break;
            }
        }
        let Some(commands) = script.and_then(|text| simple_commands(text)) else {
            return Fit::Perhaps;
        };
        // `-c -e TEXT`: the text is another word.
        if commands
            .iter()
            .flatten()
            .next()
            .is_some_and(|word| word.starts_with('-'))
        {
            return Fit::Perhaps;
        }
        let inner = |argv: &Vec<String>| self.in_command(argv, None, false, depth + 1);
        commands.iter().map(inner).max().unwrap_or(Fit::Never)
    }
}
