//! What was spent, over HTTP and through the remote client.

use leverframe::client::console_client::ConsoleClient as _;
use leverframe::client::remote::connection::{Limits, RemoteClient};
use leverframe::client::remote::target::Target;
use leverframe::clock::{Day, Timestamp};
use leverframe::protocol::costs::{BudgetUsage, CostItem, Costs};
use leverframe::protocol::enums::CostGrouping;
use leverframe::protocol::event::{BudgetLevel, EventBody};
use leverframe::protocol::request::{Answer, GetCosts, Query};
use serde_json::json;

use crate::api_http::fake::FakeClient;
use crate::api_http::server::{Server, unix};

fn item(name: &str) -> CostItem {
    CostItem {
        name: name.to_owned(),
        calls: 3,
        failed: 1,
        input_tokens: 100,
        output_tokens: 10,
        cached_input_tokens: 40,
        cache_write_tokens: 20,
        cost_usd: Some(0.25),
        unpriced_tokens: 7,
        prompt_cache_saved_usd: None,
    }
}

fn costs() -> (Query, Answer) {
    let (since, until) = (Day(20_000), Day(20_010));
    let query = Query::GetCosts(GetCosts {
        by: CostGrouping::Model,
        since: Some(since),
        until: Some(until),
    });
    let answer = Costs {
        by: CostGrouping::Model,
        since,
        until,
        items: vec![item("a/b")],
        total: item("total"),
        prices_as_of: "2026-11-21".to_owned(),
        budgets: vec![BudgetUsage {
            budget: "channel_cost".to_owned(),
            channel: Some("team".to_owned()),
            session_id: None,
            limit: 5.0,
            used: 1.25,
            reserved: 0.25,
            resets_at: Some(Timestamp(1_795_300_000_000)),
            percent: 25.0,
        }],
        more_sessions: 0,
    };
    (query, Answer::GetCosts(answer))
}

#[tokio::test]
async fn costs_are_asked_for_by_path_and_through_the_remote_client() {
    let fake = FakeClient::new();
    let (query, answer) = costs();
    let server = Server::start(fake.clone()).await;
    fake.knows(Ok(answer.clone()));
    let line = "GET /v1/costs?by=model&since=2024-10-04&until=2024-10-14";
    let reply = server.call(line, "").await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    assert_eq!(*fake.queries.lock().unwrap().last().unwrap(), query);
    assert_eq!(
        reply.json(),
        serde_json::to_value(&answer).unwrap()["value"]
    );
    assert_eq!(reply.json()["since"], "2024-10-04");
    // Not known is null, never 0.
    assert_eq!(reply.json()["total"]["prompt_cache_saved_usd"], json!(null));
    for (given, word) in [
        ("by=person", "person"),
        ("since=2024-13-01", "since"),
        ("until=x", "until"),
    ] {
        let reply = server.call(&format!("GET /v1/costs?{given}"), "").await;
        assert_eq!(reply.status, 400, "{given}: {}", reply.body);
        assert!(reply.body.contains(word), "{}", reply.body);
    }

    let (_dir, path, _shutdown, _serving) = unix(fake.clone()).await;
    let remote = RemoteClient::new(Target::Unix(path), Limits::default()).unwrap();
    fake.knows(Ok(answer.clone()));
    assert_eq!(remote.query(query.clone()).await.unwrap(), answer);
}

#[test]
fn an_event_of_an_earlier_version_says_that_a_budget_was_reached() {
    let body: EventBody =
        serde_json::from_value(json!({"kind": "budget.reached", "budget": "tokens"})).unwrap();
    let EventBody::BudgetReached { level, limit, .. } = body else {
        panic!("{body:?}");
    };
    assert_eq!((level, limit), (BudgetLevel::Reached, None));
}
