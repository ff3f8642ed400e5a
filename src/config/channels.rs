//! `[channels]`: the built-in ones, those of the file, and the scripted visitors of `--demo`.
//!
//! A channel that nobody configured is supervised and lets nobody in.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use crate::config::cache;
use crate::config::error::{ConfigError, ConfigLocation, Fault};
use crate::config::file::ChannelTable;
use crate::config::inputs::{Inputs, Section, field, limit, names_server_tool, parameters};
use crate::config::paths;
use crate::config::people::quiet_hours;
use crate::config::person::PersonSettings;
use crate::config::platforms;
use crate::config::settings::{ChannelSettings, ReplyStyle, SessionScope};
use crate::protocol::approval::RISK_ENTRY;
use crate::protocol::budget::{FloodLimits, Limit};
use crate::protocol::enums::{Autonomy, CacheScope, ChannelKind, Risk, Role};
use crate::protocol::mcp::covers_servers;
use crate::protocol::options::ModelParameters;

/// The channels that are always there.
pub const BUILT_IN: &[(&str, ChannelKind)] = &[
    ("desk", ChannelKind::Desk),
    ("api", ChannelKind::Api),
    ("mcp", ChannelKind::Mcp),
    ("cli", ChannelKind::Cli),
    ("routine", ChannelKind::Routine),
    ("gate", ChannelKind::Gate),
];

/// The scripted channels of `--demo`.
pub const DEMO: &[&str] = &["support", "ops", "family"];

/// Every channel.
pub fn resolve(
    inputs: &Inputs<'_>,
    people: &BTreeMap<String, PersonSettings>,
) -> Result<BTreeMap<String, ChannelSettings>, ConfigError> {
    let config = inputs.config();
    let mut tables: BTreeMap<&str, (ChannelKind, ChannelTable)> = BTreeMap::new();
    for (name, kind) in BUILT_IN {
        let table = ChannelTable {
            // Where people come to see what it can do, a second question shows it.
            response_cache: inputs.flags.demo.then_some(CacheScope::User),
            // External agents read without asking, as they do by themselves.
            autonomy: (*kind == ChannelKind::Gate).then_some(Autonomy::SemiAuto),
            ..ChannelTable::default()
        };
        tables.insert(name, (*kind, table));
    }
    if inputs.flags.demo {
        for name in DEMO {
            let table = ChannelTable {
                autonomy: Some(Autonomy::SemiAuto),
                response_cache: Some(CacheScope::User),
                ..ChannelTable::default()
            };
            tables.insert(name, (ChannelKind::Scripted, table));
        }
    }
    for (name, table) in &config.channels {
        tables.insert(name, (kind_of(inputs, name, table)?, table.clone()));
    }
    let variables = Variables::of(inputs, tables.keys().copied())?;
    let mut channels = BTreeMap::new();
    for (name, (kind, table)) in &tables {
        let keys = ["channels", *name];
        let channel = Channel {
            inputs,
            name,
            table,
            section: Section::new(inputs, &keys, table),
            variables: &variables,
        };
        channels.insert((*name).to_owned(), channel.resolve(*kind, people)?);
    }
    Ok(channels)
}

/// Whether a channel that is not built in can have this name.
pub fn is_channel_name(name: &str) -> bool {
    has_form_of_name(name) && !BUILT_IN.iter().any(|(built_in, _)| *built_in == name)
}

fn has_form_of_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_-".contains(c);
    (1..=32).contains(&name.len()) && name.chars().all(plain)
}

fn kind_of(
    inputs: &Inputs<'_>,
    name: &str,
    table: &ChannelTable,
) -> Result<ChannelKind, ConfigError> {
    if !has_form_of_name(name) {
        let fault = inputs.fault(&["channels", name], "is not a name for a channel");
        return Err(fault.expected("1 to 32 of a-z, 0-9, _ and -").into());
    }
    let built_in = BUILT_IN.iter().find(|(built_in, _)| *built_in == name);
    match (built_in, table.kind) {
        (Some((_, kind)), None) => Ok(*kind),
        (Some(_), Some(_)) => {
            let fault = inputs.fault(&["channels", name, "kind"], "this channel is built in");
            Err(fault
                .next_step("Leave `kind` out, or take another name")
                .into())
        }
        (None, Some(platform)) => Ok(platform.kind()),
        (None, None) => {
            let fault = inputs.fault(&["channels", name], "`kind` is missing");
            let fault = fault.nearest(name, BUILT_IN.iter().map(|(name, _)| *name));
            Err(fault
                .expected(
                    "kind = \"telegram\", \"discord\", \"slack\", \"matrix\", \"webhook\" or \"process\", or the name of a \
                     built-in channel",
                )
                .into())
        }
    }
}

/// `LEVERFRAME_CHANNEL_<NAME>_…`, matched to channels.
struct Variables {
    /// By channel and suffix: name of the variable.
    found: BTreeMap<(String, &'static str), String>,
}

const PREFIX: &str = "LEVERFRAME_CHANNEL_";
const SUFFIXES: &[&str] = &["_AUTONOMY", "_AUTO_APPROVE", "_BLOCK", "_MAX_WAIT_SECONDS"];

impl Variables {
    /// A variable for a channel that does not exist, or a setting that cannot be overridden, is an error:
    /// somebody relies on it.
    fn of<'a>(
        inputs: &Inputs<'_>,
        channels: impl Iterator<Item = &'a str> + Clone,
    ) -> Result<Self, ConfigError> {
        let mut known: BTreeMap<String, (String, &'static str)> = BTreeMap::new();
        let mut ambiguous = BTreeSet::new();
        for channel in channels {
            for suffix in SUFFIXES {
                let upper = channel.to_uppercase().replace('-', "_");
                let name = format!("{PREFIX}{upper}{suffix}");
                if known
                    .insert(name.clone(), (channel.to_owned(), suffix))
                    .is_some()
                {
                    ambiguous.insert(name);
                }
            }
        }
        let mut found = BTreeMap::new();
        for name in inputs.environment.starting_with(PREFIX) {
            let fault = |problem| Fault::new(ConfigLocation::Environment(name.to_owned()), problem);
            let Some(place) = known.get(name) else {
                let fault = fault("matches no setting of any channel");
                let fault = fault.nearest(name, known.keys().map(String::as_str));
                let expected = format!("{PREFIX}<NAME> with one of {}", SUFFIXES.join(", "));
                return Err(fault.expected(expected).into());
            };
            if ambiguous.contains(name) {
                let fault = fault("fits two channels whose names differ only in - and _");
                return Err(fault
                    .next_step("Rename one of them, or set it in the file")
                    .into());
            }
            found.insert(place.clone(), name.to_owned());
        }
        Ok(Self { found })
    }
}

/// One channel being resolved.
struct Channel<'a> {
    inputs: &'a Inputs<'a>,
    name: &'a str,
    table: &'a ChannelTable,
    section: Section<'a, ChannelTable>,
    variables: &'a Variables,
}

impl Channel<'_> {
    fn fault(&self, field: &str, problem: impl Into<String>) -> Fault {
        self.section.fault(field, problem)
    }

    /// The overriding variable and its value.
    fn variable(&self, suffix: &'static str) -> Option<(&str, &str)> {
        let name = self.variables.found.get(&(self.name.to_owned(), suffix))?;
        Some((name, self.inputs.environment.given(name)?))
    }

    fn resolve(
        &self,
        kind: ChannelKind,
        people: &BTreeMap<String, PersonSettings>,
    ) -> Result<ChannelSettings, ConfigError> {
        let table = self.table;
        let auto_approve =
            self.list("auto_approve", "_AUTO_APPROVE", table.auto_approve.as_ref())?;
        let block = self.list("block", "_BLOCK", table.block.as_ref())?;
        let always_ask = self.list("always_ask", "", table.always_ask.as_ref())?;
        Ok(ChannelSettings {
            kind,
            id_prefix: match kind {
                ChannelKind::Webhook | ChannelKind::Process => format!("{kind}/{}", self.name),
                ChannelKind::Telegram
                | ChannelKind::Discord
                | ChannelKind::Slack
                | ChannelKind::Matrix
                | ChannelKind::Desk
                | ChannelKind::Api
                | ChannelKind::Mcp
                | ChannelKind::Cli
                | ChannelKind::Gate
                | ChannelKind::Routine
                | ChannelKind::Scripted => kind.to_string(),
            },
            platform: platforms::resolve(self.inputs, self.name, kind, table)?,
            autonomy: self.autonomy()?,
            permanent_full: table.permanent_full.unwrap_or(false),
            auto_approve,
            block,
            always_ask,
            allowed_users: self.platform_ids(
                kind,
                "allowed_users",
                table.allowed_users.as_ref(),
            )?,
            allowed_chats: self.platform_ids(
                kind,
                "allowed_chats",
                table.allowed_chats.as_ref(),
            )?,
            approval_to: self.names("approval_to", self.table.approval_to.as_ref(), people)?,
            approvers: self.approvers(people)?,
            two_people: self.two_people(people)?,
            escalation: table.escalation.clone(),
            taint_guard_in_full: table.taint_guard_in_full.unwrap_or(true),
            chat_max_risk: table.chat_max_risk.unwrap_or(Risk::Medium),
            max_wait_seconds: self.max_wait_seconds()?,
            workspace: self.workspace()?,
            model: table.model.clone(),
            fallback: table.fallback.clone(),
            fixed_model: table.fixed_model.unwrap_or(false),
            note: table.note.clone(),
            skills: table.skills.clone(),
            mcp: self.servers()?,
            parameters: parameters(
                self.inputs,
                self.section.keys,
                ModelParameters {
                    temperature: table.temperature,
                    top_p: table.top_p,
                    tool_choice: table.tool_choice.clone(),
                },
            )?,
            require_mention: table.require_mention.unwrap_or(true),
            session_scope: table.session_scope.unwrap_or(SessionScope::Chat),
            reply_style: table.reply_style.unwrap_or(ReplyStyle::Progress),
            citations: table.citations.unwrap_or(false),
            max_queue: self.section.number(field!(table.max_queue), 10, 1..=1000)?,
            response_cache: cache::scope(self.inputs, table.response_cache)?,
            tool_cache: table.tool_cache.unwrap_or(false),
            budget: self.budget()?,
            pairing: table.pairing.unwrap_or(true),
            floods: self.floods(kind)?,
            quiet_hours: quiet_hours(
                self.inputs,
                self.section.keys,
                table.quiet_hours.as_deref(),
                table.time_zone.as_deref(),
            )?,
        })
    }

    /// The tool servers of the channel, each of which is configured.
    fn servers(&self) -> Result<Option<Vec<String>>, ConfigError> {
        let config = self.inputs.config();
        let unknown =
            (self.table.mcp.iter().flatten()).find(|name| !config.mcp.contains_key(*name));
        if let Some(name) = unknown {
            let known = config.mcp.keys().map(String::as_str);
            let fault = self.fault("mcp", format!("there is no server `{name}`"));
            return Err(fault
                .nearest(name, known)
                .expected("names under [mcp]")
                .into());
        }
        Ok(self.table.mcp.clone())
    }

    /// What the channel says of itself, else what holds for every channel.
    fn budget(&self) -> Result<Limit, ConfigError> {
        let own = limit(
            self.inputs,
            &["channels", self.name, "budget"],
            self.table.budget,
        )?;
        let every = self.inputs.config().budgets.channel;
        Ok(Limit {
            max_tokens: own.max_tokens.or(every.max_tokens),
            max_cost_usd: own.max_cost_usd.or(every.max_cost_usd),
        })
    }

    fn autonomy(&self) -> Result<Autonomy, ConfigError> {
        let Some((name, value)) = self.variable("_AUTONOMY") else {
            return Ok(self.table.autonomy.unwrap_or(Autonomy::Supervised));
        };
        value.trim().parse().map_err(|_| {
            let words = Autonomy::ALL.iter().map(|word| word.as_str());
            let list = words.clone().collect::<Vec<_>>().join(", ");
            let place = ConfigLocation::Environment(name.to_owned());
            let fault = Fault::new(place, format!("`{value}` is not known here"));
            let fault = fault.nearest(value.trim(), words);
            ConfigError::from(fault.expected(format!("one of {list}")))
        })
    }

    /// People in a chat can flood the operators. What is built in, operators and programs of theirs use.
    fn floods(&self, kind: ChannelKind) -> Result<FloodLimits, ConfigError> {
        let usual = if kind.is_platform() {
            FloodLimits {
                denials: 3,
                turns: 20,
            }
        } else {
            FloodLimits::default()
        };
        let table = self.table;
        let read = |field, default| self.section.number(field, default, 0..=1000);
        Ok(FloodLimits {
            denials: read(field!(table.pause_after_denials), usual.denials)?,
            turns: read(field!(table.pause_after_turns), usual.turns)?,
        })
    }

    fn max_wait_seconds(&self) -> Result<u64, ConfigError> {
        let bounds = 1..=86_400;
        if let Some((name, value)) = self.variable("_MAX_WAIT_SECONDS") {
            let seconds = value.trim().parse().ok().filter(|s| bounds.contains(s));
            return seconds.ok_or_else(|| {
                let place = ConfigLocation::Environment(name.to_owned());
                let fault = Fault::new(place, format!("`{value}` is not a number of seconds"));
                fault.expected("a whole number from 1 to 86400").into()
            });
        }
        let table = self.table;
        self.section
            .number(field!(table.max_wait_seconds), 600, bounds)
    }

    /// A list of tools, from the variable (separated by commas) or the file; every entry checked.
    fn list(
        &self,
        field: &str,
        suffix: &'static str,
        written: Option<&Vec<String>>,
    ) -> Result<Vec<String>, ConfigError> {
        let variable = self.variable(suffix);
        let entries: Vec<String> = match variable {
            Some((_, value)) => {
                let entries = value
                    .split(',')
                    .map(str::trim)
                    .filter(|entry| !entry.is_empty());
                entries.map(str::to_owned).collect()
            }
            None => written.cloned().unwrap_or_default(),
        };
        let fault = |problem: String| match variable {
            Some((name, _)) => Fault::new(ConfigLocation::Environment(name.to_owned()), problem),
            None => self.fault(field, problem),
        };
        let tools = self.inputs.tools;
        for entry in &entries {
            if entry == "*" && field == "auto_approve" {
                let fault = fault("`*` would approve everything".to_owned());
                let step = "To allow all, set autonomy = \"full\"; it has its own safeguards";
                return Err(fault.expected("names of tools").next_step(step).into());
            }
            if field == "auto_approve" && covers_servers(entry) {
                let fault = fault(format!("`{entry}` would approve the tools of every server"));
                let step = "Name a server: `mcp__files__*`, or one of its tools";
                return Err(fault.next_step(step).into());
            }
            if names_server_tool(self.inputs, entry, &fault)? {
                continue;
            }
            let known = match entry.strip_suffix('*') {
                Some(prefix) => tools.iter().any(|tool| tool.starts_with(prefix)),
                None => tools.contains(&entry.as_str()),
            };
            if !known {
                let fault = fault(format!("there is no tool `{entry}`"));
                let fault = fault.nearest(entry.trim_end_matches('*'), tools.iter().copied());
                let expected = format!("one of {}, or a prefix with *", tools.join(", "));
                return Err(fault.expected(expected).into());
            }
        }
        Ok(entries)
    }

    fn platform_ids(
        &self,
        kind: ChannelKind,
        field: &str,
        ids: Option<&Vec<String>>,
    ) -> Result<Vec<String>, ConfigError> {
        let ids = ids.cloned().unwrap_or_default();
        for id in &ids {
            let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
            let (good, expected) = match kind {
                // Groups have negative ids, people do not.
                ChannelKind::Telegram => match field {
                    "allowed_chats" => (
                        digits(id.strip_prefix('-').unwrap_or(id)),
                        "the numeric id, for example \"-1001234\"",
                    ),
                    _ => (digits(id), "the numeric id, for example \"123456\""),
                },
                ChannelKind::Discord => match field {
                    "allowed_chats" => (
                        id.split('/').count() <= 2 && id.split('/').all(digits),
                        "the id of a server, or of a channel as \"server/channel\"",
                    ),
                    _ => (
                        digits(id),
                        "the numeric id, for example \"80351110224678912\"",
                    ),
                },
                ChannelKind::Slack => (
                    id.starts_with(|c: char| c.is_ascii_uppercase()) && !id.contains(' '),
                    "the id, for example \"U0123ABCD\" or \"C0123ABCD\"",
                ),
                ChannelKind::Matrix => match field {
                    "allowed_chats" => (id.starts_with('!'), "the id of a room: \"!…\""),
                    _ => (
                        id.starts_with('@') && id.contains(':'),
                        "the id, for example \"@anna:example.org\"",
                    ),
                },
                ChannelKind::Webhook
                | ChannelKind::Process
                | ChannelKind::Desk
                | ChannelKind::Api
                | ChannelKind::Mcp
                | ChannelKind::Cli
                | ChannelKind::Gate
                | ChannelKind::Routine
                | ChannelKind::Scripted => (!id.trim().is_empty(), "an id"),
            };
            if !good {
                let fault = self.fault(field, format!("`{id}` is not a platform id"));
                let step = "Names can be changed and taken over; the id stays";
                return Err(fault.expected(expected).next_step(step).into());
            }
        }
        Ok(ids)
    }

    /// A list of people.
    fn names(
        &self,
        key: &str,
        names: Option<&Vec<String>>,
        people: &BTreeMap<String, PersonSettings>,
    ) -> Result<Vec<String>, ConfigError> {
        let names = names.cloned().unwrap_or_default();
        for name in &names {
            if !people.contains_key(name) {
                let fault = self.fault(key, format!("there is no [people.{name}]"));
                let fault = fault.nearest(name, people.keys().map(String::as_str));
                return Err(fault.expected("names under [people]").into());
            }
        }
        Ok(names)
    }

    /// Who decides here. Each of them has a role that decides, else nobody could.
    fn approvers(
        &self,
        people: &BTreeMap<String, PersonSettings>,
    ) -> Result<Vec<String>, ConfigError> {
        let names = self.names("approvers", self.table.approvers.as_ref(), people)?;
        let role = |name: &String| people.get(name).map(|person| person.role);
        if let Some(name) = names.iter().find(|name| role(name) < Some(Role::Approver)) {
            let fault = self.fault("approvers", format!("{name} has the role user"));
            let step = format!("Set role = \"approver\" under [people.{name}]");
            return Err(fault.expected("approvers or owners").next_step(step).into());
        }
        Ok(names)
    }

    /// What takes two people. There are two who can decide here, else nobody could.
    fn two_people(
        &self,
        people: &BTreeMap<String, PersonSettings>,
    ) -> Result<Vec<String>, ConfigError> {
        let written = self.table.two_people.clone().unwrap_or_default();
        let (risks, tools): (Vec<String>, Vec<String>) = written
            .into_iter()
            .partition(|entry| entry.starts_with(RISK_ENTRY));
        for entry in &risks {
            if let Err(error) = entry.trim_start_matches(RISK_ENTRY).parse::<Risk>() {
                let fault = self.fault("two_people", format!("`{entry}`: {error}"));
                return Err(fault.expected("for example risk:high").into());
            }
        }
        let entries = [self.list("two_people", "", Some(&tools))?, risks].concat();
        let named = self
            .table
            .approvers
            .as_ref()
            .filter(|names| !names.is_empty());
        let decide = people.iter().filter(|(name, person)| {
            person.role >= Role::Approver && named.is_none_or(|names| names.contains(name))
        });
        if !entries.is_empty() && decide.count() < 2 {
            let fault = self.fault(
                "two_people",
                "two people must allow this, but fewer can decide here",
            );
            let step =
                "Give a second person the role approver under [people], or name them in approvers";
            return Err(fault.next_step(step).into());
        }
        Ok(entries)
    }

    fn workspace(&self) -> Result<PathBuf, ConfigError> {
        let paths = self.inputs.paths;
        let workspace = match &self.table.workspace {
            Some(path) => self.inputs.path(path),
            None => paths::default_workspaces(&paths.data_dir).join(self.name),
        };
        if let Some(with) = paths::overlap(&workspace, paths, self.inputs.choice) {
            let problem = format!("{} overlaps {with}", workspace.display());
            let step = "The agent's tools could change its own policy; name another directory";
            let fault = self.fault("workspace", problem).next_step(step);
            return Err(fault.expected("a directory apart from both").into());
        }
        Ok(workspace)
    }
}
