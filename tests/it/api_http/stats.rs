//! Statistics over HTTP, as JSON and as CSV.

use leverframe::protocol::enums::{StatsGrouping, StatsStep};
use leverframe::protocol::request::{Answer, GetStats, Query};

use crate::api_http::fake::FakeClient;
use crate::api_http::samples_stats::{query, stats};
use crate::api_http::server::Server;

#[tokio::test]
async fn statistics_are_json_or_csv_as_the_caller_wants() {
    let fake = FakeClient::new();
    let server = Server::start(fake.clone()).await;
    let (asked, answer) = query();
    let Query::GetStats(GetStats { since, until, .. }) = &asked else {
        panic!("{asked:?}");
    };
    let path = format!(
        "/v1/stats?since={}&until={}&step=hour&by=channel",
        since.unwrap(),
        until.unwrap()
    );
    fake.knows(Ok(answer.clone()));
    let reply = server.call(&format!("GET {path}"), "").await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    assert_eq!(*fake.queries.lock().unwrap().last().unwrap(), asked);
    let expected = serde_json::to_value(&answer).unwrap();
    assert_eq!(reply.json(), expected["value"]);
    // Not known is null, never 0.
    assert!(reply.json()["groups"][0]["points"][0]["turns"].is_null());

    let mut tables = Vec::new();
    for (line, accept) in [
        (format!("GET {path}&format=csv"), "Accept: application/json"),
        (format!("GET {path}"), "Accept: text/csv"),
        (
            format!("GET {path}"),
            "Accept: text/csv;q=0.9, application/json;q=0.1",
        ),
    ] {
        fake.knows(Ok(answer.clone()));
        let reply = server.call_with(&line, &[accept], "").await;
        assert_eq!(reply.status, 200, "{}", reply.body);
        assert!(reply.head.contains("text/csv"), "{}", reply.head);
        tables.push(reply.body);
    }
    assert_eq!(tables[0], tables[1]);
    assert_eq!(tables[0], tables[2]);
    for (line, accept) in [
        (format!("GET {path}"), "Accept: */*"),
        (format!("GET {path}"), "Accept: application/json, text/csv"),
        (format!("GET {path}&format=json"), "Accept: text/csv"),
    ] {
        fake.knows(Ok(answer.clone()));
        let reply = server.call_with(&line, &[accept], "").await;
        assert!(reply.head.contains("application/json"), "{}", reply.head);
    }

    fake.knows(Ok(answer));
    server.call("GET /v1/stats", "").await;
    let usual = GetStats {
        since: None,
        until: None,
        step: StatsStep::Day,
        by: StatsGrouping::All,
    };
    assert_eq!(
        *fake.queries.lock().unwrap().last().unwrap(),
        Query::GetStats(usual)
    );
    for (given, word) in [
        ("by=colour", "colour"),
        ("step=minute", "minute"),
        ("format=xml", "xml"),
        ("since=yesterday", "since"),
        ("steps=day", "steps"),
    ] {
        let reply = server.call(&format!("GET /v1/stats?{given}"), "").await;
        assert_eq!(reply.status, 400, "{given}: {}", reply.body);
        assert!(reply.body.contains(word), "{}", reply.body);
    }
}

#[tokio::test]
async fn no_name_becomes_a_formula_or_another_cell() {
    let fake = FakeClient::new();
    let server = Server::start(fake.clone()).await;
    for (name, cell) in [
        ("team", "team"),
        (
            "=HYPERLINK(\"http://x\")",
            "\"'=HYPERLINK(\"\"http://x\"\")\"",
        ),
        ("+1-2", "\"'+1-2\""),
        ("@sum", "\"'@sum\""),
        ("a,b", "\"a,b\""),
    ] {
        fake.knows(Ok(Answer::GetStats(stats(name))));
        let reply = server.call("GET /v1/stats?format=csv", "").await;
        let lines: Vec<&str> = reply.body.split("\r\n").collect();
        assert_eq!(lines.len(), 4, "{}", reply.body);
        assert!(lines[0].starts_with("from,until,time_zone,group,model_calls,"));
        let place = format!("Europe/Berlin,{cell},");
        assert!(lines[1].contains(&place), "{}", lines[1]);
        // What is not known is an empty cell.
        assert!(lines[1].ends_with(&",".repeat(23)), "{}", lines[1]);
        let numbers = "4,1,1000,50,750,20,75.0,0.125000,7,3,1,2,5,2,1,1,45000,9,2,12,8,1,1";
        assert!(
            lines[2].ends_with(&format!("{place}{numbers}")),
            "{}",
            lines[2]
        );
        assert_eq!(lines[3], "");
    }
}
