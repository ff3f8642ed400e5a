//! Posts to topics of ntfy servers. No message of it holds the address of a topic or a token.
//!
//! A post that nobody answered is sent again under the same sequence id, so that the server replaces the first one.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use reqwest::header::{AUTHORIZATION, HeaderValue};

use crate::config::secret::Secret;
use crate::engine::core::Engine;
use crate::engine::lock::lock;
use crate::model::http::{client_for, with_causes};
use crate::protocol::enums::Risk;

/// Longest time of a post.
const TIMEOUT: Duration = Duration::from_secs(10);
/// How often a post is tried, and the wait before the second try; it doubles.
const TRIES: u32 = 3;
const WAIT: Duration = Duration::from_secs(1);

/// A notification.
#[derive(Debug, Clone)]
pub struct Notification {
    /// Address of the topic.
    pub url: Secret,
    /// Access token.
    pub token: Option<Secret>,
    /// The same for each try.
    pub sequence: String,
    pub title: String,
    pub text: String,
    /// Risk of what waits.
    pub risk: Risk,
    /// What it opens.
    pub click: Option<String>,
}

/// How a post ended; none = it is under way.
type PostEnd = Option<Result<(), String>>;

/// The posts under way and those that ended, by their sequence.
#[derive(Debug, Clone, Default)]
pub struct Posts(Arc<Mutex<HashMap<String, PostEnd>>>);

impl Posts {
    /// How it ended, once; until then it is posted, unless that is under way.
    pub fn poll(&self, engine: &Engine, notification: Notification) -> PostEnd {
        let mut posts = lock(&self.0);
        match posts.get(&notification.sequence) {
            Some(None) => return None,
            Some(Some(_)) => return posts.remove(&notification.sequence).flatten(),
            None => posts.insert(notification.sequence.clone(), None),
        };
        drop(posts);
        let (posts, task) = (self.clone(), engine.clone());
        engine.spawn(async move {
            let result = tokio::select! {
                () = task.shutdown.cancelled() => return,
                result = post(&notification) => result,
            };
            crate::crash_point!("escalate.posted");
            lock(&posts.0).insert(notification.sequence, Some(result));
            task.scheduler.deadlines_changed();
        });
        None
    }
}

/// Posts it, several times where nobody answers.
async fn post(notification: &Notification) -> Result<(), String> {
    let mut wait = WAIT;
    let mut problem = String::new();
    for attempt in 1..=TRIES {
        match try_post(notification).await {
            Ok(()) => return Ok(()),
            Err(Refusal::Final(why)) => return Err(why),
            Err(Refusal::Again(why)) => problem = why,
        }
        if attempt < TRIES {
            tokio::time::sleep(wait).await;
            wait *= 2;
        }
    }
    Err(problem)
}

/// How a post failed.
enum Refusal {
    /// Another try may do.
    Again(String),
    /// No other try will do.
    Final(String),
}

async fn try_post(notification: &Notification) -> Result<(), Refusal> {
    let url = reqwest::Url::parse(notification.url.expose())
        .map_err(|error| Refusal::Final(format!("the address of the topic is no URL: {error}")))?;
    let client = client_for(&url, TIMEOUT).map_err(Refusal::Final)?;
    let priority = if notification.risk >= Risk::High {
        "5"
    } else {
        "4"
    };
    let mut request = client
        .post(url)
        .timeout(TIMEOUT)
        .header("title", plain(&notification.title))
        .header("priority", priority)
        .header("tags", "bell")
        .header("x-sequence-id", plain(&notification.sequence))
        .body(notification.text.clone());
    if let Some(click) = &notification.click {
        request = request.header("click", plain(click));
    }
    if let Some(token) = &notification.token {
        let mut value = HeaderValue::from_str(&format!("Bearer {}", token.expose()))
            .map_err(|_| Refusal::Final("the access token fits into no header".to_owned()))?;
        value.set_sensitive(true);
        request = request.header(AUTHORIZATION, value);
    }
    let answer = request
        .send()
        .await
        .map_err(|error| Refusal::Again(with_causes(&error.without_url())))?;
    let status = answer.status();
    if status.is_success() {
        return Ok(());
    }
    let why = match status.as_u16() {
        401 | 403 => format!(
            "the ntfy server answers with HTTP {status}: set token_env or token_file of the step to a token that may \
             write to the topic"
        ),
        404 => {
            format!("the ntfy server answers with HTTP {status}: the address names no topic of it")
        }
        _ => format!("the ntfy server answers with HTTP {status}"),
    };
    Err(if status.is_server_error() || status.as_u16() == 429 {
        Refusal::Again(why)
    } else {
        Refusal::Final(why)
    })
}

/// What fits into a header.
fn plain(text: &str) -> String {
    let visible = |c: char| {
        if c == ' ' || c.is_ascii_graphic() {
            c
        } else {
            '?'
        }
    };
    text.chars().map(visible).collect()
}
