//! The files in `monitoring/`, and a real scrape, in the eyes of Prometheus' own tool.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::monitoring::scrape::{busy, scrape};
use crate::support::requirement::missing;

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("monitoring")
        .join(name)
}

/// Runs promtool with these words and this input; whether it is content, and what it said. None where it is missing.
fn promtool(words: &[&str], input: &str) -> Option<(bool, String)> {
    let started = Command::new("promtool")
        .args(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let Ok(mut child) = started else {
        missing("promtool", "what Prometheus says", "install prometheus");
        return None;
    };
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(input.as_bytes()).unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    Some((output.status.success(), said))
}

#[test]
fn prometheus_takes_the_rules_and_they_fire_when_they_must() {
    let rules = file("leverframe.rules.yml");
    let rules = rules.to_str().unwrap();
    let Some((good, said)) = promtool(&["check", "rules", rules], "") else {
        return;
    };
    assert!(good && said.contains("SUCCESS"), "{said}");
    let cases = std::fs::read_to_string(
        Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/fixtures/monitoring/leverframe.rules.test.yml"),
    )
    .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let written = folder.path().join("cases.yml");
    std::fs::write(&written, cases.replace("RULES", rules)).unwrap();
    let (good, said) = promtool(&["test", "rules", written.to_str().unwrap()], "").unwrap();
    assert!(good && said.contains("SUCCESS"), "{said}");
    // Every alert has a case in which it fires.
    let text = std::fs::read_to_string(rules).unwrap();
    let alerts = text
        .lines()
        .filter_map(|line| line.trim().strip_prefix("- alert: "));
    for alert in alerts {
        assert!(
            cases.contains(&format!("alertname: {alert}\n")),
            "{alert} has no case"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn prometheus_takes_a_scrape_and_finds_what_rules_and_dashboard_name() {
    let (_home, daemon, _http) = busy().await;
    let text = scrape(&daemon).await;
    if let Some((good, said)) = promtool(&["check", "metrics"], &text) {
        // It says what it would name otherwise, too: nothing.
        assert!(good && said.trim().is_empty(), "{said}\n{text}");
    }
    let there = samples(&text);
    let mut named = BTreeSet::new();
    let rules = std::fs::read_to_string(file("leverframe.rules.yml")).unwrap();
    names(&rules, &mut named);
    let dashboard = std::fs::read_to_string(file("grafana.json")).unwrap();
    let dashboard: Value = serde_json::from_str(&dashboard).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let targets = panels
        .iter()
        .filter_map(|panel| panel["targets"].as_array());
    for target in targets.flatten() {
        names(target["expr"].as_str().unwrap(), &mut named);
    }
    assert!(named.len() > 30, "{named:?}");
    let unknown: Vec<&String> = named.difference(&there).collect();
    assert!(unknown.is_empty(), "not in a scrape: {unknown:?}\n{text}");
    // The book has a row for each.
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/src/operate/monitoring.md");
    let page = std::fs::read_to_string(page).unwrap();
    let families = text.lines().filter_map(|line| line.strip_prefix("# TYPE "));
    for name in families.filter_map(|line| line.split(' ').next()) {
        assert!(
            page.contains(&format!("`{name}`")),
            "{name} is not in the book"
        );
    }
    // What Grafana asks is PromQL: as the expressions of rules, with what it fills in filled in.
    let mut groups = "groups:\n- name: dashboard\n  rules:\n".to_owned();
    let targets = panels
        .iter()
        .filter_map(|panel| panel["targets"].as_array());
    for (number, target) in targets.flatten().enumerate() {
        let expression = target["expr"].as_str().unwrap();
        let expression = expression.replace("$__rate_interval", "5m");
        let quoted = serde_json::to_string(&expression).unwrap();
        groups += &format!("  - record: panel_{number}\n    expr: {quoted}\n");
    }
    let folder = tempfile::tempdir().unwrap();
    let written = folder.path().join("dashboard.yml");
    std::fs::write(&written, groups).unwrap();
    if let Some((good, said)) = promtool(&["check", "rules", written.to_str().unwrap()], "") {
        assert!(good, "{said}");
    }
}

/// Every name of a sample in a scrape.
fn samples(text: &str) -> BTreeSet<String> {
    text.lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split(['{', ' ']).next())
        .map(str::to_owned)
        .collect()
}

/// Every name of ours, and of the process, in an expression.
fn names(text: &str, into: &mut BTreeSet<String>) {
    let is_name = |letter: char| letter.is_ascii_lowercase() || letter == '_';
    into.extend(
        text.split(|letter: char| !is_name(letter))
            .filter(|word| word.starts_with("leverframe_") || word.starts_with("process_"))
            .map(str::to_owned),
    );
}
