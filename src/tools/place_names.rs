//! Names in a workspace from which other people's programs run code: git, editors, agents and shells.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// Files and directories, at any depth, that are read by a program as soon as it works beside them.
const NAMES: [&str; 30] = [
    // Shells and version managers, on `cd`.
    ".envrc",
    ".direnv",
    ".autoenv",
    ".autoenv.zsh",
    ".mise.toml",
    "mise.toml",
    // Editors, when the directory is opened.
    ".vscode",
    ".idea",
    ".zed",
    ".fleet",
    ".devcontainer",
    ".devcontainer.json",
    ".exrc",
    ".vimrc",
    ".nvimrc",
    ".nvim.lua",
    ".lvimrc",
    ".dir-locals.el",
    ".dir-locals-2.el",
    // Agents, when they are started there.
    ".claude",
    ".cursor",
    ".codex",
    ".gemini",
    ".windsurf",
    ".aider.conf.yml",
    ".mcp.json",
    // Hooks of version control outside of `.git`.
    ".husky",
    ".lefthook",
    ".hg",
    ".jj",
];
/// Endings of files that editors open as projects.
const ENDINGS: [&str; 2] = [".code-workspace", ".sublime-project"];
/// The directory, or the file that points to one, in which git looks first.
pub(super) const GIT: &str = ".git";
/// What in a git directory makes git run programs, or leads it to another directory.
pub(super) const GIT_PARTS: [&str; 4] = ["hooks", "config", "config.worktree", "commondir"];
/// Directories of a git directory that hold further git directories, at any depth.
const GIT_NESTED: [&str; 2] = ["modules", "worktrees"];
/// By git's own rule a directory with these is a git directory, whatever its name is.
pub(super) const HEAD: &str = "HEAD";
const BARE: [&str; 2] = ["objects", "refs"];
/// With this file beside `HEAD` the other two are looked for elsewhere.
const COMMON: &str = "commondir";

pub(super) fn is(name: &OsStr, word: &str) -> bool {
    name.eq_ignore_ascii_case(word)
}

pub(super) fn is_any(name: &OsStr, words: &[&str]) -> bool {
    words.iter().any(|word| is(name, word))
}

fn ends_as_project(name: &OsStr) -> bool {
    let name = name.as_bytes();
    ENDINGS.iter().any(|ending| {
        name.len() >= ending.len()
            && name[name.len() - ending.len()..].eq_ignore_ascii_case(ending.as_bytes())
    })
}

/// Whether something of that name is read wherever it stands; `.git` is not meant.
pub(super) fn is_setting(name: &OsStr) -> bool {
    is_any(name, &NAMES) || ends_as_project(name)
}

/// Whether a path below a git directory is one of the parts that make git run programs, or lies in one.
pub(super) fn is_git_part(below: &[OsString]) -> bool {
    let starts_with_part = |names: &[OsString]| match names {
        [first, ..] if is_any(first, &GIT_PARTS) => true,
        [first, second, ..] => is(first, "info") && is(second, "attributes"),
        _ => false,
    };
    match below {
        [first, nested @ ..] if is_any(first, &GIT_NESTED) => {
            (0..nested.len()).any(|from| starts_with_part(&nested[from..]))
        }
        names => starts_with_part(names),
    }
}

/// What follows the last `.git` of a path; `None` without one.
pub(super) fn below_git(components: &[OsString]) -> Option<&[OsString]> {
    let git = components.iter().rposition(|name| is(name, GIT))?;
    Some(&components[git + 1..])
}

/// Whether what stands at a path makes somebody's program run code, as far as its name tells. The path is
/// relative to the workspace.
pub fn runs_programs(components: &[OsString]) -> bool {
    components.iter().any(|name| is_setting(name))
        || below_git(components).is_some_and(|below| below.is_empty() || is_git_part(below))
}

/// Whether a directory with these names is a git directory.
pub(super) fn is_repository(has: impl Fn(&str) -> bool) -> bool {
    has(HEAD) && (BARE.iter().all(|name| has(name)) || has(COMMON))
}

/// Whether a file written there would be a part of a git directory that has another name than `.git`, or
/// would make one of its directory.
pub fn belongs_to_repository(workspace: &Path, components: &[OsString]) -> bool {
    let mut directory = workspace.to_path_buf();
    for (depth, name) in components.iter().enumerate() {
        let exists = |word: &str| directory.join(word).symlink_metadata().is_ok();
        if is_repository(exists) {
            if is_git_part(&components[depth..]) {
                return true;
            }
        } else if is_repository(|word| is(name, word) || exists(word)) {
            return true;
        }
        directory.push(name);
    }
    false
}
