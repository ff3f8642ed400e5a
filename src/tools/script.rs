//! Shell scripts that are a row of simple commands and nothing more. Pure: nothing is expanded, looked up or run.
//!
//! The grammar is that of bash, and `/bin/sh` runs the scripts. So a script is taken apart only where every shell reads
//! it alike: plain and quoted words, joined by `;`, `&&`, `||`, `|` and line ends. What says more is not taken apart.

use tree_sitter::{Node, Parser};

/// Longest script that is taken apart, in bytes.
const MAX_SCRIPT: usize = 16 * 1024;
/// What stands between simple commands.
const BETWEEN: [&str; 5] = [";", "&&", "||", "|", "\n"];
/// What may stand in a word without quotes beside letters and digits: no shell does anything with it.
const PLAIN: &str = "-_./:,+%@=";
/// Commands of shells after which a script goes on elsewhere, with other words, or as something else.
const STATEFUL: [&str; 32] = [
    ".",
    "alias",
    "break",
    "cd",
    "continue",
    "coproc",
    "declare",
    "enable",
    "eval",
    "exit",
    "export",
    "getopts",
    "hash",
    "let",
    "local",
    "mapfile",
    "popd",
    "pushd",
    "read",
    "readarray",
    "readonly",
    "return",
    "set",
    "shift",
    "shopt",
    "source",
    "trap",
    "typeset",
    "ulimit",
    "umask",
    "unalias",
    "unset",
];

/// The commands of a script in their order, each as its words; none = it is not provably such a row.
pub fn simple_commands(script: &str) -> Option<Vec<Vec<String>>> {
    let hides = |c: char| c == '\\' || c.is_control() && c != '\n' && c != '\t';
    if script.len() > MAX_SCRIPT || script.contains(hides) {
        return None;
    }
    let mut parser = Parser::new();
    parser
        .set_language(&tree_sitter_bash::LANGUAGE.into())
        .ok()?;
    let tree = parser.parse(script, None)?;
    let root = tree.root_node();
    let mut commands = Vec::new();
    if root.has_error() {
        return None;
    }
    row(root, script, &mut commands)?;
    (!commands.is_empty()).then_some(commands)
}

/// Adds the commands of a row. None = it holds something else.
fn row(node: Node<'_>, script: &str, commands: &mut Vec<Vec<String>>) -> Option<()> {
    match node.kind() {
        "program" | "list" | "pipeline" => {
            for child in children(node) {
                if child.is_named() {
                    row(child, script, commands)?;
                } else if !BETWEEN.contains(&child.kind()) {
                    return None;
                }
            }
            Some(())
        }
        "redirected_statement" => {
            let body = node.child_by_field_name("body")?;
            let mut others = children(node).into_iter().filter(|child| *child != body);
            others
                .all(|child| discards(child, script))
                .then(|| row(body, script, commands))?
        }
        "command" => {
            let parts = children(node).into_iter();
            let words: Option<Vec<String>> = parts.map(|part| word(part, script)).collect();
            let words = words.filter(|words| words.first().is_some_and(|one| is_program(one)))?;
            commands.push(words);
            Some(())
        }
        _ => None,
    }
}

/// Whether a first word is the name of a program: no assignment, and nothing that changes the commands after it.
fn is_program(word: &str) -> bool {
    !word.is_empty() && !word.contains('=') && !STATEFUL.contains(&word)
}

/// Whether a redirection only throws output away or joins it with the other.
fn discards(node: Node<'_>, script: &str) -> bool {
    let Some(to) = node.child_by_field_name("destination") else {
        return false;
    };
    let parts = children(node);
    let (named, signs): (Vec<&Node<'_>>, Vec<&Node<'_>>) =
        parts.iter().partition(|child| child.is_named());
    // A word behind the destination is one of the command.
    let words = named
        .iter()
        .filter(|child| child.kind() != "file_descriptor");
    let operator = match signs.as_slice() {
        [only] => Some(only.kind()),
        _ => None,
    };
    let to = text(to, script);
    node.kind() == "file_redirect"
        && words.count() == 1
        && match operator {
            Some(">" | ">>") => to == "/dev/null",
            Some(">&") => to == "1" || to == "2",
            Some(_) | None => false,
        }
}

/// The word that a part of a command stands for; none = the shell makes it.
fn word(node: Node<'_>, script: &str) -> Option<String> {
    match node.kind() {
        "command_name" => match children(node).as_slice() {
            [only] => word(*only, script),
            _ => None,
        },
        "word" | "number" => {
            let is_plain = |c: char| c.is_alphanumeric() || PLAIN.contains(c);
            let word = text(node, script);
            word.chars().all(is_plain).then(|| word.to_owned())
        }
        "raw_string" => {
            let inner = text(node, script).strip_prefix('\'')?;
            inner.strip_suffix('\'').map(str::to_owned)
        }
        "string" => {
            let mut parts = children(node).into_iter();
            let is_text = |part: Node<'_>| matches!(part.kind(), "\"" | "string_content");
            let inner = text(node, script).strip_prefix('"')?.strip_suffix('"')?;
            (parts.all(is_text) && !inner.contains(['$', '`', '"'])).then(|| inner.to_owned())
        }
        "concatenation" => {
            let parts = children(node).into_iter();
            parts.map(|part| word(part, script)).collect()
        }
        _ => None,
    }
}

fn children(node: Node<'_>) -> Vec<Node<'_>> {
    node.children(&mut node.walk()).collect()
}

fn text<'s>(node: Node<'_>, script: &'s str) -> &'s str {
    script.get(node.byte_range()).unwrap_or_default()
}
