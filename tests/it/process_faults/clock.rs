//! The wall clock jumps under a live daemon, and between two (I29).

use std::path::PathBuf;
use std::time::{Duration, Instant};

use leverframe::clock::{Clock, Day, Timestamp};
use leverframe::store::Store;
use serde_json::{Value, json};

use crate::process_faults::world::{engine, sound};
use crate::support::daemon::{Daemon, Home};
use crate::support::record;
use crate::support::world::{START, World, options, turn};

const DAY: i64 = 24 * 3600;

/// A home whose wall clock can be set.
struct Place {
    home: Home,
    offset: PathBuf,
}

impl Place {
    fn new() -> Self {
        let home = Home::new("");
        let offset = home.path().join("offset");
        Self { home, offset }
    }

    /// Sets the wall clock this many seconds off.
    fn jump(&self, seconds: i64) {
        // Whole at once, for a reader must not see half of it.
        let new = self.offset.with_extension("new");
        std::fs::write(&new, seconds.to_string()).expect("the offset");
        std::fs::rename(&new, &self.offset).expect("the offset");
    }

    fn daemon(&self) -> Daemon {
        let offset = self.offset.to_str().expect("UTF-8");
        self.home
            .daemon_with(&[("LEVERFRAME_CLOCK_OFFSET_FILE", offset)])
    }
}

async fn ask(daemon: &Daemon, file: &str) -> Value {
    let session = daemon.session().await;
    let call = json!({"path": file, "content": "x"});
    let text = format!("TOOL:write_file{call}\nSAY:done");
    let continuation = daemon.send(&session, &text).await;
    daemon.wait_state(&continuation, "awaiting_approval").await;
    let list = daemon.get("/v1/approvals?state=pending").await;
    list["items"]
        .as_array()
        .and_then(|items| {
            items
                .iter()
                .find(|item| item["continuation_id"] == continuation.as_str())
        })
        .expect("the approval")
        .clone()
}

fn at(value: &Value) -> Timestamp {
    serde_json::from_value(value.clone()).expect("a time")
}

fn clock_problems(status: &Value) -> usize {
    let problems = status["problems"].as_array().expect("a list");
    problems
        .iter()
        .filter(|text| {
            text.as_str()
                .is_some_and(|text| text.contains("system clock"))
        })
        .count()
}

#[tokio::test]
async fn a_day_forward_expires_what_is_due_and_nothing_else() {
    let place = Place::new();
    let mut daemon = place.daemon();
    let before = ask(&daemon, "before.txt").await;
    place.jump(DAY + 60);
    // An answer that comes now comes too late, whether or not the engine has looked at its deadlines since.
    let (status, _) = daemon.decide(&before, "approve").await;
    assert_eq!(status, 410);
    assert!(!place.home.workspace("api").join("before.txt").exists());
    // What is asked after the jump has its whole life before it.
    let after = ask(&daemon, "after.txt").await;
    let life = at(&after["expires_at"]).millis_since(at(&after["requested_at"]));
    // Its times are read one after the other.
    assert!((86_399_000..=86_400_000).contains(&life), "{life}");
    daemon
        .wait(
            &format!("/v1/approvals/{}", before["id"].as_str().expect("an id")),
            "expired",
            |body| body["state"] == "expired",
        )
        .await;
    assert_eq!(daemon.decide(&after, "approve").await.0, 200);
    let done = after["continuation_id"].as_str().expect("an id");
    daemon.wait_state(done, "completed").await;
    let expired = before["continuation_id"].as_str().expect("an id");
    let seen = daemon.get(&format!("/v1/continuations/{expired}")).await;
    assert_ne!(seen["state"], "awaiting_approval", "{seen:#}");
    assert_eq!(clock_problems(&engine(&daemon).await), 0);
    assert!(daemon.terminate().success());
    sound(&place.home).await;
    record::fault(
        "clock-forward",
        "wall clock +24 h under a live daemon",
        "a due approval expired (410), a later one keeps its whole lifetime; nothing else changed",
    );
}

#[tokio::test]
async fn a_day_back_extends_no_approval_and_is_said() {
    let place = Place::new();
    let mut daemon = place.daemon();
    let before = ask(&daemon, "before.txt").await;
    place.jump(-DAY);
    let after = ask(&daemon, "after.txt").await;
    assert!(
        at(&after["requested_at"]) >= at(&before["requested_at"]),
        "time ran backwards: {after:#}"
    );
    assert!(at(&after["expires_at"]) >= at(&before["expires_at"]));
    let same = daemon
        .get(&format!(
            "/v1/approvals/{}",
            before["id"].as_str().expect("an id")
        ))
        .await;
    assert_eq!(same["expires_at"], before["expires_at"]);
    let status = engine(&daemon).await;
    assert_eq!(clock_problems(&status), 1, "{status:#}");
    assert!(
        status["problems"][0]
            .as_str()
            .expect("text")
            .contains("24 h behind")
    );
    // Not the disk: it goes on.
    assert_eq!(daemon.request("GET", "/readyz", None).await.0, 200);
    assert_eq!(daemon.decide(&before, "approve").await.0, 200);
    let done = before["continuation_id"].as_str().expect("an id");
    daemon.wait_state(done, "completed").await;

    // The same over a restart: the database knows how late it was.
    assert!(daemon.terminate().success());
    let mut daemon = place.daemon();
    let status = engine(&daemon).await;
    assert!(at(&status["started_at"]) >= at(&after["requested_at"]));
    assert_eq!(clock_problems(&status), 1, "{status:#}");
    // Its real remaining time: a day after it was asked it is over, although the wall clock says otherwise.
    place.jump(60);
    assert_eq!(clock_problems(&engine(&daemon).await), 0);
    assert!(daemon.terminate().success());
    place.jump(DAY + 60);
    let mut daemon = place.daemon();
    place.jump(0);
    assert_eq!(daemon.decide(&after, "approve").await.0, 410);
    assert!(!place.home.workspace("api").join("after.txt").exists());
    assert!(daemon.terminate().success());
    sound(&place.home).await;
    record::fault(
        "clock-back",
        "wall clock −24 h under a live daemon and over a restart; +24 h and back again",
        "no time runs backwards, no approval lives longer, the Queue shows that the clock is wrong",
    );
}

#[tokio::test]
async fn a_boot_in_1970_works_and_says_so() {
    let place = Place::new();
    let now = Clock::System.now().as_millis() / 1000;
    // A fresh directory: there is nothing to go by.
    place.jump(5 - now);
    let mut daemon = place.daemon();
    let status = engine(&daemon).await;
    assert!(
        status["started_at"]
            .as_str()
            .expect("a time")
            .starts_with("1970-")
    );
    assert_eq!(clock_problems(&status), 1, "{status:#}");
    let approval = ask(&daemon, "early.txt").await;
    assert_eq!(daemon.decide(&approval, "approve").await.0, 200);
    let done = approval["continuation_id"].as_str().expect("an id");
    daemon.wait_state(done, "completed").await;
    // Then the network comes up and somebody sets the clock.
    place.jump(0);
    assert_eq!(clock_problems(&engine(&daemon).await), 0);
    let approval = ask(&daemon, "late.txt").await;
    assert!(daemon.terminate().success());
    // The next boot is in 1970 again: time goes on from the newest one stored.
    place.jump(5 - now);
    let mut daemon = place.daemon();
    let status = engine(&daemon).await;
    assert!(at(&status["started_at"]) >= at(&approval["requested_at"]));
    assert_eq!(clock_problems(&status), 1, "{status:#}");
    assert_eq!(daemon.decide(&approval, "approve").await.0, 200);
    assert!(daemon.terminate().success());
    sound(&place.home).await;
    record::fault(
        "clock-1970",
        "a boot in 1970 on a fresh directory and on one with a newer time",
        "the engine works, reports the wrong clock, and continues from the newest stored time",
    );
}

/// The store by itself: whatever clock it is given, no commit carries an earlier time than one before it.
#[tokio::test]
async fn no_commit_is_older_than_the_one_before() {
    let world = World::new().await;
    world.ok(turn("chat", Some("1"))).await;
    let newest = |world: &World| {
        let store = world.store.clone();
        async move {
            store
                .with_writer(|conn| {
                    conn.query_row(
                        "SELECT max(at), (SELECT at FROM events ORDER BY seq DESC) FROM events",
                        [],
                        |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?)),
                    )
                    .expect("events")
                })
                .await
                .expect("the writer")
        }
    };
    let (before, last) = newest(&world).await;
    assert_eq!(before, last);
    world.clock.advance_millis(-DAY * 1000);
    world.ok(turn("chat", Some("2"))).await;
    let (after, last) = newest(&world).await;
    assert_eq!(
        (after, last),
        (before, before),
        "an event is younger than its number says"
    );
    let dir = world.dir.clone();
    world.store.clone().close().await;
    let early = Clock::manual(START.plus_seconds(-30 * DAY));
    let opened = Store::open(options(&dir, &early)).expect("it opens");
    let world = world.restore_handle(opened);
    world.ok(turn("chat", Some("3"))).await;
    let (after, last) = newest(&world).await;
    assert!(after >= before && last == after);
    world.sound().await;
}

#[tokio::test]
async fn consoles_hear_of_midnight() {
    let place = Place::new();
    let daemon = place.daemon();
    let before = engine(&daemon).await;
    let mut stream = crate::support::daemon::client()
        .get(format!("{}/v1/events", daemon.base))
        .bearer_auth(&daemon.token)
        .send()
        .await
        .expect("the events");
    // Two seconds before the next day; the question makes the engine look at the clock.
    let now = Clock::System.now();
    let tomorrow = Day(Day::local(now).0 + 1);
    let midnight = tomorrow.begins().expect("a day");
    let left = i64::try_from(midnight.millis_since(now)).expect("a day") / 1000;
    place.jump(left - 2);
    ask(&daemon, "late.txt").await;
    let told = format!("\"today\":\"{tomorrow}\"");
    assert!(!before.to_string().contains(&told), "{before}");
    let mut text = String::new();
    let deadline = Instant::now() + Duration::from_secs(40);
    while !(text.contains("event: engine.state") && text.contains(&told)) {
        assert!(Instant::now() < deadline, "nobody said it: {text}");
        let piece = tokio::time::timeout(Duration::from_secs(40), stream.chunk()).await;
        let piece = piece.expect("an event").expect("the events");
        text.push_str(&String::from_utf8_lossy(
            &piece.expect("the stream goes on"),
        ));
    }
}
