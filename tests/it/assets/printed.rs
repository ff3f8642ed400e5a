//! `leverframe keys` and `leverframe themes` print what is in force, without a daemon.

use serde_json::Value;

use crate::support::daemon::Home;

fn program(home: &Home, arguments: &[&str]) -> (i32, String, String) {
    let output = home
        .command()
        .args(arguments)
        .stdin(std::process::Stdio::null())
        .output()
        .unwrap();
    (
        output.status.code().unwrap(),
        String::from_utf8(output.stdout).unwrap(),
        String::from_utf8(output.stderr).unwrap(),
    )
}

fn lines(home: &Home, arguments: &[&str]) -> Vec<Value> {
    let (status, out, err) = program(home, arguments);
    assert_eq!(status, 0, "{err}");
    out.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn write(home: &Home, file: &str, text: &str) {
    let file = home.path().join("config").join(file);
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(file, text).unwrap();
}

#[test]
fn keys_are_those_of_the_configured_keymap_or_the_named_one() {
    let home = Home::new("[console]\nkeymap = \"vim\"\n");
    let has = |lines: &[Value], context: &str, keys: &str, action: &str| {
        lines.iter().any(|line| {
            line["context"] == context && line["keys"] == keys && line["action"] == action
        })
    };
    let vim = lines(&home, &["keys", "--json"]);
    assert!(has(&vim, "global", "y y", "copy-id"), "{vim:?}");
    assert!(vim.iter().all(|line| line["keymap"] == "vim"));
    let default = lines(&home, &["keys", "--keymap", "default", "--json"]);
    assert!(has(&default, "global", "y", "copy-id"));
    assert!(has(&default, "queue", "a", "approve"));

    write(
        &home,
        "keymaps/mine.toml",
        "inherits = \"default\"\n[queue]\n\"b\" = \"approve\"\n",
    );
    let mine = lines(&home, &["keys", "--keymap", "mine", "--json"]);
    assert!(has(&mine, "queue", "b", "approve"));
    let (status, table, _) = program(&home, &["keys", "--keymap", "mine"]);
    assert_eq!(status, 0);
    let row = table
        .lines()
        .find(|line| line.starts_with("queue") && line.contains(" b "));
    let row = row.unwrap();
    assert!(row.contains("allow this call once"), "{row}");

    let (status, _, err) = program(&home, &["keys", "--keymap", "defalt"]);
    assert_eq!(status, 2);
    assert!(err.contains("did you mean `default`?"), "{err}");
    write(&home, "keymaps/mine.toml", "[queue]\n\"a\" = \"aprove\"\n");
    let (status, _, err) = program(&home, &["keys", "--keymap", "mine"]);
    assert_eq!(status, 2);
    assert!(
        err.contains("mine.toml:2") && err.contains("`approve`"),
        "{err}"
    );
}

#[test]
fn themes_are_listed_and_printed_by_role() {
    let home = Home::new("[console]\ntheme = \"nord\"\n");
    write(
        &home,
        "themes/sea.toml",
        "inherits = \"dark\"\n[palette]\nsky = \"#0102ff\"\n",
    );
    write(&home, "themes/torn.toml", "[roles]\n\"txet\" = \"red\"\n");
    let all = lines(&home, &["themes", "--json"]);
    let of = |name: &str| all.iter().find(|line| line["name"] == name).unwrap();
    assert_eq!(of("nord")["in_use"], true);
    assert_eq!(of("gruvbox")["in_use"], false);
    assert_eq!(of("gruvbox")["file"], "built-in theme gruvbox");
    assert!(
        of("sea")["file"]
            .as_str()
            .unwrap()
            .ends_with("themes/sea.toml")
    );
    assert_eq!(of("sea")["error"], Value::Null);
    assert!(
        of("torn")["error"]
            .as_str()
            .unwrap()
            .contains("torn.toml:2")
    );
    let (status, table, _) = program(&home, &["themes"]);
    assert_eq!(status, 0);
    assert!(
        table
            .lines()
            .any(|l| l.starts_with("nord") && l.ends_with("in use")),
        "{table}"
    );
    assert!(
        table
            .lines()
            .any(|l| l.starts_with("torn") && l.contains("broken")),
        "{table}"
    );

    let sea = lines(&home, &["themes", "sea", "--json"]);
    let chosen = sea
        .iter()
        .find(|line| line["role"] == "dialog.chosen")
        .unwrap();
    assert_eq!(chosen["bg"], "#0102ff");
    assert_eq!(chosen["modifiers"], serde_json::json!(["bold"]));
    let (status, table, _) = program(&home, &["themes", "sea"]);
    assert_eq!(status, 0);
    let row = table
        .lines()
        .find(|l| l.starts_with("dialog.chosen"))
        .unwrap();
    assert!(row.contains("#0102ff") && row.contains("bold"), "{row}");
    let (status, _, err) = program(&home, &["themes", "gruvbx"]);
    assert_eq!(status, 2);
    assert!(err.contains("did you mean `gruvbox`?"), "{err}");
}
