//! A model for the proof of a gate: on loopback, in the words of Anthropic, OpenAI and Gemini.
//!
//! It reads no prompt. It proposes one call, where the request offers tools, and ends the turn at its result.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::Pin;

use anyhow::Context as _;
use hyper::body::{Body as _, Incoming};
use hyper::header::CONTENT_TYPE;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::{JoinHandle, JoinSet};

/// Longest request that is read, in bytes.
const MAX_REQUEST: usize = 16 * 1024 * 1024;
/// The text of the answer that ends the turn.
const DONE: &str = "Done.";

/// The call that the model proposes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Proposal {
    /// A command of the shell.
    Run(String),
    /// A new file at this path.
    Write(String),
}

/// An answer of the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// `Content-Type`.
    pub content_type: &'static str,
    /// The body, whole: an event stream ends with it.
    pub body: String,
}

/// What the model answers to a request on `path`, without its query.
pub fn reply(path: &str, request: &Value, proposal: &Proposal) -> Reply {
    if path.ends_with("/messages") {
        anthropic(request, proposal)
    } else if path.ends_with("/responses") {
        openai(request, proposal)
    } else if path.ends_with(":streamGenerateContent") {
        stream(&[gemini(request, proposal)])
    } else if path.ends_with(":generateContent") {
        whole(&gemini(&json!({}), proposal))
    } else {
        whole(&json!({"input_tokens": 1, "totalTokens": 1, "data": [], "models": []}))
    }
}

fn whole(body: &Value) -> Reply {
    Reply {
        content_type: "application/json",
        body: body.to_string(),
    }
}

/// An event stream. An event that has a type is named after it.
fn stream(events: &[Value]) -> Reply {
    let lines = events.iter().map(|event| match event["type"].as_str() {
        Some(name) => format!("event: {name}\ndata: {event}\n\n"),
        None => format!("data: {event}\n\n"),
    });
    Reply {
        content_type: "text/event-stream",
        body: lines.collect(),
    }
}

fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn names(tools: &[Value], name: &str) -> bool {
    tools.iter().any(|tool| tool["name"] == name)
}

fn anthropic(request: &Value, proposal: &Proposal) -> Reply {
    let (name, input) = match proposal {
        Proposal::Run(command) => (
            "Bash",
            json!({"command": command, "description": "Test the gate"}),
        ),
        Proposal::Write(path) => ("Write", json!({"file_path": path, "content": "test\n"})),
    };
    // Notes of the program itself may stand behind the last words of the person.
    let last = items(&request["messages"])
        .iter()
        .rfind(|message| message["role"] == "user")
        .map_or(&[][..], |message| items(&message["content"]));
    let has_result = last.iter().any(|part| part["type"] == "tool_result");
    let calls = !has_result && names(items(&request["tools"]), name);
    let (block, delta, reason) = if calls {
        (
            json!({"type": "tool_use", "id": "toolu_gate_test", "name": name, "input": {}}),
            json!({"type": "input_json_delta", "partial_json": input.to_string()}),
            "tool_use",
        )
    } else {
        (
            json!({"type": "text", "text": ""}),
            json!({"type": "text_delta", "text": DONE}),
            "end_turn",
        )
    };
    let mut message = json!({
        "id": "msg_gate_test", "type": "message", "role": "assistant", "model": request["model"], "content": [],
        "stop_reason": null, "stop_sequence": null, "usage": {"input_tokens": 1, "output_tokens": 1},
    });
    if request["stream"] != true {
        message["content"] = json!([{"type": "text", "text": DONE}]);
        message["stop_reason"] = json!("end_turn");
        return whole(&message);
    }
    stream(&[
        json!({"type": "message_start", "message": message}),
        json!({"type": "content_block_start", "index": 0, "content_block": block}),
        json!({"type": "content_block_delta", "index": 0, "delta": delta}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": null},
            "usage": {"output_tokens": 1}}),
        json!({"type": "message_stop"}),
    ])
}

/// The newer models of Codex have one tool: it runs JavaScript, which calls the others. Their list of tools is no field
/// of the request, but one of its items.
fn openai(request: &Value, proposal: &Proposal) -> Reply {
    let tools = items(&request["tools"]);
    let input = items(&request["input"]);
    let by_script = input.iter().any(|item| item["type"] == "additional_tools");
    let has_result = input
        .iter()
        .rev()
        .take_while(|item| item["role"] != "user")
        .any(|item| {
            matches!(
                item["type"].as_str(),
                Some("function_call_output" | "custom_tool_call_output")
            )
        });
    let call = match proposal {
        _ if has_result => None,
        Proposal::Run(command) if by_script => {
            Some(script("exec_command", &json!({"cmd": command})))
        }
        Proposal::Run(command) if names(tools, "exec_command") => Some(json!({
            "type": "function_call", "id": "fc_gate_test", "call_id": "call_gate_test", "name": "exec_command",
            "arguments": json!({"cmd": command}).to_string(), "status": "completed",
        })),
        Proposal::Write(path) if by_script => Some(script("apply_patch", &json!(patch(path)))),
        Proposal::Write(path) if names(tools, "apply_patch") => Some(json!({
            "type": "custom_tool_call", "id": "ctc_gate_test", "call_id": "call_gate_test", "name": "apply_patch",
            "input": patch(path), "status": "completed",
        })),
        Proposal::Run(_) | Proposal::Write(_) => None,
    };
    let item = call.unwrap_or_else(|| {
        json!({
            "type": "message", "id": "msg_gate_test", "role": "assistant", "status": "completed",
            "content": [{"type": "output_text", "text": DONE, "annotations": []}],
        })
    });
    let response = json!({
        "id": "resp_gate_test", "object": "response", "status": "completed", "output": [item],
        "usage": {
            "input_tokens": 1, "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": 1, "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 2,
        },
    });
    if request["stream"] != true {
        return whole(&response);
    }
    let begun = json!({"id": "resp_gate_test", "status": "in_progress", "output": []});
    stream(&[
        json!({"type": "response.created", "response": begun}),
        json!({"type": "response.output_item.added", "output_index": 0, "item": item}),
        json!({"type": "response.output_item.done", "output_index": 0, "item": item}),
        json!({"type": "response.completed", "response": response}),
    ])
}

fn script(tool: &str, argument: &Value) -> Value {
    json!({
        "type": "custom_tool_call", "id": "ctc_gate_test", "call_id": "call_gate_test", "name": "exec",
        "namespace": "functions", "input": format!("text(await tools.{tool}({argument}));"), "status": "completed",
    })
}

fn patch(path: &str) -> String {
    format!("*** Begin Patch\n*** Add File: {path}\n+test\n*** End Patch\n")
}

fn gemini(request: &Value, proposal: &Proposal) -> Value {
    let (name, arguments) = match proposal {
        Proposal::Run(command) => ("run_shell_command", json!({"command": command})),
        Proposal::Write(path) => (
            "write_file",
            json!({"file_path": path, "content": "test\n"}),
        ),
    };
    let offered = items(&request["tools"])
        .iter()
        .any(|group| names(items(&group["functionDeclarations"]), name));
    let last = items(&request["contents"]).last();
    let parts = last.map_or(&[][..], |content| items(&content["parts"]));
    let has_result = parts
        .iter()
        .any(|part| part.get("functionResponse").is_some());
    let part = if offered && !has_result {
        json!({"functionCall": {"name": name, "args": arguments}})
    } else {
        json!({"text": DONE})
    };
    json!({
        "candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2},
    })
}

/// A model that listens. It ends when it is dropped.
pub struct GateModel {
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl GateModel {
    /// Starts one on a free port of the loopback.
    ///
    /// # Errors
    /// Where no port can be had.
    pub async fn start(proposal: Proposal) -> anyhow::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0))
            .await
            .context("a port for the model of the test")?;
        let address = listener.local_addr().context("the port of the model")?;
        Ok(Self {
            address,
            task: tokio::spawn(serve(listener, proposal)),
        })
    }

    /// Where it is: `http://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

impl Drop for GateModel {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(listener: TcpListener, proposal: Proposal) {
    let mut open = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let proposal = proposal.clone();
        open.spawn(async move {
            let service = service_fn(|request| answer(request, &proposal));
            let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection to the test's model failed");
            }
        });
        while open.try_join_next().is_some() {}
    }
}

async fn answer(
    request: Request<Incoming>,
    proposal: &Proposal,
) -> Result<Response<String>, Infallible> {
    let path = request.uri().path().to_owned();
    let mut body = request.into_body();
    let mut read = Vec::new();
    while let Some(Ok(frame)) =
        std::future::poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await
    {
        if let Some(data) = frame.data_ref() {
            read.extend_from_slice(data);
        }
        if read.len() > MAX_REQUEST {
            break;
        }
    }
    let asked = serde_json::from_slice(&read).unwrap_or(Value::Null);
    let Reply { content_type, body } = reply(&path, &asked, proposal);
    let mut response = Response::new(body);
    response.headers_mut().insert(
        CONTENT_TYPE,
        hyper::header::HeaderValue::from_static(content_type),
    );
    Ok(response)
}
