//! `[hooks.NAME]`: what the operator plugged in, and the limits of the built-in `rate_limit`.
//!
//! Whether a program may be run is looked at where it is run, each time; here only what the file says of it.

use std::collections::BTreeMap;
use std::path::Path;

use crate::config::error::ConfigError;
use crate::config::file::HookTable;
use crate::config::inputs::{Inputs, Section, field, given_keys, names_server_tool};
use crate::config::settings::{ChannelSettings, CommandHook, HookSettings, RateLimits, Secret};
use crate::protocol::enums::HookPoint;

/// The hook whose limits are configured.
pub const RATE_LIMIT: &str = "rate_limit";
/// The hooks that are part of the program.
pub const BUILT_IN: &[&str] = &["redaction", RATE_LIMIT, "audit"];
/// Milliseconds a program may take when nothing is said.
const TIMEOUT_MS: u64 = 2_000;
/// What a limit of calls or messages in a minute can be.
const LIMITS: std::ops::RangeInclusive<u32> = 1..=100_000;
/// Longest name.
const MAX_NAME: usize = 64;

/// Everything under `[hooks]`.
pub fn resolve(
    inputs: &Inputs<'_>,
    channels: &BTreeMap<String, ChannelSettings>,
) -> Result<HookSettings, ConfigError> {
    let config = inputs.config();
    let mut settings = HookSettings::default();
    for (name, table) in &config.hooks {
        if name == RATE_LIMIT {
            settings.rate_limit = rate_limit(inputs, table)?;
        } else {
            let hook = command(inputs, channels, name, table)?;
            settings.commands.insert(name.clone(), hook);
        }
    }
    Ok(settings)
}

fn refuse_other(
    inputs: &Inputs<'_>,
    name: &str,
    given: &[(&str, bool)],
    expected: &str,
) -> Result<(), ConfigError> {
    match given.iter().find(|(_, given)| *given) {
        Some((key, _)) => {
            let problem = format!("`{key}` is not a key of this hook");
            let fault = inputs.fault(&["hooks", name, key], problem);
            Err(fault.expected(expected).into())
        }
        None => Ok(()),
    }
}

fn rate_limit(inputs: &Inputs<'_>, table: &HookTable) -> Result<RateLimits, ConfigError> {
    refuse_other(
        inputs,
        RATE_LIMIT,
        &given_keys!(table: command, points, priority, timeout_ms, channels, tools, env, dry_run),
        "only limits: rate_limit is built in",
    )?;
    let section = Section::new(inputs, &["hooks", RATE_LIMIT], table);
    let limit = |field| section.given(field, LIMITS);
    let keys = ["hooks", RATE_LIMIT, "per_tool"];
    let mut per_tool = BTreeMap::new();
    for (tool, given) in table.per_tool.iter().flatten() {
        check_tool(inputs, &keys, tool)?;
        let tools = Section::new(inputs, &keys, &table.per_tool);
        if let Some(given) = tools.given((tool, Some(*given)), LIMITS)? {
            per_tool.insert(tool.clone(), given);
        }
    }
    Ok(RateLimits {
        messages: limit(field!(table.messages_per_minute))?,
        channel_messages: limit(field!(table.channel_messages_per_minute))?,
        tool_calls: limit(field!(table.tool_calls_per_minute))?,
        channel_tool_calls: limit(field!(table.channel_tool_calls_per_minute))?,
        per_tool,
    })
}

fn check_tool(inputs: &Inputs<'_>, keys: &[&str], tool: &str) -> Result<(), ConfigError> {
    let fault = |problem| inputs.fault(keys, problem);
    if inputs.tools.contains(&tool) || names_server_tool(inputs, tool, &fault)? {
        return Ok(());
    }
    let fault = fault(format!("there is no tool `{tool}`"));
    let fault = fault.nearest(tool, inputs.tools.iter().copied());
    let expected = format!("one of {}", inputs.tools.join(", "));
    Err(fault.expected(expected).into())
}

fn command(
    inputs: &Inputs<'_>,
    known: &BTreeMap<String, ChannelSettings>,
    name: &str,
    table: &HookTable,
) -> Result<CommandHook, ConfigError> {
    let keys = ["hooks", name];
    let section = Section::new(inputs, &keys, table);
    let fault = |key: &str, problem: String| section.fault(key, problem);
    let simple = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if name.is_empty() || name.len() > MAX_NAME || !name.chars().all(simple) {
        let fault = section.fault_of_table("this name cannot be used".to_owned());
        let expected = format!("1 to {MAX_NAME} letters, digits, `_` and `-`");
        return Err(fault.expected(expected).into());
    }
    if BUILT_IN.contains(&name) {
        let problem = format!("`{name}` is built in and has no settings");
        let fault = section.fault_of_table(problem);
        return Err(fault
            .next_step("Give your hook another name".to_owned())
            .into());
    }
    refuse_other(
        inputs,
        name,
        &given_keys!(table:
            messages_per_minute, channel_messages_per_minute, tool_calls_per_minute, channel_tool_calls_per_minute,
            per_tool),
        "limits under [hooks.rate_limit] only",
    )?;
    let words = table.command.clone().unwrap_or_default();
    let path = words.first().map(Path::new);
    if !path.is_some_and(Path::is_absolute) {
        let problem = match words.first() {
            Some(word) => format!("`{word}` is not an absolute path"),
            None => "no program is named".to_owned(),
        };
        let expected =
            "a list: the absolute path of the program, then its arguments (no shell reads them)";
        return Err(fault("command", problem).expected(expected).into());
    }
    if words.iter().any(|word| word.contains('\0')) {
        return Err(fault("command", "has a zero byte in it".to_owned()).into());
    }
    let mut points = table.points.clone().unwrap_or_default();
    points.sort_unstable();
    points.dedup();
    if points.is_empty() {
        let all: Vec<&str> = HookPoint::ALL.iter().map(|point| point.as_str()).collect();
        let fault = fault("points", "without points it is never called".to_owned());
        let expected = format!("a list with at least one of {}", all.join(", "));
        return Err(fault.expected(expected).into());
    }
    let channels = table.channels.clone().unwrap_or_default();
    for channel in &channels {
        if !known.contains_key(channel) {
            let fault = fault("channels", format!("there is no channel `{channel}`"));
            let names: Vec<&str> = known.keys().map(String::as_str).collect();
            let fault = fault.nearest(channel, names.iter().copied());
            return Err(fault
                .expected(format!("one of {}", names.join(", ")))
                .into());
        }
    }
    let tools = table.tools.clone().unwrap_or_default();
    for tool in &tools {
        check_tool(inputs, &["hooks", name, "tools"], tool)?;
    }
    let of_tools = [HookPoint::BeforeToolCall, HookPoint::AfterToolCall];
    if !tools.is_empty() && !points.iter().all(|point| of_tools.contains(point)) {
        let problem = "one of its points is not about a tool".to_owned();
        let expected = "tools only together with before_tool_call and after_tool_call";
        return Err(fault("tools", problem).expected(expected).into());
    }
    let mut environment = Vec::new();
    for variable in table.env.iter().flatten() {
        let Some(value) = inputs.environment.secret(variable) else {
            let problem = format!("the environment variable {variable} is not set");
            let step = format!("Set {variable}, or take it out of env");
            return Err(fault("env", problem).next_step(step).into());
        };
        environment.push((variable.clone(), Secret::new(value)));
    }
    Ok(CommandHook {
        command: words,
        points,
        priority: section.number(field!(table.priority), 100, -1000..=1000)?,
        timeout_ms: section.number(field!(table.timeout_ms), TIMEOUT_MS, 10..=30_000)?,
        channels,
        tools,
        environment,
        dry_run: table.dry_run.unwrap_or(false),
    })
}
