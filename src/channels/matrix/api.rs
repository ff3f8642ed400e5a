//! The client-server API: one call, and exactly what is known about how it ended.
//!
//! The token is in the `Authorization` header and in nothing else. Nothing here tries twice.

use std::time::Duration;

use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

use crate::channels::http::{Answer, CallError, Http, HttpTimes};
use crate::config::secret::Secret;

/// Longest upload or download.
const MEDIA_TIMEOUT: Duration = Duration::from_mins(2);
/// Joining may need the room's other servers.
const JOIN_TIMEOUT: Duration = Duration::from_mins(1);
/// How long people see that we type, unless it is said again. In milliseconds.
const TYPING_MS: u64 = 8_000;
/// Rest after a refusal that names none.
pub const REST: Duration = Duration::from_secs(1);
/// Nobody is made to wait longer.
const LONGEST_REST: Duration = Duration::from_hours(24);

/// A client for one account.
#[derive(Clone)]
pub struct Api {
    http: Http,
    token: Secret,
}

impl Api {
    /// A client for a homeserver (for example `https://matrix.example.org`). Connects to nothing yet.
    ///
    /// # Errors
    /// In words, when no client can be made on this machine or for this address.
    pub fn new(base: &str, token: Secret, times: HttpTimes) -> Result<Self, String> {
        let http = Http::new(base.trim_end_matches('/'), vec![token.clone()], times)?;
        Ok(Self { http, token })
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.http
            .request(method, path)
            .bearer_auth(self.token.expose())
    }

    async fn exchange(
        &self,
        request: RequestBuilder,
        limit: Option<Duration>,
    ) -> Result<Value, CallError> {
        let answer = self.http.send(request, limit).await?;
        judge(answer, &|text| self.http.scrub(text))
    }

    async fn get(&self, path: &str) -> Result<Value, CallError> {
        self.exchange(self.request(Method::GET, path), None).await
    }

    async fn put(&self, path: &str, body: &Value) -> Result<Value, CallError> {
        self.exchange(self.request(Method::PUT, path).json(body), None)
            .await
    }

    /// The versions of the specification that the server speaks.
    pub async fn versions(&self) -> Result<Vec<String>, CallError> {
        let answer = self.get("/_matrix/client/versions").await?;
        Ok(answer["versions"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect())
    }

    /// Whose token this is.
    pub async fn whoami(&self) -> Result<Value, CallError> {
        self.get("/_matrix/client/v3/account/whoami").await
    }

    /// The display name of a user; none where they have none.
    pub async fn display_name(&self, user: &str) -> Result<Option<String>, CallError> {
        let path = format!("/_matrix/client/v3/profile/{}/displayname", segment(user));
        match self.get(&path).await {
            Ok(answer) => Ok(answer["displayname"].as_str().map(str::to_owned)),
            Err(CallError::Refused {
                code: 403 | 404, ..
            }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// What came after `since`; without it what is there now. The server may hold the answer this long.
    pub async fn sync(
        &self,
        since: Option<&str>,
        filter: &Value,
        hold: Duration,
        limit: Duration,
    ) -> Result<Value, CallError> {
        let mut query = vec![
            ("filter", filter.to_string()),
            ("timeout", hold.as_millis().to_string()),
            // Whether a person sees us as online says nothing about whether we answer.
            ("set_presence", "offline".to_owned()),
        ];
        query.extend(since.map(|since| ("since", since.to_owned())));
        let path = format!("/_matrix/client/v3/sync?{}", query_string(&query));
        self.exchange(self.request(Method::GET, &path), Some(limit))
            .await
    }

    /// A page of a room's messages, newest first, from one position back to another.
    pub async fn messages_before(
        &self,
        room: &str,
        from: &str,
        to: &str,
        filter: &Value,
    ) -> Result<Value, CallError> {
        let query = [
            ("dir", "b".to_owned()),
            ("limit", "100".to_owned()),
            ("from", from.to_owned()),
            ("to", to.to_owned()),
            ("filter", filter.to_string()),
        ];
        self.get(&format!(
            "{}/messages?{}",
            room_path(room),
            query_string(&query)
        ))
        .await
    }

    /// One event of a room.
    pub async fn event(&self, room: &str, event: &str) -> Result<Value, CallError> {
        self.get(&format!("{}/event/{}", room_path(room), segment(event)))
            .await
    }

    /// Who is in a room.
    pub async fn joined_members(&self, room: &str) -> Result<Vec<String>, CallError> {
        let answer = self
            .get(&format!("{}/joined_members", room_path(room)))
            .await?;
        let members = answer["joined"].as_object();
        Ok(members
            .map(|members| members.keys().cloned().collect())
            .unwrap_or_default())
    }

    /// Joins a room, with the help of these servers.
    pub async fn join(&self, room: &str, via: &[String]) -> Result<Value, CallError> {
        let query: Vec<(&str, String)> = via
            .iter()
            .flat_map(|server| [("server_name", server.clone()), ("via", server.clone())])
            .collect();
        let path = format!(
            "/_matrix/client/v3/join/{}?{}",
            segment(room),
            query_string(&query)
        );
        let request = self.request(Method::POST, &path).json(&json!({}));
        self.exchange(request, Some(JOIN_TIMEOUT)).await
    }

    /// Makes a room for direct messages with a user, who is invited.
    pub async fn create_direct_room(&self, user: &str) -> Result<String, CallError> {
        let body = json!({ "preset": "trusted_private_chat", "is_direct": true, "invite": [user] });
        let request = self
            .request(Method::POST, "/_matrix/client/v3/createRoom")
            .json(&body);
        let answer = self.exchange(request, None).await?;
        named(&answer, "room_id")
    }

    /// Sends an event under a key: the server shows it once, however often it comes from this device. Its id.
    pub async fn send(
        &self,
        room: &str,
        kind: &str,
        key: &str,
        content: &Value,
    ) -> Result<String, CallError> {
        let path = format!(
            "{}/send/{}/{}",
            room_path(room),
            segment(kind),
            segment(key)
        );
        named(&self.put(&path, content).await?, "event_id")
    }

    /// Takes an event back.
    pub async fn redact(&self, room: &str, event: &str, key: &str) -> Result<(), CallError> {
        let path = format!(
            "{}/redact/{}/{}",
            room_path(room),
            segment(event),
            segment(key)
        );
        self.put(&path, &json!({})).await.map(drop)
    }

    /// Shows for some seconds that we type, or that we do not any more.
    pub async fn typing(&self, room: &str, user: &str, typing: bool) -> Result<(), CallError> {
        let path = format!("{}/typing/{}", room_path(room), segment(user));
        let body = if typing {
            json!({ "typing": true, "timeout": TYPING_MS })
        } else {
            json!({ "typing": false })
        };
        self.put(&path, &body).await.map(drop)
    }

    /// What this account keeps under a name, of its own or of a room; none where it keeps nothing.
    pub async fn account_data(
        &self,
        user: &str,
        room: Option<&str>,
        name: &str,
    ) -> Result<Option<Value>, CallError> {
        match self.get(&account_data_path(user, room, name)).await {
            Ok(data) => Ok(Some(data)),
            Err(CallError::Refused { code: 404, .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Keeps something under a name for a room.
    pub async fn put_account_data(
        &self,
        user: &str,
        room: &str,
        name: &str,
        data: &Value,
    ) -> Result<(), CallError> {
        let path = account_data_path(user, Some(room), name);
        self.put(&path, data).await.map(drop)
    }

    /// Stores a file at the homeserver; its `mxc://` address.
    pub async fn upload(
        &self,
        name: &str,
        media_type: &str,
        content: Vec<u8>,
    ) -> Result<String, CallError> {
        let path = format!("/_matrix/media/v3/upload?filename={}", segment(name));
        let request = self
            .request(Method::POST, &path)
            .header(reqwest::header::CONTENT_TYPE, media_type)
            .body(content);
        named(
            &self.exchange(request, Some(MEDIA_TIMEOUT)).await?,
            "content_uri",
        )
    }

    /// Downloads a file by its `mxc://` address; none when it has more bytes than that.
    pub async fn download(&self, mxc: &str, max_bytes: u64) -> Result<Option<Vec<u8>>, CallError> {
        let Some(path) = media_path(mxc) else {
            return Err(CallError::refused(
                404,
                "its address is no `mxc://` address",
            ));
        };
        let request = |prefix: &str| self.request(Method::GET, &format!("{prefix}/{path}"));
        let now = request("/_matrix/client/v1/media/download");
        match self.http.download(now, max_bytes).await {
            // Servers before version 1.11 of the specification know the open address only.
            Err(CallError::Refused {
                code: 404 | 405, ..
            }) => {
                let before = request("/_matrix/media/v3/download");
                self.http.download(before, max_bytes).await
            }
            answer => answer,
        }
    }

    /// The largest file that the server takes, in bytes, where it says.
    pub async fn largest_upload(&self) -> Result<Option<u64>, CallError> {
        let answer = self.get("/_matrix/client/v1/media/config").await?;
        Ok(answer["m.upload.size"].as_u64())
    }
}

/// What an answer says. `scrub` makes a text of the server fit to be shown.
pub fn judge(answer: Answer, scrub: &dyn Fn(&str) -> String) -> Result<Value, CallError> {
    let status = answer.status;
    let text = |name: &str| answer.body.get(name).and_then(Value::as_str);
    let name = scrub(text("errcode").unwrap_or_default());
    let mut detail = scrub(text("error").unwrap_or("no description"));
    if status == 429 || name == "M_LIMIT_EXCEEDED" {
        let said = answer.body["retry_after_ms"].as_u64();
        let rest = said.map(Duration::from_millis);
        return Err(CallError::Limited {
            retry_after: rest
                .max(answer.retry_after())
                .unwrap_or(REST)
                .clamp(REST, LONGEST_REST),
            // Limits are those of the account.
            everything: true,
        });
    }
    match status {
        200..=299 if answer.body.is_object() => Ok(answer.body),
        400..=499 => {
            if answer.body.get("soft_logout") == Some(&Value::Bool(true)) {
                detail.push_str(" (the server ended the login and would take a new one)");
            }
            Err(CallError::Refused {
                code: status,
                name,
                detail,
                moved_to: None,
            })
        }
        500..=599 => Err(CallError::Server { status, detail }),
        _ => Err(CallError::lost(format!(
            "HTTP {status} with a body that is not an answer of the API"
        ))),
    }
}

/// A field that an accepted call must name. Without it the call may have been carried out.
pub fn named(answer: &Value, field: &str) -> Result<String, CallError> {
    answer
        .get(field)
        .and_then(Value::as_str)
        .map(str::to_owned)
        .ok_or_else(|| CallError::lost(format!("the answer to an accepted call names no {field}")))
}

fn room_path(room: &str) -> String {
    format!("/_matrix/client/v3/rooms/{}", segment(room))
}

fn account_data_path(user: &str, room: Option<&str>, name: &str) -> String {
    let room = room.map_or_else(String::new, |room| format!("/rooms/{}", segment(room)));
    format!(
        "/_matrix/client/v3/user/{}{room}/account_data/{}",
        segment(user),
        segment(name)
    )
}

/// `server/id` of an `mxc://` address, fit for a path.
pub fn media_path(mxc: &str) -> Option<String> {
    let (server, id) = mxc.strip_prefix("mxc://")?.split_once('/')?;
    let is_part = |part: &str| {
        !part.is_empty()
            && part
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b".-_~:[]=".contains(&byte))
    };
    (is_part(server) && is_part(id) && id != "." && id != "..")
        .then(|| format!("{}/{}", segment(server), segment(id)))
}

fn query_string(query: &[(&str, String)]) -> String {
    let pairs = query
        .iter()
        .map(|(name, value)| format!("{name}={}", segment(value)));
    pairs.collect::<Vec<_>>().join("&")
}

/// Text as one segment of a path, or as a value of a query.
pub fn segment(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    // A segment of dots alone would name another path.
    match out.as_str() {
        "." => "%2E".to_owned(),
        ".." => "%2E%2E".to_owned(),
        _ => out,
    }
}
