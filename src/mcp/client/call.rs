//! One call of a tool: its rounds of questions, its progress, and its end.
//!
//! A call that ends here without an answer has told its server so, and nothing is sent twice.

use std::collections::BTreeMap;
use std::time::Duration;

use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientRequest, InputRequiredResult,
    ProgressNotificationParam, ServerResult,
};
use rmcp::service::PeerRequestOptions;
use serde_json::{Map, Value};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::mcp::client::caller::Caller;
use crate::mcp::client::connection::Connection;
use crate::mcp::client::elicitation;
use crate::mcp::client::request::{self, RequestError};

/// Most rounds of questions in one call.
const MAX_ROUNDS: usize = 5;
/// Most questions of one round.
const MAX_QUESTIONS: usize = 4;
/// Most bytes of the state that a server lets us carry.
const MAX_STATE: usize = 64 * 1024;
/// Time between two pieces of progress that are shown.
const PIECES: Duration = Duration::from_millis(200);
/// Longest text of one piece of progress, in bytes.
const MAX_PROGRESS: usize = 300;

/// How long a call may take.
#[derive(Debug, Clone, Copy)]
pub struct CallTimes {
    /// Longest time without progress.
    pub idle: Duration,
    /// Longest time at all.
    pub longest: Duration,
}

impl Connection {
    /// Calls a tool: the result as it came.
    pub async fn call(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        times: CallTimes,
        caller: &dyn Caller,
        cancel: &CancellationToken,
    ) -> Result<Value, RequestError> {
        if self.closed().is_cancelled() {
            return Err(RequestError::NotDone("the server has ended".to_owned()));
        }
        let until = Instant::now() + times.longest;
        let mut params = CallToolRequestParams::new(tool.to_owned());
        params.arguments = Some(arguments);
        // What nobody answered, for whoever reads the result.
        let mut notes = Vec::new();
        for rounds in 0..=MAX_ROUNDS {
            let request = CallToolRequest::new(params.clone());
            let round = Round {
                connection: self,
                times,
                until,
                caller,
                cancel,
            };
            let result = round.run(request, &mut notes).await;
            let result = result.map_err(|error| behind(rounds, error))?;
            let required = match result {
                ServerResult::InputRequiredResult(required) => required,
                ServerResult::CreateTaskResult(_) | ServerResult::GetTaskResult(_) => {
                    return Err(RequestError::Unknown(
                        "the server made a task of the call, which nobody asked for".to_owned(),
                    ));
                }
                other => return finished(&other, notes),
            };
            let asking = answers(&required, caller, &mut notes);
            let responses = tokio::select! {
                responses = asking => responses?,
                () = cancel.cancelled() => return Err(cancelled()),
                () = tokio::time::sleep_until(until) => return Err(too_long(times.longest)),
            };
            params.input_responses = Some(responses);
            // Echoed as it came, and never read.
            params.request_state = required.request_state;
        }
        Err(RequestError::Unknown(format!(
            "the server still asks after {MAX_ROUNDS} rounds of questions"
        )))
    }
}

/// A failure after so many earlier rounds: the server has worked on the call in each of them.
fn behind(rounds: usize, error: RequestError) -> RequestError {
    match error {
        RequestError::NotDone(why) | RequestError::NeedsLogin(why) if rounds > 0 => {
            RequestError::Unknown(why)
        }
        RequestError::NotDone(_) | RequestError::NeedsLogin(_) | RequestError::Unknown(_) => error,
    }
}

/// The result of a call that is over, with what nobody answered.
fn finished(result: &ServerResult, notes: Vec<String>) -> Result<Value, RequestError> {
    let mut json = request::json(result);
    let is_result = json.get("content").is_some() || json.get("structuredContent").is_some();
    let is_empty = json
        .as_object()
        .is_some_and(|map| map.keys().all(|key| key == "_meta" || key == "resultType"));
    let kind = json.get("resultType").and_then(Value::as_str);
    if kind.is_some_and(|kind| kind != "complete") || !(is_result || is_empty) {
        return Err(RequestError::Unknown(
            "the answer of the server is no result of a call".to_owned(),
        ));
    }
    if !notes.is_empty() {
        let blocks = notes
            .into_iter()
            .map(|note| serde_json::json!({"type": "text", "text": format!("[{note}]")}));
        match json.get_mut("content").and_then(Value::as_array_mut) {
            Some(content) => content.extend(blocks),
            None => json["content"] = blocks.collect(),
        }
    }
    Ok(json)
}

/// A person's answers to the questions of one round.
async fn answers(
    required: &InputRequiredResult,
    caller: &dyn Caller,
    notes: &mut Vec<String>,
) -> Result<BTreeMap<String, Value>, RequestError> {
    let state = required.request_state.as_deref().unwrap_or_default();
    if state.len() > MAX_STATE {
        return Err(RequestError::Unknown(format!(
            "the server wants {} bytes of state carried, and {MAX_STATE} are the most",
            state.len()
        )));
    }
    let questions = required.input_requests.iter().flatten();
    let mut responses = BTreeMap::new();
    for (count, (key, question)) in questions.enumerate() {
        if count == MAX_QUESTIONS {
            return Err(RequestError::Unknown(format!(
                "the server asks more than {MAX_QUESTIONS} questions at once"
            )));
        }
        let json = serde_json::to_value(question).unwrap_or_default();
        if json.get("method") != Some(&Value::from("elicitation/create")) {
            return Err(RequestError::Unknown(
                "the server wants a model or directories of ours, and gets none".to_owned(),
            ));
        }
        let answer = elicitation::answer(json.get("params").unwrap_or(&Value::Null), caller).await;
        notes.extend(answer.note);
        responses.insert(key.clone(), answer.result);
    }
    Ok(responses)
}

/// One request of a call and what comes while it runs.
struct Round<'a> {
    connection: &'a Connection,
    times: CallTimes,
    until: Instant,
    caller: &'a dyn Caller,
    cancel: &'a CancellationToken,
}

impl Round<'_> {
    async fn run(
        &self,
        request: CallToolRequest,
        notes: &mut Vec<String>,
    ) -> Result<ServerResult, RequestError> {
        let peer = &self.connection.peer;
        let retired = &self.connection.retired;
        let request = ClientRequest::CallToolRequest(request);
        let sent = peer.send_request_with_option(request, PeerRequestOptions::no_options());
        let handle = sent
            .await
            .map_err(|error| request::failed(retired, &error))?;
        let (id, mut answer) = (handle.id.clone(), handle.rx);
        let traffic = &self.connection.traffic;
        let (mut arrivals, _landing) = traffic.take_off(id.clone(), handle.progress_token);
        let closed = self.connection.closed();
        let mut progress = Progress::default();
        let mut idle = Instant::now() + self.times.idle;
        let give_up = |why: RequestError, said: &str| {
            request::cancel(peer, id.clone(), said);
            Err(why)
        };
        loop {
            tokio::select! {
                biased;
                answered = &mut answer => return request::answered(retired, answered),
                () = self.cancel.cancelled() => return give_up(cancelled(), "cancelled"),
                () = closed.cancelled() => return Err(request::closed()),
                () = tokio::time::sleep_until(self.until) => {
                    return give_up(too_long(self.times.longest), "it took too long");
                }
                () = tokio::time::sleep_until(idle) => {
                    let seconds = self.times.idle.as_secs_f32();
                    let why = format!("no answer and no progress within {seconds} s");
                    return give_up(RequestError::Unknown(why), "it took too long");
                }
                Some(question) = arrivals.questions.recv() => {
                    let asking = elicitation::answer(&question.params, self.caller);
                    let said = tokio::select! {
                        said = asking => said,
                        answered = &mut answer => return request::answered(retired, answered),
                        () = self.cancel.cancelled() => return give_up(cancelled(), "cancelled"),
                        () = closed.cancelled() => return Err(request::closed()),
                        () = tokio::time::sleep_until(self.until) => {
                            return give_up(too_long(self.times.longest), "it took too long");
                        }
                    };
                    notes.extend(said.note);
                    // The server may have gone meanwhile.
                    let _ = question.answer.send(said.result);
                    idle = Instant::now() + self.times.idle;
                }
                Some(news) = arrivals.progress.recv() => {
                    if progress.take(&news, self.caller) {
                        idle = Instant::now() + self.times.idle;
                    }
                }
            }
        }
    }
}

/// The progress of a call.
#[derive(Default)]
struct Progress {
    highest: Option<f64>,
    shown: Option<Instant>,
}

impl Progress {
    /// Shows it where the last one was shown long enough ago. False = it is no progress.
    fn take(&mut self, news: &ProgressNotificationParam, caller: &dyn Caller) -> bool {
        if self.highest.is_some_and(|highest| news.progress <= highest) || news.progress.is_nan() {
            return false;
        }
        self.highest = Some(news.progress);
        if self.shown.is_none_or(|shown| shown.elapsed() >= PIECES) {
            self.shown = Some(Instant::now());
            let mut text = match news.total {
                Some(total) => format!("{} of {total}", news.progress),
                None => news.progress.to_string(),
            };
            if let Some(message) = &news.message {
                text = format!("{text}: {message}");
            }
            if text.len() > MAX_PROGRESS {
                text.truncate(text.floor_char_boundary(MAX_PROGRESS));
                caller.progress(&text);
                caller.omitted();
            } else {
                caller.progress(&format!("{text}\n"));
            }
        }
        true
    }
}

fn cancelled() -> RequestError {
    RequestError::Unknown("cancelled before the answer came".to_owned())
}

fn too_long(longest: Duration) -> RequestError {
    RequestError::Unknown(format!(
        "no answer within {} s, the longest time of a call",
        longest.as_secs()
    ))
}
