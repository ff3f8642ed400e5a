//! Writes `syntaxes.bin` and `LICENSES.txt`: some of the syntaxes that two-face has, and what their authors ask for.
//! Run it in the folder `syntaxes`: `cargo run --manifest-path make/Cargo.toml`.
//!
//! A reference into a syntax that is left out becomes one to plain text.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use syntect::parsing::syntax_definition::Context;
use syntect::parsing::{Scope, SyntaxSet};

/// The syntaxes that are kept, with those that they embed.
const KEPT: &[&str] = &[
    "Plain Text",
    "Bourne Again Shell (bash)",
    "C",
    "C++",
    "CSS",
    "Dockerfile",
    "Go",
    "HTML",
    "JSON",
    "Java",
    "JavaScript",
    "Makefile",
    "Markdown",
    "Python",
    "Ruby",
    "Rust",
    "SQL",
    "Shell-Unix-Generic",
    "TOML",
    "TypeScript",
    "XML",
    "YAML",
    "commands-builtin-shell-bash",
];

/// Names of files that a syntax stands for too.
const MORE_EXTENSIONS: &[(&str, &[&str])] = &[
    ("JavaScript", &["cjs", "jsx", "mjs"]),
    ("TypeScript", &["tsx"]),
];

/// Where those syntaxes come from that are not part of Sublime Text's own packages.
const FOREIGN: &[&str] = &[
    "Packages/Rust/",
    "Extra/Docker/",
    "Extra/TOML/",
    "Extra/TypeScript/",
];

const SUBLIME: &str = "\
The syntaxes in syntaxes.bin come from the packages of Sublime Text, by way of two-face and bat. Their licence:

    Permission to copy, use, modify, sell and distribute this
    software is granted. This software is provided \"as is\" without
    express or implied warranty, and with no claim as to its
    suitability for any purpose.

The syntaxes of these folders have licences of their own.
";

/// A set of syntaxes, as syntect writes it.
#[derive(Serialize, Deserialize)]
struct Set {
    syntaxes: Vec<Syntax>,
    path_syntaxes: Vec<(String, usize)>,
}

#[derive(Serialize, Deserialize)]
struct Syntax {
    name: String,
    file_extensions: Vec<String>,
    scope: Scope,
    first_line_match: Option<String>,
    hidden: bool,
    variables: BTreeMap<String, String>,
    contexts: Vec<u8>,
}

#[derive(Serialize, Deserialize)]
struct Contexts {
    ids: BTreeMap<String, Id>,
    contexts: Vec<Context>,
}

#[derive(Serialize, Deserialize)]
struct Id {
    syntax_index: usize,
    context_index: usize,
}

fn contexts_of(syntax: &Syntax) -> Contexts {
    let mut bytes = Vec::new();
    let mut reader = flate2::read::ZlibDecoder::new(syntax.contexts.as_slice());
    reader.read_to_end(&mut bytes).expect("zlib");
    bincode::deserialize(&bytes).expect("contexts")
}

fn main() {
    let all = two_face::syntax::extra_newlines();
    let bytes = bincode::serialize(&all).expect("a set");
    let mut set: Set = bincode::deserialize(&bytes).expect("a set");
    let numbers: BTreeMap<usize, usize> = (set.syntaxes.iter().enumerate())
        .filter(|(_, syntax)| KEPT.contains(&syntax.name.as_str()))
        .enumerate()
        .map(|(new, (old, _))| (old, new))
        .collect();
    assert_eq!(
        numbers.len(),
        KEPT.len(),
        "a syntax is missing, or two have a name"
    );
    let is_plain = |one: &Syntax| one.name == "Plain Text";
    let plain = set.syntaxes.iter().position(is_plain).expect("plain text");
    let main = contexts_of(&set.syntaxes[plain]).ids["main"].context_index;
    let plain = (numbers[&plain], main);
    let mut index = 0;
    set.syntaxes.retain(|_| {
        index += 1;
        numbers.contains_key(&(index - 1))
    });
    set.path_syntaxes.clear();
    for syntax in &mut set.syntaxes {
        for (name, more) in MORE_EXTENSIONS {
            if syntax.name == *name {
                syntax
                    .file_extensions
                    .extend(more.iter().map(|one| (*one).to_owned()));
            }
        }
        let mut contexts = contexts_of(syntax);
        for id in contexts.ids.values_mut() {
            id.syntax_index = numbers[&id.syntax_index];
        }
        for context in &mut contexts.contexts {
            let mut value = serde_json::to_value(&*context).expect("JSON");
            renumber(&mut value, &numbers, plain);
            *context = serde_json::from_value(value).expect("a context");
        }
        let bytes = bincode::serialize(&contexts).expect("contexts");
        let mut writer = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
        writer.write_all(&bytes).expect("zlib");
        syntax.contexts = writer.finish().expect("zlib");
    }
    let bytes = bincode::serialize(&set).expect("a set");
    let _: SyntaxSet = syntect::dumps::from_uncompressed_data(&bytes).expect("a set");
    std::fs::write("syntaxes.bin", &bytes).expect("syntaxes.bin");
    let mut licenses = SUBLIME.to_owned();
    for folder in FOREIGN {
        let listing = two_face::acknowledgement::listing();
        let mut found = listing
            .for_syntaxes()
            .iter()
            .filter(|one| one.rel_path.to_string_lossy().contains(folder));
        let license = found.next().expect("a licence");
        licenses.push_str(&format!("\n--- {folder}\n\n{}\n", license.text.trim()));
    }
    std::fs::write("LICENSES.txt", licenses).expect("LICENSES.txt");
}

/// Gives every id of a context its new number.
fn renumber(value: &mut Value, numbers: &BTreeMap<usize, usize>, plain: (usize, usize)) {
    match value {
        Value::Object(fields) => {
            if let Some(old) = fields.get("syntax_index").and_then(Value::as_u64) {
                match numbers.get(&(old as usize)) {
                    Some(new) => {
                        fields.insert("syntax_index".to_owned(), (*new).into());
                    }
                    None => {
                        fields.insert("syntax_index".to_owned(), plain.0.into());
                        fields.insert("context_index".to_owned(), plain.1.into());
                    }
                }
                return;
            }
            fields
                .values_mut()
                .for_each(|value| renumber(value, numbers, plain));
        }
        Value::Array(items) => items
            .iter_mut()
            .for_each(|value| renumber(value, numbers, plain)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
