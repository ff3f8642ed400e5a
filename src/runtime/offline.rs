//! What can be said about an installation that nothing runs on: doctor, audit, events and replay read the files themselves.
//!
//! Nothing is written, locked or recovered here.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use anyhow::Context as _;
use async_trait::async_trait;
use futures_util::{StreamExt as _, stream};

use crate::client::console_client::{ConsoleClient, EventStream};
use crate::clock::{Clock, Day, Timestamp};
use crate::config::environment::Environment;
use crate::config::flags::Flags;
use crate::config::layers;
use crate::config::paths::locate;
use crate::engine::backups;
use crate::engine::call_diff;
use crate::engine::costs;
use crate::engine::doctor::{self, Facts, Process, findings};
use crate::protocol::cache::CacheSummary;
use crate::protocol::costs::CostItem;
use crate::protocol::doctor::{AuditAnchor, AuditReport, AuditRow, CheckReport, Doctor, Finding};
use crate::protocol::enums::CostGrouping;
use crate::protocol::event::{Event, EventFilter, StreamItem};
use crate::protocol::memory::MemoryStats;
use crate::protocol::on_call::OnCallStatus;
use crate::protocol::problem::{Problem, ProblemKind};
use crate::protocol::request::{
    Answer, Envelope, GetCallDiff, GetContinuation, GetSession, GetTranscriptFrom,
    ListContinuations, ListSessions, ListSteps, Outcome, Query,
};
use crate::protocol::session::Usage;
use crate::protocol::snapshot::{AuditFilter, EngineStatus, Page, PageRequest, Snapshot};
use crate::protocol::token::Token;
use crate::store::error::StoreError;
use crate::store::files::look;
use crate::store::offline::Offline;
use crate::store::queries::continuations::ContinuationFilter;
use crate::store::queries::sessions::SessionFilter;
use crate::store::reader::Reader;
use crate::store::{EventsAfter, anchors, archive_files, audit_export, check};
use crate::text::redact::Redactor;
use crate::tools::python::executable;
use crate::tools::registry::BUILTIN_NAMES;
use crate::tools::sandbox::Sandbox;

/// Events read at once.
const EVENTS: u32 = 500;

/// Why a database was not looked at.
#[derive(Debug, thiserror::Error)]
pub enum OfflineError {
    /// There is none, or it is not one of ours with this program's schema. Nothing was touched.
    #[error("{0}")]
    Unusable(String),
    /// A process took the database over while it was read.
    #[error("a process started on {0} during the read: run this again")]
    Disturbed(PathBuf),
    /// Anything else.
    #[error("{0:#}")]
    Other(#[from] anyhow::Error),
}

impl From<StoreError> for OfflineError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::NotFound { .. }
            | StoreError::Foreign(_)
            | StoreError::Newer { .. }
            | StoreError::Older { .. } => Self::Unusable(error.to_string()),
            other => Self::Other(other.into()),
        }
    }
}

/// The database of a data directory.
pub fn database_of(data_dir: &Path) -> PathBuf {
    data_dir.join("leverframe.db")
}

fn verify(database: &Offline, path: &Path) -> Result<CheckReport, OfflineError> {
    let begun = std::time::Instant::now();
    let mut report = database.read(check::report)?;
    if database.was_disturbed() {
        return Err(OfflineError::Disturbed(path.to_owned()));
    }
    report.took_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
    Ok(report)
}

/// Verifies the rules of one database file, wherever it lies.
pub fn check_file(path: &Path) -> Result<Doctor, OfflineError> {
    let database = Offline::open(path)?;
    Ok(Doctor {
        at: Clock::System.now(),
        database: path.display().to_string(),
        live: false,
        findings: Vec::new(),
        check: Some(verify(&database, path)?),
    })
}

/// How the installation on a data directory is, that nothing runs on.
pub fn doctor(
    flags: &Flags,
    environment: &Environment,
    with_check: bool,
) -> Result<Doctor, OfflineError> {
    let (paths, _) = locate(
        flags.config.as_deref(),
        flags.data_dir.as_deref(),
        environment,
    )
    .context("finding the data directory")?;
    let path = database_of(&paths.data_dir);
    let settings = layers::load(flags, environment, BUILTIN_NAMES);
    let opened = match Offline::open(&path) {
        Err(StoreError::NotFound { .. }) if !with_check => None,
        Err(error) if with_check => return Err(error.into()),
        other => Some(other),
    };
    let check = match &opened {
        Some(Ok(database)) if with_check => Some(verify(database, &path)?),
        Some(_) | None => None,
    };
    let known = match &opened {
        Some(Ok(database)) => Some(database.read(|reader| {
            Ok(backups::doctor::Known {
                newest: reader.newest_backup()?,
                made: reader.made_backups()?,
            })
        })?),
        Some(Err(_)) | None => None,
    };
    let sandbox = Sandbox::probe();
    let files = look(&path);
    let facts = Facts {
        now: Clock::System.now(),
        settings: settings.as_ref().map_err(|_| faults(flags, environment)),
        data_dir: &paths.data_dir,
        files: &files,
        database: opened.map(|opened| {
            opened
                .and_then(|database| database.read(|reader| reader.database_facts()))
                .map_err(|error| error.to_string())
        }),
        process: Process {
            sandbox: (sandbox.report(), sandbox.is_confined()),
            channels: None,
            problems: Vec::new(),
            cache: None,
            python: settings
                .as_ref()
                .ok()
                .and_then(|settings| settings.python.as_ref().map(executable::find)),
        },
    };
    let mut found = findings(&facts);
    found.extend(
        known.map(|known| backups::doctor::stopped(settings.as_ref().ok(), &known, facts.now)),
    );
    Ok(Doctor {
        at: facts.now,
        database: path.display().to_string(),
        live: false,
        findings: found,
        check,
    })
}

fn faults(flags: &Flags, environment: &Environment) -> Vec<String> {
    let faults = layers::faults(flags, environment, BUILTIN_NAMES);
    faults.iter().map(ToString::to_string).collect()
}

/// How the configuration file stands that would be used, whatever runs.
pub fn configuration(flags: &Flags, environment: &Environment) -> Vec<Finding> {
    let settings = layers::load(flags, environment, BUILTIN_NAMES);
    let settings = settings.as_ref().map_err(|_| faults(flags, environment));
    doctor::configuration(&settings)
}

/// The named tokens of a data directory that nothing runs on; none where there is no database yet.
pub fn tokens(data_dir: &Path, revoked: bool) -> Result<Vec<Token>, OfflineError> {
    match Offline::open(&database_of(data_dir)) {
        Ok(database) => Ok(database.read(|reader| reader.tokens(revoked))?),
        Err(StoreError::NotFound { .. }) => Ok(Vec::new()),
        Err(error) => Err(error.into()),
    }
}

/// Rows of the audit of a database that nothing runs on.
pub struct OfflineAudit {
    database: Offline,
    data_dir: PathBuf,
}

impl OfflineAudit {
    /// Opens the audit of a data directory.
    pub fn open(data_dir: &Path) -> Result<Self, OfflineError> {
        Ok(Self {
            database: Offline::open(&database_of(data_dir))?,
            data_dir: data_dir.to_owned(),
        })
    }

    /// A page of rows.
    pub fn rows(
        &self,
        filter: &AuditFilter,
        page: &PageRequest,
    ) -> Result<Page<AuditRow>, OfflineError> {
        Ok(self
            .database
            .read(|reader| reader.audit_rows(filter, page))?)
    }

    /// What was spent from one day to another, both included, by model and by channel.
    pub fn spend(&self, from: Day, to: Day) -> Result<[Vec<CostItem>; 2], OfflineError> {
        let rows = self.database.read(|reader| reader.spend(from, to))?;
        // What the prompt cache saved takes the prices of a daemon.
        let by = |grouping| costs::sums(&rows, grouping, |_| None).0;
        Ok([by(CostGrouping::Model), by(CostGrouping::Channel)])
    }

    /// Walks the whole audit.
    pub fn verify(&self, given: Option<&AuditAnchor>) -> Result<AuditReport, OfflineError> {
        let noted = anchors::expected(&self.data_dir);
        Ok(self
            .database
            .read(|reader| reader.audit_report(&noted, given))?)
    }
}

/// Walks an exported audit, and says whether it contains `given`.
///
/// # Errors
/// When the file cannot be read, or is no export.
pub fn verify_export(file: &Path, given: Option<&AuditAnchor>) -> anyhow::Result<AuditReport> {
    let shown = file.display();
    let open = std::fs::File::open(file).with_context(|| format!("opening {shown}"))?;
    audit_export::walk(std::io::BufReader::new(open), given)
        .with_context(|| format!("{shown} is no export of an audit"))
}

/// Archived events of a data directory from a time on, in order, whatever runs on it.
pub fn archived_events(
    data_dir: &Path,
    since: Timestamp,
) -> Result<impl Iterator<Item = Result<Event, OfflineError>> + use<>, OfflineError> {
    let events = archive_files::events_since(data_dir, since)?;
    Ok(events.map(|event| event.map_err(OfflineError::from)))
}

/// A database that is read piece by piece.
struct Files {
    database: Mutex<Offline>,
    data_dir: PathBuf,
}

impl Files {
    fn read<T>(
        &self,
        query: impl FnOnce(&Reader<'_>) -> Result<T, StoreError>,
    ) -> Result<T, Problem> {
        let database = self
            .database
            .lock()
            .map_err(|_| Problem::internal("an earlier reading of the files failed"))?;
        let found = database.read(query).map_err(|error| match &error {
            StoreError::NotFound { .. } => {
                Problem::new(ProblemKind::NotFound, "not found", error.to_string())
            }
            _ => Problem::internal(error.to_string()),
        })?;
        if database.was_disturbed() {
            return Err(Problem::new(
                ProblemKind::Unavailable,
                "files in use",
                OfflineError::Disturbed(self.data_dir.clone()).to_string(),
            ));
        }
        Ok(found)
    }

    /// Stored events after a cursor, and the cursor to go on from; none = there are no more.
    fn events(&self, after: u64) -> (Vec<Result<StreamItem, Problem>>, Option<u64>) {
        match self.read(|reader| reader.events_at_rest(after, EVENTS)) {
            Ok(EventsAfter::Events(events)) => {
                let last = events.last().and_then(|event| event.seq);
                let items = events.into_iter().map(Arc::new).map(StreamItem::Event);
                (items.map(Ok).collect(), last)
            }
            Ok(EventsAfter::Reset) => (vec![Ok(StreamItem::Reset)], None),
            Err(problem) => (vec![Err(problem)], None),
        }
    }
}

/// Sessions and events of a database that nothing runs on, as a console asks for them. It sends nothing, and no event
/// is new.
pub struct OfflineSessions {
    files: Arc<Files>,
}

impl OfflineSessions {
    /// Opens the database of a data directory.
    pub fn open(data_dir: &Path) -> Result<Self, OfflineError> {
        Ok(Self {
            files: Arc::new(Files {
                database: Mutex::new(Offline::open(&database_of(data_dir))?),
                data_dir: data_dir.to_owned(),
            }),
        })
    }

    fn read<T>(
        &self,
        query: impl FnOnce(&Reader<'_>) -> Result<T, StoreError>,
    ) -> Result<T, Problem> {
        self.files.read(query)
    }

    /// What a console starts from: nothing runs, waits or is known of channels.
    pub(super) fn snapshot(seq: u64, instance: &str) -> Snapshot {
        let now = Clock::System.now();
        Snapshot {
            seq,
            at: now,
            sessions: Vec::new(),
            continuations: Vec::new(),
            approvals: Vec::new(),
            channels: Vec::new(),
            deliveries: Vec::new(),
            streams: Vec::new(),
            cache: CacheSummary::default(),
            memory: MemoryStats::default(),
            on_call_status: OnCallStatus::default(),
            leftovers: Vec::new(),
            engine: EngineStatus {
                version: env!("CARGO_PKG_VERSION").to_owned(),
                instance: instance.to_owned(),
                epoch: 0,
                held_since: None,
                held_reason: None,
                quarantine: false,
                model: String::new(),
                scripted: false,
                demo: false,
                sandbox: String::new(),
                tools: Vec::new(),
                today: Day::local(now),
                usage_today: Usage::default(),
                budget_today_usd: None,
                problems: Vec::new(),
                writable: true,
                draining: None,
                started_at: now,
            },
        }
    }
}

#[async_trait]
impl ConsoleClient for OfflineSessions {
    async fn submit(&self, _: Envelope) -> Result<Outcome, Problem> {
        Err(Problem::new(
            ProblemKind::Unavailable,
            "nothing runs",
            "no daemon runs, so nothing can change",
        ))
    }

    async fn query(&self, query: Query) -> Result<Answer, Problem> {
        match query {
            Query::GetSnapshot(_) => self
                .read(|reader| reader.max_seq())
                .map(|seq| Answer::GetSnapshot(Self::snapshot(seq, "nothing runs"))),
            Query::GetSession(GetSession { id }) => self
                .read(|reader| reader.session(id))
                .map(Answer::GetSession),
            Query::ListSessions(ListSessions {
                state,
                channel,
                prefix,
                page,
            }) => {
                let filter = SessionFilter {
                    state,
                    channel,
                    prefix,
                };
                self.read(|reader| reader.sessions(&filter, &page))
                    .map(Answer::ListSessions)
            }
            Query::ListContinuations(ListContinuations {
                state,
                session_id,
                page,
            }) => {
                let filter = ContinuationFilter { state, session_id };
                self.read(|reader| reader.continuations(&filter, &page))
                    .map(Answer::ListContinuations)
            }
            Query::GetContinuation(GetContinuation { id }) => self
                .read(|reader| reader.continuation(id))
                .map(Answer::GetContinuation),
            Query::ListSteps(ListSteps { continuation_id }) => self
                .read(|reader| reader.steps(continuation_id))
                .map(|steps| Answer::ListSteps(steps.into())),
            Query::GetCallDiff(GetCallDiff { tool_call_id }) => {
                let journal = self.files.data_dir.join("file_changes");
                self.read(|reader| {
                    let rows = reader.why_rows(tool_call_id)?;
                    Ok(call_diff::of_rows(&rows, &journal, &Redactor::default()))
                })
                .map(Answer::GetCallDiff)
            }
            Query::GetTranscriptFrom(GetTranscriptFrom {
                session_id,
                from,
                limit,
            }) => self
                .read(|reader| reader.transcript_from(session_id, from, limit))
                .map(Answer::GetTranscriptFrom),
            _ => Err(Problem::new(
                ProblemKind::Unavailable,
                "nothing runs",
                "start the daemon for this: without it, only sessions can be read",
            )),
        }
    }

    /// What is stored from where the filter begins, whatever else it says; then nothing ever comes.
    async fn events(&self, filter: EventFilter) -> Result<EventStream, Problem> {
        let first = self.read(|reader| match (filter.after, filter.since) {
            (Some(after), _) => Ok(after),
            (None, Some(since)) => reader.cursor_at(since),
            (None, None) => reader.max_seq(),
        })?;
        let files = Arc::clone(&self.files);
        let stored = stream::unfold(Some(first), move |after| {
            let read = after.map(|after| files.events(after));
            std::future::ready(read)
        });
        Ok(stored
            .flat_map(stream::iter)
            .chain(stream::pending())
            .boxed())
    }

    fn description(&self) -> String {
        format!("the files in {}", self.files.data_dir.display())
    }
}
