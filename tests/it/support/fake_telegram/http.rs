//! Just enough HTTP/1.1 to be a server that can also misbehave.

use serde_json::{Map, Value};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// A request with its parameters, whatever way they came.
#[derive(Debug, Clone)]
pub struct Request {
    pub path: String,
    pub params: Map<String, Value>,
    /// Parameters are text (query string or form), so numbers come quoted.
    pub textual: bool,
}

/// Reads one request; none when the client went away or spoke no HTTP.
pub async fn read(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Option<Request> {
    let head_end = loop {
        if let Some(at) = buffer.windows(4).position(|four| four == b"\r\n\r\n") {
            break at + 4;
        }
        if !more(stream, buffer).await || buffer.len() > 64 * 1024 {
            return None;
        }
    };
    let head = String::from_utf8(buffer[..head_end].to_vec()).ok()?;
    let mut lines = head.split("\r\n");
    let mut first = lines.next()?.split(' ');
    let (_method, target) = (first.next()?, first.next()?.to_owned());
    let mut length = 0;
    let mut content_type = String::new();
    let mut content_type_whole = String::new();
    for line in lines {
        let Some((name, value)) = line.split_once(':') else {
            continue;
        };
        match name.to_lowercase().as_str() {
            "content-length" => length = value.trim().parse().ok()?,
            "content-type" => {
                value.trim().clone_into(&mut content_type_whole);
                content_type = content_type_whole.to_lowercase();
            }
            "transfer-encoding" => return None,
            "expect" => stream
                .write_all(b"HTTP/1.1 100 Continue\r\n\r\n")
                .await
                .ok()?,
            _ => {}
        }
    }
    while buffer.len() < head_end + length {
        if !more(stream, buffer).await {
            return None;
        }
    }
    let body = buffer[head_end..head_end + length].to_vec();
    buffer.drain(..head_end + length);
    let (path, query) = match target.split_once('?') {
        Some((path, query)) => (path.to_owned(), query.to_owned()),
        None => (target, String::new()),
    };
    let mut params = form(&query);
    let mut textual = !params.is_empty();
    if content_type.starts_with("application/json") {
        if let Ok(Value::Object(given)) = serde_json::from_slice(&body) {
            params.extend(given);
        } else {
            params.insert("<malformed body>".to_owned(), Value::Null);
        }
    } else if content_type.starts_with("application/x-www-form-urlencoded") {
        params.extend(form(std::str::from_utf8(&body).ok()?));
        textual = true;
    } else if let Some(boundary) = content_type_whole.split("boundary=").nth(1) {
        for (name, content) in multipart(&body, boundary.trim_matches('"'))? {
            match String::from_utf8(content) {
                Ok(text) => params.insert(name, Value::from(text)),
                Err(bytes) => params.insert(name, Value::from(format!("{:?}", bytes.as_bytes()))),
            };
        }
        textual = true;
    } else if !body.is_empty() {
        params.insert(
            "<unsupported content type>".to_owned(),
            Value::from(content_type),
        );
    }
    Some(Request {
        path,
        params,
        textual,
    })
}

async fn more(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> bool {
    matches!(stream.read_buf(buffer).await, Ok(read) if read > 0)
}

/// The bytes of a JSON answer.
pub fn answer(status: u16, body: &Value) -> Vec<u8> {
    let body = body.to_string();
    format!(
        "HTTP/1.1 {status} {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        if status == 200 { "OK" } else { "Status" },
        body.len()
    )
    .into_bytes()
}

/// The answer that is a file, or says that there is none.
pub fn file(content: Option<&[u8]>) -> Vec<u8> {
    let (head, content) = match content {
        Some(content) => ("200 OK", content),
        None => ("404 Not Found", &b"Not Found"[..]),
    };
    let mut answer = format!(
        "HTTP/1.1 {head}\r\nContent-Type: application/octet-stream\r\nContent-Length: {}\r\n\r\n",
        content.len()
    )
    .into_bytes();
    answer.extend_from_slice(content);
    answer
}

/// The parts of a form: names and contents.
fn multipart(body: &[u8], boundary: &str) -> Option<Vec<(String, Vec<u8>)>> {
    let find = |text: &[u8], wanted: &[u8]| text.windows(wanted.len()).position(|w| w == wanted);
    let line = format!("--{boundary}");
    let mut rest = &body[find(body, line.as_bytes())? + line.len()..];
    let mut parts = Vec::new();
    while !rest.starts_with(b"--") {
        let head_end = find(rest, b"\r\n\r\n")?;
        let head = std::str::from_utf8(&rest[..head_end]).ok()?;
        let name = head.split("; name=\"").nth(1)?.split('"').next()?;
        rest = &rest[head_end + 4..];
        let end = find(rest, format!("\r\n{line}").as_bytes())?;
        parts.push((name.to_owned(), rest[..end].to_vec()));
        if let Some(file) = head.split("; filename=\"").nth(1) {
            let file = file.split('"').next()?;
            parts.push((format!("{name}.name"), file.as_bytes().to_vec()));
        }
        rest = &rest[end + 2 + line.len()..];
    }
    Some(parts)
}

fn form(text: &str) -> Map<String, Value> {
    text.split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decode(name), Value::from(decode(value)))
        })
        .collect()
}

fn decode(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut decoded = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let escaped = (bytes[at] == b'%')
            .then(|| text.get(at + 1..at + 3))
            .flatten()
            .and_then(|hex| u8::from_str_radix(hex, 16).ok());
        match (bytes[at], escaped) {
            (_, Some(byte)) => {
                decoded.push(byte);
                at += 3;
            }
            (b'+', None) => {
                decoded.push(b' ');
                at += 1;
            }
            (byte, None) => {
                decoded.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&decoded).into_owned()
}
