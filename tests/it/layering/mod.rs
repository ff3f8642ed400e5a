//! The table of permitted arrows between modules.
//!
//! `rules` holds the table and the bans; `cycles` finds modules that import each other in a circle; `source` reads Rust
//! well enough to leave comments and texts out.

#![allow(clippy::unwrap_used)] // helpers of a suite fail the test by panicking

mod cycles;
mod rules;
mod source;

use std::path::{Path, PathBuf};

use crate::layering::cycles::{check_cycles, imports_of};
use crate::layering::rules::check;

/// Every Rust file below `dir`, in order.
fn rust_files(dir: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut entries: Vec<PathBuf> = std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    entries.sort();
    for entry in entries {
        if entry.is_dir() {
            files.extend(rust_files(&entry));
        } else if entry.extension().is_some_and(|extension| extension == "rs") {
            files.push(entry);
        }
    }
    files
}

/// The path below `src/` and the text of every file of the crate.
fn crate_files() -> Vec<(String, String)> {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let files: Vec<(String, String)> = rust_files(&src)
        .iter()
        .map(|file| {
            let name = file.strip_prefix(&src).unwrap().to_str().unwrap();
            (name.to_owned(), std::fs::read_to_string(file).unwrap())
        })
        .collect();
    assert!(
        files.len() > 20,
        "only {} files found below {}",
        files.len(),
        src.display()
    );
    files
}

#[test]
fn the_crate_keeps_its_layers() {
    let files = crate_files();
    let checked = files.iter().flat_map(|(name, text)| check(name, text));
    let found: Vec<String> = checked.collect();
    assert!(found.is_empty(), "\n{}\n", found.join("\n"));
}

#[test]
fn no_modules_import_each_other_in_a_circle() {
    let found = check_cycles(&imports_of(&crate_files()));
    assert!(found.is_empty(), "\n{}\n", found.join("\n"));
}

/// The checker finds exactly this in these files.
#[track_caller]
fn finds_cycles(files: &[(&str, &str)], expected: &[&str]) {
    let owned = |(name, text): &(&str, &str)| ((*name).to_owned(), (*text).to_owned());
    let files: Vec<(String, String)> = files.iter().map(owned).collect();
    assert_eq!(check_cycles(&imports_of(&files)), expected);
}

#[test]
fn two_files_that_import_each_other_are_found_in_every_spelling() {
    let circle = [
        "import cycle: a::x -> a::y -> a::x",
        "import cycle: a::y -> a::x -> a::y",
    ];
    for back in [
        "use crate::a::x::X;",
        "use crate::{b, a::{x::{self, X}, z}};",
        "pub(crate) use crate::a::x as other;",
        "use crate::a::x::*;",
        "fn f() -> crate::a::x::X { todo() }",
        "use crate::a; fn f() { a::x::f(); }",
        "use crate::a::{x as other}; type X = other::X;",
        "use super::x::X;",
        "fn f() -> super::x::X { todo() }",
        "mod inside { use super::super::x::X; }",
        "mod inside { fn f() {} }\nuse super::x::X;",
        "fn f() { crate::shout!(1) }",
    ] {
        finds_cycles(
            &[
                ("a/mod.rs", "pub mod x; pub mod y;"),
                (
                    "a/x.rs",
                    "use crate::a::y::Y; macro_rules! shout { () => {} }",
                ),
                ("a/y.rs", back),
            ],
            &circle,
        );
    }
}

#[test]
fn a_folder_that_imports_from_its_files_and_the_other_way_is_found() {
    for folder in [
        "pub use crate::a::x::X;",
        "pub use self::x::X;",
        "pub use x::X;",
        "mod x; fn f() { x::f() }",
    ] {
        finds_cycles(
            &[("a/mod.rs", folder), ("a/x.rs", "use super::Shared;")],
            &[
                "import cycle: a -> a::x -> a",
                "import cycle: a::x -> a -> a::x",
            ],
        );
    }
}

#[test]
fn a_circle_of_three_names_the_shortest_way_around() {
    finds_cycles(
        &[
            ("a.rs", "use crate::b::B; use crate::d::D;"),
            ("b.rs", "use crate::c::C;"),
            ("c.rs", "use crate::a::A;"),
            ("d.rs", "fn d() {}"),
        ],
        &[
            "import cycle: a -> b -> c -> a",
            "import cycle: b -> c -> a -> b",
            "import cycle: c -> a -> b -> c",
        ],
    );
}

#[test]
fn a_tree_is_no_cycle() {
    finds_cycles(
        &[
            (
                "a/mod.rs",
                "//! See [`crate::a::x`].\npub mod x; pub mod y; pub struct A;",
            ),
            (
                "a/x.rs",
                "use crate::a::y; use super::A; fn f() { y::f(); std::mem::take(x); }",
            ),
            (
                "a/y.rs",
                "// crate::a::x::X\nuse crate::a::A; const S: &str = \"crate::a::x::f\";",
            ),
            (
                "a/z.rs",
                "use crate::a::{x::X, y}; #[cfg(test)] mod tests { use super::*; }",
            ),
            ("lib.rs", "pub mod a;"),
        ],
        &[],
    );
}

/// The checker finds exactly this in a file of this name.
#[track_caller]
fn finds(name: &str, text: &str, expected: &[&str]) {
    assert_eq!(check(name, &format!("//! Doc.\n{text}")), expected);
}

#[test]
fn forbidden_arrows_are_found_in_every_spelling() {
    finds(
        "engine/turn.rs",
        "use crate::tui::app::App;",
        &["src/engine/turn.rs:2: engine -> tui"],
    );
    finds(
        "store/mod.rs",
        "\nfn f() { crate::config::settings::x() }",
        &["src/store/mod.rs:3: store -> config"],
    );
    finds(
        "api/routes.rs",
        "use crate::{\n    client::console_client::ConsoleClient,\n    store::{read, write::Row},\n    protocol::{ids, words},\n    engine,\n};",
        &[
            "src/api/routes.rs:4: api -> store",
            "src/api/routes.rs:6: api -> engine",
        ],
    );
    finds(
        "clock.rs",
        "use crate :: text :: wrap;",
        &["src/clock.rs:2: clock -> text"],
    );
    finds(
        "text/chunk.rs",
        "use crate::clock::Clock;",
        &["src/text/chunk.rs:2: text -> clock"],
    );
    finds(
        "text/chunk.rs",
        "use crate::protocol::ids::SessionId;",
        &["src/text/chunk.rs:2: text -> protocol::ids (only protocol::channel)"],
    );
    finds(
        "main.rs",
        "use leverframe::store::db;",
        &["src/main.rs:2: main -> store"],
    );
    finds(
        "text/x.rs",
        "crate::mutant!(x);",
        &["src/text/x.rs:2: text -> crash"],
    );
    finds(
        "runtime/x.rs",
        "use crate::nowhere::X;",
        &["src/runtime/x.rs:2: runtime -> nowhere, which is no module"],
    );
    finds(
        "config/x.rs",
        "use crate::store::X as Y; use crate::*;",
        &[
            "src/config/x.rs:2: config -> store",
            "src/config/x.rs:2: config -> *, which is no module",
        ],
    );
    finds(
        "engine/a/b.rs",
        "use super::super::super::tui::X;",
        &["src/engine/a/b.rs:2: `super::` hides the arrow: write crate::…"],
    );
}

#[test]
fn permitted_arrows_are_not_found() {
    finds(
        "engine/turn.rs",
        "use crate::store::db; use crate::{config, model::request, tools, protocol};",
        &[],
    );
    finds(
        "text/chunk.rs",
        "use crate::protocol::channel::LengthUnit; use crate::text::width;",
        &[],
    );
    finds("protocol/event.rs", "use crate::clock::Timestamp;", &[]);
    finds(
        "runtime/engine.rs",
        "use crate::{api, channels, client, engine, store};",
        &[],
    );
    finds("store/tx.rs", "fn f() { crate::crash_point!(\"x\"); }", &[]);
    finds("main.rs", "fn main() { leverframe::cli::run() }", &[]);
}

#[test]
fn comments_and_texts_are_not_code() {
    finds(
        "engine/a.rs",
        "// use crate::tui::X;\n/* crate::tui /* nested crate::api */ crate::api */\n/// [`crate::tui`] println!\nfn f() {}",
        &[],
    );
    finds(
        "engine/a.rs",
        r##"const A: &str = "crate::tui \" println!()"; const B: &str = r#"crate::tui " axum::x"#; const C: &[u8] = b"rusqlite::x"; const D: &[u8] = br"crate::api";"##,
        &[],
    );
    // A quote in a character and the tick of a lifetime must not open or close a text.
    finds(
        "engine/a.rs",
        "fn f<'a>(x: &'a str) -> char { let q = '\"'; let e = '\\''; crate::tui::x() }",
        &["src/engine/a.rs:2: engine -> tui"],
    );
}

#[test]
fn what_belongs_in_one_place_is_found_elsewhere() {
    for (name, text, expected) in [
        ("api/a.rs", "use ratatui::Frame;", "ratatui is for tui"),
        (
            "cli/a.rs",
            "crossterm::terminal::size();",
            "crossterm is for tui",
        ),
        (
            "cli/a.rs",
            "use ratatui_textarea::TextArea;",
            "ratatui_textarea is for tui",
        ),
        (
            "engine/a.rs",
            "fn f(_: rusqlite::Connection) {}",
            "rusqlite is for store",
        ),
        (
            "store/queries/a.rs",
            "use rusqlite::Row;",
            "statements are for store::sql",
        ),
        (
            "store/commands/a.rs",
            "fn f() { tx.conn.query_row(\"SELECT 1\", [], |row| row.get(0)) }",
            "statements are for store::sql",
        ),
        ("cli/a.rs", "use axum::{Router};", "axum is for api"),
        (
            "model/a.rs",
            "std::env::var(\"X\")",
            "env::var is for config",
        ),
        (
            "model/a.rs",
            "use std::env; fn f() { env::vars_os() }",
            "env::vars is for config",
        ),
        (
            "cli/a.rs",
            "env::set_var(\"A\", \"b\")",
            "env::set_var is for nobody",
        ),
        (
            "store/a.rs",
            "std::time::SystemTime::now()",
            "SystemTime is for clock",
        ),
        (
            "store/a.rs",
            "use jiff::Timestamp; fn f() { Timestamp::now() }",
            "Timestamp::now is for clock",
        ),
        (
            "store/a.rs",
            "jiff::Zoned::now()",
            "Zoned::now is for clock",
        ),
        ("tui/a.rs", "println!(\"x\")", "println! is for cli, main"),
        (
            "runtime/a.rs",
            "eprintln! (\"x\")",
            "eprintln! is for cli, main",
        ),
        ("runtime/a.rs", "print!(\"x\")", "print! is for cli, main"),
        ("runtime/a.rs", "eprint!(\"x\")", "eprint! is for cli, main"),
        (
            "runtime/a.rs",
            "#[allow(dead_code)] fn f() {}",
            "dead code is removed, not allowed",
        ),
        (
            "runtime/a.rs",
            "#[expect(unused, dead_code)] fn f() {}",
            "dead code is removed, not allowed",
        ),
        (
            "text/a.rs",
            "#[cfg(test)] mod tests {}",
            "tests are in tests/it",
        ),
        ("text/a.rs", "#[test] fn f() {}", "tests are in tests/it"),
    ] {
        finds(name, text, &[&format!("src/{name}:2: {expected}")]);
    }
    finds("tui/a.rs", "use ratatui::Frame; use crossterm::event;", &[]);
    finds("store/sql/values.rs", "use rusqlite::types::ToSql;", &[]);
    finds("store/open.rs", "use rusqlite::Connection;", &[]);
    finds("config/a.rs", "std::env::var(\"X\")", &[]);
    finds("clock.rs", "jiff::Timestamp::now()", &[]);
    finds("cli/a.rs", "println!(\"x\"); eprintln!(\"y\")", &[]);
    finds(
        "store/a.rs",
        "let my_println = 1; clock.now(); environment.var();",
        &[],
    );
}

#[test]
fn long_files_and_files_without_a_purpose_are_found() {
    assert_eq!(
        check("store/a.rs", "use std::fmt;\n"),
        ["src/store/a.rs:1: does not start with a `//!` that says what it is"]
    );
    let long = "fn f() {}\n".repeat(800);
    finds(
        "store/a.rs",
        &long,
        &["src/store/a.rs:801: longer than 800 lines"],
    );
    finds("store/a.rs", &long[10..], &[]);
}
