//! The checks of Doctor, made from the engine's answers: plain data in, rows out. No missing answer is hidden: it is a
//! row of its own.

use crate::client::remote::wire::PROTOCOL_VERSION;
use crate::console::format;
use crate::protocol::doctor::{RuleResult, Standing};
use crate::protocol::enums::McpServerState;
use crate::protocol::hook::Hook;
use crate::protocol::mcp::McpServer;
use crate::protocol::models::{KeyState, ModelEntry, ProviderModels};
use crate::protocol::snapshot::EngineStatus;
use crate::tui::action::Action;
use crate::tui::keymap::context::Context;
use crate::tui::state::app::State;
use crate::tui::state::doctor::{FULL_CHECK, Key, Row, Word};

/// The rows, in no order.
pub fn rows(state: &State) -> Vec<Row> {
    let mut rows = vec![engine(state)];
    findings(state, &mut rows);
    rules(state, &mut rows);
    hooks(state, &mut rows);
    models(state, &mut rows);
    rows.push(tools(state));
    rows.push(servers(state));
    rows
}

fn row(key: Key, word: Word, about: &str, detail: impl Into<String>) -> Row {
    Row {
        key,
        word,
        about: about.to_owned(),
        detail: detail.into(),
        fix: None,
        more: Vec::new(),
    }
}

/// What is known; else a row that says that it is not.
fn known<'s, T>(
    answer: Option<&'s Result<T, String>>,
    key: Key,
    about: &str,
) -> Result<&'s T, Box<Row>> {
    match answer {
        Some(Ok(value)) => Ok(value),
        Some(Err(why)) => Err(Box::new(row(key, Word::NotKnown, about, why.clone()))),
        None => Err(Box::new(row(key, Word::NotKnown, about, "asking …"))),
    }
}

fn engine(state: &State) -> Row {
    let Some(engine) = &state.model.world().engine else {
        return row(Key::Engine, Word::NotKnown, "engine", "not connected yet");
    };
    let detail = format!(
        "leverframe {} on {}, protocol {PROTOCOL_VERSION}, started {} ago, start number {}",
        engine.version,
        engine.instance,
        format::age(state.model.now.wall, engine.started_at),
        engine.epoch
    );
    let mut found = row(Key::Engine, Word::Ok, "engine", detail);
    let (word, fix) = engine_word(engine);
    found.word = word;
    found.fix = fix;
    found.more.clone_from(&engine.problems);
    if let Some(why) = &engine.held_reason {
        found.more.push(format!("emergency stop: {why}"));
    }
    found
}

fn engine_word(engine: &EngineStatus) -> (Word, Option<String>) {
    let own = env!("CARGO_PKG_VERSION");
    if !engine.writable || !engine.problems.is_empty() {
        let fix = "the problem is named below; it clears when its cause is gone";
        (Word::Problem, Some(fix.to_owned()))
    } else if engine.quarantine {
        let fix = "a restored copy: review what waits, then press ctrl-x r to release it";
        (Word::Warning, Some(fix.to_owned()))
    } else if engine.held_since.is_some() {
        let fix = "emergency stop: ctrl-x r releases it";
        (Word::Warning, Some(fix.to_owned()))
    } else if engine.version != own {
        let fix = format!("this console is {own}: run both from one version");
        (Word::Warning, Some(fix))
    } else {
        (Word::Ok, None)
    }
}

fn findings(state: &State, rows: &mut Vec<Row>) {
    let key = Key::Finding("doctor".to_owned(), 0);
    let doctor = match known(state.screens.doctor.doctor.as_ref(), key, "findings") {
        Ok(doctor) => doctor,
        Err(row) => return rows.push(*row),
    };
    for finding in &doctor.findings {
        let same = rows
            .iter()
            .filter(|row| matches!(&row.key, Key::Finding(about, _) if *about == finding.about))
            .count();
        rows.push(Row {
            key: Key::Finding(finding.about.clone(), same),
            word: match finding.verdict {
                Standing::Ok => Word::Ok,
                Standing::Warn => Word::Warning,
                Standing::Fail => Word::Problem,
            },
            about: finding.about.clone(),
            detail: finding.detail.clone(),
            fix: finding.fix.clone(),
            more: Vec::new(),
        });
    }
}

fn rules(state: &State, rows: &mut Vec<Row>) {
    let about = "rules";
    if state.screens.in_flight.has(&FULL_CHECK) {
        let detail = "the full check is under way: it reads the whole database";
        return rows.push(row(Key::Rules, Word::NotKnown, about, detail));
    }
    let (at, report) = match &state.screens.doctor.check {
        Some(Ok(check)) => check,
        Some(Err(why)) => {
            let mut failed = row(
                Key::Rules,
                Word::NotKnown,
                about,
                format!("not verified: {why}"),
            );
            failed.fix = Some("`leverframe doctor --check` waits up to an hour".to_owned());
            return rows.push(failed);
        }
        None => {
            let detail = "not verified since this console started";
            let mut unknown = row(Key::Rules, Word::NotKnown, about, detail);
            unknown.fix = Some(format!(
                "{} verifies every rule; it reads the whole database",
                key_of(state, Action::FullCheck)
            ));
            return rows.push(unknown);
        }
    };
    let word = if report.violations == 0 {
        Word::Ok
    } else {
        Word::Problem
    };
    let detail = format!(
        "{} violations of {} rules in {} rows, verified {} in {}",
        report.violations,
        report.rules.len(),
        format::count(report.rows),
        format::clock(*at),
        format::duration(report.took_ms)
    );
    let mut summary = row(Key::Rules, word, about, detail);
    let lines = report.rules.iter().map(|rule| {
        format!(
            "{}: {} of {} rows",
            rule.invariant,
            rule.violations,
            format::count(rule.rows)
        )
    });
    summary.more = lines.collect();
    rows.push(summary);
    let broken = report.rules.iter().filter(|rule| rule.violations > 0);
    rows.extend(broken.map(violated));
}

fn violated(rule: &RuleResult) -> Row {
    Row {
        key: Key::Rule(rule.invariant.clone()),
        word: Word::Problem,
        about: format!("rule {}", rule.invariant),
        detail: format!("{}: {} of {} rows", rule.broken, rule.violations, rule.rows),
        fix: Some(
            "this needs repair: keep a copy (`leverframe backup`), look at the ids below, and restore an \
             older backup where they matter"
                .to_owned(),
        ),
        more: rule.found.clone(),
    }
}

/// The key of an action here; its name where it has none.
fn key_of(state: &State, action: Action) -> String {
    let key = state.keymap.key_of(Context::Doctor, action);
    key.unwrap_or_else(|| action.name().to_owned())
}

fn micros(micros: u64) -> String {
    if micros < 1000 {
        format!("{micros} µs")
    } else {
        format::duration(micros / 1000)
    }
}

fn hooks(state: &State, rows: &mut Vec<Row>) {
    let hooks = match known(state.screens.doctor.hooks.as_ref(), Key::Hooks, "hooks") {
        Ok(hooks) => hooks,
        Err(row) => return rows.push(*row),
    };
    if hooks.is_empty() {
        rows.push(row(Key::Hooks, Word::Off, "hooks", "none is registered"));
    }
    rows.extend(hooks.iter().map(|hook| of_hook(state, hook)));
}

/// Tool servers in one row; what is wrong with one is a finding of the engine.
fn servers(state: &State) -> Row {
    const ABOUT: &str = "MCP servers";
    let servers = match known(state.screens.doctor.servers.as_ref(), Key::Mcp, ABOUT) {
        Ok(servers) => servers,
        Err(row) => return *row,
    };
    if servers.is_empty() {
        return row(Key::Mcp, Word::Off, ABOUT, "none is configured");
    }
    let is_failing = |server: &&McpServer| match server.state {
        McpServerState::Failed | McpServerState::NeedsLogin => true,
        McpServerState::Idle
        | McpServerState::Starting
        | McpServerState::Running
        | McpServerState::Stopped => false,
    };
    let waits = |server: &&McpServer| server.quarantined > 0 || server.identity_changed;
    let (failing, waiting) = (
        servers.iter().filter(is_failing).count(),
        servers.iter().filter(waits).count(),
    );
    let tools: u64 = servers.iter().map(|server| server.tools).sum();
    let mut detail = format!("{} configured, agents get {tools} tools", servers.len());
    if failing > 0 {
        detail.push_str(&format!(", {failing} cannot be used"));
    }
    if waiting > 0 {
        detail.push_str(&format!(", {waiting} wait for review (:mcp)"));
    }
    let word = if failing + waiting > 0 {
        Word::Warning
    } else {
        Word::Ok
    };
    row(Key::Mcp, word, ABOUT, detail)
}

fn of_hook(state: &State, hook: &Hook) -> Row {
    let counts = &hook.counts;
    let point = hook.point.as_str();
    let left_out = counts.skipped + counts.dropped;
    let mut left = String::new();
    if left_out > 0 {
        left = format!(", {left_out} left out");
    }
    let mut found = row(
        Key::Hook(hook.name.clone(), point),
        Word::Ok,
        &format!("hook {}", hook.name),
        match counts.runs {
            0 => format!("{point}: never ran{left}"),
            runs => format!(
                "{point}: {} runs, {} changed, {} cancelled, {} failed{left}, p95 {}",
                format::count(runs),
                counts.changes,
                counts.cancels,
                counts.failures,
                micros(counts.p95_us)
            ),
        },
    );
    if let Some(why) = &hook.refused {
        found.word = Word::Problem;
        found.fix = Some(
            "use a program that only you or root can change, outside every workspace; until then the calls it \
             checks are refused"
                .to_owned(),
        );
        found.more.push(format!("not run: {why}"));
    } else if let Some(until) = hook.broken_until {
        found.word = Word::Problem;
        found.fix = Some(format!(
            "fix it, then {} calls it again at once",
            key_of(state, Action::ResetHook)
        ));
        found.more.push(format!(
            "circuit broken: failed too often, not called for {}",
            format::left(state.model.now.wall, until)
        ));
    } else if counts.failures > 0 {
        found.word = Word::Warning;
        found.fix = Some(format!(
            "`leverframe hooks try {}` calls it with an example",
            hook.name
        ));
    }
    if let Some(error) = &hook.last_error {
        found.more.push(format!("last failure: {error}"));
    }
    let mut facts = vec![format!("priority {}", hook.priority)];
    if hook.built_in {
        facts.push("built in".to_owned());
    }
    if hook.dry_run {
        facts.push("dry run: its verdicts are only counted".to_owned());
    }
    for (what, names) in [("channels", &hook.channels), ("tools", &hook.tools)] {
        if !names.is_empty() {
            facts.push(format!("only {what} {}", names.join(", ")));
        }
    }
    facts.push(format!("at most {}", format::duration(hook.timeout_ms)));
    found.more.push(facts.join(" · "));
    found
}

fn models(state: &State, rows: &mut Vec<Row>) {
    let providers = match known(state.screens.doctor.models.as_ref(), Key::Models, "models") {
        Ok(providers) => providers,
        Err(row) => return rows.push(*row),
    };
    let before = rows.len();
    for provider in providers {
        let entries = provider.models.iter();
        rows.extend(entries.map(|entry| of_model(state, provider, entry)));
    }
    if rows.len() == before {
        let detail = "the configuration names none";
        rows.push(row(Key::Models, Word::Off, "models", detail));
    }
}

fn of_model(state: &State, provider: &ProviderModels, entry: &ModelEntry) -> Row {
    let used = if entry.used_for.is_empty() {
        "used for nothing by itself".to_owned()
    } else {
        format!("used for {}", entry.used_for.join(", "))
    };
    let calls = match &state.screens.doctor.calls {
        Some(Ok(costs)) => costs
            .items
            .iter()
            .find(|item| item.name == entry.model)
            .map_or_else(
                || "no call in 30 days".to_owned(),
                |item| {
                    format!(
                        "{} calls in 30 days, {} failed",
                        format::count(item.calls),
                        item.failed
                    )
                },
            ),
        Some(Err(_)) | None => "calls not known".to_owned(),
    };
    let mut found = row(
        Key::Model(entry.model.clone()),
        Word::Ok,
        &format!("model {}", entry.model),
        format!("{used}; {calls}"),
    );
    if let Some((at, error)) = state.screens.doctor.failures.get(&entry.model) {
        found.word = Word::Warning;
        found.fix = Some(format!("`leverframe models test {}` asks it", entry.model));
        let age = format::age(state.model.now.wall, *at);
        found.more.push(format!("last failure, {age} ago: {error}"));
    } else {
        let text = "no failed call since this console started";
        found.more.push(text.to_owned());
    }
    if provider.key == KeyState::Missing {
        // A model that nobody uses may be without a key.
        found.word = if entry.used_for.is_empty() {
            Word::Off
        } else {
            Word::Problem
        };
        found.detail = format!("no key; {}", found.detail);
        found.fix = Some(format!(
            "set api_key_env, api_key_file or api_key_command under [providers.{}]",
            provider.provider
        ));
    }
    let price = entry.price.as_ref().map_or_else(
        || "price not known".to_owned(),
        |price| {
            format!(
                "${} in, ${} out per million tokens",
                price.input, price.output
            )
        },
    );
    found.more.push(format!(
        "window {} tokens · {price}",
        format::count(entry.profile.context_window)
    ));
    let from = provider.key_from.as_deref().unwrap_or("nowhere");
    found.more.push(format!(
        "provider {}, {}, key {} (from {from}), {}",
        provider.provider,
        provider.kind,
        provider.key.as_str(),
        if provider.address.is_empty() {
            "no address"
        } else {
            &provider.address
        }
    ));
    found.more.extend(entry.note.clone());
    found
}

fn tools(state: &State) -> Row {
    let world = state.model.world();
    let open = world
        .sessions
        .values()
        .filter_map(|session| session.open_continuation.as_ref());
    let names: Vec<&str> = open
        .flat_map(|open| open.tools_in_flight.iter().map(String::as_str))
        .collect();
    let sandbox = world
        .engine
        .as_ref()
        .map_or("not known", |engine| engine.sandbox.as_str());
    let flight = if names.is_empty() {
        "none in flight".to_owned()
    } else {
        format!("{} in flight: {}", names.len(), names.join(", "))
    };
    let mut found = row(
        Key::Tools,
        Word::Ok,
        "tools",
        format!("{flight}; programs are confined by: {sandbox}"),
    );
    let text = "runs are not counted by tool; Session shows each call with its result";
    found.more.push(text.to_owned());
    found
}
