//! Fetching: what comes back of pages, of servers that misbehave, and what calls are said to be.

use std::io::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use leverframe::config::settings::FetchSettings;
use leverframe::protocol::approval::Preview;
use leverframe::protocol::enums::{Access, Effect, Risk};
use leverframe::tools::http_fetch::HttpFetch;
use leverframe::tools::preview::one_line;
use leverframe::tools::risk::highest;
use leverframe::tools::tool::{EffectDisposition, Plan, Tool as _, ToolOutcome};
use serde_json::{Value, json};

use crate::tools::harness::Bench;
use crate::tools::http_server::{Names, Server, answer, fetch_of, redirect, settings};

async fn call(tool: HttpFetch, args: Value) -> ToolOutcome {
    let mut bench = Bench::new();
    bench.registry.add(Arc::new(tool)).unwrap();
    bench.call("http_fetch", args).await
}

async fn get(server: &Server, path: &str) -> ToolOutcome {
    let url = format!("http://site.test:{}{path}", server.port());
    call(fetch_of(server), json!({ "url": url })).await
}

#[tokio::test]
async fn a_page_comes_as_text_with_its_links() {
    let page = "<!doctype html><title>The &amp; title</title><style>p{}</style><h1>Head</h1>\
                <p>One <b>bold</b> word,\n two.<ul><li><a href='/next?a=1&amp;b=2'>Next page</a><li>last</ul>\
                <script>var ignored = '<p>no</p>';</script>";
    let server = Server::saying("text/html; charset=utf-8", page);
    let outcome = get(&server, "/here").await;
    let port = server.port();
    assert_eq!(
        outcome.content,
        format!(
            "HTTP 200 http://site.test:{port}/here\ncontent-type: text/html; charset=utf-8\n\n\
             The & title\n\n# Head\n\nOne bold word, two.\n\n\
             - [Next page](http://site.test:{port}/next?a=1&b=2)\n- last"
        )
    );
    assert!(!outcome.is_error && !outcome.partial);
    assert_eq!(outcome.disposition, EffectDisposition::Done);
}

#[tokio::test]
async fn json_comes_in_lines_and_what_is_no_text_is_refused_with_type_and_size() {
    let server = Server::saying("application/json", r#"{"b":[1,2],"a":"x"}"#);
    let outcome = get(&server, "/").await;
    let lines = "\n\n{\n  \"b\": [\n    1,\n    2\n  ],\n  \"a\": \"x\"\n}";
    assert!(outcome.content.ends_with(lines), "{}", outcome.content);

    let server = Server::saying("image/png", [0x89, b'P', b'N', b'G', 0, 1, 2]);
    let outcome = get(&server, "/").await;
    assert!(outcome.is_error);
    let says = "the answer (image/png, 7 bytes) is no text";
    assert!(outcome.content.contains(says), "{}", outcome.content);

    // Whatever it is said to be.
    let server = Server::saying("text/plain", [b'M', b'Z', 0, 0, 3]);
    let outcome = get(&server, "/").await;
    assert!(outcome.is_error);
    assert!(
        outcome.content.contains("holds zero bytes"),
        "{}",
        outcome.content
    );
}

#[tokio::test]
async fn an_error_page_is_an_error_that_can_be_read() {
    let server = Server::start(|_, stream| {
        let body = b"no such page";
        let head = format!(
            "HTTP/1.1 404 Not Found\r\ncontent-type: text/plain\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
            body.len()
        );
        let _ = stream.write_all(&[head.as_bytes(), body].concat());
    });
    let outcome = get(&server, "/gone").await;
    assert!(outcome.is_error);
    assert!(outcome.content.starts_with("HTTP 404 "));
    assert!(outcome.content.ends_with("no such page"));
}

#[tokio::test]
async fn a_body_without_an_end_is_cut_and_the_connection_closed() {
    let written = Arc::new(std::sync::Mutex::new(0_u64));
    let count = Arc::clone(&written);
    let server = Server::start(move |_, stream| {
        let head =
            "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 1073741824\r\n\r\n";
        let _ = stream.write_all(head.as_bytes());
        let chunk = vec![b'a'; 64 * 1024];
        for _ in 0..(1 << 30) / chunk.len() {
            if stream.write_all(&chunk).is_err() {
                return;
            }
            *count.lock().unwrap() += chunk.len() as u64;
        }
    });
    let outcome = get(&server, "/").await;
    assert!(outcome.partial);
    assert!(
        outcome.content.len() < 70 * 1024,
        "{}",
        outcome.content.len()
    );
    let says = "[the answer goes on; only its first 65536 bytes were read]";
    assert!(outcome.content.ends_with(says));
    crate::tools::harness::eventually("the server is left alone", || {
        let before = *written.lock().unwrap();
        std::thread::sleep(Duration::from_millis(50));
        before == *written.lock().unwrap()
    })
    .await;
    assert!(*written.lock().unwrap() < 64 << 20);
}

#[tokio::test]
async fn a_body_that_grows_when_it_is_decompressed_is_cut() {
    let mut bomb = flate2_of(&vec![b'a'; 32 << 20]);
    assert!(bomb.len() < 64 * 1024, "{}", bomb.len());
    let whole = answer(
        "content-type: text/plain\r\ncontent-encoding: gzip\r\n",
        &bomb,
    );
    let server = Server::start(move |_, stream| {
        let _ = stream.write_all(&whole);
    });
    let outcome = get(&server, "/").await;
    assert!(outcome.partial);
    assert!(
        outcome.content.len() < 70 * 1024,
        "{}",
        outcome.content.len()
    );
    assert!(
        outcome
            .content
            .contains("only its first 65536 bytes were read")
    );

    // Broken in the middle: what came before can be read.
    bomb.truncate(bomb.len() / 2);
    let half = answer(
        "content-type: text/plain\r\ncontent-encoding: gzip\r\n",
        &bomb,
    );
    let server = Server::start(move |_, stream| {
        let _ = stream.write_all(&half);
    });
    assert!(get(&server, "/").await.partial);

    for (encoding, says) in [("br", "compressed as `br`"), ("gzip", "is no gzip")] {
        let headers = format!("content-type: text/plain\r\ncontent-encoding: {encoding}\r\n");
        let whole = answer(&headers, b"plain");
        let server = Server::start(move |_, stream| {
            let _ = stream.write_all(&whole);
        });
        let outcome = get(&server, "/").await;
        assert!(outcome.is_error);
        assert!(outcome.content.contains(says), "{}", outcome.content);
    }
}

fn flate2_of(plain: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(plain).unwrap();
    encoder.finish().unwrap()
}

#[tokio::test]
async fn a_slow_body_and_a_silent_server_end_with_the_time() {
    let server = Server::start(|_, stream| {
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 1000\r\n\r\n";
        let _ = stream.write_all(head.as_bytes());
        while stream.write_all(b".").is_ok() {
            std::thread::sleep(Duration::from_millis(50));
        }
    });
    let began = Instant::now();
    let outcome = get(&server, "/").await;
    assert!(outcome.is_error && outcome.partial);
    assert_eq!(outcome.disposition, EffectDisposition::Unknown);
    assert!(
        outcome.content.contains("within 2 s"),
        "{}",
        outcome.content
    );
    assert!(began.elapsed() < Duration::from_secs(20));

    let server = Server::start(|_, stream| {
        let mut rest = Vec::new();
        let _ = std::io::Read::read_to_end(stream, &mut rest);
    });
    let outcome = get(&server, "/").await;
    assert!(
        outcome.content.contains("within 2 s"),
        "{}",
        outcome.content
    );
}

#[tokio::test]
async fn a_cancelled_call_ends_at_once() {
    let server = Server::start(|_, stream| {
        let mut rest = Vec::new();
        let _ = std::io::Read::read_to_end(stream, &mut rest);
    });
    let mut bench = Bench::new();
    bench.registry.add(Arc::new(fetch_of(&server))).unwrap();
    let url = format!("http://site.test:{}/", server.port());
    let cancel = bench.cancel.clone();
    let stopping = async {
        crate::tools::harness::eventually("the request is there", || server.hits() == 1).await;
        cancel.cancel();
    };
    let (outcome, ()) = tokio::join!(bench.call("http_fetch", json!({ "url": url })), stopping);
    assert!(
        outcome.content.contains("stopped before the answer"),
        "{}",
        outcome.content
    );
    assert_eq!(outcome.disposition, EffectDisposition::Unknown);
}

#[tokio::test]
async fn nobody_listens_is_known_not_to_have_happened() {
    let server = Server::start(|_, _| {});
    let tool = fetch_of(&server);
    let url = format!("http://site.test:{}/", server.port());
    drop(server);
    let mut bench = Bench::new();
    bench.registry.add(Arc::new(tool)).unwrap();
    crate::tools::harness::eventually("the port is closed", || {
        std::net::TcpStream::connect(
            url["http://site.test".len()..]
                .trim_matches(['/', ':'])
                .parse::<u16>()
                .map(|port| ("127.0.0.1", port))
                .unwrap(),
        )
        .is_err()
    })
    .await;
    let outcome = bench
        .call(
            "http_fetch",
            json!({ "url": url, "method": "POST", "body": "x" }),
        )
        .await;
    assert_eq!(outcome.disposition, EffectDisposition::ConfirmedNoEffect);
    assert!(
        outcome.content.contains("`site.test` cannot be reached"),
        "{}",
        outcome.content
    );
}

#[tokio::test]
async fn what_a_call_says_is_what_is_sent() {
    let server = Server::saying("text/plain", "ok");
    let url = format!("http://site.test:{}/entries?x=1#part", server.port());
    let args =
        json!({"url": url, "method": "POST", "headers": {"X-Kind": "note"}, "body": "hello"});
    assert_eq!(
        call(fetch_of(&server), args).await.content.lines().last(),
        Some("ok")
    );
    let request = server.requests.lock().unwrap()[0].to_ascii_lowercase();
    assert!(
        request.starts_with("post /entries?x=1 http/1.1\r\n"),
        "{request}"
    );
    assert!(request.contains("\r\nx-kind: note\r\n"), "{request}");
    assert!(
        request.contains("\r\ncontent-type: text/plain; charset=utf-8\r\n"),
        "{request}"
    );
    assert!(
        request.contains(&format!("\r\nhost: site.test:{}\r\n", server.port())),
        "{request}"
    );
    assert!(request.ends_with("\r\n\r\nhello"), "{request}");
}

#[tokio::test]
async fn redirects_stay_on_their_host_and_end() {
    let server = Server::start(|request, stream| {
        let path = request.split(' ').nth(1).unwrap_or_default();
        let bytes = match path {
            "/a" => redirect(302, "/b"),
            "/b" => redirect(301, "b2?x=1"),
            "/b2?x=1" => answer("content-type: text/plain\r\n", b"there"),
            "/elsewhere" => redirect(302, "https://other.test/page"),
            "/loop" => redirect(307, "/loop"),
            "/private" => redirect(302, "http://169.254.169.254/latest/meta-data/"),
            "/port" => redirect(302, "http://site.test:22/"),
            "/scheme" => redirect(302, "file:///etc/passwd"),
            _ => redirect(302, "http://user:pass@site.test/"),
        };
        let _ = stream.write_all(&bytes);
    });
    let outcome = get(&server, "/a").await;
    let there = format!("HTTP 200 http://site.test:{}/b2?x=1\n", server.port());
    assert!(outcome.content.starts_with(&there), "{}", outcome.content);
    assert!(outcome.content.ends_with("there"));

    let before = server.hits();
    let outcome = get(&server, "/loop").await;
    assert!(
        outcome.content.contains("redirects more than 5 times"),
        "{}",
        outcome.content
    );
    assert_eq!(server.hits() - before, 6);

    for (path, says) in [
        (
            "/elsewhere",
            "another host, which is not followed by itself. Call http_fetch with https://other.test/page",
        ),
        ("/private", "169.254.169.254 (link-local or cloud metadata)"),
        ("/port", "port 22 is not one of those"),
        ("/scheme", "only http: and https:"),
        ("/user", "holds a user name or a password"),
    ] {
        let before = server.hits();
        let outcome = get(&server, path).await;
        assert!(outcome.is_error, "{path}");
        assert!(
            outcome.content.contains(says),
            "{path}: {}",
            outcome.content
        );
        assert_eq!(server.hits() - before, 1, "{path}");
    }
    // A request that is no reading goes to one place only.
    let url = format!("http://site.test:{}/a", server.port());
    let before = server.hits();
    let outcome = call(fetch_of(&server), json!({"url": url, "method": "POST"})).await;
    assert!(
        outcome.content.starts_with("HTTP 302 "),
        "{}",
        outcome.content
    );
    assert!(
        outcome.content.contains("location: /b"),
        "{}",
        outcome.content
    );
    assert_eq!(server.hits() - before, 1);
}

fn plan(listed: FetchSettings, args: Value) -> Plan {
    let bench = Bench::new();
    let tool = HttpFetch::with_resolver(listed, Arc::new(Names::default()));
    tool.prepare(&bench.context(), &args).unwrap()
}

#[test]
fn only_reading_from_a_listed_host_is_reading() {
    let listed = || FetchSettings {
        allow: vec!["docs.rs".to_owned(), "*.example.org".to_owned()],
        ..settings()
    };
    let said = |args: Value| {
        let found = plan(listed(), args);
        (found.access, highest(&found.risk_reasons))
    };
    let get = |url: &str| said(json!({ "url": url }));
    assert_eq!(get("https://docs.rs/regex"), (Access::ReadOpen, Risk::Low));
    assert_eq!(get("https://DOCS.RS./regex"), (Access::ReadOpen, Risk::Low));
    assert_eq!(
        get("https://a.b.example.org/"),
        (Access::ReadOpen, Risk::Low)
    );
    // Not below it, not it, and only spelled like it.
    for url in [
        "https://example.org/",
        "https://notexample.org/",
        "https://docs.rs.evil.test/",
        "https://evil.test/docs.rs",
        "https://xdocs.rs/",
    ] {
        assert_eq!(get(url), (Access::Send, Risk::Medium), "{url}");
    }
    let post = json!({"url": "https://docs.rs/", "method": "POST", "body": "x"});
    assert_eq!(said(post.clone()), (Access::Send, Risk::High));
    assert_eq!(
        plan(listed(), post).preview,
        Preview::Text {
            text: "x".to_owned()
        }
    );
    let secret = json!({"url": "https://docs.rs/?q=1&api_key=abc"});
    assert_eq!(said(secret), (Access::ReadOpen, Risk::Critical));
    let header = json!({"url": "https://docs.rs/", "headers": {"Authorization": "Bearer x"}});
    assert_eq!(said(header), (Access::ReadOpen, Risk::Critical));
    let found = plan(listed(), json!({"url": "https://Evil.Test/a?b"}));
    assert_eq!(found.facts.host.as_deref(), Some("evil.test"));
    assert_eq!(
        found.reasons(),
        [
            "reads from evil.test over the network",
            "the configuration does not list evil.test: the address can carry text out"
        ]
    );
}

#[test]
fn what_a_crash_means_follows_the_method() {
    let tool = HttpFetch::with_resolver(settings(), Arc::new(Names::default()));
    let of = |method: &str| tool.effect(&json!({"url": "https://a.test/", "method": method}));
    assert_eq!(
        tool.effect(&json!({"url": "https://a.test/"})),
        Effect::ReadOnly
    );
    assert_eq!(of("HEAD"), Effect::ReadOnly);
    assert_eq!(of("PUT"), Effect::Idempotent);
    assert_eq!(of("DELETE"), Effect::Idempotent);
    assert_eq!(of("POST"), Effect::NonIdempotent);
    assert_eq!(of("PATCH"), Effect::NonIdempotent);
    let from = tool.untrusted(&json!({"url": "https://User.Test/x"}));
    assert_eq!(from.as_deref(), Some("a page of user.test"));
}

#[test]
fn the_definition_is_short() {
    let tool = HttpFetch::with_resolver(settings(), Arc::new(Names::default()));
    let spec = tool.spec();
    let size = spec.name.len() + spec.description.len() + spec.input_schema.to_string().len();
    assert!(size < 450, "{size}");
}

#[test]
fn one_line_hides_what_an_address_keeps_secret() {
    let line = |url: &str| one_line("http_fetch", &json!({ "url": url }));
    assert_eq!(
        line("https://Docs.rs/a?q=x&token=abc#b"),
        "GET docs.rs/a?q=x&token=…"
    );
    assert_eq!(
        line("https://docs.rs:8443/?X-Amz-Signature=abc"),
        "GET docs.rs:8443/?X-Amz-Signature=…"
    );
    assert_eq!(line("no address"), "GET no address");
}
