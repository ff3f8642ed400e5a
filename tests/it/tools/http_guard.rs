//! Where no request may go: addresses, names that lead to them, names that lead elsewhere the second time.

use std::io::Write as _;
use std::net::IpAddr;
use std::sync::Arc;

use leverframe::config::settings::FetchSettings;
use leverframe::tools::http::address::{Range, range};
use leverframe::tools::http::hosts::covers;
use leverframe::tools::http_fetch::HttpFetch;
use leverframe::tools::tool::{PrepareError, Tool as _, ToolOutcome};
use serde_json::{Value, json};

use crate::tools::harness::Bench;
use crate::tools::http_server::{Names, Server, answer, settings};

/// Addresses that are of no public network.
const CLOSED: &[&str] = &[
    "0.0.0.0",
    "10.1.2.3",
    "100.64.0.1",
    "100.100.100.200",
    "127.0.0.1",
    "127.8.8.8",
    "168.63.129.16",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.192",
    "192.168.1.1",
    "198.18.0.1",
    "203.0.113.7",
    "224.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::ffff:8.8.8.8",
    "::ffff:127.0.0.1",
    "64:ff9b::7f00:1",
    "100::1",
    "2001::1",
    "2001:db8::1",
    "2002:7f00:1::",
    "3fff::1",
    "fc00::1",
    "fd00:ec2::254",
    "fe80::1",
    "fec0::1",
    "ff02::1",
];

fn guarded(tool: &HttpFetch, args: Value) -> String {
    let bench = Bench::new();
    match tool.prepare(&bench.context(), &args) {
        Err(PrepareError::Guarded(why) | PrepareError::Invalid(why)) => why,
        Ok(plan) => panic!("{args}: {plan:?}"),
    }
}

async fn run(tool: HttpFetch, url: String) -> ToolOutcome {
    let mut bench = Bench::new();
    bench.registry.add(Arc::new(tool)).unwrap();
    bench.execute("http_fetch", json!({ "url": url })).await
}

#[test]
fn only_addresses_of_the_internet_are_public() {
    for text in CLOSED {
        let address: IpAddr = text.parse().unwrap();
        assert_ne!(range(address), Range::Public, "{text}");
    }
    for text in [
        "1.1.1.1",
        "8.8.8.8",
        "100.128.0.1",
        "172.32.0.1",
        "2606:4700::1111",
        "2a00:1450::1",
    ] {
        assert_eq!(range(text.parse().unwrap()), Range::Public, "{text}");
    }
}

#[test]
fn hosts_are_compared_by_whole_labels() {
    assert!(covers("example.org", "example.org"));
    assert!(!covers("example.org", "a.example.org"));
    assert!(covers("*.example.org", "a.b.example.org"));
    assert!(!covers("*.example.org", "example.org"));
    assert!(!covers("*.example.org", "badexample.org"));
    assert!(!covers("*.example.org", ".example.org"));
    assert!(covers("*", "anything.test"));
}

#[test]
fn an_address_is_refused_however_it_is_spelled() {
    let tool = HttpFetch::with_resolver(settings(), Arc::new(Names::default()));
    let mut urls: Vec<String> = CLOSED
        .iter()
        .map(|text| {
            if text.contains(':') {
                format!("http://[{text}]/")
            } else {
                format!("http://{text}/")
            }
        })
        .collect();
    urls.extend(
        [
            "http://2130706433/",
            "http://0x7f.1/",
            "http://017700000001/",
            "http://127.1/",
            "http://127.0.0.1./",
            "http://１２７.0.0.1/",
        ]
        .map(str::to_owned),
    );
    for url in urls {
        let why = guarded(&tool, json!({ "url": url }));
        assert!(why.contains("no request may reach"), "{url}: {why}");
    }
    for (url, says) in [
        ("ftp://example.org/", "only http: and https:"),
        ("file:///etc/passwd", "only http: and https:"),
        ("javascript:alert(1)", "only http: and https:"),
        (
            "https://user:pass@example.org/",
            "a user name or a password",
        ),
        ("https://docs.rs@example.org/", "a user name or a password"),
        ("https://example.org:22/", "port 22"),
        ("http://example.org:8080/", "port 8080"),
        ("example.org/page", "no address"),
        ("", "no address"),
    ] {
        let why = guarded(&tool, json!({ "url": url }));
        assert!(why.contains(says), "{url}: {why}");
    }
    let why = guarded(
        &tool,
        json!({"url": format!("https://example.org/{}", "a".repeat(9000))}),
    );
    assert!(why.contains("at most 8192"), "{why}");
    for (headers, says) in [
        (json!({"Host": "evil.test"}), "set by the connection"),
        (json!({"Content-Length": "5"}), "set by the connection"),
        (json!({"Proxy-Authorization": "x"}), "set by the connection"),
        (json!({"X-A": "b\r\nX-B: c"}), "line break"),
        (json!({"X A": "b"}), "no name of a header"),
    ] {
        let why = guarded(
            &tool,
            json!({"url": "https://example.org/", "headers": headers}),
        );
        assert!(why.contains(says), "{why}");
    }
    let why = guarded(&tool, json!({"url": "https://example.org/", "body": "x"}));
    assert!(why.contains("GET takes no body"), "{why}");
}

#[test]
fn lists_of_hosts_are_obeyed() {
    let tool = |allow: &[&str], deny: &[&str]| {
        let of = |hosts: &[&str]| hosts.iter().map(|host| (*host).to_owned()).collect();
        let listed = FetchSettings {
            allow: of(allow),
            deny: of(deny),
            ..settings()
        };
        HttpFetch::with_resolver(listed, Arc::new(Names::default()))
    };
    let bench = Bench::new();
    let goes = |tool: &HttpFetch, url: &str| {
        tool.prepare(&bench.context(), &json!({ "url": url }))
            .is_ok()
    };
    let some = tool(&[], &["evil.test", "*.evil.test"]);
    assert!(!goes(&some, "https://evil.test/"));
    assert!(!goes(&some, "https://a.EVIL.test./"));
    assert!(goes(&some, "https://notevil.test/"));
    // What is denied by name is denied though it is allowed too.
    assert!(!goes(
        &tool(&["evil.test"], &["evil.test"]),
        "https://evil.test/"
    ));
    let only = tool(&["docs.rs"], &["*"]);
    assert!(goes(&only, "https://docs.rs/"));
    assert!(!goes(&only, "https://example.org/"));
}

#[tokio::test]
async fn a_name_that_leads_to_a_closed_address_is_not_connected_to() {
    let server = Server::saying("text/plain", "secret");
    for closed in CLOSED {
        // One good address among them helps nothing.
        for found in [vec![*closed], vec!["8.8.8.8", closed]] {
            let listed = FetchSettings {
                ports: vec![server.port()],
                ..settings()
            };
            let tool = HttpFetch::with_resolver(listed, Names::of("site.test", &[&found]));
            let outcome = run(tool, format!("http://site.test:{}/", server.port())).await;
            assert!(outcome.is_error, "{closed}");
            assert!(
                outcome.content.contains("no request may reach"),
                "{closed}: {}",
                outcome.content
            );
        }
    }
    assert_eq!(server.hits(), 0);
}

#[tokio::test]
async fn metadata_is_closed_even_for_a_host_that_may_be_private() {
    for closed in [
        "169.254.169.254",
        "fd00:ec2::254",
        "::ffff:10.0.0.1",
        "0.0.0.0",
        "224.0.0.1",
    ] {
        let listed = FetchSettings {
            private: vec!["site.test".to_owned()],
            ..settings()
        };
        let tool = HttpFetch::with_resolver(listed, Names::of("site.test", &[&[closed]]));
        let outcome = run(tool, "http://site.test/".to_owned()).await;
        assert!(
            outcome.content.contains("no request may reach"),
            "{closed}: {}",
            outcome.content
        );
    }
}

#[tokio::test]
async fn the_connection_goes_to_the_address_that_was_looked_at() {
    let good = Server::saying("text/plain", "good");
    let place = format!("127.0.0.2:{}", good.port());
    let Ok(other) = Server::at(&place, |_, stream| {
        let _ = stream.write_all(&answer("content-type: text/plain\r\n", b"other"));
    }) else {
        return crate::support::requirement::missing(
            "a second loopback address",
            "the pinning of addresses",
            "127.0.0.2 cannot be bound here",
        );
    };
    let listed = FetchSettings {
        private: vec!["site.test".to_owned()],
        ports: vec![good.port()],
        ..settings()
    };
    // A name that leads elsewhere whenever it is asked again.
    let names = Names::of("site.test", &[&["127.0.0.1"], &["127.0.0.2"]]);
    let tool = HttpFetch::with_resolver(listed, names.clone());
    let outcome = run(tool, format!("http://site.test:{}/", good.port())).await;
    assert!(outcome.content.ends_with("good"), "{}", outcome.content);
    assert_eq!(*names.looked_up.lock().unwrap(), ["site.test"]);
    assert_eq!((good.hits(), other.hits()), (1, 0));
}

#[tokio::test]
async fn each_redirect_is_looked_at_again() {
    let server = Server::start(|_, stream| {
        let _ = stream.write_all(&crate::tools::http_server::redirect(302, "/again"));
    });
    let listed = FetchSettings {
        private: vec!["site.test".to_owned()],
        ports: vec![server.port()],
        ..settings()
    };
    // Good the first time, metadata the second.
    let names = Names::of("site.test", &[&["127.0.0.1"], &["169.254.169.254"]]);
    let tool = HttpFetch::with_resolver(listed, names.clone());
    let outcome = run(tool, format!("http://site.test:{}/", server.port())).await;
    assert!(
        outcome.content.contains("169.254.169.254"),
        "{}",
        outcome.content
    );
    assert_eq!(names.looked_up.lock().unwrap().len(), 2);
    assert_eq!(server.hits(), 1);
}
