//! What a call of an agent would do: its risk, what is shown of it, and where the agent would run it.
//!
//! Nothing here runs anything. The file system is looked at only where the agent's directory lies on this machine.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::agents::file_diff::{Before, of_edits, of_patch, of_write};
use crate::agents::tool_kind::ToolKind;
use crate::protocol::approval::{PlanFacts, Preview};
use crate::protocol::enums::ExternalAgent;
use crate::text::scripts;
use crate::tools::execute_command::script_only_reads;
use crate::tools::file_version::{FileVersion, read};
use crate::tools::guard::{Guard, GuardedPath, Kind};
use crate::tools::http::url;
use crate::tools::patch::{self, FilePatch};
use crate::tools::path_risk::{holds_credentials, of_path, plain};
use crate::tools::place_names::runs_programs;
use crate::tools::read_file::text;
use crate::tools::risk::{RiskReason, add};
use crate::tools::script::simple_commands;
use crate::tools::text_edits::Edit;
use crate::tools::tool::{Plan, PrepareError, ToolContext};

/// Arguments that name a file or a directory, in the words of all agents.
const PATHS: [&str; 8] = [
    "file_path",
    "notebook_path",
    "absolute_path",
    "path",
    "dir_path",
    "directory",
    "paths",
    "include",
];
/// Arguments that say where a command runs.
const DIRECTORIES: [&str; 3] = ["dir_path", "directory", "workdir"];
/// Programs that read what to do from whoever types, where nothing says it.
const PROMPTS: [&str; 24] = [
    "bash", "bc", "dash", "fish", "gdb", "ghci", "irb", "ksh", "lua", "mysql", "nc", "node",
    "perl", "php", "psql", "python", "python3", "ruby", "screen", "sh", "sqlite3", "telnet",
    "tmux", "zsh",
];
/// Most links that are followed, as on Linux.
const MAX_LINKS: usize = 40;
/// Largest file that is looked at, in bytes.
const MAX_SEEN: u64 = 256 * 1024;

/// What a call would do.
pub fn plan(
    agent: ExternalAgent,
    kind: ToolKind,
    context: &ToolContext<'_>,
    args: &Value,
) -> Result<Plan, PrepareError> {
    let draft = Draft::new(agent, kind, context);
    match kind {
        ToolKind::Shell => draft.shell(args),
        ToolKind::Read | ToolKind::Find => draft.reading(kind, args),
        ToolKind::Web => Ok(draft.web(args)),
        ToolKind::Own => Ok(draft.done(Preview::None, [RiskReason::StaysInAgent])),
        ToolKind::Write => draft.write(args),
        ToolKind::Edit => draft.edit(args),
        ToolKind::Notebook => draft.notebook(args),
        ToolKind::Patch => draft.patch(args),
        ToolKind::Question => {
            let preview = questions(args).map_or(Preview::None, |text| Preview::Text { text });
            Ok(draft.done(preview, [RiskReason::AsksPerson]))
        }
        ToolKind::Plan => {
            let plan = text(args, "plan").map(str::to_owned);
            let preview = plan.map_or(Preview::None, |text| Preview::Text { text });
            Ok(draft.done(preview, [RiskReason::EndsPlanning]))
        }
        ToolKind::Unknown => Ok(draft.done(Preview::None, [RiskReason::Unclassified])),
    }
}

/// A path of a call.
struct Place {
    /// Where it leads once links are followed, as far as this machine has it. Some programs take `..` away before, and
    /// others after they follow a link.
    real: [PathBuf; 2],
    /// As seen from the agent's directory; what lies elsewhere as it is given.
    name: String,
    /// What is there, where this machine has it and it lies in the directory.
    found: Option<GuardedPath>,
}

/// A plan that grows.
struct Draft {
    agent: ExternalAgent,
    plan: Plan,
    directory: PathBuf,
    hidden: Guard,
    /// Looks below the directory; none = it is not on this machine.
    guard: Option<Guard>,
}

impl Draft {
    fn new(agent: ExternalAgent, kind: ToolKind, context: &ToolContext<'_>) -> Self {
        let directory = context.workspace.clone();
        let real = directory.canonicalize().ok().filter(|real| real.is_dir());
        let cwd = directory.to_string_lossy().into_owned();
        Self {
            agent,
            plan: Plan {
                facts: PlanFacts {
                    cwd: Some(cwd),
                    sandbox: Some(format!(
                        "none of Leverframe's: {} runs it, and Leverframe only answers",
                        agent.product()
                    )),
                    ..PlanFacts::default()
                },
                ..Plan::new(kind.access(), Vec::new())
            },
            directory,
            hidden: Guard::new(context),
            guard: real.map(|real| Guard::of(real, context.hidden.clone())),
        }
    }

    fn done(mut self, preview: Preview, reasons: impl IntoIterator<Item = RiskReason>) -> Plan {
        self.plan.preview = preview;
        for reason in reasons {
            add(&mut self.plan.risk_reasons, reason);
        }
        self.plan
    }

    fn shell(mut self, args: &Value) -> Result<Plan, PrepareError> {
        let command = needed(args, "command")?;
        if let Some(given) = DIRECTORIES.iter().find_map(|field| text(args, field)) {
            let cwd = plain(&self.directory.join(given));
            self.plan.facts.cwd = Some(cwd.to_string_lossy().into_owned());
        }
        if self.agent == ExternalAgent::Codex
            && let Some(program) = prompts(command)
        {
            add(
                &mut self.plan.risk_reasons,
                RiskReason::HiddenCode(program.to_owned()),
            );
            self.plan.always_asks = Some(format!("Codex types into `{program}` without asking"));
        }
        // What the words of the command say is added where those of our own shells are.
        self.plan.facts.executable = Some("bash".to_owned());
        let reason = if script_only_reads(command) {
            RiskReason::OnlyReadsElsewhere
        } else if simple_commands(command).is_none() {
            RiskReason::ShellScript
        } else {
            RiskReason::ChangesFiles
        };
        let preview = Preview::Text {
            text: command.to_owned(),
        };
        Ok(self.done(preview, [reason]))
    }

    fn reading(mut self, kind: ToolKind, args: &Value) -> Result<Plan, PrepareError> {
        let mut given = paths_of(args);
        // A pattern of names can lead out of the directory as a path can.
        let pattern = text(args, "pattern").filter(|_| kind == ToolKind::Find);
        given.extend(pattern.filter(|pattern| is_way_out(pattern)));
        if given.is_empty() {
            given.push(".");
        }
        for given in given {
            let Place { real, .. } = self.place(given)?;
            let is_above = real.iter().any(|real| self.hidden.hides_below(real));
            if kind == ToolKind::Read && is_above {
                self.plan.always_asks =
                    Some("it can read what belongs to Leverframe, which lies below".to_owned());
            }
        }
        // Which files are searched, as a pattern of their names.
        let glob = text(args, "glob");
        if let Some(glob) = glob.filter(|glob| is_way_out(glob)) {
            self.place(glob)?;
        }
        for pattern in glob.into_iter().chain(text(args, "include")) {
            if names_credentials(pattern) {
                let reason = RiskReason::CredentialFile(pattern.to_owned());
                add(&mut self.plan.risk_reasons, reason);
            }
        }
        let mut reasons = self.plan.risk_reasons.iter();
        if reasons.any(|reason| matches!(reason, RiskReason::CredentialFile(_))) {
            self.plan.always_asks = Some("it reads what may be credentials".to_owned());
        }
        let mut reasons = self.plan.risk_reasons.iter();
        let is_outside = reasons.any(|reason| matches!(reason, RiskReason::Outside(_)));
        let inside = (!is_outside).then_some(RiskReason::ReadsWorkspace);
        Ok(self.done(Preview::None, inside))
    }

    fn web(mut self, args: &Value) -> Plan {
        let address = text(args, "url").and_then(|given| url::parse(given).ok());
        let host = address.and_then(|address| address.host_str().map(str::to_ascii_lowercase));
        self.plan.facts.host.clone_from(&host);
        match host {
            Some(host) => self.done(
                Preview::None,
                [
                    RiskReason::ReadsHost(host.clone()),
                    RiskReason::UnlistedHost(host),
                ],
            ),
            None => self.done(Preview::None, [RiskReason::ReadsHost("the web".to_owned())]),
        }
    }

    fn write(mut self, args: &Value) -> Result<Plan, PrepareError> {
        let (path, content) = (needed(args, "file_path")?, needed(args, "content")?);
        let (name, before) = self.written(path)?;
        let unified = of_write(&name, content, &before);
        let reason = match &before {
            Before::Missing => RiskReason::CreatesFile,
            Before::There(version) => RiskReason::Overwrites(version.size),
            Before::Unseen => RiskReason::UnseenFile,
        };
        Ok(self.done(
            Preview::Diff {
                path: name,
                unified,
            },
            [reason],
        ))
    }

    fn edit(mut self, args: &Value) -> Result<Plan, PrepareError> {
        let path = needed(args, "file_path")?;
        let list = args.get("edits").and_then(Value::as_array);
        let parts: Vec<&Value> = list.map_or_else(|| vec![args], |list| list.iter().collect());
        let mut edits = Vec::with_capacity(parts.len());
        for part in parts {
            let set = |field| part.get(field).and_then(Value::as_bool) == Some(true);
            edits.push(Edit {
                old: needed(part, "old_string")?,
                new: needed(part, "new_string")?,
                all: set("replace_all") || set("allow_multiple"),
            });
        }
        let (name, before) = self.written(path)?;
        let unified = of_edits(&name, &edits, &before);
        let reason = match &before {
            Before::Missing => RiskReason::CreatesFile,
            Before::There(version) => RiskReason::Edits(version.size),
            Before::Unseen => RiskReason::UnseenFile,
        };
        Ok(self.done(
            Preview::Diff {
                path: name,
                unified,
            },
            [reason],
        ))
    }

    fn notebook(mut self, args: &Value) -> Result<Plan, PrepareError> {
        self.written(needed(args, "notebook_path")?)?;
        Ok(self.done(Preview::None, [RiskReason::UnseenFile]))
    }

    fn patch(mut self, args: &Value) -> Result<Plan, PrepareError> {
        let patch = needed(args, "command")?;
        let Ok(files) = patch::parse(patch) else {
            let text = patch.to_owned();
            return Ok(self.done(Preview::Text { text }, [RiskReason::Unclassified]));
        };
        let mut unified = String::new();
        let mut reasons = Vec::new();
        let mut names = Vec::new();
        for file in &files {
            let path = match file {
                FilePatch::Add { path, .. }
                | FilePatch::Delete { path }
                | FilePatch::Update { path, .. } => path,
            };
            let (name, before) = self.written(path)?;
            if let FilePatch::Update { to: Some(to), .. } = file {
                self.written(to)?;
                add(&mut reasons, RiskReason::MovesFile);
            }
            let size = match &before {
                Before::There(version) => Some(version.size),
                Before::Missing | Before::Unseen => None,
            };
            reasons.push(match (file, size) {
                (FilePatch::Add { .. }, None) => RiskReason::CreatesFile,
                (FilePatch::Add { .. }, Some(size)) => RiskReason::Overwrites(size),
                (FilePatch::Delete { .. }, Some(size)) => RiskReason::Deletes(size),
                (FilePatch::Delete { .. }, None) => RiskReason::DeletesFiles(name.clone()),
                (FilePatch::Update { .. }, Some(size)) => RiskReason::Edits(size),
                (FilePatch::Update { .. }, None) => RiskReason::UnseenFile,
            });
            unified.push_str(&of_patch(file, &before));
            names.push(name);
        }
        let path = match names.as_slice() {
            [] | [_] => names.concat(),
            [first, others @ ..] => format!("{first} and {} more", others.len()),
        };
        Ok(self.done(Preview::Diff { path, unified }, reasons))
    }

    /// A path that a call names: where it leads, and what its name says about the risk.
    fn place(&mut self, given: &str) -> Result<Place, PrepareError> {
        if given.contains('\0') {
            return Err(PrepareError::Invalid(
                "a path contains a NUL character".to_owned(),
            ));
        }
        let absolute = plain(&self.directory.join(given));
        let real = [&absolute, &self.directory.join(given)].map(|path| follow_links(path));
        if self.hidden.is_hidden(&absolute) || real.iter().any(|real| self.hidden.is_hidden(real)) {
            return Err(PrepareError::Guarded(format!(
                "`{given}` belongs to Leverframe: no agent reads or writes there"
            )));
        }
        let below = absolute.strip_prefix(plain(&self.directory)).ok();
        // `~` is another place to most agents.
        let below = below.filter(|_| !given.starts_with('~'));
        let found = match (below.and_then(Path::to_str), &self.guard) {
            (Some(""), _) => Ok((".".to_owned(), None)),
            (Some(below), Some(guard)) => match guard.resolve(below) {
                Ok(found) => Ok((found.relative(), Some(found))),
                // Nothing is known of what is there; its name still lies in the directory.
                Err(PrepareError::Invalid(_)) => Ok((below.to_owned(), None)),
                Err(PrepareError::Guarded(_)) => Err(below.to_owned()),
            },
            (Some(below), None) => Ok((below.to_owned(), None)),
            (None, _) if given.starts_with('~') => Err(given.to_owned()),
            (None, _) => Err(absolute.to_string_lossy().into_owned()),
        };
        let targets = real.each_ref().map(|real| self.seen_from_here(real));
        let reasons = &mut self.plan.risk_reasons;
        let (name, found) = match found {
            Ok(found) => found,
            Err(name) => {
                add(reasons, RiskReason::Outside(name.clone()));
                (name, None)
            }
        };
        let targets = targets.iter().filter_map(|target| target.to_str());
        for named in [given, &name].into_iter().chain(targets) {
            if let Some(reason) = of_path(named) {
                add(reasons, reason);
            }
        }
        if let Some(warning) = scripts::warning(given) {
            add(reasons, RiskReason::MixedScripts(warning));
        }
        let facts = &mut self.plan.facts;
        facts.paths.push(name.clone());
        facts.path = Some(name.clone()).filter(|_| facts.paths.len() == 1);
        Ok(Place { real, name, found })
    }

    /// A real path as seen from the agent's directory; what lies elsewhere as it is.
    fn seen_from_here<'p>(&self, real: &'p Path) -> &'p Path {
        let here = follow_links(&plain(&self.directory));
        real.strip_prefix(here).unwrap_or(real)
    }

    /// A path that a call writes: its name, and what is there now.
    fn written(&mut self, given: &str) -> Result<(String, Before), PrepareError> {
        let Place { real, name, found } = self.place(given)?;
        let parts = |path: &Path| path.iter().map(OsString::from).collect::<Vec<OsString>>();
        // A link is written through: what it leads to counts as well.
        let targets = real.iter().map(|real| self.seen_from_here(real));
        let is_program = targets
            .chain([Path::new(&name)])
            .any(|path| runs_programs(&parts(path)));
        if is_program {
            self.plan.always_asks = Some(format!(
                "`{name}` makes git, an editor, a shell or an agent run programs"
            ));
        }
        let before = match (&self.guard, found) {
            (Some(guard), Some(found)) => seen(guard, &found),
            _ => Before::Unseen,
        };
        if let Before::There(FileVersion { restorable, .. }) = &before {
            add(
                &mut self.plan.risk_reasons,
                match restorable {
                    Ok(()) => RiskReason::Reversible,
                    Err(why) => RiskReason::Irreversible(why),
                },
            );
        }
        Ok((name, before))
    }
}

/// Where a path leads once links are followed, also a link to what is not there yet. What this machine does not have stays
/// as it is given.
fn follow_links(absolute: &Path) -> PathBuf {
    let mut path = absolute.to_owned();
    for _ in 0..MAX_LINKS {
        if let Ok(real) = path.canonicalize() {
            return real;
        }
        let mut above = path.ancestors();
        let Some(above) = above.find(|above| above.symlink_metadata().is_ok()) else {
            return path;
        };
        // No `join` of nothing: it would add a slash, which only a directory takes.
        let rest = path.strip_prefix(above).ok();
        let rest = rest.filter(|rest| !rest.as_os_str().is_empty());
        let behind = |place: PathBuf| rest.map_or(place.clone(), |rest| place.join(rest));
        path = match (above.read_link(), above.parent(), above.canonicalize()) {
            (Ok(target), Some(parent), _) => behind(parent.join(target)),
            (_, _, Ok(real)) => return behind(real),
            (_, _, Err(_)) => return path,
        };
    }
    path
}

/// What a file holds, if it is one and small.
fn seen(guard: &Guard, path: &GuardedPath) -> Before {
    match path.kind {
        Kind::Missing => Before::Missing,
        Kind::Directory => Before::Unseen,
        Kind::File => {
            let size = path.absolute.symlink_metadata().map(|found| found.len());
            if size.is_ok_and(|size| size <= MAX_SEEN) {
                read(guard, path, MAX_SEEN).map_or(Before::Unseen, Before::There)
            } else {
                Before::Unseen
            }
        }
    }
}

/// A program of a command that takes what to do from whoever types; none = none that is known.
fn prompts(command: &str) -> Option<&'static str> {
    let commands = simple_commands(command)?;
    commands.iter().find_map(|argv| {
        let (program, arguments) = argv.split_first()?;
        let name = program.rsplit('/').next()?;
        if name == "ssh" {
            return Some("ssh");
        }
        let told = arguments.iter().any(|word| word != "-i" && word != "-l");
        PROMPTS
            .into_iter()
            .find(|prompt| *prompt == name)
            .filter(|_| !told)
    })
}

/// An argument that must be a text.
fn needed<'a>(args: &'a Value, field: &str) -> Result<&'a str, PrepareError> {
    text(args, field)
        .ok_or_else(|| PrepareError::Invalid(format!("`{field}` must be a text: it is not there")))
}

/// The files and directories that arguments name.
fn paths_of(args: &Value) -> Vec<&str> {
    let values = PATHS.iter().filter_map(|field| args.get(field));
    values
        .flat_map(|value| match value {
            Value::Array(items) => items.iter().filter_map(Value::as_str).collect(),
            other => Vec::from_iter(other.as_str()),
        })
        .collect()
}

/// Whether a pattern of names reaches beyond the directory, as it stands.
fn is_way_out(pattern: &str) -> bool {
    pattern.starts_with(['/', '~']) || pattern.split('/').any(|name| name == "..")
}

/// Whether a pattern of names is about files of credentials: `.env*`, `{a,.ssh/id_rsa}`.
fn names_credentials(pattern: &str) -> bool {
    pattern.split(['{', '}', ',']).any(|one| {
        let bare = one.trim_matches('*');
        [one, bare].into_iter().any(holds_credentials)
    })
}

/// Questions with their choices, as a text; none = they are not in the words that are known.
fn questions(args: &Value) -> Option<String> {
    let mut out = String::new();
    for question in args.get("questions")?.as_array()? {
        let several = question.get("multiSelect").and_then(Value::as_bool) == Some(true);
        let several = if several { " (several answers)" } else { "" };
        out.push_str(&format!("{}{several}\n", text(question, "question")?));
        let none = Vec::new();
        let options = question.get("options").and_then(Value::as_array);
        for (at, option) in options.unwrap_or(&none).iter().enumerate() {
            let label = option.as_str().or_else(|| text(option, "label"))?;
            let more = text(option, "description").map(|more| format!(": {more}"));
            out.push_str(&format!(
                "  {}. {label}{}\n",
                at + 1,
                more.unwrap_or_default()
            ));
        }
    }
    (!out.is_empty()).then_some(out)
}

/// The arguments that name files and directories, for rules: they compare places, not letters.
pub fn names_path(field: &str) -> bool {
    PATHS.contains(&field)
}
