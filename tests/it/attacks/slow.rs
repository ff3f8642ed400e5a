//! Heads and bodies that come a byte at a time, or not at all. All of them wait at once, so that the suite waits once.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use tokio::io::AsyncWriteExt as _;

use crate::attacks::site::{Door, PATHS, Site, Wire, rest, status};

/// What the book promises, and what a busy machine may add.
const HEAD: Duration = Duration::from_secs(10);
const BODY: Duration = Duration::from_secs(30);
const SLACK: Duration = Duration::from_secs(20);

/// Writes a byte each second until the connection ends; what it was answered, and when.
async fn drip(mut stream: Box<dyn Wire>, bytes: String, limit: Duration) -> (String, Duration) {
    let begun = Instant::now();
    let (mut reader, mut writer) = tokio::io::split(&mut stream);
    let feed = async {
        for byte in bytes.bytes() {
            if writer.write_all(&[byte]).await.is_err() || writer.flush().await.is_err() {
                break;
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        std::future::pending::<()>().await;
    };
    let said = tokio::select! {
        said = rest(&mut reader, limit) => said,
        () = feed => unreachable!("it never ends"),
    };
    (said, begun.elapsed())
}

/// The owner's socket answers all the while.
async fn look_on(site: &Site, attack: impl Future<Output = ()>) {
    let looks = async {
        loop {
            site.owner().await;
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
    };
    tokio::select! {
        () = attack => {}
        () = looks => {}
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_head_that_comes_slowly_or_not_at_all_is_cut_in_time() {
    for_each_site(|site| async move {
        let mut attacks = Vec::new();
        for door in site.doors {
            for (method, path, _) in PATHS {
                let head = site.head(method, path);
                let (start, dripped) = head.split_at(40);
                for (sent, dripped) in
                    [(start, dripped), (start, ""), (head.as_str(), ""), ("", "")]
                {
                    let mut stream = site.connect(door).await;
                    stream.write_all(sent.as_bytes()).await.unwrap();
                    stream.flush().await.unwrap();
                    let dripped = dripped.to_owned();
                    attacks.push(async move {
                        let (said, took) = drip(stream, dripped, HEAD + SLACK).await;
                        assert!(
                            status(&said).is_none_or(|status| status == 408),
                            "{door:?} {path}: {said}"
                        );
                        assert!(took > HEAD / 2, "{door:?} {path}: cut after {took:?}");
                    });
                }
            }
        }
        let all = async { drop(join_all(attacks).await) };
        look_on(&site, all).await;
        site.works().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_handshake_that_is_never_finished_is_cut_in_time() {
    let site = Site::tls("");
    // The start of a record of a handshake, of which the rest never comes.
    let hello: &[u8] = &[0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3];
    let mut attacks = Vec::new();
    for sent in [&b""[..], hello, b"GET /healthz HTTP/1.1\r\n\r\n"] {
        let mut stream = site.bare().await;
        stream.write_all(sent).await.unwrap();
        attacks.push(async move {
            rest(&mut stream, HEAD + SLACK).await;
        });
    }
    let all = async { drop(join_all(attacks).await) };
    look_on(&site, all).await;
    site.works().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_comes_slowly_or_never_ends_is_answered_in_time() {
    for_each_site(|site| async move {
        let mut attacks = Vec::new();
        for door in site.doors {
            for (method, path, _) in PATHS {
                let head = site.head(method, path);
                for (framing, dripped) in [
                    ("Content-Length: 1000\r\n\r\n", " ".repeat(100)),
                    ("Content-Length: 1000\r\n\r\n", String::new()),
                    (
                        "Transfer-Encoding: chunked\r\n\r\n",
                        "1\r\n \r\n".repeat(20),
                    ),
                    ("Transfer-Encoding: chunked\r\n\r\n", String::new()),
                ] {
                    let mut stream = site.connect(door).await;
                    let sent = format!("{head}{framing}");
                    stream.write_all(sent.as_bytes()).await.unwrap();
                    stream.flush().await.unwrap();
                    attacks.push(async move {
                        let (said, took) = drip(stream, dripped, BODY + SLACK).await;
                        let status = status(&said).map(|status| status.as_u16());
                        assert_eq!(status, Some(408), "{door:?} {path} {framing}: {said}");
                        assert!(took > BODY / 2, "{door:?} {path}: after {took:?}");
                    });
                }
            }
        }
        let all = async { drop(join_all(attacks).await) };
        look_on(&site, all).await;
        site.works().await;
    })
    .await;
}

/// A plain daemon and one with TLS, at the same time.
async fn for_each_site<F: Future<Output = ()> + Send + 'static>(attack: impl Fn(Arc<Site>) -> F) {
    let sites = Site::both("").map(Arc::new);
    let running = sites.map(|site| tokio::spawn(attack(site)));
    for one in running {
        one.await.expect("the attack ends as it must");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_reads_nothing_is_cut() {
    for_each_site(|site| async move {
        for door in site.doors {
            read_nothing(&site, door).await;
        }
        site.works().await;
    })
    .await;
}

/// Asks for more than every buffer on the way holds, and reads none of it, until it is cut.
async fn read_nothing(site: &Site, door: Door) {
    let mut stuck = site.connect(door).await;
    let request = format!("{}\r\n", site.head("GET", "/openapi.json"));
    let many = request.repeat(500);
    let (_reader, mut writer) = tokio::io::split(&mut stuck);
    // Whoever is cut cannot write any more.
    let ask = async {
        while writer.write_all(many.as_bytes()).await.is_ok() && writer.flush().await.is_ok() {}
    };
    let begun = Instant::now();
    let cut = async {
        let ended = tokio::time::timeout(HEAD + 4 * SLACK, ask).await;
        assert!(ended.is_ok(), "{door:?}: still open");
    };
    look_on(site, cut).await;
    assert!(begun.elapsed() > HEAD, "{door:?}: cut at once");
}
