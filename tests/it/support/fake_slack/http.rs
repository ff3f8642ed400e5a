//! Just enough HTTP/1.1 to be a server that can also misbehave.

use serde_json::{Map, Value};
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;

/// A request.
#[derive(Debug, Clone)]
pub struct Request {
    pub method: String,
    pub path: String,
    pub query: String,
    headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Request {
    /// The value of a header; its name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut all = self.headers.iter();
        all.find(|(given, _)| given == name)
            .map(|(_, value)| value.as_str())
    }

    /// Whether the parameters came as JSON.
    pub fn is_json(&self) -> bool {
        self.header("content-type")
            .is_some_and(|kind| kind.to_ascii_lowercase().starts_with("application/json"))
    }

    /// The parameters, whatever way they came.
    pub fn params(&self) -> Value {
        let mut params = form(&self.query);
        if self.is_json() {
            if let Ok(Value::Object(given)) = serde_json::from_slice(&self.body) {
                params.extend(given);
            }
        } else if let Ok(text) = std::str::from_utf8(&self.body) {
            params.extend(form(text));
            // In a form, what is no text is JSON.
            for name in ["blocks", "files", "metadata"] {
                let given = params.get(name).and_then(Value::as_str);
                if let Some(value) = given.and_then(|text| serde_json::from_str(text).ok()) {
                    params.insert(name.to_owned(), value);
                }
            }
        }
        Value::Object(params)
    }
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
    let (method, target) = (first.next()?.to_owned(), first.next()?.to_owned());
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_lowercase(), value.trim().to_owned()))
        .collect();
    let length = headers
        .iter()
        .find(|(name, _)| name == "content-length")
        .map_or(Some(0), |(_, value)| value.parse().ok())?;
    while buffer.len() < head_end + length {
        if !more(stream, buffer).await {
            return None;
        }
    }
    let body = buffer[head_end..head_end + length].to_vec();
    buffer.drain(..head_end + length);
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    Some(Request {
        method,
        path: path.to_owned(),
        query: query.to_owned(),
        headers,
        body,
    })
}

async fn more(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> bool {
    matches!(stream.read_buf(buffer).await, Ok(read) if read > 0)
}

/// The bytes of a JSON answer.
pub fn answer(
    status: u16,
    body: &Value,
    (scopes, clock): (&str, i64),
    retry_after: Option<u64>,
) -> Vec<u8> {
    let body = if body.is_null() {
        String::new()
    } else {
        body.to_string()
    };
    let rest = retry_after
        .map(|seconds| format!("Retry-After: {seconds}\r\n"))
        .unwrap_or_default();
    let date = jiff::Timestamp::from_second(clock)
        .unwrap()
        .strftime("%a, %d %b %Y %H:%M:%S GMT");
    format!(
        "HTTP/1.1 {status} Status\r\nDate: {date}\r\nContent-Type: application/json\r\nX-OAuth-Scopes: {scopes}\r\n{rest}Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

/// The bytes of any other answer.
pub fn plain(status: u16, content: &[u8]) -> Vec<u8> {
    let mut answer = format!(
        "HTTP/1.1 {status} Status\r\nContent-Length: {}\r\n\r\n",
        content.len()
    )
    .into_bytes();
    answer.extend_from_slice(content);
    answer
}

fn form(text: &str) -> Map<String, Value> {
    let Ok(url) = reqwest::Url::parse(&format!("http://x/?{text}")) else {
        return Map::new();
    };
    url.query_pairs()
        .map(|(name, value)| (name.into_owned(), Value::from(value.into_owned())))
        .collect()
}
