//! Memories in a store whose clock stands still until it is moved, and everything that is known of them.

use leverframe::engine::core::Engine;
use leverframe::protocol::hygiene::{HygieneReport, HygieneRun, HygieneStatus};
use leverframe::protocol::ids::{HygieneRunId, MemoryId};
use leverframe::protocol::problem::Problem;
use leverframe::protocol::request::{
    Answer, Command, GetHygiene, Outcome, PreviewHygiene, Query, RunHygiene, UndoHygiene,
};
use leverframe::text::fold::fold;
use rusqlite::types::Value;
use rusqlite::{Connection, params};
use sha2::{Digest as _, Sha256};

use crate::support::world::{START, World, submit};

pub const DAY_MS: i64 = 24 * 3600 * 1000;
/// Words that texts are made of.
pub const WORDS: [&str; 4] = ["alpha", "beta", "gamma", "delta"];

/// A memory to be written, as it is in the table.
#[derive(Debug, Clone)]
pub struct Row {
    pub id: MemoryId,
    pub scope: &'static str,
    pub session: Option<[u8; 16]>,
    pub channel: Option<&'static str>,
    pub state: &'static str,
    pub text: String,
    pub confidence: f64,
    pub pinned: bool,
    pub uses: u64,
    pub created_at: i64,
    pub updated_at: i64,
    pub last_used_at: Option<i64>,
    pub expires_at: Option<i64>,
}

impl Row {
    /// A channel's fact that was written this many days before `now`, in milliseconds, and never used.
    pub fn old(now: i64, days: i64) -> Row {
        let at = now - days * DAY_MS;
        Row {
            id: MemoryId::generate(),
            scope: "channel",
            session: None,
            channel: Some("team"),
            state: "active",
            text: "alpha and beta".to_owned(),
            confidence: 1.0,
            pinned: false,
            uses: 0,
            created_at: at,
            updated_at: at,
            last_used_at: None,
            expires_at: None,
        }
    }

    pub fn insert(&self, conn: &Connection) {
        conn.prepare_cached(
            "INSERT INTO memories (id, scope, session_id, channel, kind, text, digest, author, author_id, confidence,
                pinned, state, uses, created_at, updated_at, last_used_at, expires_at, superseded_by)
             VALUES (?1, ?2, ?3, ?4, 'fact', ?5, ?14, 'user', 'telegram:1', ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?15)",
        )
        .unwrap()
        .execute(params![
            self.id.to_bytes(),
            self.scope,
            self.session,
            self.channel,
            self.text,
            self.confidence,
            self.pinned,
            self.state,
            self.uses,
            self.created_at,
            self.updated_at,
            self.last_used_at,
            self.expires_at,
            <[u8; 32]>::from(Sha256::digest(fold(&self.text))),
            // By one that is gone since: only that it was replaced counts here.
            (self.state == "superseded").then_some([7_u8; 16]),
        ])
        .unwrap();
    }
}

/// This many facts of a channel, each as many days old as `days` says of its number.
pub async fn insert(world: &World, count: i64, days: impl Fn(i64) -> i64 + Send + 'static) {
    let now = world.clock.now().as_millis();
    world
        .store
        .with_writer(move |conn| {
            conn.execute_batch("BEGIN").unwrap();
            for n in 0..count {
                Row::old(now, days(n)).insert(conn);
            }
            conn.execute_batch("COMMIT").unwrap();
        })
        .await
        .unwrap();
}

/// Everything there is of memories: rows, embeddings, and what each word finds.
#[derive(Debug, Clone, PartialEq)]
pub struct Everything {
    pub rows: Vec<Vec<Value>>,
    pub vectors: Vec<Vec<Value>>,
    pub found: Vec<Vec<Value>>,
    pub indexed: Vec<Vec<Value>>,
}

fn values(conn: &Connection, query: &str) -> Vec<Vec<Value>> {
    let mut statement = conn.prepare(query).unwrap();
    let columns = statement.column_count();
    statement
        .query_map([], |row| (0..columns).map(|at| row.get(at)).collect())
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap()
}

pub fn everything_of(conn: &Connection) -> Everything {
    let found = WORDS.iter().flat_map(|word| {
        let query = format!(
            "SELECT '{word}', rowid, rank FROM memory_fts WHERE memory_fts MATCH '{word}' ORDER BY rowid"
        );
        values(conn, &query)
    });
    Everything {
        rows: values(conn, "SELECT * FROM memories ORDER BY position"),
        vectors: values(conn, "SELECT * FROM memory_vectors ORDER BY memory_id"),
        found: found.collect(),
        indexed: values(conn, "SELECT id FROM memory_fts_docsize ORDER BY id"),
    }
}

pub async fn everything(world: &World) -> Everything {
    world.store.with_writer(everything_of).await.unwrap()
}

/// An engine with this `[memory.hygiene]`, that does nothing but what it is told.
pub fn engine(world: &World, config: &str) -> Engine {
    world.engine(&format!("[memory.hygiene]\n{config}"))
}

async fn command(engine: &Engine, command: Command) -> Result<HygieneRun, Problem> {
    match submit(engine, command).await? {
        Outcome::RunHygiene(run) | Outcome::UndoHygiene(run) => Ok(run),
        other => panic!("{other:?}"),
    }
}

pub async fn tidy(engine: &Engine) -> Result<HygieneRun, Problem> {
    command(engine, Command::RunHygiene(RunHygiene { yes: false })).await
}

pub async fn tidy_anyway(engine: &Engine) -> HygieneRun {
    command(engine, Command::RunHygiene(RunHygiene { yes: true }))
        .await
        .unwrap()
}

pub async fn undo(engine: &Engine, id: HygieneRunId) -> Result<HygieneRun, Problem> {
    command(engine, Command::UndoHygiene(UndoHygiene { id })).await
}

pub async fn preview(engine: &Engine) -> HygieneReport {
    match engine
        .answer(Query::PreviewHygiene(PreviewHygiene {}))
        .await
    {
        Ok(Answer::PreviewHygiene(report)) => report,
        other => panic!("{other:?}"),
    }
}

pub async fn status(engine: &Engine) -> HygieneStatus {
    match engine.answer(Query::GetHygiene(GetHygiene {})).await {
        Ok(Answer::GetHygiene(status)) => status,
        other => panic!("{other:?}"),
    }
}

/// The time at which a world begins, in milliseconds.
pub fn start() -> i64 {
    START.as_millis()
}
