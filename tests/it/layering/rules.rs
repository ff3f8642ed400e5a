//! The table, the bans, and the check of one file against them.

use crate::layering::source::{Path, code_of, paths_from, words_of};

const BASE: &[&str] = &["protocol", "clock", "text", "crash"];

/// Who may use whom, beside itself. Everything not listed is forbidden.
const ARROWS: &[(&str, &[&str])] = &[
    ("protocol", &["clock"]),
    ("clock", &[]),
    ("text", &["protocol"]),
    ("crash", &[]),
    ("config", BASE),
    ("store", BASE),
    ("client", BASE),
    ("model", &["config", "protocol", "clock", "text", "crash"]),
    ("datasets", &["protocol"]),
    (
        "mcp",
        &["config", "client", "protocol", "clock", "text", "crash"],
    ),
    (
        "tools",
        &["config", "mcp", "protocol", "clock", "text", "crash"],
    ),
    (
        "agents",
        &["config", "tools", "protocol", "clock", "text", "crash"],
    ),
    (
        "engine",
        &[
            "agents", "config", "store", "model", "tools", "datasets", "protocol", "clock", "text",
            "crash",
        ],
    ),
    (
        "channels",
        &["config", "client", "protocol", "clock", "text", "crash"],
    ),
    (
        "api",
        &[
            "client", "config", "mcp", "protocol", "clock", "text", "crash",
        ],
    ),
    (
        "telemetry",
        &["client", "config", "model", "protocol", "clock", "text"],
    ),
    (
        "testing",
        &[
            "channels", "client", "config", "tools", "protocol", "clock", "text", "crash",
        ],
    ),
    (
        "runtime",
        &[
            "testing",
            "api",
            "channels",
            "client",
            "config",
            "engine",
            "mcp",
            "model",
            "store",
            "telemetry",
            "tools",
            "protocol",
            "clock",
            "text",
            "crash",
        ],
    ),
    (
        "console",
        &["client", "config", "protocol", "clock", "text", "crash"],
    ),
    (
        "tui",
        &[
            "console", "client", "config", "protocol", "clock", "text", "crash",
        ],
    ),
    (
        "cli",
        &[
            "testing", "runtime", "console", "tui", "client", "config", "mcp", "protocol", "clock",
            "text", "crash",
        ],
    ),
    (
        "main",
        &[
            "cli", "runtime", "console", "tui", "client", "config", "protocol", "clock", "text",
            "crash",
        ],
    ),
];

/// Exported macros live at the root of the crate: which module each belongs to.
const MACROS: &[(&str, &str)] = &[("crash_point", "crash"), ("mutant", "crash")];

/// Paths and macros that only some modules may write: the words, how it is called, and the modules.
const BANS: &[(&[&str], &str, &[&str])] = &[
    (&["ratatui", "::"], "ratatui", &["tui"]),
    (&["ratatui_textarea", "::"], "ratatui_textarea", &["tui"]),
    (&["crossterm", "::"], "crossterm", &["tui"]),
    (
        &["directories", "::", "BaseDirs"],
        "directories",
        &["config"],
    ),
    (&["rusqlite", "::"], "rusqlite", &["store"]),
    (&["parquet", "::"], "parquet", &["datasets"]),
    (&["axum", "::"], "axum", &["api"]),
    (&["rmcp", "::"], "rmcp", &["mcp"]),
    (
        &["opentelemetry_proto", "::"],
        "opentelemetry_proto",
        &["telemetry"],
    ),
    (&["env", "::", "var"], "env::var", &["config"]),
    (&["env", "::", "var_os"], "env::var", &["config"]),
    (&["env", "::", "vars"], "env::vars", &["config"]),
    (&["env", "::", "vars_os"], "env::vars", &["config"]),
    (&["env", "::", "set_var"], "env::set_var", &[]),
    (&["env", "::", "remove_var"], "env::remove_var", &[]),
    (&["SystemTime"], "SystemTime", &["clock"]),
    (&["Timestamp", "::", "now"], "Timestamp::now", &["clock"]),
    (&["Zoned", "::", "now"], "Zoned::now", &["clock"]),
    (&["println", "!"], "println!", &["cli", "main"]),
    (&["eprintln", "!"], "eprintln!", &["cli", "main"]),
    (&["print", "!"], "print!", &["cli", "main"]),
    (&["eprint", "!"], "eprint!", &["cli", "main"]),
];

/// The files of `store` that know SQLite's own interface: the SQL interface, what opens, writes and copies a database
/// file, and the response cache, which has a file of its own. All others ask through `store::sql`.
const SQLITE: &[&str] = &[
    "store/sql/",
    "store/open.rs",
    "store/schema.rs",
    "store/writer.rs",
    "store/backup.rs",
    "store/integrity.rs",
    "store/offline.rs",
    "store/response_cache/",
];

/// What belongs to SQLite's own interface: statements, and rows that are read by number.
const OF_SQLITE: &[&[&str]] = &[
    &["rusqlite", "::"],
    &[".", "prepare", "("],
    &[".", "prepare_cached", "("],
    &[".", "query_row", "("],
    &[".", "query_map", "("],
    &[".", "execute", "("],
];

/// Longest file, in lines.
const LONGEST: usize = 800;

/// What is wrong with one file, in order; `name` is its path below `src/`.
pub fn check(name: &str, text: &str) -> Vec<String> {
    let mut found: Vec<(usize, String)> = Vec::new();
    if !text.trim_start_matches('\u{feff}').starts_with("//!") {
        found.push((
            1,
            "does not start with a `//!` that says what it is".to_owned(),
        ));
    }
    let lines = text.lines().count();
    if lines > LONGEST {
        found.push((lines, format!("longer than {LONGEST} lines")));
    }
    let module = module_of(name);
    let words = words_of(&code_of(text));
    // The library's root declares the modules and uses none.
    if module != "lib" {
        let root = if module == "main" {
            "leverframe"
        } else {
            "crate"
        };
        for path in paths_from(&words, root) {
            found.extend(arrow(&module, &path).map(|problem| (path.line, problem)));
        }
    }
    for (index, (line, _)) in words.iter().enumerate() {
        let here = |pattern: &[&str]| {
            let words = words.get(index..index + pattern.len());
            words.is_some_and(|words| words.iter().map(|(_, word)| word).eq(pattern))
        };
        for (pattern, called, modules) in BANS {
            if here(pattern) && !modules.contains(&module.as_str()) {
                let whom = if modules.is_empty() {
                    "nobody".to_owned()
                } else {
                    modules.join(", ")
                };
                found.push((*line, format!("{called} is for {whom}")));
            }
        }
        let knows_sqlite = SQLITE.iter().any(|file| name.starts_with(file));
        if module == "store" && !knows_sqlite && OF_SQLITE.iter().any(|pattern| here(pattern)) {
            found.push((*line, "statements are for store::sql".to_owned()));
        }
        if here(&["super", "::"])
            && !here(&["super", "::", "*"])
            && (index < 2 || words[index - 2].1 != "super")
        {
            found.push((
                *line,
                "`super::` hides the arrow: write crate::…".to_owned(),
            ));
        }
        // The library is never built as a test: such tests would not run.
        if here(&["cfg", "(", "test"]) || here(&["[", "test", "]"]) {
            found.push((*line, "tests are in tests/it".to_owned()));
        }
        if here(&["allow", "("]) || here(&["expect", "("]) {
            let inside = words[index + 2..]
                .iter()
                .take_while(|(_, word)| word != ")");
            // `expect(` is also a method; an attribute stands behind a bracket.
            let attribute = index > 0 && words[index - 1].1 == "[";
            if attribute && inside.into_iter().any(|(_, word)| word == "dead_code") {
                found.push((*line, "dead code is removed, not allowed".to_owned()));
            }
        }
    }
    found.sort_by_key(|(line, _)| *line);
    found
        .into_iter()
        .map(|(line, problem)| format!("src/{name}:{line}: {problem}"))
        .collect()
}

fn module_of(name: &str) -> String {
    let first = name.split('/').next().unwrap_or(name);
    first.strip_suffix(".rs").unwrap_or(first).to_owned()
}

fn arrow(from: &str, path: &Path) -> Option<String> {
    let of_macro = MACROS.iter().find(|(name, _)| *name == path.first);
    let to = of_macro.map_or(path.first.as_str(), |(_, module)| *module);
    if to == from {
        return None;
    }
    if !ARROWS.iter().any(|(module, _)| *module == to) {
        return Some(format!("{from} -> {to}, which is no module"));
    }
    let permitted = ARROWS
        .iter()
        .find(|(module, _)| *module == from)
        .map_or(&[][..], |(_, to)| to);
    if !permitted.contains(&to) {
        return Some(format!("{from} -> {to}"));
    }
    if from == "text" && to == "protocol" && path.second.as_deref() != Some("channel") {
        let second = path.second.as_deref().unwrap_or("?");
        return Some(format!(
            "text -> protocol::{second} (only protocol::channel)"
        ));
    }
    None
}
