//! What the words of a command say about its risk: programs that delete, reach the network or change the user, and the
//! paths that they name. Pure: no file is looked at.
//!
//! Words are taken as they stand. A script can hide what it does from them, so a script is high risk without any of
//! these reasons.

use std::path::Path;

use crate::engine::programs::{self, SHELLS, file_name};
use crate::tools::path_risk::{holds_credentials, is_outside};
use crate::tools::risk::{RiskReason, add};
use crate::tools::script::simple_commands;

/// Most words of a call that are looked at.
const MAX_WORDS: usize = 4096;
/// Most paths outside the workspace, and most files of credentials, that are named.
const MAX_NAMED: usize = 3;
/// Commands inside commands that are followed.
const MAX_DEPTH: u32 = 8;
/// Characters of a script between two commands.
const BETWEEN: [char; 9] = [';', '|', '&', '\n', '(', ')', '{', '}', '`'];
/// Programs that run another one as another user.
const OTHER_USER: [&str; 5] = ["doas", "pkexec", "runuser", "su", "sudo"];
/// Programs that reach the network, with the words that make them do so; none = always.
const NETWORK: [(&str, &[&str]); 47] = [
    ("apt", &["install", "update", "upgrade"]),
    ("apt-get", &["install", "update", "upgrade"]),
    ("aria2c", &[]),
    ("aws", &[]),
    ("az", &[]),
    ("cargo", &["add", "fetch", "install", "publish", "update"]),
    ("curl", &[]),
    ("dig", &[]),
    ("docker", &["login", "pull", "push"]),
    ("ftp", &[]),
    ("gcloud", &[]),
    ("gem", &["install", "push", "update"]),
    ("gh", &[]),
    (
        "git",
        &["clone", "fetch", "ls-remote", "pull", "push", "submodule"],
    ),
    ("glab", &[]),
    ("go", &["get", "install"]),
    ("helm", &[]),
    ("http", &[]),
    ("https", &[]),
    ("kubectl", &[]),
    ("lftp", &[]),
    ("mail", &[]),
    ("mosh", &[]),
    ("nc", &[]),
    ("ncat", &[]),
    ("netcat", &[]),
    ("nmap", &[]),
    ("npm", &["add", "ci", "i", "install", "publish", "update"]),
    ("npx", &[]),
    ("nslookup", &[]),
    ("ping", &[]),
    ("pip", &["download", "install"]),
    ("pip3", &["download", "install"]),
    ("pnpm", &["add", "i", "install", "publish", "update"]),
    ("podman", &["login", "pull", "push"]),
    ("rclone", &[]),
    ("rsync", &[]),
    ("scp", &[]),
    ("sendmail", &[]),
    ("sftp", &[]),
    ("socat", &[]),
    ("ssh", &[]),
    ("telnet", &[]),
    ("uv", &["add", "pip", "sync"]),
    ("wget", &[]),
    ("whois", &[]),
    ("yarn", &["add", "install", "publish", "upgrade"]),
];
/// The reasons that the words of a command give; `argv` begins with its program.
pub fn of_command(argv: &[String], cwd: &Path, workspace: &Path) -> Vec<RiskReason> {
    let mut reasons = Vec::new();
    let argv = &argv[..argv.len().min(MAX_WORDS)];
    let mut words = Vec::new();
    in_command(argv, &mut words, &mut reasons, 0);
    let mut outside = Vec::new();
    let mut credentials = Vec::new();
    for word in words.iter().filter(|word| !word.contains("://")) {
        // What an option is given stands behind a sign: `--file=…`, `-d@…`.
        let value = word.find(['=', '@']).map(|at| &word[at + 1..]);
        let mut parts = value.into_iter().chain([word.as_str()]);
        let secret = parts.clone().find(|part| holds_credentials(part));
        let list = if secret.is_some() {
            &mut credentials
        } else {
            &mut outside
        };
        let named = secret.or_else(|| parts.find(|part| is_outside(part, cwd, workspace)));
        let fresh = named.filter(|part| list.len() < MAX_NAMED && !list.iter().any(|n| n == part));
        list.extend(fresh.map(str::to_owned));
    }
    reasons.extend(credentials.into_iter().map(RiskReason::CredentialFile));
    reasons.extend(outside.into_iter().map(RiskReason::Outside));
    reasons
}

/// Adds what a command does, and the words that may name files: those of what it starts too.
fn in_command(argv: &[String], words: &mut Vec<String>, reasons: &mut Vec<RiskReason>, depth: u32) {
    let Some((program, arguments)) = argv.split_first() else {
        return;
    };
    let name = file_name(program);
    let is_shell = SHELLS.contains(&name) || ["fish", "zsh", "su", "runuser"].contains(&name);
    let script = arguments
        .iter()
        .position(|word| word.starts_with('-') && !word.starts_with("--") && word.contains('c'))
        .map(|at| at + 1)
        .filter(|_| is_shell);
    let room = MAX_WORDS.saturating_sub(words.len());
    let named = arguments.iter().enumerate();
    let named = named.filter(|(at, _)| script != Some(*at));
    words.extend(named.take(room).map(|(_, word)| word.clone()));
    if OTHER_USER.contains(&name) {
        add(reasons, RiskReason::OtherUser(name.to_owned()));
    }
    if let Some(how) = recursive_delete(name, arguments) {
        add(reasons, RiskReason::RecursiveDelete(how));
    }
    if let Some(how) = network(name, arguments) {
        add(reasons, RiskReason::Network(how));
    }
    if depth == MAX_DEPTH {
        return;
    }
    if let Some(script) = script.and_then(|at| arguments.get(at)) {
        if simple_commands(script).is_none() {
            add(reasons, RiskReason::ShellScript);
        }
        in_script(script, words, reasons, depth + 1);
    } else if name == "eval" {
        in_script(&arguments.join(" "), words, reasons, depth + 1);
    } else if name == "find" {
        let starts = |word: &String| word.starts_with("-exec") || word.starts_with("-ok");
        if let Some(at) = arguments.iter().position(starts) {
            in_command(&arguments[at + 1..], words, reasons, depth + 1);
        }
    } else if let Some(started) = programs::started(argv) {
        in_command(started, words, reasons, depth + 1);
    }
}

/// Takes a script apart as far as plain commands go: quotes are left aside, and nothing is expanded.
fn in_script(script: &str, words: &mut Vec<String>, reasons: &mut Vec<RiskReason>, depth: u32) {
    let is_assignment = |word: &String| {
        word.split_once('=')
            .is_some_and(|(name, _)| name.chars().all(|c| c.is_alphanumeric() || c == '_'))
    };
    for command in script.split(BETWEEN) {
        let plain: String = command
            .chars()
            .filter(|c| !matches!(c, '"' | '\'' | '\\' | '$'))
            .map(|c| if matches!(c, '<' | '>') { ' ' } else { c })
            .collect();
        let room = MAX_WORDS.saturating_sub(words.len());
        let argv: Vec<String> = plain
            .split_whitespace()
            .take(room)
            .map(str::to_owned)
            .collect();
        // Words of the language in front of a command, and variables for it, are no program.
        let start = argv.iter().position(|word| {
            !is_assignment(word)
                && !["!", "do", "elif", "else", "if", "then", "until", "while"]
                    .contains(&word.as_str())
        });
        if let Some(start) = start {
            words.extend(argv[..start].iter().cloned());
            in_command(&argv[start..], words, reasons, depth);
        }
    }
}

/// How a program deletes directories with all that is in them; none = it does not.
fn recursive_delete(name: &str, arguments: &[String]) -> Option<String> {
    let has = |wanted: &[char], long: &str| {
        let mut options = arguments.iter().take_while(|word| *word != "--");
        options.any(|word| match word.strip_prefix("--") {
            // GNU programs take the beginning of a long option for it.
            Some(option) => !option.is_empty() && long.starts_with(option),
            None => word
                .strip_prefix('-')
                .is_some_and(|letters| letters.contains(wanted)),
        })
    };
    match name {
        "rm" => has(&['r', 'R'], "recursive").then(|| "rm -r".to_owned()),
        "find" => {
            (arguments.iter().any(|word| word == "-delete")).then(|| "find -delete".to_owned())
        }
        "git" => (subcommand(arguments) == Some("clean") && has(&['d'], "d"))
            .then(|| "git clean -d".to_owned()),
        "rsync" => (arguments.iter().any(|word| word.starts_with("--del")))
            .then(|| "rsync --delete".to_owned()),
        _ => None,
    }
}

/// The first word that is no option; the values of `git -C` and `git -c` are none either.
fn subcommand(arguments: &[String]) -> Option<&str> {
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        if word == "-C" || word == "-c" {
            words.next();
        } else if !word.starts_with('-') {
            return Some(word);
        }
    }
    None
}

/// With what a program reaches the network; none = it does not.
fn network(name: &str, arguments: &[String]) -> Option<String> {
    let (_, verbs) = NETWORK.iter().find(|(program, _)| *program == name)?;
    if verbs.is_empty() {
        return Some(name.to_owned());
    }
    let verb = subcommand(arguments).filter(|verb| verbs.contains(verb))?;
    Some(format!("{name} {verb}"))
}
