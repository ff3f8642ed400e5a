//! A homeserver that never gives what was missed in one room: the other rooms go on.

use std::sync::Arc;
use std::time::Duration;

use leverframe::channels::supervisor::{Backoff, spawn};
use leverframe::client::channel_port::ChannelPort;
use leverframe::protocol::enums::ChannelState;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::matrix::bridging::{bridge, options};
use crate::support::daemon::DEADLINE;
use crate::support::fake_http::{FakeHttp, Reply, Request};
use crate::telegram::port::TestPort;

const BOT: &str = "@lever:x";
const STUCK: &str = "!a:x";
const OTHER: &str = "!b:x";

fn says(event: &str, text: &str) -> Value {
    json!({ "type": "m.room.message", "sender": "@anna:x", "event_id": event, "origin_server_ts": 1,
        "content": { "msgtype": "m.text", "body": text } })
}

/// Two rooms have news, and what was missed in the first one can never be read.
fn answer(request: &Request) -> Reply {
    let room =
        |events: Value| json!({ "summary": { "m.joined_member_count": 3 }, "timeline": events });
    if request.path.ends_with("/whoami") {
        return Reply::Json(200, json!({ "user_id": BOT }));
    }
    if request.path.ends_with("/messages") {
        return Reply::Json(500, json!({ "errcode": "M_UNKNOWN", "error": "broken" }));
    }
    if !request.path.ends_with("/sync") {
        return Reply::Json(404, json!({ "errcode": "M_NOT_FOUND", "error": "nothing" }));
    }
    if request.query.contains("since=t1") {
        return Reply::Late(
            Duration::from_millis(500),
            200,
            json!({ "next_batch": "t1" }),
        );
    }
    let (next, first, other) = if request.query.contains("since=t0") {
        let first = json!({ "events": [says("$2", "newest")], "limited": true, "prev_batch": "p" });
        ("t1", first, json!({ "events": [says("$3", "elsewhere")] }))
    } else {
        ("t0", json!({ "events": [] }), json!({ "events": [] }))
    };
    let joined = json!({ STUCK: room(first), OTHER: room(other) });
    Reply::Json(
        200,
        json!({ "next_batch": next, "rooms": { "join": joined } }),
    )
}

#[tokio::test]
async fn a_room_whose_messages_never_come_holds_up_no_other_room_for_ever() {
    let http = FakeHttp::start(answer);
    let port = TestPort::new();
    let backoff = Backoff {
        floor: Duration::from_millis(20),
        ceiling: Duration::from_millis(50),
        stable_after: Duration::from_mins(1),
        stop_grace: Duration::from_secs(2),
    };
    let stop = CancellationToken::new();
    let task = spawn(
        Box::new(bridge(http.url(), "token", options())),
        Arc::clone(&port) as Arc<dyn ChannelPort>,
        backoff,
        stop.clone(),
    );
    port.wait_until("both rooms", |ledger| {
        ledger.texts() == ["newest", "elsewhere"]
    })
    .await;
    port.wait_until("the word on it", |ledger| {
        ledger.last_health().is_some_and(|health| {
            let detail = health.detail.as_deref().unwrap_or_default();
            health.state == ChannelState::Degraded
                && detail.contains(STUCK)
                && detail.contains("cannot be read")
        })
    })
    .await;
    let cursor = port.ledger().cursor.clone().unwrap_or_default();
    assert!(cursor.ends_with("t1"), "{cursor}");
    stop.cancel();
    tokio::time::timeout(DEADLINE, task).await.unwrap().unwrap();
}
