//! Bodies that are too large, packed, or cut into ever so many pieces.

use crate::attacks::heads::exchange;
use crate::attacks::site::{PATHS, Site, status};

/// A body in chunks of this many bytes.
fn chunked(length: usize, piece: usize) -> String {
    let chunk = format!("{piece:x}\r\n{}\r\n", " ".repeat(piece));
    chunk.repeat(length / piece + 1) + "0\r\n\r\n"
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_over_its_limit_is_refused_however_it_is_framed() {
    for site in Site::both("") {
        for door in site.doors {
            // One path stands for all with the limit of the API: tens of megabytes take their time.
            let some = PATHS
                .iter()
                .filter(|(_, path, limit)| *limit < 8 * 1024 * 1024 || *path == "/v1/sessions");
            for (method, path, limit) in some {
                // Else an answered connection stays open until its next head is late.
                let head = site.head(method, path) + "Connection: close\r\n";
                let long = " ".repeat(limit + 1);
                let pieces = chunked(*limit, 64 * 1024);
                let cases = [
                    (
                        "a length",
                        format!("{head}Content-Length: {}\r\n\r\n{long}", limit + 1),
                    ),
                    (
                        "chunks",
                        format!("{head}Transfer-Encoding: chunked\r\n\r\n{pieces}"),
                    ),
                ];
                for (what, bytes) in cases {
                    let said = exchange(site.connect(door).await, bytes.as_bytes()).await;
                    let status = status(&said).map(|status| status.as_u16());
                    let is_refused = match status {
                        None | Some(413) => true,
                        // An upload says in its own words that `max_mib` is less.
                        Some(400 | 422) => path.starts_with("/v1/datasets"),
                        Some(_) => false,
                    };
                    assert!(is_refused, "{door:?} {path} {what}: {said}");
                }
            }
            site.owner().await;
        }
        site.works().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn bombs_of_chunks_and_packed_bodies_are_refused() {
    // Two kilobytes that would be two megabytes.
    let packed = {
        use std::io::Write as _;
        let mut writer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        writer.write_all(&vec![b' '; 2 * 1024 * 1024]).unwrap();
        writer.finish().unwrap()
    };
    for site in Site::both("") {
        for door in site.doors {
            for (method, path, _) in PATHS {
                // Else an answered connection stays open until its next head is late.
                let head = site.head(method, path) + "Connection: close\r\n";
                let chunks = format!("{head}Transfer-Encoding: chunked\r\n\r\n");
                let long = "x".repeat(1024 * 1024);
                let cases = [
                    format!("{chunks}FFFFFFFFFFFFFFFFF\r\nx"),
                    format!("{chunks}1;{long}\r\nx\r\n0\r\n\r\n"),
                    format!("{chunks}{}", "1;a=bcdefgh\r\n \r\n".repeat(50_000)),
                    format!("{chunks}1\r\n \r\n0\r\nX: {long}\r\n\r\n"),
                    format!("{chunks}1\r\n \r\n0\r\n{}\r\n", "X: y\r\n".repeat(10_000)),
                ];
                let mut sent: Vec<Vec<u8>> = cases.map(String::into_bytes).to_vec();
                let coded = format!(
                    "{head}Content-Encoding: gzip\r\nContent-Length: {}\r\n\r\n",
                    packed.len()
                );
                sent.push([coded.as_bytes(), &packed].concat());
                for (number, bytes) in sent.iter().enumerate() {
                    let said = exchange(site.connect(door).await, bytes).await;
                    let status = status(&said).map(|status| status.as_u16());
                    assert!(
                        status.is_none_or(|status| (400..500).contains(&status)),
                        "{door:?} {path} {number}: {said}"
                    );
                }
            }
            site.owner().await;
        }
        site.works().await;
        assert!(site.peak() < 150 * 1024 * 1024, "{}", site.peak());
    }
}
