//! What the words of a piece of Python say about its risk. Pure, and advice for a person: code can hide what it does, so
//! all of it is high risk without any of these reasons.

use crate::tools::risk::{RiskReason, add};

/// Most bytes of code that are looked at.
const MAX_CODE: usize = 256 * 1024;
/// Names that start programs.
const PROGRAMS: [&str; 10] = [
    "subprocess",
    "multiprocessing",
    "pty",
    "os.system",
    "os.popen",
    "os.fork",
    "os.forkpty",
    "os.posix_spawn",
    "os.execv",
    "os.spawnv",
];
/// Names that reach the network.
const NETWORK: [&str; 9] = [
    "socket", "urllib", "urllib3", "requests", "httpx", "aiohttp", "ftplib", "smtplib", "paramiko",
];
/// Names that run code which does not stand here.
const HIDDEN_CODE: [&str; 8] = [
    "ctypes",
    "cffi",
    "eval",
    "exec",
    "__import__",
    "importlib",
    "pickle",
    "marshal",
];
/// Names that delete files.
const DELETES: [&str; 4] = ["os.remove", "os.unlink", "os.rmdir", "unlink"];
/// Names that delete directories with what is in them.
const DELETES_ALL: [&str; 3] = ["shutil.rmtree", "rmtree", "os.removedirs"];

/// Names, and what they are a reason of.
type Kind = (&'static [&'static str], fn(String) -> RiskReason);
const KINDS: [Kind; 5] = [
    (&DELETES_ALL, RiskReason::RecursiveDelete),
    (&DELETES, RiskReason::DeletesFiles),
    (&PROGRAMS, RiskReason::StartsPrograms),
    (&NETWORK, RiskReason::Network),
    (&HIDDEN_CODE, RiskReason::HiddenCode),
];

/// The reasons that the words of code give, each named once.
pub fn of_code(code: &str) -> Vec<RiskReason> {
    let mut reasons = Vec::new();
    for word in words(&code[..code.floor_char_boundary(MAX_CODE)]) {
        let found = KINDS.iter().find_map(|(names, reason)| {
            let name = names.iter().find(|name| names_it(word, name))?;
            Some(reason((*name).to_owned()))
        });
        if let Some(reason) = found {
            add(&mut reasons, reason);
        }
    }
    reasons
}

/// The names of code with their dots, whether they stand in text, a comment or neither.
fn words(code: &str) -> impl Iterator<Item = &str> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
    code.split(move |c| !is_part(c))
        .filter(|word| !word.is_empty())
}

/// Whether a word is a name, something in it (`subprocess.run`), or a method of that name (`path.unlink`).
fn names_it(word: &str, name: &str) -> bool {
    let inside = word.strip_prefix(name);
    let method = word.strip_suffix(name);
    inside.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        || (matches!(name, "unlink" | "rmtree") && method.is_some_and(|object| object.ends_with('.')))
        // `os.execve` and its like.
        || (name.ends_with('v') && name.starts_with("os.") && word.starts_with(name.trim_end_matches('v')))
}
