//! `response.http`: raw bytes with marks.
//!
//! A line that begins with `%% ` is a mark and no byte of the answer. The head of an answer (up to its first empty line)
//! is written with LF and sent with CRLF; its body is sent as it stands. The marks:
//!
//! - `chunk`: what follows is another write, and another chunk where the head says `transfer-encoding: chunked`
//! - `wait <ms>`: the same, after a pause
//! - `glue`: the line end before this line does not belong to the answer
//! - `bytes <hex>`: these bytes
//! - `fill <count> <character>`: so many of it
//! - `repeat <count>` … `end`: the lines between, so many times
//! - `lines lf|cr|crlf`: line ends of the body from here on
//! - `close fin|rst|none|cut`: how the connection ends; `cut` is FIN without the last chunk, `none` leaves it open
//! - `next`: the answer to the next request begins

use std::time::Duration;

use crate::models::byte_peer::{Close, Play};

/// How an answer's connection ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Fin,
    Rst,
    None,
    Cut,
}

/// One answer.
#[derive(Debug, Clone)]
pub struct Response {
    head: String,
    parts: Vec<(Duration, Vec<u8>)>,
    end: End,
}

/// How the bytes of a body are cut into writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// As the script says.
    AsWritten,
    /// At one place.
    At(usize),
    /// Behind every byte.
    EveryByte,
}

impl Response {
    fn new() -> Self {
        Self {
            head: String::new(),
            parts: vec![(Duration::ZERO, Vec::new())],
            end: End::Fin,
        }
    }

    /// The whole body.
    pub fn body(&self) -> Vec<u8> {
        let parts = self.parts.iter().map(|(_, bytes)| bytes.as_slice());
        parts.collect::<Vec<_>>().concat()
    }

    /// What the peer plays.
    pub fn play(&self, cut: Cut) -> Play {
        let body = self.body();
        let zero = Duration::ZERO;
        // A moment between two writes, so that they arrive as two.
        let moment = Duration::from_millis(1);
        let parts: Vec<(Duration, Vec<u8>)> = match cut {
            Cut::AsWritten => self.parts.clone(),
            Cut::At(at) => {
                let (first, second) = body.split_at(at.min(body.len()));
                vec![(zero, first.to_vec()), (moment, second.to_vec())]
            }
            Cut::EveryByte => body.iter().map(|byte| (zero, vec![*byte])).collect(),
        };
        let chunked = self.head.contains("transfer-encoding: chunked\r\n");
        let head = self.head.replace(
            "content-length: auto\r\n",
            &format!("content-length: {}\r\n", body.len()),
        );
        let mut played = vec![(zero, head.into_bytes())];
        for (wait, bytes) in parts {
            let framed = match (chunked, bytes.is_empty()) {
                (true, false) => {
                    let mut framed = format!("{:x}\r\n", bytes.len()).into_bytes();
                    framed.extend(bytes);
                    framed.extend(b"\r\n");
                    framed
                }
                (_, _) => bytes,
            };
            played.push((wait, framed));
        }
        if chunked && matches!(self.end, End::Fin) {
            played.push((zero, b"0\r\n\r\n".to_vec()));
        }
        Play {
            parts: played,
            close: match self.end {
                End::Fin | End::Cut => Close::Fin,
                End::Rst => Close::Rst,
                End::None => Close::Wait,
            },
        }
    }
}

/// Reads a script; panics with the mark it does not know.
pub fn parse(script: &[u8]) -> Vec<Response> {
    let mut responses = vec![Response::new()];
    let mut in_head = true;
    let mut line_end: &[u8] = b"\n";
    let mut repeated: Option<(usize, usize)> = None;
    let script = script.strip_suffix(b"\n").unwrap_or(script);
    for line in script.split(|byte| *byte == b'\n') {
        let response = responses.last_mut().expect("one at least");
        let Some(mark) = line.strip_prefix(b"%% ") else {
            if in_head {
                response
                    .head
                    .push_str(std::str::from_utf8(line).expect("a head in UTF-8"));
                response.head.push_str("\r\n");
                in_head = !line.is_empty();
            } else {
                let part = &mut response.parts.last_mut().expect("one at least").1;
                part.extend_from_slice(line);
                part.extend_from_slice(line_end);
            }
            continue;
        };
        let mark = std::str::from_utf8(mark).expect("a mark in UTF-8").trim();
        let (word, rest) = mark.split_once(' ').unwrap_or((mark, ""));
        let part = &mut response.parts.last_mut().expect("one at least").1;
        match word {
            "chunk" => response.parts.push((Duration::ZERO, Vec::new())),
            "wait" => {
                let wait = Duration::from_millis(rest.parse().expect("milliseconds"));
                response.parts.push((wait, Vec::new()));
            }
            "glue" => {
                assert!(part.ends_with(line_end), "a line end to take away");
                part.truncate(part.len() - line_end.len());
            }
            "bytes" => part.extend(
                rest.split_whitespace()
                    .map(|hex| u8::from_str_radix(hex, 16).expect("two hex digits")),
            ),
            "fill" => {
                let (count, what) = rest.split_once(' ').expect("a count and a character");
                let count = count.parse().expect("a count");
                part.extend_from_slice(what.repeat(count).as_bytes());
            }
            "repeat" => repeated = Some((rest.parse().expect("a count"), part.len())),
            "end" => {
                let (count, from) = repeated.take().expect("a repeat before");
                let once = part.split_off(from);
                part.extend(once.repeat(count));
            }
            "lines" => {
                line_end = match rest {
                    "lf" => b"\n",
                    "cr" => b"\r",
                    "crlf" => b"\r\n",
                    other => panic!("no line end {other:?}"),
                }
            }
            "close" => {
                response.end = match rest {
                    "fin" => End::Fin,
                    "rst" => End::Rst,
                    "none" => End::None,
                    "cut" => End::Cut,
                    other => panic!("no close {other:?}"),
                }
            }
            "next" => {
                responses.push(Response::new());
                in_head = true;
                line_end = b"\n";
            }
            other => panic!("no mark {other:?}"),
        }
    }
    responses
}

/// Places to cut a body at: all of a short one, else an even sample and the places where decoders err (inside a
/// character, a line end, an escape).
pub fn places(body: &[u8]) -> Vec<usize> {
    const ALL_UP_TO: usize = 40;
    const SAMPLE: usize = 8;
    if body.len() <= ALL_UP_TO {
        return (1..body.len()).collect();
    }
    let mut places: Vec<usize> = (1..SAMPLE).map(|n| body.len() * n / SAMPLE).collect();
    let odd = (1..body.len()).filter(|at| {
        let (before, after) = (body[at - 1], body[*at]);
        (after & 0xC0) == 0x80 || (before == b'\r' && after == b'\n') || before == b'\\'
    });
    places.extend(odd.take(SAMPLE));
    places.sort_unstable();
    places.dedup();
    places
}
