//! `leverframe rules list|show|add|edit|enable|disable|remove|grants|suggest|test`.

use clap::{Args, Subcommand};

use crate::cli::exit::{Failure, usage};
use crate::cli::find::submit;
use crate::cli::list;
use crate::cli::table;
use crate::cli::terminal::{Cli, Format, Terminal, cell};
use crate::client::console_client::ConsoleClient;
use crate::client::listing::TableRow;
use crate::clock::{Clock, Timestamp};
use crate::protocol::duration;
use crate::protocol::enums::{RuleMatcher, VerdictKind};
use crate::protocol::ids::{ApprovalId, ContinuationId, RuleId, SessionId};
use crate::protocol::request::{
    AddRule, ChangeRule, GetRule, GetRuleMatches, ListGrants, ListRules, RemoveGrant, RemoveRule,
    SuggestRules, TestRules,
};
use crate::protocol::rule::{Grant, Rule, RuleMatches, RulePatch, RuleSuggestions};
use crate::text::quote::quote;
use crate::text::untrusted::limit_line;

/// `rules`.
#[derive(Debug, Subcommand)]
pub enum RuleCommands {
    /// List rules, newest first
    List {
        /// Only rules that allow calls and matched none for 14 days
        #[arg(long)]
        unused: bool,
    },
    /// Show a rule, with its matches of the last seven days
    Show {
        /// Id or unique prefix
        rule: String,
    },
    /// Add a rule: `rules add execute_command --prefix "git status" --channel team --expires 8h`
    Add {
        /// Tool name, or a prefix with `*`
        tool: String,
        /// What it says
        #[command(flatten)]
        fields: RuleFlags,
        /// Only show which calls of the last seven days it would match
        #[arg(long)]
        preview: bool,
    },
    /// Change the given parts of a rule
    Edit {
        /// Id or unique prefix
        rule: String,
        /// What it says
        #[command(flatten)]
        fields: RuleFlags,
    },
    /// Enable a rule
    Enable {
        /// Id or unique prefix
        rule: String,
    },
    /// Disable a rule without removing it
    Disable {
        /// Id or unique prefix
        rule: String,
    },
    /// Remove a rule (`rul_…`) or a session grant (`apr_…`)
    Remove {
        /// Id, or unique prefix of a rule's
        rule: String,
    },
    /// List session grants
    Grants,
    /// Suggest rules that cover most of the calls that people allowed
    Suggest {
        /// How many past days to check
        #[arg(long, default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..=90))]
        days: u32,
        /// Only calls of this channel
        #[arg(long)]
        channel: Option<String>,
    },
    /// Show what would happen to a call: `rules test read_file '{"path": "a.txt"}' --channel team`
    Test {
        /// Tool name
        tool: String,
        /// Arguments as JSON
        args: String,
        /// Channel of the call
        #[arg(long, default_value = "desk")]
        channel: String,
        /// Session; a new one by default
        #[arg(long)]
        session: Option<SessionId>,
    },
}

/// What can be set of a rule.
#[derive(Debug, Args)]
pub struct RuleFlags {
    /// Match exactly this text
    #[arg(long, value_name = "VALUE", group = "how")]
    exact: Option<String>,
    /// Match this prefix
    #[arg(long, value_name = "VALUE", group = "how")]
    prefix: Option<String>,
    /// Match a pattern: `*` is anything, `?` one character, a last word `**` any further words
    #[arg(long, value_name = "VALUE", group = "how")]
    pattern: Option<String>,
    /// Argument to compare; empty = all as JSON
    #[arg(long)]
    field: Option<String>,
    /// Directory for allowed commands, relative to the workspace; empty = the workspace itself
    #[arg(long, value_name = "DIRECTORY")]
    cwd: Option<String>,
    /// Program of allowed commands; empty = the one that the first word names now
    #[arg(long, value_name = "PATH")]
    executable: Option<String>,
    /// Allow the call without asking (the default)
    #[arg(long, group = "says")]
    allow: bool,
    /// Ask a person
    #[arg(long, group = "says")]
    ask: bool,
    /// Deny the call
    #[arg(long, group = "says")]
    deny: bool,
    /// Only on this channel
    #[arg(long, conflicts_with = "session")]
    channel: Option<String>,
    /// Only in this session, until it ends
    #[arg(long, conflicts_with = "turn")]
    session: Option<SessionId>,
    /// Only in this turn, until it ends
    #[arg(long, value_name = "CONTINUATION", conflicts_with = "channel")]
    turn: Option<ContinuationId>,
    /// How long it is valid: `45s`, `30m`, `8h`, `7d`, `2w`, or `never`
    #[arg(long, value_name = "TIME")]
    expires: Option<String>,
    /// When it ends: the end of a day (`2026-12-24`), or a time (`2026-12-24 18:00`, `2026-12-24T18:00:00Z`)
    #[arg(long, value_name = "DATE", conflicts_with = "expires")]
    until: Option<String>,
    /// Most calls that it allows; 0 = any number
    #[arg(long, value_name = "N")]
    max_uses: Option<u64>,
    /// A note; empty = none
    #[arg(long)]
    note: Option<String>,
}

impl RuleFlags {
    /// What they say; nothing of it where none was given.
    pub fn patch(self) -> Result<RulePatch, Failure> {
        let (matcher, value) = match (self.exact, self.prefix, self.pattern) {
            (Some(value), _, _) => (Some(RuleMatcher::Exact), Some(value)),
            (_, Some(value), _) => (Some(RuleMatcher::Prefix), Some(value)),
            (_, _, Some(value)) => (Some(RuleMatcher::Pattern), Some(value)),
            (None, None, None) => (None, None),
        };
        let expires_in_seconds = match self.expires.as_deref() {
            None => None,
            Some("never") => Some(0),
            Some(text) => match duration::seconds(text) {
                Some(seconds) if seconds > 0 => Some(seconds.unsigned_abs()),
                Some(_) | None => {
                    return Err(usage!(
                        "--expires `{}`: expected a time like 30m, 8h or 7d, or `never`",
                        cell(text)
                    ));
                }
            },
        };
        let expires_in_seconds = match self.until.as_deref() {
            None => expires_in_seconds,
            Some(text) => Some(seconds_until(text, Clock::System.now())?),
        };
        Ok(RulePatch {
            field: self.field,
            matcher,
            value,
            cwd: self.cwd,
            executable: self.executable,
            channel: self.channel,
            session_id: self.session,
            continuation_id: self.turn,
            verdict: [
                (self.allow, VerdictKind::Allow),
                (self.ask, VerdictKind::Ask),
                (self.deny, VerdictKind::Deny),
            ]
            .into_iter()
            .find_map(|(said, word)| said.then_some(word)),
            expires_in_seconds,
            max_uses: self.max_uses,
            note: self.note,
            ..RulePatch::default()
        })
    }
}

/// Seconds until a time, or until a day of this machine ends.
fn seconds_until(text: &str, now: Timestamp) -> Result<u64, Failure> {
    let ends = duration::ahead(text, now).ok_or_else(|| {
        usage!(
            "--until `{}`: that is over, or no time: expected a day like 2026-12-24 or a time like \"2026-12-24 18:00\"",
            cell(text)
        )
    })?;
    Ok(ends.millis_since(now).div_ceil(1000))
}

/// Carries out one of the commands.
pub async fn run(cli: &mut Cli<'_>, command: RuleCommands) -> Result<(), Failure> {
    let now = Clock::System.now();
    match command {
        RuleCommands::List { unused } => list_rules(cli, now, unused).await,
        RuleCommands::Show { rule } => {
            let rule = one(cli.client, &rule).await?;
            show(cli, now, &rule).await
        }
        RuleCommands::Add {
            tool,
            fields,
            preview,
        } => {
            let rule = Box::new(RulePatch {
                tool: Some(tool),
                ..fields.patch()?
            });
            if rule.value.is_none() {
                return Err(Failure::usage(
                    "say what it matches: --exact, --prefix or --pattern",
                ));
            }
            if preview {
                return cli
                    .query(GetRuleMatches { id: None, rule }, told_matches)
                    .await;
            }
            print(
                &mut cli.terminal,
                now,
                &submit(cli.client, AddRule { rule }).await?,
            )
        }
        RuleCommands::Edit { rule, fields } => {
            let patch = fields.patch()?;
            if patch == RulePatch::default() {
                return Err(Failure::usage(
                    "name a change; `leverframe rules edit --help` lists them",
                ));
            }
            change(cli, now, &rule, patch).await
        }
        RuleCommands::Enable { rule } => {
            let patch = RulePatch {
                enabled: Some(true),
                ..RulePatch::default()
            };
            change(cli, now, &rule, patch).await
        }
        RuleCommands::Disable { rule } => {
            let patch = RulePatch {
                enabled: Some(false),
                ..RulePatch::default()
            };
            change(cli, now, &rule, patch).await
        }
        RuleCommands::Remove { rule } => {
            let (id, done) = match rule.parse::<ApprovalId>() {
                Ok(id) => {
                    let id = submit(cli.client, RemoveGrant { id }).await?;
                    (id.to_string(), "revoked")
                }
                Err(_) => {
                    let id = one(cli.client, &rule).await?.id;
                    let id = submit(cli.client, RemoveRule { id }).await?;
                    (id.to_string(), "removed")
                }
            };
            cli.terminal
                .show_line(&serde_json::json!({ "removed": id }), || {
                    format!("{id}  {done}")
                })
        }
        RuleCommands::Grants => list::run(cli, ListGrants {}, false).await,
        RuleCommands::Suggest { days, channel } => {
            let days = Some(days);
            cli.query(SuggestRules { days, channel }, suggested).await
        }
        RuleCommands::Test {
            tool,
            args,
            channel,
            session,
        } => {
            let args = serde_json::from_str(&args)
                .map_err(|error| usage!("the arguments are no JSON: {error}"))?;
            let query = TestRules {
                tool,
                args,
                channel,
                session_id: session,
            };
            let test = cli.client.call(query).await?;
            if cli.terminal.format == Format::Json {
                return cli.terminal.json(&test);
            }
            let what = match test.verdict.decision {
                VerdictKind::Allow => "runs without asking",
                VerdictKind::Ask => "a person is asked",
                VerdictKind::Deny => "does not run",
            };
            cli.terminal
                .line(&format!("{what}: {}", cell(&test.verdict.rule)))?;
            if let Some(risk) = test.risk {
                cli.terminal
                    .line(&format!("access {}, risk {risk}", test.access))?;
            }
            test.matching.iter().try_for_each(|rule| {
                cli.terminal.line(&format!(
                    "matched by {}  {}",
                    rule.id,
                    cell(&rule.in_words())
                ))
            })
        }
    }
}

async fn all(client: &dyn ConsoleClient) -> Result<Vec<Rule>, Failure> {
    Ok(client.call(ListRules {}).await?.items)
}

/// A rule by id, or by a beginning of it that no other has.
async fn one(client: &dyn ConsoleClient, text: &str) -> Result<Rule, Failure> {
    if let Ok(id) = text.parse::<RuleId>() {
        return Ok(client.call(GetRule { id }).await?);
    }
    crate::cli::find::rule(text, all(client).await?)
}

async fn change(
    cli: &mut Cli<'_>,
    now: Timestamp,
    rule: &str,
    patch: RulePatch,
) -> Result<(), Failure> {
    let rule = one(cli.client, rule).await?;
    let patch = Box::new(RulePatch {
        if_version: Some(rule.version),
        ..patch
    });
    let change = ChangeRule { id: rule.id, patch };
    print(&mut cli.terminal, now, &submit(cli.client, change).await?)
}

fn print(terminal: &mut Terminal<'_>, now: Timestamp, rule: &Rule) -> Result<(), Failure> {
    if terminal.format == Format::Json {
        return terminal.json(rule);
    }
    terminal.line(&format!(
        "{}  {}  {}",
        rule.id,
        cell(&rule.in_words()),
        state(rule, now)
    ))?;
    covers(terminal, rule.coverage())
}

/// What a rule that allows commands covers, and what it does not bind.
fn covers(terminal: &mut Terminal<'_>, coverage: Option<String>) -> Result<(), Failure> {
    coverage.map_or(Ok(()), |coverage| {
        terminal.line(&format!("covers    {}", cell(&coverage)))
    })
}

/// Whether it decides anything, in words.
fn state(rule: &Rule, now: Timestamp) -> String {
    match (rule.idle(now).or_else(|| rule.unused(now)), rule.expires_at) {
        (Some(why), _) => cell(&why),
        (None, Some(at)) => format!(
            "until {at}{}",
            if rule.continuation_id.is_some() {
                ", or its turn ends"
            } else {
                ""
            }
        ),
        (None, None) if rule.continuation_id.is_some() => "until its turn ends".to_owned(),
        (None, None) => "in force".to_owned(),
    }
}

/// How far it reaches, in words.
fn reach(rule: &Rule) -> String {
    match (&rule.channel, rule.session_id, rule.continuation_id) {
        (Some(channel), _, _) => cell(channel),
        (None, _, Some(turn)) => turn.to_string(),
        (None, Some(session), None) => session.to_string(),
        (None, None, None) => "everywhere".to_owned(),
    }
}

fn uses(rule: &Rule) -> String {
    match rule.max_uses {
        Some(max) => format!("{} of {max}", rule.uses),
        None => rule.uses.to_string(),
    }
}

fn last_used(at: Option<Timestamp>) -> String {
    at.map_or_else(|| "never".to_owned(), |at| at.to_string())
}

async fn list_rules(cli: &mut Cli<'_>, now: Timestamp, unused: bool) -> Result<(), Failure> {
    let mut rules = all(cli.client).await?;
    rules.retain(|rule| !unused || rule.unused(now).is_some());
    let heads = ["ID", "RULE", "WHERE", "USES", "LAST USED", "STATE"];
    table::rows(&mut cli.terminal, &heads, "no rules", &rules, |rule| {
        vec![
            rule.id.to_string(),
            limit_line(&rule.in_words(), 60),
            reach(rule),
            uses(rule),
            last_used(rule.last_used_at),
            state(rule, now),
        ]
    })
}

impl TableRow for Grant {
    const HEADS: &'static [&'static str] =
        &["ID", "SHAPE", "WHERE", "FOR", "USES", "LAST USED", "UNTIL"];
    const NOTHING: &'static str = "no session grants";

    fn cells(&self) -> Vec<String> {
        vec![
            self.id.to_string(),
            format!("{} {}", cell(&self.tool), limit_line(&self.preview, 40)),
            format!(
                "{} {}",
                cell(&self.channel),
                limit_line(&self.conversation, 20)
            ),
            limit_line(&self.requester_id, 24),
            self.uses.to_string(),
            last_used(self.last_used_at),
            self.expires_at
                .map_or_else(|| self.ends_with().to_owned(), |at| at.to_string()),
        ]
    }
}

async fn show(cli: &mut Cli<'_>, now: Timestamp, rule: &Rule) -> Result<(), Failure> {
    if cli.terminal.format == Format::Json {
        return cli.terminal.json(rule);
    }
    let line = format!("{}  {}", rule.id, state(rule, now));
    cli.terminal.line(&line)?;
    cli.terminal
        .line(&format!("says      {}", cell(&rule.in_words())))?;
    cli.terminal.line(&format!("where     {}", reach(rule)))?;
    covers(&mut cli.terminal, rule.coverage())?;
    let used = last_used(rule.last_used_at);
    cli.terminal
        .line(&format!("used      {}, last {used}", uses(rule)))?;
    cli.terminal.line(&format!(
        "made      {}, changed {} by {} (version {})",
        rule.created_at,
        rule.updated_at,
        cell(&rule.by),
        rule.version
    ))?;
    if let Some(approval) = rule.approval_id {
        cli.terminal.line(&format!("on        {approval}"))?;
    }
    if let Some(note) = &rule.note {
        cli.terminal.line(&format!("note      {}", cell(note)))?;
    }
    let mut found = cli
        .client
        .call(GetRuleMatches {
            id: Some(rule.id),
            rule: Box::default(),
        })
        .await?;
    found.coverage = None;
    told_matches(&mut cli.terminal, &found)
}

/// Prints what is suggested, each rule with the command that makes it.
fn suggested(terminal: &mut Terminal<'_>, found: &RuleSuggestions) -> Result<(), Failure> {
    let at_most = if found.more { " (the newest)" } else { "" };
    terminal.line(&format!(
        "{} since {}{at_most}",
        found.in_words(),
        found.since
    ))?;
    for one in &found.rules {
        terminal.line("")?;
        terminal.line(&cell(&one.text))?;
        terminal.line(&format!(
            "  answered {} of {}; would also have let through: {}",
            one.answered,
            found.approved,
            cell(&one.beside())
        ))?;
        if let Some(coverage) = &one.coverage {
            terminal.line(&format!("  covers {}", cell(coverage)))?;
        }
        terminal.line(&format!("  {}", cell(&add_command(&one.rule))))?;
    }
    Ok(())
}

/// The command line that makes a rule.
fn add_command(rule: &RulePatch) -> String {
    let mut words = vec![
        "leverframe".to_owned(),
        "rules".to_owned(),
        "add".to_owned(),
    ];
    words.extend(rule.tool.iter().map(|tool| quote(tool)));
    let matcher = rule.matcher.map(|matcher| matcher.as_str());
    for (flag, value) in [
        ("field", &rule.field),
        (matcher.unwrap_or("exact"), &rule.value),
        ("cwd", &rule.cwd),
        ("executable", &rule.executable),
        ("channel", &rule.channel),
    ] {
        if let Some(value) = value {
            words.push(format!("--{flag}"));
            words.push(quote(value));
        }
    }
    words.join(" ")
}

/// Prints what a rule matches.
pub fn told_matches(terminal: &mut Terminal<'_>, found: &RuleMatches) -> Result<(), Failure> {
    let at_most = if found.more { " (the newest)" } else { "" };
    terminal.line(&format!(
        "{}: matches {} of {} calls of its tools since {}{at_most}",
        cell(&found.rule),
        found.matched,
        found.considered,
        found.since
    ))?;
    covers(terminal, found.coverage.clone())?;
    if let Some(warning) = found.warning() {
        terminal.line(&format!("warning   {warning}"))?;
    }
    terminal.line(&format!(
        "of these  {} ran unasked, {} approved, {} denied, {} refused by the policy",
        found.ran_unasked, found.approved, found.denied, found.refused
    ))?;
    if found.doubtful > 0 {
        terminal.line(&format!(
            "besides   {} would be asked about: nothing proves that they stay clear of it",
            found.doubtful
        ))?;
    }
    found.calls.iter().try_for_each(|call| {
        let then = match (call.decision, &call.by) {
            (Some(decision), Some(by)) => format!("{} {decision} by {}", call.was, cell(by)),
            (Some(decision), None) => format!("{} {decision}", call.was),
            (None, _) => call.was.to_string(),
        };
        let kept = call
            .kept_by
            .as_deref()
            .map_or_else(String::new, |why| format!("  (asks still: {})", cell(why)));
        terminal.line(&format!(
            "{}  {}  {} {}  {then}, {}{kept}",
            call.at,
            cell(&call.channel),
            cell(&call.tool),
            limit_line(&call.preview, 60),
            call.state
        ))
    })
}
