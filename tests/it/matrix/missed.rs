//! A long absence, at a homeserver of the test: thousands of events wait, and pages of them are read one by one.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use leverframe::protocol::enums::ChannelState;
use serde_json::{Value, json};

use crate::matrix::bridging::{Running, run};
use crate::support::fake_http::{FakeHttp, Reply, Request};
use crate::support::record::fault;
use crate::telegram::port::TestPort;

const BOT: &str = "@lever:x";
const ANNA: &str = "@anna:x";
const BEN: &str = "@ben:x";
const ROOM: &str = "!ops:x";
/// Events that a sync gives by itself.
const TIMELINE: usize = 50;
/// What a week away leaves.
const WEEK: usize = 10_000;

/// A page that was asked for.
struct Asked {
    from: usize,
    /// Items that were stored by then.
    stored: usize,
    at: Instant,
}

/// One room. A token is the number of events before it.
#[derive(Default)]
struct State {
    events: Vec<Value>,
    /// Syncs bring nothing new.
    is_silent: bool,
    pages: Vec<Asked>,
    /// The page with this number is refused once with 429.
    limited: Option<usize>,
    given: BTreeSet<usize>,
    /// Requests that no correct client makes.
    violations: Vec<String>,
}

impl State {
    fn answer(&mut self, request: &Request, stored: usize) -> Reply {
        let query: BTreeMap<&str, &str> = request
            .query
            .split('&')
            .filter_map(|pair| pair.split_once('='))
            .collect();
        let token =
            |name: &str| -> Option<usize> { query.get(name)?.strip_prefix('t')?.parse().ok() };
        if request.path.ends_with("/whoami") {
            return Reply::Json(200, json!({ "user_id": BOT }));
        }
        if request.path.ends_with("/sync") {
            return self.sync(token("since"));
        }
        if request.path.ends_with("/messages") {
            let (Some(from), Some(to), Some(&"b")) = (token("from"), token("to"), query.get("dir"))
            else {
                self.violations.push(request.query.clone());
                return Reply::Json(400, json!({ "errcode": "M_UNKNOWN" }));
            };
            return self.page(from, to, stored);
        }
        Reply::Json(404, json!({ "errcode": "M_NOT_FOUND", "error": "nothing" }))
    }

    fn sync(&mut self, since: Option<usize>) -> Reply {
        let end = self.events.len();
        self.given.insert(end);
        let next = format!("t{end}");
        let Some(since) = since else {
            let room =
                json!({ "summary": { "m.joined_member_count": 3 }, "timeline": { "events": [] } });
            return Reply::Json(
                200,
                json!({ "next_batch": next, "rooms": { "join": { ROOM: room } } }),
            );
        };
        if since == end || self.is_silent {
            let none = json!({ "next_batch": format!("t{since}") });
            return Reply::Late(Duration::from_millis(500), 200, none);
        }
        let start = since.max(end.saturating_sub(TIMELINE));
        self.given.insert(start);
        let section = json!({
            "state": { "events": self.members(start, start..end) },
            "timeline": { "events": self.events[start..end], "limited": start > since,
                          "prev_batch": format!("t{start}") },
        });
        Reply::Json(
            200,
            json!({ "next_batch": next, "rooms": { "join": { ROOM: section } } }),
        )
    }

    fn page(&mut self, from: usize, to: usize, stored: usize) -> Reply {
        if !self.given.contains(&from) {
            self.violations.push(format!("nobody gave t{from}"));
        }
        self.pages.push(Asked {
            from,
            stored,
            at: Instant::now(),
        });
        if self.limited == Some(self.pages.len()) {
            let words =
                json!({ "errcode": "M_LIMIT_EXCEEDED", "error": "slow", "retry_after_ms": 1_200 });
            return Reply::Json(429, words);
        }
        let start = to.max(from.saturating_sub(100));
        let mut chunk = self.events[start..from].to_vec();
        chunk.reverse();
        let mut answer = json!({
            "start": format!("t{from}"), "chunk": chunk, "state": self.members(from, start..from),
        });
        if start > to {
            self.given.insert(start);
            answer["end"] = json!(format!("t{start}"));
        }
        Reply::Json(200, answer)
    }

    /// How those who wrote in a span were called at a moment.
    fn members(&self, at: usize, span: std::ops::Range<usize>) -> Vec<Value> {
        let senders: BTreeSet<&str> = self.events[span]
            .iter()
            .filter_map(|event| event["sender"].as_str())
            .collect();
        let newest = |user: &str| {
            let mut before = self.events[..at].iter();
            before.rfind(|event| event["state_key"] == user).cloned()
        };
        senders.into_iter().filter_map(newest).collect()
    }
}

struct Homeserver {
    http: FakeHttp,
    state: Arc<Mutex<State>>,
}

impl Homeserver {
    fn start(port: &Arc<TestPort>) -> Self {
        let state = Arc::new(Mutex::new(State::default()));
        let (serving, port) = (Arc::clone(&state), Arc::clone(port));
        let http = FakeHttp::start(move |request| {
            let stored = port.ledger().inbox.len();
            serving.lock().unwrap().answer(request, stored)
        });
        Self { http, state }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    fn add(&self, mut event: Value) {
        let mut state = self.state();
        event["event_id"] = json!(format!("$e{}", state.events.len()));
        event["origin_server_ts"] = json!(state.events.len());
        state.events.push(event);
    }

    fn says(&self, user: &str, text: &str) {
        self.add(json!({ "type": "m.room.message", "sender": user,
            "content": { "msgtype": "m.text", "body": text } }));
    }

    fn is_called(&self, user: &str, name: &str) {
        self.add(
            json!({ "type": "m.room.member", "sender": user, "state_key": user,
            "content": { "membership": "join", "displayname": name },
            "unsigned": { "prev_content": { "membership": "join" } } }),
        );
    }
}

/// A bridge that has heard one message.
async fn known(server: &Homeserver, port: &Arc<TestPort>) -> Running {
    let running = run(server.http.url(), "token", port);
    port.wait_until("a position", |ledger| ledger.cursor.is_some())
        .await;
    server.says(ANNA, "known");
    port.wait_until("known", |ledger| ledger.texts() == ["known"])
        .await;
    running
}

async fn all_of(port: &TestPort, count: usize) {
    // Each part has the whole time that a test waits.
    for part in 1..=4 {
        port.wait_until("a part of it", |ledger| {
            ledger.texts().len() >= count * part / 4
        })
        .await;
    }
}

#[tokio::test]
async fn a_week_of_messages_of_a_matrix_room_comes_in_once_and_in_order_page_by_page() {
    let port = TestPort::new();
    let server = Homeserver::start(&port);
    known(&server, &port).await.stop().await;
    for n in 0..WEEK {
        server.says(ANNA, &format!("m{n}"));
    }
    let before = port.ledger().cursor.clone();
    server.state().limited = Some(30);
    let running = run(server.http.url(), "token", &port);
    port.wait_until("a part of it", |ledger| ledger.inbox.len() >= WEEK / 3)
        .await;
    running.kill().await;
    let stored = port.ledger().texts().len();
    assert!(stored < WEEK, "it was killed in the middle");
    assert_eq!(port.ledger().cursor, before, "the position moved too early");
    {
        let state = server.state();
        let pages = (WEEK - TIMELINE).div_ceil(100);
        // The one that was refused was asked for once more.
        let rest = state.pages[30].at.duration_since(state.pages[29].at);
        assert_eq!(state.pages[29].from, state.pages[30].from);
        assert!(rest >= Duration::from_millis(1_200), "{rest:?}");
        let (back, forth) = state.pages.split_at(pages + 1);
        assert!(forth.len() > 20, "{} pages", forth.len());
        for (n, page) in forth.iter().enumerate() {
            // What was read is stored before more is asked for, but for the newest item, which waits for its position.
            assert!(page.stored >= 50 + 100 * n, "{n}: {}", page.stored);
            assert_eq!(page.from, back[back.len() - 2 - n].from, "the oldest first");
        }
    }

    let running = run(server.http.url(), "token", &port);
    all_of(&port, WEEK + 1).await;
    server.says(ANNA, "live");
    port.wait_until("live", |ledger| ledger.texts().len() == WEEK + 2)
        .await;
    port.wait_until("nothing is missed any more", |ledger| {
        ledger.last_health().is_some_and(|health| {
            health.detail.is_none() && health.state == ChannelState::Connected
        })
    })
    .await;
    running.stop().await;
    let mut expected = vec!["known".to_owned()];
    expected.extend((0..WEEK).map(|n| format!("m{n}")));
    expected.push("live".to_owned());
    assert_eq!(port.ledger().texts(), expected);
    // What was stored before the kill came again, and was known.
    assert_eq!(port.ledger().repeated as usize, stored - 1);
    let told: Vec<String> = port
        .ledger()
        .health
        .iter()
        .filter_map(|(health, _)| health.detail.clone())
        .collect();
    for words in ["0 of 500", "50 of 9950", "5050 of 9950"] {
        let words = format!("reading missed messages: {words}");
        assert!(told.contains(&words), "{words} is not in {told:?}");
    }
    assert_eq!(server.state().violations, Vec::<String>::new());
    fault(
        "matrix-week-away",
        "10 000 messages wait at a Matrix homeserver, one page is refused with 429, and a kill comes in the middle",
        "the engine stores all of them once, in order, page by page; the health counts them; the position moves after the last",
    );
}

#[tokio::test]
async fn a_name_that_changed_among_missed_messages_is_the_name_that_people_see() {
    let port = TestPort::new();
    let server = Homeserver::start(&port);
    server.is_called(ANNA, "Anna");
    server.is_called(BEN, "Ben");
    let running = known(&server, &port).await;
    server.state().is_silent = true;
    server.says(ANNA, "one");
    server.is_called(ANNA, "Countess");
    server.says(ANNA, "two");
    for n in 0..150 {
        server.says(BEN, &format!("talk {n}"));
    }
    // Of him the sync itself says the newest name.
    server.is_called(BEN, "Benjamin");
    server.says(BEN, "last");
    server.state().is_silent = false;
    port.wait_until("the last", |ledger| {
        ledger.texts().last().is_some_and(|text| text == "last")
    })
    .await;
    running.stop().await;
    let names: Vec<String> = port
        .ledger()
        .inbox
        .iter()
        .filter_map(|item| Some(item.sender.as_ref()?.display.clone()))
        .collect();
    let (anna, ben) = (
        |name: &str| format!("{name} ({ANNA})"),
        |name: &str| format!("{name} ({BEN})"),
    );
    assert_eq!(names[0], anna("Anna"));
    assert_eq!(names[2], anna("Countess"), "two");
    assert_eq!(names[3], ben("Benjamin"), "the first talk");
    assert_eq!(names.last(), Some(&ben("Benjamin")));
}
