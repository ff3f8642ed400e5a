//! How the installation is: facts about files, database, configuration and channels, each with what to do about it.
//!
//! The findings are made from plain data, so that a running engine and a look at stopped files say the same words.

use std::collections::BTreeSet;
use std::path::Path;

use crate::clock::Timestamp;
use crate::config::key_files::workspace_around;
use crate::config::loaded_file::LoadedFile;
use crate::config::ownership;
use crate::config::paths::unfinished_restore;
use crate::config::settings::{ProviderKind, PythonSettings, Settings};
use crate::engine::backups;
use crate::engine::core::Engine;
use crate::engine::escalation;
use crate::engine::hooks::exec_permissions;
use crate::engine::hygiene;
use crate::engine::listener;
use crate::engine::mcp;
use crate::engine::people;
use crate::engine::skills::list;
use crate::engine::telemetry;
use crate::engine::views;
use crate::protocol::channel::Channel;
use crate::protocol::doctor::{AuditAnchor, AuditReport, CheckReport, Doctor, Finding, RuleResult};
use crate::protocol::enums::{ChannelState, HygieneState, SkillState};
use crate::protocol::problem::Problem;
use crate::protocol::rule::PYTHON;
use crate::protocol::skill::Skill;
use crate::store::files::{DatabaseFacts, FileFacts, look};
use crate::store::{anchors, check};
use crate::tools::python::executable::{self, PythonProgram};

/// Free space below which somebody should look, in bytes.
const LITTLE_SPACE: u64 = 512 * 1024 * 1024;
/// A write-ahead log above which somebody should look, in bytes.
const LARGE_LOG: u64 = 256 * 1024 * 1024;
/// Milliseconds the clock may stand behind the newest event.
const CLOCK_SLACK_MS: u64 = 60_000;

/// What is known of the process that looks or is looked at.
#[derive(Debug)]
pub struct Process {
    /// How programs are confined, in words, and whether they are.
    pub sandbox: (String, bool),
    /// Channels with their health; none = nothing runs that could know it.
    pub channels: Option<Vec<Channel>>,
    /// What stands in the way of normal work.
    pub problems: Vec<String>,
    /// Why the response cache cannot be used.
    pub cache: Option<String>,
    /// The Python of the tool `python`, or why there is none; none = no such tool is configured.
    pub python: Option<Result<PythonProgram, String>>,
}

/// Everything findings are made of.
#[derive(Debug)]
pub struct Facts<'a> {
    pub now: Timestamp,
    /// The configuration, or every reason why it cannot be used.
    pub settings: Result<&'a Settings, Vec<String>>,
    /// The data directory.
    pub data_dir: &'a Path,
    pub files: &'a FileFacts,
    /// The database; none = there is none yet, else why it cannot be read.
    pub database: Option<Result<DatabaseFacts, String>>,
    pub process: Process,
}

/// Bytes in words, with one decimal.
fn bytes(count: u64) -> String {
    let mut value = count as f64;
    for unit in ["B", "KiB", "MiB", "GiB"] {
        if value < 1024.0 {
            return if unit == "B" {
                format!("{count} B")
            } else {
                format!("{value:.1} {unit}")
            };
        }
        value /= 1024.0;
    }
    format!("{value:.1} TiB")
}

/// Keys of the file that were changed since it was read, at most a few; none = no key. A file that cannot be read now is
/// another matter.
fn differing_keys(settings: &Settings) -> Option<String> {
    const SHOWN: usize = 5;
    if settings.demo {
        return None;
    }
    let known = &settings.source.values;
    let text = LoadedFile::text(&settings.paths.config_file).ok()??;
    let values = text.values();
    let keys: BTreeSet<&String> = known
        .keys()
        .chain(values.keys())
        .filter(|key| known.get(*key) != values.get(*key))
        .collect();
    let shown: Vec<&str> = keys.iter().take(SHOWN).map(|key| key.as_str()).collect();
    let more = if keys.len() > SHOWN { " and more" } else { "" };
    (!keys.is_empty()).then(|| format!("{}{more}", shown.join(", ")))
}

/// How the configuration stands.
pub fn configuration(settings: &Result<&Settings, Vec<String>>) -> Vec<Finding> {
    let about = "configuration";
    let settings = match settings {
        Ok(settings) => settings,
        Err(faults) => {
            let faults = faults.iter();
            return faults
                .map(|why| Finding::fail(about, why, "correct what it names"))
                .collect();
        }
    };
    let path = &settings.paths.config_file;
    let file = path.display();
    vec![if let Err(why) = ownership::check(path) {
        Finding::fail(about, why.to_string(), "the next start refuses it")
    } else if let Some(keys) = differing_keys(settings) {
        Finding::warn(
            about,
            format!("{file} differs from the configuration in use: {keys}"),
            "`leverframe reload` applies what needs no restart; with --preview it only shows it",
        )
    } else if path.exists() {
        Finding::ok(about, format!("{file}, which only you or root can change"))
    } else {
        Finding::warn(
            about,
            format!("there is no {file}: defaults and the scripted model are used"),
            "write one with `leverframe init`",
        )
    }]
}

fn directory(dir: &Path) -> Finding {
    use std::os::unix::fs::MetadataExt as _;
    let about = "data directory";
    let shown = dir.display();
    match std::fs::metadata(dir) {
        Err(error)
            if error.kind() == std::io::ErrorKind::NotFound
                && unfinished_restore(dir).is_some() =>
        {
            Finding::fail(
                about,
                format!("{shown} is not there: a restore into it was not finished"),
                "run `leverframe restore FILE` again; the earlier directory is beside it",
            )
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Finding::warn(
            about,
            format!("{shown} does not exist yet"),
            "the first start makes it; --data-dir names another one",
        ),
        Err(error) => Finding::fail(
            about,
            format!("{shown}: {error}"),
            "make it readable for this user",
        ),
        Ok(found) => {
            let (mode, owner) = (found.mode() & 0o777, found.uid());
            let detail = format!("{shown}, mode {mode:04o}, owner {owner}");
            if owner != rustix::process::geteuid().as_raw() {
                Finding::fail(about, detail, "run leverframe as its owner")
            } else if mode & 0o077 != 0 {
                Finding::fail(about, detail, format!("chmod 700 {shown}"))
            } else {
                Finding::ok(about, detail)
            }
        }
    }
}

fn database(facts: &Facts<'_>) -> Vec<Finding> {
    let files = facts.files;
    let about = "database";
    let found = match &facts.database {
        None => {
            return vec![Finding::warn(
                about,
                format!("there is no {} yet", files.database.display()),
                "the first start makes it",
            )];
        }
        Some(Err(why)) => {
            return vec![Finding::fail(
                about,
                why.clone(),
                "use the program it belongs to, or restore a backup",
            )];
        }
        Some(Ok(found)) => found,
    };
    let detail = format!(
        "schema {}, {}, log {}, {} free",
        found.schema,
        files.size.map_or_else(|| "no file".to_owned(), bytes),
        bytes(files.log_size),
        files.free.map_or_else(|| "unknown".to_owned(), bytes),
    );
    let mut findings = Vec::new();
    findings.push(if files.free.is_some_and(|free| free < LITTLE_SPACE) {
        Finding::warn(
            about,
            detail,
            "free space on its file system: on a full one the daemon acknowledges nothing",
        )
    } else if files.log_size > LARGE_LOG {
        Finding::warn(
            about,
            detail,
            "a reader may hold the log open: end long exports, then restart",
        )
    } else {
        Finding::ok(about, detail)
    });
    if let Some((first, days, size)) = files.archive {
        findings.push(Finding::ok(
            "event archive",
            format!("files: {days}, from {first} on, {}", bytes(size)),
        ));
    }
    findings.push(match files.sidecar_epoch {
        Some(epoch) if epoch <= found.epoch => Finding::ok("epoch", found.epoch.to_string()),
        Some(epoch) => Finding::warn(
            "epoch",
            format!(
                "{}, but the directory has seen {epoch}: the database is an older copy",
                found.epoch
            ),
            "it starts in quarantine; find out what the newer database did, then release it",
        ),
        None => Finding::warn(
            "epoch",
            format!("{}, without its side-car file `epoch`", found.epoch),
            "it starts in quarantine, like every copy; release it after the start",
        ),
    });
    if found.quarantine {
        findings.push(Finding::warn(
            "quarantine",
            "the database was restored: no channel connects, nothing is sent or run",
            "review the uncertain items, then release it",
        ));
    }
    if let Some((since, reason)) = &found.held {
        findings.push(Finding::warn(
            "emergency stop",
            format!("since {since}: {reason}"),
            "`leverframe release` resumes all work",
        ));
    }
    match found.crash_starts.as_slice() {
        [] => findings.push(Finding::ok("crashes", "no start after a crash is recorded")),
        starts => findings.push(Finding::warn(
            "crashes",
            format!(
                "starts close together after a crash: {} ({})",
                starts.len(),
                starts
                    .iter()
                    .map(ToString::to_string)
                    .collect::<Vec<_>>()
                    .join(", ")
            ),
            "read in the log file what ended the process",
        )),
    }
    if let Some(newest) = found.newest_event_at {
        let ahead = newest.millis_since(facts.now);
        findings.push(if ahead > CLOCK_SLACK_MS {
            Finding::warn(
                "clock",
                format!("{}, {} s behind the newest event", facts.now, ahead / 1000),
                "correct the clock: deadlines depend on it",
            )
        } else {
            Finding::ok("clock", facts.now.to_string())
        });
    }
    findings.push(Finding::ok(
        "audit head",
        format!("{}:{}", found.audit_seq, found.audit_hash),
    ));
    findings
}

/// What is remembered, and how it is kept in order.
fn memory(facts: &Facts<'_>) -> Vec<Finding> {
    let Some(Ok(found)) = &facts.database else {
        return Vec::new();
    };
    let (all, archived, vectors) = found.remembered;
    if all == 0 && found.hygiene.is_none() {
        return Vec::new();
    }
    let sizes = format!(
        "{} remembered, {archived} archived, {vectors} embeddings",
        all - archived
    );
    let about = "hygiene";
    let next = found.last_hygiene.map_or_else(String::new, |last| {
        format!(
            ", the next is due about {}",
            last.plus_millis(hygiene::EVERY_MS)
        )
    });
    let hygiene = match &found.hygiene {
        None => Finding::ok(about, "not run yet"),
        Some(run) => {
            let detail = format!(
                "last run {} {}: {} archived, {} removed, {} freed{next}",
                run.at,
                run.state,
                run.report.archived,
                run.report.removed,
                bytes(run.freed_bytes)
            );
            let overdue = found.last_hygiene.is_some_and(|last| {
                facts.now.millis_since(last) > 2 * hygiene::EVERY_MS.unsigned_abs()
            });
            match (&run.report.note, run.state) {
                (Some(why), HygieneState::Stopped) => Finding::warn(
                    about,
                    format!("{detail}; {why}"),
                    "look at `leverframe memory hygiene --preview`, then run it",
                ),
                _ if overdue => Finding::warn(
                    about,
                    detail,
                    "the daemon runs it, except during an emergency stop or quarantine",
                ),
                _ => Finding::ok(about, detail),
            }
        }
    };
    vec![Finding::ok("memory", sizes), hygiene]
}

/// Providers that have a key or are used by somebody; the others are only known by name.
fn providers(settings: &Settings) -> Vec<Finding> {
    let models = settings
        .channels
        .values()
        .filter_map(|channel| channel.model.as_ref());
    let used: Vec<&str> = models
        .chain([&settings.model])
        .filter_map(|model| model.split_once('/').map(|(provider, _)| provider))
        .collect();
    settings
        .providers
        .iter()
        .filter(|(_, provider)| provider.kind != ProviderKind::Scripted)
        .filter(|(name, provider)| provider.api_key.is_some() || used.contains(&name.as_str()))
        .map(|(name, provider)| {
            let about = format!("provider {name}");
            // Other servers that speak the Responses API want no key of OpenAI.
            let elsewhere = !provider.base_url.contains("//api.openai.com");
            let key = match (&provider.api_key, provider.kind) {
                (Some(_), _) => "key present",
                (
                    None,
                    ProviderKind::OpenAiChat | ProviderKind::Ollama | ProviderKind::Scripted,
                ) => {
                    "no key (the server wants none)"
                }
                (None, ProviderKind::OpenAiResponses) if elsewhere => {
                    "no key (the server wants none)"
                }
                (
                    None,
                    ProviderKind::OpenAiResponses | ProviderKind::Anthropic | ProviderKind::Gemini,
                ) => {
                    return Finding::fail(
                        &about,
                        format!("{}, no key", provider.base_url),
                        format!("set api_key_env, api_key_file or api_key_command under [providers.{name}]"),
                    );
                }
            };
            Finding::ok(&about, format!("{}, {key}", provider.base_url))
        })
        .collect()
}

/// Files with keys: whether tools can read one.
fn key_files(settings: &Settings) -> Vec<Finding> {
    let files = settings.key_files.iter();
    files
        .map(|file| {
            let about = format!("key file {}", file.key);
            let path = file.path.display();
            match workspace_around(&file.path, &settings.channels) {
                None => Finding::ok(&about, format!("{path}, outside every workspace")),
                Some((channel, workspace)) => Finding::fail(
                    &about,
                    format!(
                        "{path} lies in the workspace {} of channel `{channel}`, where tools read it",
                        workspace.display()
                    ),
                    "move it, for example beside the configuration file; then change the key at its provider",
                ),
            }
        })
        .collect()
}

/// Hooks of the operator: whether their programs may be run as they lie there.
fn hooks(settings: &Settings) -> Vec<Finding> {
    let workspaces: Vec<_> = settings
        .channels
        .values()
        .map(|channel| {
            let workspace = &channel.workspace;
            workspace.canonicalize().unwrap_or(workspace.clone())
        })
        .collect();
    let commands = settings.hooks.commands.iter();
    commands
        .map(|(name, hook)| {
            let about = format!("hook {name}");
            match exec_permissions::check(&hook.command, &workspaces) {
                Ok(()) => Finding::ok(&about, hook.command.join(" ")),
                Err(why) => Finding::fail(
                    &about,
                    format!("it is not run: {why}"),
                    "use a program that only you or root can change, outside every workspace; until then the engine \
                     denies the calls that it checks",
                ),
            }
        })
        .collect()
}

/// Tools that the configuration declares: what each asks whom. One that cannot be used is a fault of the configuration.
fn http_tools(settings: &Settings) -> impl Iterator<Item = Finding> {
    settings.http_tools.iter().map(|(name, tool)| {
        let secret = if tool.secret.is_some() {
            ", its secret is there"
        } else {
            ""
        };
        Finding::ok(
            format!("tool {name}"),
            format!(
                "{} {}, {}, {}{secret}",
                tool.method, tool.origin, tool.access, tool.effect
            ),
        )
    })
}

/// The Python of the tool `python`.
fn python(python: &Result<PythonProgram, String>) -> Finding {
    let about = "tool python";
    match python {
        Ok(found) => {
            let has = found.packages.iter().map(|name| format!(", {name}"));
            let lacks = match found.missing.as_slice() {
                [] => String::new(),
                names => format!("; without {}", names.join(", ")),
            };
            let (version, path) = (&found.version, found.path.display());
            Finding::ok(
                about,
                format!(
                    "Python {version} at {path}{}{lacks}",
                    has.collect::<String>()
                ),
            )
        }
        Err(why) => Finding::warn(
            about,
            format!("there is no tool `python`: {why}"),
            "install Python 3.9 or newer, for example `apt install python3` (python3-pandas and python3-matplotlib as \
             you like), or name one with `executable` under [tools.python], and restart",
        ),
    }
}

/// Channels whose agents act on untrusted content without a person.
fn unguarded(settings: &Settings) -> impl Iterator<Item = Finding> {
    let channels = settings.channels.iter();
    let unguarded = channels.filter(|(_, channel)| !channel.taint_guard_in_full);
    unguarded.map(|(name, _)| {
        Finding::warn(
            format!("channel {name}: taint guard"),
            "is off in `full`: text of unknown senders and web pages can make calls run without a person",
            "set `taint_guard_in_full = true`, unless you trust everything that the channel reads",
        )
    })
}

/// Variables that the programs of bridges are to get and that are not set.
fn bridge_variables(settings: &Settings) -> impl Iterator<Item = Finding> {
    settings.channels.iter().flat_map(|(name, channel)| {
        let programs = channel.platform.program.iter();
        programs
            .flat_map(|program| &program.missing)
            .map(move |variable| {
                Finding::warn(
                    format!("channel {name}"),
                    format!("the variable {variable}, which its program is to get, is not set"),
                    "set it where the daemon starts, or remove it from `environment_env`",
                )
            })
    })
}

fn channels(settings: Option<&Settings>, running: Option<&[Channel]>) -> Vec<Finding> {
    let Some(running) = running else {
        let names = settings
            .into_iter()
            .flat_map(|settings| settings.channels.iter())
            .filter(|(_, channel)| channel.kind.is_platform())
            .map(|(name, channel)| {
                Finding::ok(
                    format!("channel {name}"),
                    format!("{}, not running", channel.kind),
                )
            });
        return names.collect();
    };
    running
        .iter()
        .filter(|channel| channel.health.state != ChannelState::Local)
        .map(|channel| {
            let about = format!("channel {}", channel.name);
            let why = channel
                .health
                .detail
                .as_ref()
                .map_or_else(String::new, |detail| format!(": {detail}"));
            let detail = format!("{}, {}{why}", channel.kind, channel.health.state);
            match channel.health.state {
                ChannelState::Failed => {
                    Finding::fail(&about, detail, "correct what it names, then restart")
                }
                ChannelState::Local | ChannelState::Starting | ChannelState::Connected => {
                    Finding::ok(&about, detail)
                }
                ChannelState::Degraded | ChannelState::Paused => Finding::warn(
                    &about,
                    detail,
                    "it reconnects by itself unless it was paused",
                ),
            }
        })
        .collect()
}

/// The findings of these facts, in the order in which they are read best.
pub fn findings(facts: &Facts<'_>) -> Vec<Finding> {
    let mut found = vec![Finding::ok(
        "version",
        format!(
            "leverframe {}, {}",
            env!("CARGO_PKG_VERSION"),
            check::sqlite_version()
        ),
    )];
    found.extend(configuration(&facts.settings));
    found.extend([
        directory(facts.data_dir),
        match &facts.files.holder {
            Some(holder) => Finding::ok("process", holder.clone()),
            None => Finding::ok("process", "nothing runs on this directory"),
        },
    ]);
    found.extend(database(facts));
    found.extend(memory(facts));
    let (sandbox, confined) = &facts.process.sandbox;
    found.push(if *confined {
        Finding::ok("sandbox", sandbox.clone())
    } else {
        Finding::warn(
            "sandbox",
            sandbox.clone(),
            "install bubblewrap 0.8 or newer and allow user namespaces; else programs run unconfined and always ask",
        )
    });
    let settings = facts.settings.as_ref().ok().copied();
    // A daemon tells of the one in use.
    let stopped = settings.filter(|_| facts.process.channels.is_none());
    found.extend(stopped.and_then(|settings| listener::configured(settings, facts.now)));
    let collector = settings.and_then(|settings| settings.telemetry.as_ref());
    found.extend(collector.map(|one| telemetry::configured(one, telemetry::IS_BUILT)));
    found.extend(settings.into_iter().flat_map(providers));
    found.extend(settings.into_iter().flat_map(key_files));
    found.extend(channels(settings, facts.process.channels.as_deref()));
    found.extend(settings.into_iter().flat_map(unguarded));
    found.extend(settings.into_iter().flat_map(bridge_variables));
    found.extend(settings.into_iter().flat_map(hooks));
    found.extend(settings.into_iter().flat_map(http_tools));
    found.extend(settings.into_iter().flat_map(mcp::doctor::configured));
    found.extend(facts.process.python.as_ref().map(python));
    found.extend(facts.process.cache.as_ref().map(|why| {
        Finding::warn(
            "response cache",
            format!("not used: {why}"),
            "turns go on without it; response_cache.db may be deleted at any time",
        )
    }));
    found.extend(facts.process.problems.iter().map(|problem| {
        Finding::fail("store", problem.clone(), "it clears when its cause is gone")
    }));
    found
}

/// Verifies every rule on the live database, each in a read transaction of its own.
async fn verify(engine: &Engine) -> Result<CheckReport, Problem> {
    let begun = std::time::Instant::now();
    let mut report = CheckReport::default();
    for number in 0..check::count() {
        let rule: Option<RuleResult> = engine
            .read(move |reader| check::run(reader, number))
            .await?;
        if let Some(rule) = rule {
            report.add(rule);
        }
    }
    report.took_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
    Ok(report)
}

/// How files stand to what operators trust of them.
fn skills(list: &[Skill]) -> Vec<Finding> {
    let trusted = list.iter().filter(|one| one.state == SkillState::Trusted);
    let mut found = Vec::new();
    let count = trusted.count();
    if count > 0 {
        found.push(Finding::ok("skills", format!("{count} trusted")));
    }
    for one in list.iter().filter(|one| one.state.needs_review()) {
        let name = &one.name;
        let (said, step) = match (one.state, &one.problem) {
            (SkillState::Invalid, problem) => (
                format!(
                    "{name} cannot be used: {}",
                    problem.as_deref().unwrap_or("?")
                ),
                "correct its files".to_owned(),
            ),
            (SkillState::Missing, _) => (
                format!("the files of {name} are gone; agents still get what was trusted"),
                format!("`leverframe skills distrust {name}`"),
            ),
            (SkillState::Changed, _) => (
                format!("{name} changed since it was trusted; agents still get that"),
                format!("`leverframe skills trust {name}` shows the difference and asks"),
            ),
            (SkillState::New | SkillState::Trusted, _) => (
                format!("nobody trusts {name} yet; agents do not get it"),
                format!("`leverframe skills trust {name}` shows it and asks"),
            ),
        };
        found.push(Finding::warn("skills", said, &step));
    }
    found
}

/// The Python that a running engine uses, looked at once more.
async fn python_of(engine: &Engine, settings: PythonSettings) -> Result<PythonProgram, String> {
    let found = tokio::task::spawn_blocking(move || executable::find(&settings));
    let found = found.await.map_err(|error| error.to_string())??;
    if engine.tools().get(PYTHON).is_none() {
        return Err(format!(
            "{} is usable now, but was not at the start",
            found.path.display()
        ));
    }
    Ok(found)
}

/// How this running installation is.
pub async fn doctor(engine: &Engine, with_check: bool) -> Result<Doctor, Problem> {
    let settings = &engine.settings;
    let data_dir = settings.paths.data_dir.clone();
    let files = look(&data_dir.join("leverframe.db"));
    let (database, rows) = engine
        .read(|reader| Ok((reader.database_facts()?, reader.channel_rows()?)))
        .await?;
    let sandbox = engine.sandbox.report_so_far();
    let python = match settings.python.clone() {
        Some(settings) => Some(python_of(engine, settings).await),
        None => None,
    };
    let facts = Facts {
        now: engine.clock.now(),
        settings: Ok(settings),
        data_dir: &data_dir,
        files: &files,
        database: Some(Ok(database)),
        process: Process {
            sandbox: (sandbox.clone(), !sandbox.starts_with("none")),
            channels: Some(
                rows.into_iter()
                    .map(|row| views::channel(engine, row))
                    .collect(),
            ),
            problems: engine.store.problem().into_iter().collect(),
            cache: engine.response_cache.file.problem(),
            python,
        },
    };
    let mut found = findings(&facts);
    found.extend(engine.listener.findings(facts.now));
    found.extend(engine.telemetry.findings());
    found.push(backups::doctor::running(engine).await);
    let (drills, on_call) = engine
        .read(|reader| Ok((reader.escalation_drills()?, reader.on_call()?)))
        .await?;
    found.extend(escalation::doctor::look(settings, &drills, facts.now));
    let on_call = on_call.as_ref().map(|one| one.name.as_str());
    found.extend(escalation::doctor::unreached(engine, on_call, facts.now));
    found.extend(escalation::doctor::unasked(engine));
    found.extend(people::doctor::nameless(settings));
    let operators = engine.read(|reader| reader.operator_ids()).await?;
    found.extend(people::doctor::look(settings, &operators));
    found.extend(skills(&list(engine).await?.items));
    let servers = mcp::review::list(engine).await?.items;
    found.extend(mcp::doctor::running(&servers));
    Ok(Doctor {
        at: facts.now,
        database: files.database.display().to_string(),
        live: true,
        findings: found,
        check: if with_check {
            Some(verify(engine).await?)
        } else {
            None
        },
    })
}

/// Walks the whole audit and compares it with what was noted of it.
pub async fn verify_audit(
    engine: &Engine,
    given: Option<AuditAnchor>,
) -> Result<AuditReport, Problem> {
    let noted = anchors::expected(&engine.settings.paths.data_dir);
    engine
        .read(move |reader| reader.audit_report(&noted, given.as_ref()))
        .await
}
