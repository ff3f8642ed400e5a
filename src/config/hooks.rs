//! `[hooks.NAME]`: what the operator plugged in, and the limits of the built-in `rate_limit`.
//!
//! Whether a program may be run is looked at where it is run, each time; here only what the file says of it.

use std::collections::BTreeMap;
use std::path::Path;

use crate::config::error::ConfigError;
use crate::config::file::HookTable;
use crate::config::inputs::{Inputs, names_server_tool, number};
use crate::config::settings::{ChannelSettings, CommandHook, HookSettings, RateLimits, Secret};
use crate::protocol::enums::HookPoint;

/// The hook whose limits are configured.
pub const RATE_LIMIT: &str = "rate_limit";
/// The hooks that are part of the program.
pub const BUILT_IN: &[&str] = &["redaction", RATE_LIMIT, "audit"];
/// Milliseconds a program may take when nothing is said.
const TIMEOUT_MS: u64 = 2_000;
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
        &[
            ("command", table.command.is_some()),
            ("points", table.points.is_some()),
            ("priority", table.priority.is_some()),
            ("timeout_ms", table.timeout_ms.is_some()),
            ("channels", table.channels.is_some()),
            ("tools", table.tools.is_some()),
            ("env", table.env.is_some()),
            ("dry_run", table.dry_run.is_some()),
        ],
        "only limits: rate_limit is built in",
    )?;
    let limit = |keys: &[&str], given: Option<u32>| {
        given
            .map(|given| number(inputs, keys, Some(given), given, 1..=100_000))
            .transpose()
    };
    let one = |key, given| limit(&["hooks", RATE_LIMIT, key], given);
    let mut per_tool = BTreeMap::new();
    for (tool, given) in table.per_tool.iter().flatten() {
        check_tool(inputs, &["hooks", RATE_LIMIT, "per_tool"], tool)?;
        let keys = ["hooks", RATE_LIMIT, "per_tool", tool];
        if let Some(given) = limit(&keys, Some(*given))? {
            per_tool.insert(tool.clone(), given);
        }
    }
    Ok(RateLimits {
        messages: one("messages_per_minute", table.messages_per_minute)?,
        channel_messages: one(
            "channel_messages_per_minute",
            table.channel_messages_per_minute,
        )?,
        tool_calls: one("tool_calls_per_minute", table.tool_calls_per_minute)?,
        channel_tool_calls: one(
            "channel_tool_calls_per_minute",
            table.channel_tool_calls_per_minute,
        )?,
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
    let fault = |key: &str, problem: String| inputs.fault(&["hooks", name, key], problem);
    let simple = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if name.is_empty() || name.len() > MAX_NAME || !name.chars().all(simple) {
        let fault = inputs.fault(&["hooks", name], "this name cannot be used".to_owned());
        let expected = format!("1 to {MAX_NAME} letters, digits, `_` and `-`");
        return Err(fault.expected(expected).into());
    }
    if BUILT_IN.contains(&name) {
        let problem = format!("`{name}` is built in and has no settings");
        let fault = inputs.fault(&["hooks", name], problem);
        return Err(fault
            .next_step("Give your hook another name".to_owned())
            .into());
    }
    refuse_other(
        inputs,
        name,
        &[
            ("messages_per_minute", table.messages_per_minute.is_some()),
            (
                "channel_messages_per_minute",
                table.channel_messages_per_minute.is_some(),
            ),
            (
                "tool_calls_per_minute",
                table.tool_calls_per_minute.is_some(),
            ),
            (
                "channel_tool_calls_per_minute",
                table.channel_tool_calls_per_minute.is_some(),
            ),
            ("per_tool", table.per_tool.is_some()),
        ],
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
        priority: number(
            inputs,
            &["hooks", name, "priority"],
            table.priority,
            100,
            -1000..=1000,
        )?,
        timeout_ms: number(
            inputs,
            &["hooks", name, "timeout_ms"],
            table.timeout_ms,
            TIMEOUT_MS,
            10..=30_000,
        )?,
        channels,
        tools,
        environment,
        dry_run: table.dry_run.unwrap_or(false),
    })
}
