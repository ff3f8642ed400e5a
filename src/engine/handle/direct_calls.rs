//! Tool calls without a model: a turn whose one step is given, and whose answer is the call's result.
//!
//! Nothing here decides whether the call may run: policy, approvals and audit are those of every turn.

use serde_json::Value;

use crate::engine::caller::Caller;
use crate::engine::core::Engine;
use crate::engine::handle::{messages, sessions, tools};
use crate::protocol::agent_job::RUN_AGENT;
use crate::protocol::command::{Accepted, MAX_TEXT_BYTES};
use crate::protocol::options::DirectCall;
use crate::protocol::problem::Problem;
use crate::protocol::request::CallTool;
use crate::store::input::SessionChoice;
use crate::tools::canonical::canonical_json;
use crate::tools::preview::one_line;

/// Submits a call to a session. What is wrong with its arguments is in its result.
pub async fn call(engine: &Engine, caller: &Caller, call: CallTool) -> Result<Accepted, Problem> {
    let CallTool {
        session_id,
        tool,
        arguments,
    } = call;
    if let Err(unknown) = engine.tools().lookup(&tool) {
        return Err(Problem::invalid(format!("`tool`: {unknown}")));
    }
    if tool == RUN_AGENT {
        let problem = format!("`tool`: only a job of an external agent calls `{tool}`");
        return Err(Problem::invalid(problem).hint("`leverframe agents run` starts a job"));
    }
    let mut arguments = Value::Object(arguments);
    let asked = canonical_json(&arguments);
    if asked.len() > MAX_TEXT_BYTES {
        return Err(Problem::invalid(format!(
            "`arguments` have {} bytes; at most {MAX_TEXT_BYTES} are taken",
            asked.len()
        )));
    }
    let session = engine.session(session_id).await?;
    sessions::check_place(&session.channel, &session.conversation)?;
    if !tools::is_of_channel(engine.channel(&session.channel)?, &tool) {
        let problem = format!("`tool`: `{tool}` is of a server that this channel does not get");
        return Err(Problem::invalid(problem));
    }
    let body = messages::body_digest(&["call", &session_id.to_string(), &tool, &asked]);
    let origin = messages::origin(caller, &session.channel, &session.conversation, body);
    engine.redactor.redact_json(&mut arguments);
    let preview = one_line(&tool, &arguments);
    let text = engine
        .redactor
        .redact(&format!("{tool} {preview}"))
        .into_owned();
    let call = DirectCall {
        tool,
        arguments,
        external: None,
    };
    let session = SessionChoice::Id(session_id);
    let turn = messages::turn_of_call(engine, origin, session, text, call);
    messages::submit(engine, turn).await
}
