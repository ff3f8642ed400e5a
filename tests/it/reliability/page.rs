//! From facts to Markdown. Words are here; every number comes from a fact.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::Value;

use crate::reliability::facts::Facts;

/// Groups with a section of their own; all others follow as they are.
const KNOWN: &[&str] = &["crash", "mutants", "power-loss", "model", "faults"];

/// Which tree the facts are of.
pub struct Source {
    /// Short name of the commit, with a word where files differ from it.
    pub commit: String,
    /// What tests/agents.sh found, by agent; nothing where it never ran.
    pub agents: BTreeMap<String, Value>,
    /// What the last hour of `tests/soak.sh --channels` found.
    pub soak: BTreeMap<String, Value>,
}

/// The report.
pub fn render(facts: &Facts, source: &Source) -> String {
    let date = facts
        .newest
        .map_or_else(|| "never".to_owned(), |at| at.to_string());
    let date = date.split('T').next().unwrap_or_default();
    let mut page = format!(
        "# Reliability\n\n\
         Written by `tests/write_reliability_report.sh` from what the suites recorded on {date} at commit {}. No number \
         below is typed; `.ci/run` writes the same page from its own run.\n\n{PROMISES}",
        source.commit
    );
    crash(&mut page, &facts.group("crash"));
    mutants(&mut page, &facts.group("mutants"));
    section(
        &mut page,
        "Loss of power",
        "What a kill cannot show: writes that were never synced are dropped, reordered and torn.",
        &facts.group("power-loss"),
    );
    section(
        &mut page,
        "Model test",
        "Random commands, crashes, clocks and policies against a model in memory, with every invariant checked after each step.",
        &facts.group("model"),
    );
    faults(&mut page, &facts.group("faults"));
    soak(&mut page, &source.soak);
    agents(&mut page, &source.agents);
    for group in facts.groups().filter(|group| !KNOWN.contains(group)) {
        let mut title = group.replace('-', " ");
        if let Some(first) = title.get_mut(..1) {
            first.make_ascii_uppercase();
        }
        section(&mut page, &title, "", &facts.group(group));
    }
    page.push_str(HOW);
    page
}

const PROMISES: &str = "\
## What is promised

- No message that was acknowledged is lost.
- No effect of a tool happens without the approval that it needs.
- No effect that must not be repeated, and no reply, is ever repeated by itself.
- Where nobody can know what happened, a person sees it and decides.

";

const HOW: &str = "\
## Try it yourself

```console
$ cargo test --test it                                  # everything; then tests/write_reliability_report.sh
$ cargo test --test it crash_points:: -- --nocapture    # the schedules and the rules switched off, one line each
$ LEVERFRAME_CRASH_ONLY='deny: decide.post:1' cargo test --test it crash_points::schedules -- --nocapture
$ LEVERFRAME_MUTANT_ONLY=blind_rerun cargo test --test it crash_points::mutants -- --nocapture
$ tests/soak.sh --minutes 30                            # kills at random moments; --seed S plays a run again
```

## What this does not prove

- A schedule kills at a named point of the source. What lies between two points is hit only by the random kills.
- The platform is a fake of Telegram, as strict as its documentation, not the real servers; the model is scripted.
- A kill ends the process, not the machine: what the kernel was told stays. Only the section on the loss of power goes
  beyond that, and it models a disk that keeps what it said it had synced. A disk that lies about it loses data.
- The operator of these tests answers truthfully. One who says *it happened* when it did not is believed.
- A rule that is caught when it is off shows that the suite sees that rule, not that there is no other one.
";

fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace(['\n', '\r'], " ")
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Object(fields) => fields
            .iter()
            .map(|(name, value)| format!("{}: {}", name.replace('_', " "), text(value)))
            .collect::<Vec<_>>()
            .join("; "),
        Value::Array(items) => items.iter().map(text).collect::<Vec<_>>().join(", "),
        Value::Null => "none".to_owned(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

fn field(fact: &Value, name: &str) -> String {
    cell(&text(&fact[name]))
}

const NOTHING: &str = "Nothing was recorded.\n\n";

/// A group as it is: one row a fact.
fn section(page: &mut String, title: &str, about: &str, facts: &BTreeMap<String, Value>) {
    let _ = write!(page, "## {title}\n\n");
    if !about.is_empty() {
        let _ = write!(page, "{about}\n\n");
    }
    if facts.is_empty() {
        page.push_str(NOTHING);
        return;
    }
    page.push_str("| what | found |\n|---|---|\n");
    for (name, fact) in facts {
        let _ = writeln!(page, "| {} | {} |", cell(name), cell(&text(&plain(fact))));
    }
    page.push('\n');
    for (name, fact) in facts {
        for (field, inner) in tables(fact) {
            let _ = writeln!(page, "| {name}: {field} | found |\n|---|---|");
            for (key, value) in inner {
                let _ = writeln!(page, "| {} | {} |", cell(key), cell(&text(value)));
            }
            page.push('\n');
        }
    }
}

/// The fields of a fact that are tables of their own, because one line would not hold them.
fn tables(fact: &Value) -> impl Iterator<Item = (&String, &serde_json::Map<String, Value>)> {
    fact.as_object()
        .into_iter()
        .flatten()
        .filter_map(|(name, value)| Some((name, value.as_object()?)))
        .filter(|(_, inner)| inner.len() > 3)
}

/// A fact without those.
fn plain(fact: &Value) -> Value {
    let mut fact = fact.clone();
    let apart: Vec<String> = tables(&fact).map(|(name, _)| name.clone()).collect();
    if let Some(fields) = fact.as_object_mut() {
        fields.retain(|name, _| !apart.contains(name));
    }
    fact
}

fn crash(page: &mut String, facts: &BTreeMap<String, Value>) {
    page.push_str(
        "## Deaths of the process\n\n\
         The real program is killed with `kill -9` at a named point, started again, and a simulated operator answers what \
         is asked. Then the platform's ledger, the tool's ledger and the answers over HTTP are compared with the \
         database. A schedule is a scenario with the point, and the time it is reached, at which each process dies.\n\n",
    );
    let Some(found) = facts.get("schedules") else {
        page.push_str(NOTHING);
        return;
    };
    let _ = write!(
        page,
        "**{} schedules, {} violations.**\n\n",
        field(found, "schedules"),
        field(found, "violations")
    );
    for (title, name) in [("scenario", "scenarios"), ("point", "points")] {
        let _ = write!(page, "| {title} | schedules |\n|---|---:|\n");
        for (key, count) in found[name].as_object().into_iter().flatten() {
            let _ = writeln!(page, "| {} | {count} |", cell(key));
        }
        page.push('\n');
    }
    for (name, what) in [("random", "At random moments"), ("soak", "In a longer run")] {
        if let Some(found) = facts.get(name) {
            let _ = write!(
                page,
                "{what}: {} kills in {} worlds, {} violations (seed {}).\n\n",
                field(found, "kills"),
                field(found, "worlds"),
                field(found, "violations"),
                field(found, "seed")
            );
        }
    }
}

fn mutants(page: &mut String, facts: &BTreeMap<String, Value>) {
    page.push_str(
        "## Rules switched off\n\n\
         Each rule of the protocol can be switched off in a test build. The same schedules, with the same judges, must \
         then find damage; they are put in an order that finds it soon.\n\n",
    );
    if facts.is_empty() {
        page.push_str(NOTHING);
        return;
    }
    let caught = facts.values().filter(|fact| fact["caught"] == true).count();
    let _ = write!(page, "**{caught} of {} were caught.**\n\n", facts.len());
    page.push_str(
        "| switch | rule | caught | by | after | damage seen |\n|---|---|---|---|---|---|\n",
    );
    for (name, fact) in facts {
        let caught = if fact["caught"] == true { "yes" } else { "no" };
        let _ = writeln!(
            page,
            "| `{}` | {} | {caught} | {} | {} of {} | {} |",
            cell(name),
            field(fact, "rule"),
            field(fact, "by"),
            field(fact, "after"),
            field(fact, "of"),
            field(fact, "damage")
        );
    }
    page.push('\n');
}

fn faults(page: &mut String, facts: &BTreeMap<String, Value>) {
    page.push_str("## Faults\n\n");
    if facts.is_empty() {
        page.push_str(NOTHING);
        return;
    }
    page.push_str("| fault | injected | what held |\n|---|---|---|\n");
    for (name, fact) in facts {
        let _ = writeln!(
            page,
            "| {} | {} | {} |",
            cell(name),
            field(fact, "injected"),
            field(fact, "held")
        );
    }
    page.push('\n');
}

fn soak(page: &mut String, found: &BTreeMap<String, Value>) {
    page.push_str(
        "## Four platforms under load\n\n\
         `tests/soak.sh --channels --minutes 60` writes to a daemon on Telegram, Discord, Slack and Matrix. A fault comes \
         every five seconds. A person runs it; these are the figures of the last run.\n\n| what | found |\n|---|---|\n",
    );
    for (name, value) in found {
        let _ = writeln!(page, "| {} | {} |", cell(name), cell(&text(value)));
    }
    page.push('\n');
}

fn agents(page: &mut String, found: &BTreeMap<String, Value>) {
    if found.is_empty() {
        return;
    }
    page.push_str(
        "## Agents of other makers\n\n\
         `tests/agents.sh` runs the real programs behind the gate of the real daemon, with a model of our own. It is run by \
         hand: the versions are those that it met.\n\n| agent | version | tried | what was seen |\n|---|---|---|---|\n",
    );
    for (name, fact) in found {
        let seen = ["version", "tried", "effective"].map(|name| field(fact, name));
        let _ = writeln!(page, "| {} | {} |", cell(name), seen.join(" | "));
    }
    page.push('\n');
    for (name, fact) in found {
        let _ = write!(page, "| {}: case | result |\n|---|---|\n", cell(name));
        for (case, result) in fact["cases"].as_object().into_iter().flatten() {
            let _ = writeln!(page, "| {} | {} |", cell(case), cell(&text(result)));
        }
        page.push('\n');
    }
}

/// What a page is made of apart from its figures: headings, and the first cell of each row.
pub fn structure(page: &str) -> Vec<String> {
    page.lines()
        .filter_map(|line| {
            if line.starts_with('#') {
                return Some(line.to_owned());
            }
            let row = line.strip_prefix("| ")?;
            Some(format!("| {}", row.split(" | ").next().unwrap_or(row)))
        })
        .collect()
}

#[test]
fn a_page_shows_every_fact_and_nothing_breaks_its_tables() {
    let dir = tempfile::tempdir().unwrap();
    let fact = |group: &str, name: &str, text: &str| {
        let folder = dir.path().join(group);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(format!("{name}.json")), text).unwrap();
    };
    fact(
        "crash",
        "schedules",
        r#"{"schedules": 91, "violations": 0, "scenarios": {"deny": 5}, "points": {"decide.post": 20}}"#,
    );
    fact(
        "mutants",
        "blind_rerun",
        r#"{"rule": "a|b", "caught": true, "by": "x", "after": 2, "of": 9, "damage": "ran\ntwice"}"#,
    );
    fact(
        "faults",
        "full-disk",
        r#"{"injected": "full", "held": "no acknowledgement"}"#,
    );
    fact("newcomer", "thing", r#"{"some_figure": 7, "list": [1, 2]}"#);
    let facts = Facts::read(dir.path(), std::time::UNIX_EPOCH);
    let source = Source {
        commit: "abc1234".to_owned(),
        agents: serde_json::from_str(
            r#"{"Codex": {"version": "1.2", "tried": "today", "effective": "asks: x", "cases": {"deny": "pass: no"}}}"#,
        )
        .unwrap(),
        soak: serde_json::from_str(r#"{"messages": 90100, "lost": 0}"#).unwrap(),
    };
    let page = render(&facts, &source);
    for shown in [
        "**91 schedules, 0 violations.**",
        "| deny | 5 |",
        "| decide.post | 20 |",
        "| `blind_rerun` | a\\|b | yes | x | 2 of 9 | ran twice |",
        "| full-disk | full | no acknowledgement |",
        "## Newcomer",
        "| Codex | 1.2 | today | asks: x |",
        "| deny | pass: no |",
        "| thing | some figure: 7; list: 1, 2 |",
        "| messages | 90100 |",
        "commit abc1234",
    ] {
        assert!(page.contains(shown), "{shown} is missing in\n{page}");
    }
    let structure = structure(&page);
    assert!(
        structure.contains(&"| full-disk".to_owned()),
        "{structure:?}"
    );
}
