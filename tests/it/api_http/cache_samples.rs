//! One of everything that the response cache has, over the wire and on the command line.

use std::collections::BTreeMap;

use clap::Parser as _;
use leverframe::cli::arguments::Arguments;
use leverframe::cli::execute::execute;
use leverframe::cli::terminal::{Attendance, Format, Terminal};
use leverframe::client::console_client::ConsoleClient as _;
use leverframe::protocol::cache::{
    CacheCounts, CacheEntry, CacheGroup, CachePurge, CachePurgeResult, CacheStats, CacheSummary,
    ToolCacheCounts,
};
use leverframe::protocol::enums::{
    CacheEviction, CacheMissReason, CacheScope, CacheSkipReason, ToolCacheMiss, ToolCacheSkipReason,
};
use leverframe::protocol::event::EventBody;
use leverframe::protocol::request::{
    Answer, Ask, Command, GetCache, GetCacheEntry, ListCacheEntries, Outcome, PinCacheEntry,
    PurgeCache, Query, SendMessage,
};
use leverframe::protocol::session::CachedAnswer;
use leverframe::protocol::snapshot::{Page, PageRequest};

use crate::api_http::fake::FakeClient;
use crate::api_http::samples::{self, NASTY};
use crate::api_http::samples_traffic;
use crate::api_http::server::{ADMIN, Server};

pub fn counts() -> CacheCounts {
    CacheCounts {
        lookups: 18,
        hits: 12,
        coalesced: 2,
        misses: BTreeMap::from([
            (CacheMissReason::ToolsUsed, 2),
            (CacheMissReason::Expired, 2),
            (CacheMissReason::Off, 7),
        ]),
        stores: 4,
        not_kept: BTreeMap::from([(CacheSkipReason::ToolsUsed, 1)]),
        evictions: BTreeMap::from([(CacheEviction::Count, 3)]),
        input_tokens_saved: 1204,
        output_tokens_saved: 99,
        cost_usd_saved: 0.5,
        unpriced: 1,
        tools: ToolCacheCounts {
            hits: 5,
            misses: BTreeMap::from([
                (ToolCacheMiss::First, 2),
                (ToolCacheMiss::WorkspaceChanged, 1),
            ]),
            stores: 2,
            not_kept: BTreeMap::from([(ToolCacheSkipReason::Partial, 1)]),
        },
    }
}

fn group(name: &str) -> CacheGroup {
    CacheGroup {
        name: name.to_owned(),
        counts: counts(),
    }
}

pub fn summary() -> CacheSummary {
    CacheSummary {
        enabled: true,
        problem: Some("another program holds it".to_owned()),
        entries: 3,
        today: counts(),
        channels: vec![group("team")],
    }
}

pub fn entry() -> CacheEntry {
    CacheEntry {
        id: "0123456789abcdef".to_owned(),
        channel: "team".to_owned(),
        scope: CacheScope::Channel,
        requester: NASTY.to_owned(),
        model: "local/m".to_owned(),
        question: NASTY.to_owned(),
        answer: NASTY.to_owned(),
        usage: samples::usage(),
        bytes: 30,
        hits: 2,
        pinned: true,
        stored_at: samples::at(),
        used_at: None,
        expires_at: None,
    }
}

pub fn stats() -> CacheStats {
    CacheStats {
        enabled: true,
        scopes: BTreeMap::from([
            ("api".to_owned(), CacheScope::Off),
            ("team".to_owned(), CacheScope::Channel),
        ]),
        tool_channels: vec!["team".to_owned()],
        results: 2,
        result_bytes: 40,
        max_results: 512,
        max_result_bytes: 2 << 20,
        problem: None,
        entries: 3,
        pinned: 1,
        bytes: 90,
        max_entries: 500,
        max_bytes: 64 << 20,
        ttl_minutes: 60,
        prices_as_of: "2026-11-01".to_owned(),
        today: counts(),
        total: counts(),
        channels: vec![group("team")],
        models: vec![group("local/m")],
        days: vec![group("2026-11-22")],
    }
}

fn queries() -> Vec<(Query, Answer, String)> {
    let page = PageRequest {
        limit: Some(7),
        cursor: Some("9".to_owned()),
    };
    vec![
        (
            Query::GetCache(GetCache {}),
            Answer::GetCache(stats()),
            "/v1/cache".to_owned(),
        ),
        (
            Query::ListCacheEntries(ListCacheEntries {
                channel: Some("team".to_owned()),
                page,
            }),
            Answer::ListCacheEntries(Page {
                items: vec![entry()],
                next_cursor: Some("4".to_owned()),
            }),
            "/v1/cache/entries?channel=team&limit=7&cursor=9".to_owned(),
        ),
        (
            Query::GetCacheEntry(GetCacheEntry { id: entry().id }),
            Answer::GetCacheEntry(entry()),
            format!("/v1/cache/entries/{}", entry().id),
        ),
    ]
}

/// Request line, body, and the command it becomes.
fn commands() -> Vec<(String, &'static str, Command)> {
    let id = entry().id;
    vec![
        (
            format!("POST /v1/cache/entries/{id}/pin"),
            "",
            Command::PinCacheEntry(PinCacheEntry {
                id: id.clone(),
                pinned: true,
            }),
        ),
        (
            format!("POST /v1/cache/entries/{id}/pin"),
            r#"{"pinned":false}"#,
            Command::PinCacheEntry(PinCacheEntry {
                id: id.clone(),
                pinned: false,
            }),
        ),
        (
            format!("DELETE /v1/cache/entries/{id}"),
            "",
            Command::PurgeCache(PurgeCache {
                what: CachePurge::Entry(id),
            }),
        ),
        (
            "DELETE /v1/cache/entries?channel=team".to_owned(),
            "",
            Command::PurgeCache(PurgeCache {
                what: CachePurge::Channel("team".to_owned()),
            }),
        ),
        (
            "DELETE /v1/cache/entries?all=true".to_owned(),
            "",
            Command::PurgeCache(PurgeCache {
                what: CachePurge::All,
            }),
        ),
    ]
}

fn outcome(command: &Command) -> Outcome {
    if matches!(command, Command::PinCacheEntry(_)) {
        Outcome::PinCacheEntry(entry())
    } else {
        Outcome::PurgeCache(CachePurgeResult {
            entries: 2,
            bytes: 60,
            results: 3,
        })
    }
}

#[tokio::test]
async fn each_route_asks_its_question_and_carries_out_its_command() {
    let fake = FakeClient::new();
    let server = Server::start(fake.clone()).await;
    for (query, answer, path) in queries() {
        fake.knows(Ok(answer.clone()));
        let reply = server.call(&format!("GET {path}"), "").await;
        assert_eq!(reply.status, 200, "{path}: {}", reply.body);
        assert_eq!(fake.queries.lock().unwrap().last().unwrap(), &query);
        let answered = serde_json::to_value(&answer).unwrap()["value"].clone();
        assert_eq!(reply.json(), answered, "{path}");
    }
    for (line, body, command) in commands() {
        fake.will(Ok(outcome(&command)));
        let reply = server.call(&line, body).await;
        assert_eq!(reply.status, 200, "{line}: {}", reply.body);
        assert_eq!(fake.last_envelope().command, command, "{line}");
    }
    for line in [
        "DELETE /v1/cache/entries",
        "DELETE /v1/cache/entries?channel=team&all=true",
        "DELETE /v1/cache/entries?all=false",
    ] {
        let reply = server.call(line, "").await;
        assert_eq!(reply.status, 400, "{line}: {}", reply.body);
        assert!(reply.body.contains("?all=true"), "{}", reply.body);
    }
}

#[tokio::test]
async fn a_message_says_whether_it_wants_a_new_answer() {
    let fake = FakeClient::new();
    let server = Server::start(fake.clone()).await;
    for (body, wanted) in [
        (r#"{"text":"hi"}"#, false),
        (r#"{"text":"hi","fresh":true}"#, true),
    ] {
        let messages = format!("POST /v1/sessions/{}/messages", samples::session_id());
        for line in ["POST /v1/ask", messages.as_str()] {
            let accepted = samples::accepted();
            fake.will(Ok(if line == "POST /v1/ask" {
                Outcome::Ask(accepted)
            } else {
                Outcome::SendMessage(accepted)
            }));
            assert_eq!(server.call(line, body).await.status, 202, "{line}");
            match fake.last_envelope().command {
                Command::Ask(Ask { fresh, .. })
                | Command::SendMessage(SendMessage { fresh, .. }) => {
                    assert_eq!(fresh, wanted, "{line} {body}");
                }
                other => panic!("{other:?}"),
            }
        }
    }
}

#[tokio::test]
async fn everything_survives_the_wire() {
    use leverframe::client::remote::connection::{Limits, RemoteClient};
    let fake = FakeClient::new();
    let server = Server::start(fake.clone()).await;
    let client = RemoteClient::new(server.target(ADMIN), Limits::default()).unwrap();
    for (query, answer, _) in queries() {
        fake.knows(Ok(answer.clone()));
        assert_eq!(client.query(query.clone()).await.unwrap(), answer);
        assert_eq!(fake.queries.lock().unwrap().last().unwrap(), &query);
    }
    for (_, _, command) in commands() {
        let expected = outcome(&command);
        fake.will(Ok(expected.clone()));
        let envelope = leverframe::cli::find::envelope(command.clone(), None);
        assert_eq!(client.submit(envelope).await.unwrap(), expected);
        assert_eq!(fake.last_envelope().command, command);
    }
    for body in [
        EventBody::CacheHit {
            channel: "team".to_owned(),
            model: "local/m".to_owned(),
            cached: CachedAnswer {
                entry: entry().id,
                stored_at: samples::at(),
                saved: samples::usage(),
                coalesced: true,
            },
        },
        EventBody::CacheMiss {
            channel: "team".to_owned(),
            reason: CacheMissReason::ToolsUsed,
        },
    ] {
        let event = samples_traffic::event(None, body.clone());
        let wire = serde_json::to_value(&event).unwrap();
        assert_eq!(wire["kind"], body.kind());
        let read: leverframe::protocol::event::Event = serde_json::from_value(wire).unwrap();
        assert_eq!(read.body, body);
    }
}

#[tokio::test]
async fn the_commands_say_why_it_missed_and_never_write_raw_text() {
    let fake = FakeClient::new();
    for (words, answer, expected) in [
        (
            "cache stats",
            queries()[0].1.clone(),
            "expired 2, tools used 2",
        ),
        ("cache list", queries()[1].1.clone(), "0123456789abcdef"),
        ("cache show 0123", queries()[2].1.clone(), "pinned"),
    ] {
        for json in [false, true] {
            fake.knows(Ok(answer.clone()));
            let flag = if json { " --json" } else { "" };
            let line = format!("leverframe {words}{flag}");
            let arguments = Arguments::try_parse_from(line.split(' ')).unwrap();
            let (mut out, mut err) = (Vec::new(), Vec::new());
            let mut input = "".as_bytes();
            let mut terminal = Terminal {
                out: &mut out,
                err: &mut err,
                input: &mut input,
                attended: Attendance::Script,
                format: if json { Format::Json } else { Format::Human },
            };
            let command = arguments.command.unwrap();
            execute(command, &mut terminal.with(&*fake), None)
                .await
                .unwrap();
            let out = String::from_utf8(out).unwrap();
            assert!(!out.contains('\u{1b}'), "{out}");
            if json {
                serde_json::from_str::<serde_json::Value>(&out).unwrap();
            } else {
                assert!(out.contains(expected), "{out}");
                assert!(!out.contains('\u{202e}'), "{out}");
            }
        }
    }
    let arguments = Arguments::try_parse_from(["leverframe", "cache", "purge"]).unwrap();
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut input = "".as_bytes();
    let mut terminal = Terminal {
        out: &mut out,
        err: &mut err,
        input: &mut input,
        attended: Attendance::Script,
        format: Format::Human,
    };
    let command = arguments.command.unwrap();
    let failure = execute(command, &mut terminal.with(&*fake), None)
        .await
        .unwrap_err();
    assert_eq!(failure.status(), 2, "nothing is forgotten by default");
}
