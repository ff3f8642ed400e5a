//! The remote client against the real server.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use leverframe::client::console_client::ConsoleClient;
use leverframe::client::remote::connection::{Limits, RemoteClient};
use leverframe::client::remote::events::LIMITS;
use leverframe::client::remote::target::{Address, Target};
use leverframe::protocol::command::Actor;
use leverframe::protocol::enums::{Scope, Surface};
use leverframe::protocol::event::{EventFilter, StreamItem};
use leverframe::protocol::problem::{Problem, ProblemKind};
use leverframe::protocol::request::{
    Answer, Command, EmergencyStop, Envelope, GetEngine, GetOnCall, Outcome, Query, SendMessage,
};
use leverframe::text::framing::{SseEvent, events};
use proptest::prelude::*;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::api_http::fake::{FakeClient, Log};
use crate::api_http::samples;
use crate::api_http::samples_traffic;
use crate::api_http::server::{ADMIN, READER, Server, unix};

fn envelope(command: leverframe::protocol::request::Command) -> Envelope {
    Envelope {
        command,
        actor: Actor::Engine,
        surface: Surface::Console,
        idempotency_key: Some("key ü\n1".to_owned()),
        trace: None,
    }
}

#[tokio::test]
async fn every_command_outcome_query_and_answer_arrives_unchanged() {
    let fake = FakeClient::new();
    let (_dir, path, _shutdown, _serving) = unix(fake.clone()).await;
    let remote = RemoteClient::new(Target::Unix(path), Limits::default()).unwrap();
    for command in samples_traffic::commands() {
        let outcome = samples_traffic::outcomes()[0].clone();
        fake.will(Ok(outcome.clone()));
        let sent = envelope(command);
        assert_eq!(remote.submit(sent.clone()).await.unwrap(), outcome);
        let got = fake.last_envelope();
        assert_eq!(got.command, sent.command);
        assert_eq!(got.surface, sent.surface);
        assert_eq!(got.idempotency_key, sent.idempotency_key);
    }
    for outcome in samples_traffic::outcomes() {
        fake.will(Ok(outcome.clone()));
        let sent = envelope(samples_traffic::commands()[0].clone());
        assert_eq!(remote.submit(sent).await.unwrap(), outcome);
    }
    for (query, answer) in samples_traffic::queries() {
        fake.knows(Ok(answer.clone()));
        assert_eq!(remote.query(query.clone()).await.unwrap(), answer);
        let asked = fake.queries.lock().unwrap().last().unwrap().clone();
        // Who asks is for the daemon to say.
        if let Query::GetOnCall(GetOnCall { actor }) = asked {
            assert!(actor.is_some() && matches!(query, Query::GetOnCall(_)));
        } else {
            assert_eq!(asked, query);
        }
    }
}

#[tokio::test]
async fn an_answer_to_another_request_is_a_fault_and_never_the_reply() {
    let fake = FakeClient::new();
    let client: &dyn ConsoleClient = &*fake;
    fake.knows(Ok(Answer::ListChannels(Vec::new().into())));
    let fault = client.call(GetEngine {}).await.unwrap_err();
    assert_eq!(fault.kind, ProblemKind::Internal);
    assert_eq!(fault.detail, "GetEngine was answered as ListChannels");
    let stop = leverframe::cli::find::envelope(EmergencyStop { reason: None }, None);
    fake.will(Ok(Outcome::SendMessage(samples::accepted())));
    let fault = client.execute(stop.clone()).await.unwrap_err();
    assert_eq!(fault.detail, "EmergencyStop was answered as SendMessage");
    fake.will(Ok(Outcome::EmergencyStop(samples::engine())));
    assert_eq!(client.execute(stop).await.unwrap(), samples::engine());
}

#[tokio::test]
async fn the_socket_actor_is_the_peers_uid_whatever_the_envelope_says() {
    let fake = FakeClient::new();
    fake.will(Ok(samples_traffic::outcomes()[0].clone()));
    let (_dir, path, _shutdown, _serving) = unix(fake.clone()).await;
    let remote = RemoteClient::new(Target::Unix(path), Limits::default()).unwrap();
    remote
        .submit(envelope(samples_traffic::commands()[0].clone()))
        .await
        .unwrap();
    let own = rustix::process::getuid().as_raw();
    match fake.last_envelope().actor {
        Actor::Operator { uid, name, .. } => {
            assert_eq!(uid, own);
            assert!(!name.is_empty());
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn problems_arrive_whole_with_their_winner() {
    let fake = FakeClient::new();
    let server = Server::start(fake.clone()).await;
    fake.knows(Ok(Answer::GetEngine(samples::engine())));
    let remote = RemoteClient::connect(server.target(ADMIN)).await.unwrap();
    let problem = Problem {
        winner: Some(Box::new(samples::decision())),
        ..Problem::new(ProblemKind::Conflict, "already decided", "anna was faster").hint("look")
    };
    fake.will(Err(problem.clone()));
    let got = remote
        .submit(envelope(samples_traffic::commands()[8].clone()))
        .await
        .unwrap_err();
    assert_eq!(got, problem);
}

#[tokio::test]
async fn a_filter_and_every_event_arrive_unchanged() {
    let fake = FakeClient::new();
    let events = samples_traffic::events();
    let scripted = events.clone();
    fake.streams(move |_| {
        let mut items: Vec<_> = scripted
            .iter()
            .map(|event| Ok(StreamItem::Event(Arc::new(event.clone()))))
            .collect();
        items.push(Ok(StreamItem::Reset));
        futures_util::stream::iter(items).boxed()
    });
    let server = Server::start(fake.clone()).await;
    let remote = RemoteClient::new(server.target(ADMIN), Limits::default()).unwrap();
    let filter = EventFilter {
        since: None,
        after: Some(17),
        session_id: Some(samples::session_id()),
        continuation_id: Some(samples::continuation_id()),
        kinds: vec!["message.delta".to_owned(), "engine.state".to_owned()],
        deltas: vec![samples::session_id()],
    };
    let mut stream = remote.events(filter.clone()).await.unwrap();
    assert_eq!(*fake.filters.lock().unwrap().last().unwrap(), filter);
    for event in events {
        assert_eq!(
            stream.next().await.unwrap().unwrap(),
            StreamItem::Event(Arc::new(event))
        );
    }
    assert_eq!(stream.next().await.unwrap().unwrap(), StreamItem::Reset);
    let end = stream.next().await.unwrap().unwrap_err();
    assert_eq!(end.title, "connection lost");
    assert!(stream.next().await.is_none(), "over after the error");
}

#[tokio::test]
async fn a_cut_stream_resumed_by_seq_has_no_gap_and_no_double() {
    let fake = FakeClient::new();
    let log = Log::new();
    let feed = log.clone();
    // Every subscription is cut after seven items.
    fake.streams(move |filter| feed.stream(filter).take(7).boxed());
    let server = Server::start(fake).await;
    let remote = RemoteClient::new(server.target(ADMIN), Limits::default()).unwrap();
    let writer = log.clone();
    let task = tokio::spawn(async move {
        for seq in 1..=100 {
            writer.append(samples_traffic::numbered(seq));
            tokio::task::yield_now().await;
        }
    });
    let mut seen = Vec::new();
    let mut last = 0;
    while last < 100 {
        let filter = EventFilter {
            after: Some(last),
            ..EventFilter::default()
        };
        let mut stream = remote.events(filter).await.unwrap();
        while let Some(Ok(item)) = stream.next().await {
            if let StreamItem::Event(event) = item {
                last = event.seq.unwrap();
                seen.push(last);
                if last == 100 {
                    break;
                }
            }
        }
    }
    task.await.unwrap();
    assert_eq!(seen, (1..=100).collect::<Vec<_>>());
}

#[tokio::test]
async fn silence_is_a_lost_connection() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let peer = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut buffer = [0; 4096];
        let _ = stream.read(&mut buffer).await.unwrap();
        stream
            .write_all(b"HTTP/1.1 200 OK\r\nleverframe-protocol: 2\r\ncontent-type: text/event-stream\r\n\r\n: open\n\n")
            .await
            .unwrap();
        // Says nothing more until the client gives up.
        let _ = stream.read(&mut buffer).await;
    });
    let limits = Limits {
        idle: Duration::from_millis(100),
        ..Limits::default()
    };
    let target = Target::Http {
        base: format!("http://{address}").parse().unwrap(),
        token: "x".to_owned(),
    };
    let remote = RemoteClient::new(target, limits).unwrap();
    let mut stream = remote.events(EventFilter::default()).await.unwrap();
    let end = tokio::time::timeout(Duration::from_secs(10), stream.next())
        .await
        .unwrap()
        .unwrap()
        .unwrap_err();
    assert!(end.detail.contains("nothing was heard"), "{end}");
    drop(stream);
    peer.abort();
}

/// Answers one request with this text, and returns what was asked.
async fn one_answer(text: &'static str) -> (RemoteClient, tokio::task::JoinHandle<String>) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let peer = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut buffer = [0; 4096];
        let size = stream.read(&mut buffer).await.unwrap();
        stream.write_all(text.as_bytes()).await.unwrap();
        String::from_utf8_lossy(&buffer[..size]).into_owned()
    });
    let target = Target::Http {
        base: format!("http://{address}").parse().unwrap(),
        token: "secret-token".to_owned(),
    };
    (RemoteClient::new(target, Limits::default()).unwrap(), peer)
}

#[tokio::test]
async fn other_protocol_versions_and_strangers_are_named() {
    let query = || leverframe::protocol::request::Query::GetEngine(GetEngine {});
    let (remote, peer) =
        one_answer("HTTP/1.1 200 OK\r\nleverframe-protocol: 3\r\ncontent-length: 2\r\n\r\n{}")
            .await;
    let newer = remote.query(query()).await.unwrap_err();
    assert_eq!(newer.hint.as_deref(), Some("update this program"));
    assert!(peer.await.unwrap().contains("Bearer secret-token"));
    let (remote, _peer) =
        one_answer("HTTP/1.1 200 OK\r\nleverframe-protocol: 1\r\ncontent-length: 2\r\n\r\n{}")
            .await;
    let older = remote.query(query()).await.unwrap_err();
    assert_eq!(older.hint.as_deref(), Some("update the daemon"));
    let (remote, _peer) = one_answer("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}").await;
    let stranger = remote.query(query()).await.unwrap_err();
    assert_eq!(stranger.title, "not a Leverframe daemon");
}

#[tokio::test]
async fn a_redirect_is_not_followed_so_the_token_stays() {
    let second = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let text = format!(
        "HTTP/1.1 307 Temporary Redirect\r\nleverframe-protocol: 2\r\nlocation: http://{}/\r\ncontent-length: 0\r\n\r\n",
        second.local_addr().unwrap()
    );
    let (remote, _peer) = one_answer(Box::leak(text.into_boxed_str())).await;
    let error = remote
        .query(leverframe::protocol::request::Query::GetEngine(
            GetEngine {},
        ))
        .await
        .unwrap_err();
    assert!(error.detail.contains("307"), "{error}");
    let reached = tokio::time::timeout(Duration::from_millis(50), second.accept()).await;
    assert!(
        reached.is_err(),
        "the redirect's target must not be contacted"
    );
}

#[tokio::test]
async fn nobody_there_is_said_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let target = Target::Unix(dir.path().join("none.sock"));
    let error = RemoteClient::connect(target).await.unwrap_err();
    assert_eq!(error.kind, ProblemKind::Unavailable);
    assert!(error.detail.contains("none.sock"), "{error}");
}

#[test]
fn addresses_that_would_leak_the_token_do_not_parse() {
    for good in [
        "unix:/run/x.sock",
        "unix:///run/x.sock",
        "http://127.0.0.1:4000",
        "http://localhost:4000",
        "http://[::1]:4000",
        "https://example.com/base",
    ] {
        assert!(good.parse::<Address>().is_ok(), "{good}");
    }
    for bad in [
        "http://example.com",
        "http://127.0.0.1.example.com",
        "http://user:pw@127.0.0.1:1",
        "https://example.com/?token=x",
        "ftp://example.com",
        "unix:",
        "4000",
    ] {
        assert!(bad.parse::<Address>().is_err(), "{bad}");
    }
}

proptest! {
    #[test]
    fn the_stream_reader_does_not_care_how_bytes_are_cut(
        texts in proptest::collection::vec("[^\r\n]{0,20}", 1..6),
        cuts in proptest::collection::vec(1_usize..9, 1..40),
        ending in prop_oneof![Just("\n"), Just("\r"), Just("\r\n")],
    ) {
        let mut wire = String::from("\u{feff}: open");
        wire.push_str(ending);
        wire.push_str(ending);
        for text in &texts {
            for line in [format!("event: e{ending}"), format!("data: {text}{ending}"), ending.to_owned()] {
                wire.push_str(&line);
            }
        }
        wire.push_str("event: cut off\ndata: half");
        let expected: Vec<SseEvent> = texts
            .iter()
            .map(|text| SseEvent { name: "e".to_owned(), data: text.clone() })
            .collect();
        let mut pieces = Vec::new();
        let mut rest = wire.as_bytes();
        let mut cuts = cuts.iter().cycle();
        while !rest.is_empty() {
            let (now, later) = rest.split_at((*cuts.next().unwrap()).min(rest.len()));
            pieces.push(Ok::<_, std::convert::Infallible>(now.to_vec()));
            rest = later;
        }
        let bytes = futures_util::stream::iter(pieces);
        let got: Vec<SseEvent> = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap()
            .block_on(events(bytes, Duration::from_secs(5), LIMITS).map(Result::unwrap).collect());
        prop_assert_eq!(got, expected);
    }

    #[test]
    fn any_message_survives_the_wire_form_of_a_command(text in ".*", key in proptest::option::of(".{1,40}")) {
        use leverframe::client::remote::wire::Submission;
        use leverframe::protocol::command::{BudgetRequest};
        let sent = Submission {
            command: Command::SendMessage(SendMessage {
                session_id: samples::session_id(),
                text,
                model: None,
                budgets: BudgetRequest::default(),
                fresh: false,
                attachments: Vec::new(),
                options: leverframe::protocol::options::TurnOptions::default(),
            }),
            surface: Surface::Cli,
            idempotency_key: key,
        };
        let wire = serde_json::to_string(&sent).unwrap();
        prop_assert_eq!(serde_json::from_str::<Submission>(&wire).unwrap(), sent);
    }
}

#[tokio::test]
async fn a_client_learns_what_its_token_may_do() {
    let fake = FakeClient::new();
    let server = Server::start(fake.clone()).await;
    let knows = |target: Target| async move {
        let remote = RemoteClient::new(target, Limits::default()).unwrap();
        assert_eq!(remote.scopes(), None, "nothing was said yet");
        // Whatever the answer is, it tells.
        let _ = remote.query(Query::GetEngine(GetEngine {})).await;
        remote.scopes()
    };
    let reader = knows(server.target(READER)).await;
    assert_eq!(reader, Some(vec![Scope::Read]));
    let admin = knows(server.target(ADMIN)).await;
    assert_eq!(admin, Some(Scope::ALL.to_vec()));
    // The socket is the operator's: nothing is held back there.
    let (_dir, path, _shutdown, _serving) = unix(fake).await;
    assert_eq!(knows(Target::Unix(path)).await, None);
}
