//! What sessions keep between calls: one at a time, so many at most, and an end that the next call hears of.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use leverframe::protocol::enums::{InterpreterKind, InterpreterState};
use leverframe::protocol::ids::SessionId;
use leverframe::tools::interpreters::{InterpreterLimits, Interpreters, Lease};
use leverframe::tools::tool::{InterpreterTable as _, ToolHost};

const SHORT: Duration = Duration::from_millis(300);
const LONG: Duration = Duration::from_secs(600);

/// Counts those that were ended.
struct One(Arc<AtomicUsize>);

impl Drop for One {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

struct Host(bool);

#[async_trait::async_trait]
impl ToolHost for Host {
    fn progress(&self, _: &str) {}

    async fn ran_before(&self) -> bool {
        self.0
    }
}

fn table(most: usize, idle: Duration) -> Interpreters<One> {
    let limits = InterpreterLimits { most, idle };
    Interpreters::new(InterpreterKind::Bash, limits)
}

async fn eventually(is_so: impl Fn() -> bool) {
    let wait = async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), wait)
        .await
        .unwrap();
}

async fn started(
    table: &Interpreters<One>,
    session: SessionId,
    ended: &Arc<AtomicUsize>,
) -> Lease<One> {
    let mut lease = table.lock(session).await.unwrap();
    assert!(lease.interpreter.is_none());
    lease.start(One(Arc::clone(ended)), Some(7));
    lease
}

async fn why(table: &Interpreters<One>, session: SessionId) -> Option<String> {
    let lease = table.lock(session).await.unwrap();
    assert!(lease.interpreter.is_none());
    lease.why_new(&Host(true)).await
}

#[tokio::test]
async fn an_interpreter_is_kept_told_of_and_ended_when_idle() {
    let (table, session, ended) = (table(8, SHORT), SessionId::generate(), Arc::default());
    let mut lease = started(&table, session, &ended).await;
    lease.begin("make", false);
    assert_eq!(table.list()[0].state, InterpreterState::Running);
    assert!(table.try_lock(session).is_none(), "a call has it");
    drop(lease);
    let row = table.list().remove(0);
    assert_eq!((row.state, row.commands), (InterpreterState::Idle, 1));
    assert_eq!(row.command.as_deref(), Some("make"));
    // Using it begins the time anew.
    assert!(table.lock(session).await.unwrap().interpreter.is_some());
    assert_eq!(ended.load(Ordering::SeqCst), 0);
    eventually(|| ended.load(Ordering::SeqCst) == 1).await;
    assert!(table.list().is_empty());
    assert_eq!(
        why(&table, session).await.unwrap(),
        "the shell is new: it was idle for a minute; variables, functions, background jobs and the working directory \
         are lost"
    );
    // It is told until one is started.
    drop(started(&table, session, &ended).await);
    table.end(session, "a person ended it");
    let told = why(&table, session).await.unwrap();
    assert!(told.contains("a person ended it"), "{told}");
}

#[tokio::test]
async fn a_session_hears_of_a_restart_only_when_it_had_one() {
    let table = table(8, LONG);
    let lease = table.lock(SessionId::generate()).await.unwrap();
    assert_eq!(lease.why_new(&Host(false)).await, None);
    let told = lease.why_new(&Host(true)).await.unwrap();
    assert!(told.contains("the daemon was started again"), "{told}");
}

#[tokio::test]
async fn the_one_that_was_idle_longest_makes_room_and_none_that_runs_does() {
    let (table, ended) = (table(2, LONG), Arc::default());
    let sessions: [SessionId; 3] = std::array::from_fn(|_| SessionId::generate());
    drop(started(&table, sessions[0], &ended).await);
    drop(started(&table, sessions[1], &ended).await);
    let third = started(&table, sessions[2], &ended).await;
    assert_eq!(ended.load(Ordering::SeqCst), 1);
    let second = table.lock(sessions[1]).await.unwrap();
    assert!(second.interpreter.is_some());
    let problem = table.lock(sessions[0]).await.err().unwrap();
    assert!(problem.contains("2 sessions run commands"), "{problem}");
    drop((second, third));
    let told = why(&table, sessions[0]).await.unwrap();
    assert!(told.contains("another session needed its place"), "{told}");
}

#[tokio::test]
async fn one_that_is_ended_during_a_call_is_not_kept() {
    let (table, session, ended) = (table(8, LONG), SessionId::generate(), Arc::default());
    let mut lease = started(&table, session, &ended).await;
    assert!(table.end(session, "a person ended it"));
    assert!(lease.ended().is_cancelled() && table.list().is_empty());
    lease.begin("too late", false);
    assert!(table.list().is_empty());
    drop(lease);
    assert_eq!(ended.load(Ordering::SeqCst), 1);
    // A call that is given up takes its interpreter along.
    let mut lease = started(&table, session, &ended).await;
    let taken = lease.interpreter.take();
    drop(lease);
    drop(taken);
    assert!(table.list().is_empty());
    let told = why(&table, session).await.unwrap();
    assert!(told.contains("its last command was given up"), "{told}");
    // Dropping the table ends what is left.
    drop(started(&table, session, &ended).await);
    drop(table);
    assert_eq!(ended.load(Ordering::SeqCst), 3);
}
