//! Just enough HTTP/1.1 to be a server that can also misbehave.

use serde_json::{Value, json};
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;

/// A request.
#[derive(Debug, Clone, Default)]
pub struct Request {
    pub method: String,
    pub path: String,
    pub query: String,
    pub authorization: String,
    pub user_agent: String,
    /// The key of a WebSocket that is wanted.
    pub websocket: Option<String>,
    /// The JSON of the body, also of a form.
    pub body: Value,
    /// Files of a form: name and content.
    pub files: Vec<(String, Vec<u8>)>,
    /// The body was no JSON and no form.
    pub is_malformed: bool,
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
    let mut request = Request {
        method: first.next()?.to_owned(),
        ..Request::default()
    };
    let target = first.next()?;
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    request.path = path.replace("%40", "@");
    query.clone_into(&mut request.query);
    let mut length = 0;
    let mut content_type = String::new();
    for line in lines {
        let Some((name, value)) = line.split_once(':') else {
            continue;
        };
        let value = value.trim();
        match name.to_lowercase().as_str() {
            "content-length" => length = value.parse().ok()?,
            "content-type" => value.clone_into(&mut content_type),
            "authorization" => value.clone_into(&mut request.authorization),
            "user-agent" => value.clone_into(&mut request.user_agent),
            "sec-websocket-key" => request.websocket = Some(value.to_owned()),
            "transfer-encoding" => return None,
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
    if body.is_empty() {
        return Some(request);
    }
    if content_type.starts_with("application/json") {
        match serde_json::from_slice(&body) {
            Ok(json) => request.body = json,
            Err(_) => request.is_malformed = true,
        }
    } else if let Some(boundary) = content_type.split("boundary=").nth(1) {
        for (name, file, content) in multipart(&body, boundary.trim_matches('"'))? {
            match (name.as_str(), file) {
                ("payload_json", _) => request.body = serde_json::from_slice(&content).ok()?,
                (_, Some(file)) => request.files.push((file, content)),
                (_, None) => request.is_malformed = true,
            }
        }
    } else {
        request.is_malformed = true;
    }
    Some(request)
}

async fn more(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> bool {
    matches!(stream.read_buf(buffer).await, Ok(read) if read > 0)
}

/// The bytes of an answer.
pub fn answer(status: u16, headers: &[(String, String)], body: &Value) -> Vec<u8> {
    let body = if body.is_null() {
        String::new()
    } else {
        body.to_string()
    };
    let mut text = format!(
        "HTTP/1.1 {status} Status\r\nContent-Type: application/json\r\nContent-Length: {}\r\n",
        body.len()
    );
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    text.push_str("\r\n");
    text.push_str(&body);
    text.into_bytes()
}

/// The answer that is a file.
pub fn file(content: &[u8]) -> Vec<u8> {
    let mut answer = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nContent-Length: {}\r\n\r\n",
        content.len()
    )
    .into_bytes();
    answer.extend_from_slice(content);
    answer
}

pub fn refusal(code: u64, message: &str) -> Value {
    json!({ "code": code, "message": message })
}

/// A part of a form: name, name of the file, content.
type FormPart = (String, Option<String>, Vec<u8>);

/// The parts of a form.
fn multipart(body: &[u8], boundary: &str) -> Option<Vec<FormPart>> {
    let find = |text: &[u8], wanted: &[u8]| text.windows(wanted.len()).position(|w| w == wanted);
    let line = format!("--{boundary}");
    let mut rest = &body[find(body, line.as_bytes())? + line.len()..];
    let mut parts = Vec::new();
    while !rest.starts_with(b"--") {
        let head_end = find(rest, b"\r\n\r\n")?;
        let head = std::str::from_utf8(&rest[..head_end]).ok()?;
        let quoted = |mark: &str| {
            let value = head.split(mark).nth(1)?.split('"').next()?;
            Some(value.replace("%5B", "[").replace("%5D", "]"))
        };
        let name = quoted("; name=\"")?;
        let file = quoted("; filename=\"");
        rest = &rest[head_end + 4..];
        let end = find(rest, format!("\r\n{line}").as_bytes())?;
        parts.push((name, file, rest[..end].to_vec()));
        rest = &rest[end + 2 + line.len()..];
    }
    Some(parts)
}
