//! Defaults, file, environment and flags, merged in this order into [`Settings`].
//!
//! Nothing falls back silently: a setting that cannot be used is an error, whatever layer it is from.

use std::collections::BTreeMap;

use crate::clock::Clock;
use crate::config::cache;
use crate::config::channels;
use crate::config::environment::Environment;
use crate::config::error::{ConfigError, ConfigLocation, Fault};
use crate::config::escalation_policies;
use crate::config::file::{ApprovalsTable, BudgetsTable, ConfigFile, EngineTable, RetentionTable};
use crate::config::flags::Flags;
use crate::config::inputs::{COST, Inputs, Section, field, limit};
use crate::config::loaded_file::LoadedFile;
use crate::config::model_tables::{self, OwnTable, OwnTables, Prices, Profiles};
use crate::config::paths::{self, FileChoice};
use crate::config::people;
use crate::config::providers::{self, SCRIPTED_MODEL};
use crate::config::settings::{
    ApprovalSettings, BudgetSettings, ConsoleSettings, EngineSettings, Paths, ProviderKind,
    ProviderSettings, RetentionSettings, SelfApproval, Settings, Source,
};
use crate::config::toml_text::TomlText;
use crate::config::{
    attachments, backup_schedule, collector, datasets, hooks, http_tools, hygiene, key_files,
    listener, log_files, mcp_servers, memory, ownership, skills, tools,
};
use crate::protocol::budget::TurnLimits;

/// Most faults of a configuration that are looked for.
const MAX_FAULTS: usize = 40;

/// Finds and reads the file, and resolves everything. `tools` are the names of the tools that exist.
pub fn load(
    flags: &Flags,
    environment: &Environment,
    tools: &[&str],
) -> Result<Settings, ConfigError> {
    let (paths, choice, file) = read(flags, environment)?;
    resolve(Inputs {
        flags,
        environment,
        file: file.as_ref(),
        paths: &paths,
        choice,
        tools,
        built_in: tools,
    })
}

/// Every fault of the configuration: what a fault names is left out, and the rest is read again. Empty = it can be used.
pub fn faults(flags: &Flags, environment: &Environment, tools: &[&str]) -> Vec<Fault> {
    let (paths, choice, text) = match find(flags, environment) {
        Ok(found) => found,
        Err(error) => return vec![error.fault().clone()],
    };
    let mut text = text;
    let mut faults: Vec<Fault> = Vec::new();
    for _ in 0..MAX_FAULTS {
        let resolved = text
            .clone()
            .map(LoadedFile::of)
            .transpose()
            .and_then(|file| {
                resolve(Inputs {
                    flags,
                    environment,
                    file: file.as_ref(),
                    paths: &paths,
                    choice,
                    tools,
                    built_in: tools,
                })
            });
        let Err(error) = resolved else { break };
        let fault = error.fault();
        let key = fault.key.as_deref().unwrap_or_default();
        // What is missing because it was left out here is no fault of the file.
        let follows = faults
            .iter()
            .filter_map(|known| known.key.as_deref())
            .any(|known| {
                known == key
                    || known
                        .strip_prefix(key)
                        .is_some_and(|rest| rest.starts_with('.'))
            });
        if !follows {
            faults.push(fault.clone());
        }
        let keys: Vec<&str> = key.split('.').collect();
        let Some(rest) = text.as_ref().and_then(|text| text.without(&keys)) else {
            break;
        };
        text = Some(rest);
    }
    faults.sort_by_key(|fault| match fault.place {
        ConfigLocation::File { line, .. } => line,
        ConfigLocation::Environment(_)
        | ConfigLocation::Flag(_)
        | ConfigLocation::Path(_)
        | ConfigLocation::Default => None,
    });
    faults
}

/// The same for a console. Reads no secret: the operator's shell has not what the daemon's service has.
pub fn load_console(
    flags: &Flags,
    environment: &Environment,
) -> Result<ConsoleSettings, ConfigError> {
    let (paths, _, file) = read(flags, environment)?;
    let console = file.map(|file| file.config.console).unwrap_or_default();
    let or = |flag: &Option<String>, file: Option<String>, default: &str| {
        flag.clone().or(file).unwrap_or_else(|| default.to_owned())
    };
    Ok(ConsoleSettings {
        paths,
        theme: or(&flags.theme, console.theme, "terminal"),
        keymap: or(&flags.keymap, console.keymap, "default"),
        notify: console.notify.unwrap_or_default(),
        title: console.title.unwrap_or(true),
        links: console.links.unwrap_or_default(),
        pictures: console.pictures.unwrap_or_default(),
        demo: flags.demo,
    })
}

/// Where things are, and the file, when there is one.
fn read(
    flags: &Flags,
    environment: &Environment,
) -> Result<(Paths, FileChoice, Option<LoadedFile>), ConfigError> {
    let (paths, choice, text) = find(flags, environment)?;
    Ok((paths, choice, text.map(LoadedFile::of).transpose()?))
}

/// Where things are, and the text of the file, when there is one.
fn find(
    flags: &Flags,
    environment: &Environment,
) -> Result<(Paths, FileChoice, Option<TomlText>), ConfigError> {
    let (config, data_dir) = (flags.config.as_deref(), flags.data_dir.as_deref());
    let (paths, choice) = paths::locate(config, data_dir, environment)?;
    let file = if flags.demo {
        None
    } else {
        ownership::check(&paths.config_file)?;
        LoadedFile::text(&paths.config_file)?
    };
    if file.is_none() && choice == FileChoice::Named && !flags.demo {
        let fault = Fault::new(ConfigLocation::path(&paths.config_file), "does not exist");
        let step = "Write one with `leverframe init`, or leave --config and LEVERFRAME_CONFIG out";
        return Err(fault
            .expected("a configuration file")
            .next_step(step)
            .into());
    }
    Ok((paths, choice, file))
}

/// Merges the layers. Reads secrets; creates nothing.
pub fn resolve(inputs: Inputs<'_>) -> Result<Settings, ConfigError> {
    let log_filter = inputs.environment.get("LEVERFRAME_LOG").map(str::to_owned);
    let no_variables = Environment::default();
    // `--demo` takes nothing from the file and no key from the environment.
    let inputs = if inputs.flags.demo {
        Inputs {
            file: None,
            environment: &no_variables,
            ..inputs
        }
    } else {
        inputs
    };
    let names = tools::names(&inputs);
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let inputs = Inputs {
        tools: &names,
        ..inputs
    };
    let flags = inputs.flags;
    let config = inputs.config();
    let providers = providers::resolve(&inputs)?;
    let transcription = attachments::transcription(&inputs, &providers)?;
    let model = default_model(&inputs, &config);
    let people = people::resolve(&inputs)?;
    let channels = channels::resolve(&inputs, &people)?;
    let escalation = escalation_policies::resolve(&inputs, &people, &channels)?;

    let fallback = config.model.fallback.clone().unwrap_or_default();
    let kind = model_kind(&inputs, &providers, &model)?;
    let stand_ins = kinds(&inputs, &providers, &["model", "fallback"], &fallback)?;
    for (channel, settings) in &channels {
        let kind = match &settings.model {
            Some(model) => providers::usable(model, &providers, &|problem| {
                inputs.fault(&["channels", channel, "model"], problem)
            })?,
            None => kind,
        };
        let keys = ["channels", channel.as_str(), "fallback"];
        let own = settings.fallback.as_deref();
        let own = own.map(|models| kinds(&inputs, &providers, &keys, models));
        let own = own.transpose()?;
        let stand_ins = own.as_ref().unwrap_or(&stand_ins);
        let scripted =
            kind == ProviderKind::Scripted || stand_ins.contains(&ProviderKind::Scripted);
        let real = settings.kind.is_platform();
        if real && scripted && !config.model.allow_scripted_on_channels {
            let problem = "the scripted model, which is no LLM, would answer on this channel";
            let fault = inputs.fault(&["channels", channel], problem);
            let step = "Set [model] default = \"<provider>/<model>\" (or LEVERFRAME_MODEL, or --model), \
                        or [model] allow_scripted_on_channels = true to try things out";
            return Err(fault.next_step(step).into());
        }
    }

    let hooks = hooks::resolve(&inputs, &channels)?;
    let key_files = key_files::resolve(&inputs, &channels)?;
    let tls = listener::tls(&inputs);
    let listen = listener::listen(&inputs, tls.as_ref())?;
    let listener_limits = listener::limits(&inputs)?;
    let memory = memory::resolve(&inputs, &providers)?;
    let (mcp, mcp_secrets) = mcp_servers::resolve(&inputs)?;
    Ok(Settings {
        paths: inputs.paths.clone(),
        instance: config
            .instance
            .clone()
            .unwrap_or_else(|| if flags.demo { "demo" } else { "leverframe" }.to_owned()),
        model: model.0,
        fallback,
        providers,
        tables: tables(&inputs, &config)?,
        channels,
        people,
        approvals: approvals(&inputs, &config.approvals)?,
        escalation,
        budgets: budgets(&inputs, &config.budgets)?,
        engine: engine(&inputs, &config.engine)?,
        retention: retention(&inputs, &config.retention)?,
        backup: backup_schedule::resolve(&inputs)?,
        response_cache: cache::resolve(&inputs)?,
        hooks,
        key_files,
        hygiene: hygiene::resolve(&inputs)?,
        attachments: attachments::resolve(&inputs)?,
        datasets: datasets::resolve(&inputs)?,
        transcription,
        memory,
        skills: skills::resolve(&inputs)?,
        fetch: tools::fetch(&inputs)?,
        bash: tools::bash(&inputs)?,
        python: tools::python(&inputs)?,
        http_tools: http_tools::resolve(&inputs)?,
        mcp,
        mcp_secrets,
        tool_risk: tools::risks(&inputs)?,
        listen,
        tls,
        listener_limits,
        log_filter: log_filter
            .or_else(|| config.log.filter.clone())
            .unwrap_or_else(|| "info".to_owned()),
        log_json: config.log.json.unwrap_or(false),
        log_file: log_files::resolve(&inputs)?,
        telemetry: collector::resolve(&inputs)?,
        demo: flags.demo,
        source: Source {
            flags: flags.clone(),
            values: inputs.file.map(LoadedFile::values).unwrap_or_default(),
        },
    })
}

/// The tables about models that the file names.
fn tables(inputs: &Inputs<'_>, config: &ConfigFile) -> Result<OwnTables, ConfigError> {
    let today = Some(Clock::System.now());
    let read = |field: &'static str, given: &Option<String>| {
        let Some(given) = given else {
            return Ok(None);
        };
        model_tables::read_text(&inputs.path(given), &|problem| {
            inputs.fault(&["model", field], problem)
        })
        .map(Some)
    };
    let file = |text: &TomlText| text.path().display().to_string();
    let profiles = read("profiles_file", &config.model.profiles_file)?
        .map(|text| {
            let table = Profiles::parse(&text, today)?;
            Ok::<_, ConfigError>(OwnTable {
                file: file(&text),
                table,
            })
        })
        .transpose()?;
    let prices = read("prices_file", &config.model.prices_file)?
        .map(|text| {
            let table = Prices::parse(&text, today)?;
            Ok::<_, ConfigError>(OwnTable {
                file: file(&text),
                table,
            })
        })
        .transpose()?;
    Ok(OwnTables { profiles, prices })
}

/// Which layer said something.
enum Layer {
    Flag(&'static str),
    Variable(&'static str),
    File(&'static [&'static str]),
    Default,
}

fn place_of(inputs: &Inputs<'_>, layer: &Layer, problem: String) -> Fault {
    match layer {
        Layer::Flag(flag) => Fault::new(ConfigLocation::Flag(flag), problem),
        Layer::Variable(name) => {
            Fault::new(ConfigLocation::Environment((*name).to_owned()), problem)
        }
        Layer::File(keys) => inputs.fault(keys, problem),
        Layer::Default => Fault::new(ConfigLocation::Default, problem),
    }
}

/// `--model`, else `LEVERFRAME_MODEL`, else the file, else the scripted model. Keys in the environment
/// never choose a model.
fn default_model(inputs: &Inputs<'_>, config: &ConfigFile) -> (String, Layer) {
    if let Some(model) = &inputs.flags.model {
        return (model.clone(), Layer::Flag("--model"));
    }
    if let Some(model) = inputs.environment.get("LEVERFRAME_MODEL") {
        return (model.to_owned(), Layer::Variable("LEVERFRAME_MODEL"));
    }
    match &config.model.default {
        Some(model) => (model.clone(), Layer::File(&["model", "default"])),
        None => (SCRIPTED_MODEL.to_owned(), Layer::Default),
    }
}

fn model_kind(
    inputs: &Inputs<'_>,
    providers: &BTreeMap<String, ProviderSettings>,
    (name, place): &(String, Layer),
) -> Result<ProviderKind, ConfigError> {
    providers::usable(name, providers, &|problem| place_of(inputs, place, problem))
}

/// Longest chain of models that stand in.
const MOST_STAND_INS: usize = 8;

/// The kinds of the models of a list, each of which must be usable as the default is.
fn kinds(
    inputs: &Inputs<'_>,
    providers: &BTreeMap<String, ProviderSettings>,
    keys: &[&str],
    models: &[String],
) -> Result<Vec<ProviderKind>, ConfigError> {
    if models.len() > MOST_STAND_INS {
        let fault = inputs.fault(keys, format!("has {} fallback models", models.len()));
        return Err(fault
            .expected(format!("at most {MOST_STAND_INS} models, in order"))
            .into());
    }
    models
        .iter()
        .map(|model| providers::usable(model, providers, &|problem| inputs.fault(keys, problem)))
        .collect()
}

/// One week.
const WEEK: u64 = 7 * 24 * 3600;

/// When people are reminded unless the file says otherwise: after 5 minutes, an hour and half a day.
const REMINDERS: [i64; 3] = [5 * 60, 3600, 12 * 3600];
/// Reminders of one approval at most.
const MAX_REMINDERS: usize = 10;

fn reminder_seconds(inputs: &Inputs<'_>, given: Option<&[u64]>) -> Result<Vec<i64>, ConfigError> {
    let Some(given) = given else {
        return Ok(REMINDERS.to_vec());
    };
    let rising = given.is_sorted_by(|one, next| one < next);
    let read: Option<Vec<i64>> = given
        .iter()
        .map(|seconds| {
            i64::try_from(*seconds)
                .ok()
                .filter(|s| (1..=4 * WEEK.cast_signed()).contains(s))
        })
        .collect();
    match read {
        Some(seconds) if rising && seconds.len() <= MAX_REMINDERS => Ok(seconds),
        Some(_) | None => {
            let fault = inputs.fault(&["approvals", "reminder_seconds"], "is not a list of times");
            Err(fault
                .expected("at most ten numbers of seconds from 1 to 2419200 that rise, or [] for no reminders")
                .into())
        }
    }
}

fn approvals(inputs: &Inputs<'_>, table: &ApprovalsTable) -> Result<ApprovalSettings, ConfigError> {
    let section = Section::new(inputs, &["approvals"], table);
    let life = |field, default| section.number(field, default, 1..=4 * WEEK);
    Ok(ApprovalSettings {
        self_approval: table.self_approval.unwrap_or(SelfApproval::Console),
        life_seconds: life(field!(table.life_seconds), 24 * 3600)?,
        high_risk_life_seconds: life(field!(table.high_risk_life_seconds), 4 * 3600)?,
        approve_grace_seconds: section.number(field!(table.approve_grace_seconds), 0, 0..=10)?,
        reminder_seconds: reminder_seconds(inputs, table.reminder_seconds.as_deref())?,
        max_pending_per_session: section.number(
            field!(table.max_pending_per_session),
            5,
            1..=100,
        )?,
        max_pending_per_channel: section.number(
            field!(table.max_pending_per_channel),
            50,
            1..=1000,
        )?,
    })
}

fn budgets(inputs: &Inputs<'_>, table: &BudgetsTable) -> Result<BudgetSettings, ConfigError> {
    let section = Section::new(inputs, &["budgets"], table);
    let seconds = section.number(field!(table.max_duration_seconds), 120, 1..=86_400)?;
    let turn = TurnLimits {
        max_steps: section.number(field!(table.max_steps), 8, 1..=1000)?,
        max_tool_calls: section.number(field!(table.max_tool_calls), 16, 0..=10_000)?,
        max_active_ms: u64::from(seconds) * 1000,
        max_tokens: section.number(field!(table.max_tokens), 100_000, 1..=1_000_000_000)?,
        max_cost_usd: section.given(field!(table.max_cost_usd), COST)?,
    };
    Ok(BudgetSettings {
        turn,
        session: limit(inputs, &["budgets", "session"], table.session)?,
        channel: limit(inputs, &["budgets", "channel"], table.channel)?,
        day: limit(inputs, &["budgets", "day"], table.day)?,
    })
}

fn engine(inputs: &Inputs<'_>, table: &EngineTable) -> Result<EngineSettings, ConfigError> {
    let section = Section::new(inputs, &["engine"], table);
    Ok(EngineSettings {
        max_running: section.number(field!(table.max_running), 16, 1..=1000)?,
        one_tool_per_step: table.one_tool_per_step.unwrap_or(false),
        max_model_attempts: section.number(field!(table.max_model_attempts), 3, 1..=10)?,
        history_exchanges: section.number(field!(table.history_exchanges), 6, 0..=1000)?,
        history_share: section.number(field!(table.history_share), 50, 0..=90)?,
        shutdown_grace_seconds: section.number(
            field!(table.shutdown_grace_seconds),
            20,
            0..=3600,
        )?,
        run_growth_mib: section.number(field!(table.run_growth_mib), 1024, 1..=1_048_576)?,
    })
}

/// Longest time that can be configured: a hundred years.
const LONGEST_DAYS: u32 = 36_500;

fn retention(
    inputs: &Inputs<'_>,
    table: &RetentionTable,
) -> Result<RetentionSettings, ConfigError> {
    let section = Section::new(inputs, &["retention"], table);
    let days = |field, default, least| section.number(field, default, least..=LONGEST_DAYS);
    Ok(RetentionSettings {
        events: days(field!(table.events_days), 30, 1)?,
        event_archive: days(field!(table.event_archive_days), 90, 0)?,
        // A platform delivers a message again for up to a week: its key must be known for longer than that.
        history: days(field!(table.history_days), 30, 8)?,
        session_idle: days(field!(table.session_idle_days), 7, 1)?,
        file_changes: days(field!(table.file_changes_days), 30, 1)?,
        audit: days(field!(table.audit_days), 400, 365)?,
    })
}
