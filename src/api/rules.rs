//! Rules and permissions for shapes.

use std::sync::Arc;

use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;

use crate::api::error::{Refusal, json};
use crate::api::outcome;
use crate::api::request::{Call, parameter};
use crate::api::route::{
    AnswerShape, Body, Field, Method, Presence, Route, Shape, Success, command, fields, get, ok,
    optional, page, required,
};
use crate::api::router::Api;
use crate::protocol::command::Command;
use crate::protocol::problem::Problem;
use crate::protocol::rule::{RuleCommand, RuleOutcome, RulePatch, RuleQuery};
use crate::protocol::snapshot::Query;
use crate::protocol::words::{RuleMatcher, RuleScope, VerdictWord};
use crate::words_of;

words_of!(matchers, RuleMatcher);
words_of!(scopes, RuleScope);
words_of!(verdicts, VerdictWord);

const FIELDS: &[Field] = &[
    optional("tool", Shape::Text, "tool name, or `prefix*`"),
    optional("matcher", Shape::Words(matchers), "how it is compared"),
    optional(
        "value",
        Shape::Text,
        "with what: text, or words as a shell would be given them; at most 4 KiB",
    ),
    optional(
        "field",
        Shape::Text,
        "argument that is compared; empty = all as canonical JSON; default `argv` of execute_command, else all",
    ),
    optional(
        "cwd",
        Shape::Text,
        "where the commands run that it allows; empty = the workspace itself",
    ),
    optional(
        "executable",
        Shape::Text,
        "the program that they start; empty = what the first word names now",
    ),
    optional("scope", Shape::Words(scopes), "how far it reaches"),
    optional("channel", Shape::Text, "its channel (scope channel)"),
    optional("session_id", Shape::Text, "its session (scope session)"),
    optional(
        "verdict",
        Shape::Words(verdicts),
        "what it says; default allow",
    ),
    optional(
        "enabled",
        Shape::Flag,
        "whether it is looked at; default true",
    ),
    optional(
        "expires_in_seconds",
        Shape::Number,
        "seconds until it ends; 0 = never, at most a year",
    ),
    optional(
        "max_uses",
        Shape::Number,
        "calls it may allow in all; 0 = any number",
    ),
    optional("note", Shape::Text, "why; empty = none"),
    optional(
        "if_version",
        Shape::Number,
        "only if it still has this version",
    ),
];

/// An empty body, or an object without fields.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

fn needed() -> Body {
    let mut all = FIELDS.to_vec();
    for field in &mut all[..3] {
        field.presence = Presence::Required;
    }
    Body::Fields(all)
}

/// The routes of this module.
pub fn routes() -> Vec<Route> {
    vec![
        get(
            "/v1/rules",
            "Rules, newest first",
            &[],
            &[page("Rule")],
            |api, _call| Box::pin(answer(api, RuleQuery::List)),
        ),
        command(
            Method::Post,
            "/v1/rules",
            "Make a rule",
            needed(),
            &[Success {
                status: 201,
                answer: AnswerShape::One("Rule"),
            }],
            |api, call| Box::pin(add(api, call)),
        ),
        get(
            "/v1/rules/matches",
            "What a rule matches of the last seven days; changes nothing",
            &[
                optional("id", Shape::Text, "a rule; the others are laid over it"),
                optional("tool", Shape::Text, "tool name, or `prefix*`"),
                optional("field", Shape::Text, "argument that is compared"),
                optional("matcher", Shape::Words(matchers), "how it is compared"),
                optional("value", Shape::Text, "with what"),
                optional("cwd", Shape::Text, "where the commands run that it allows"),
                optional("executable", Shape::Text, "the program that they start"),
                optional("channel", Shape::Text, "only this channel"),
                optional("session_id", Shape::Text, "only this session"),
                optional("verdict", Shape::Words(verdicts), "default allow"),
            ],
            &[ok("RuleMatches")],
            |api, call| Box::pin(matches(api, call)),
        ),
        get(
            "/v1/rules/test",
            "What would happen to a call that came as a message on a channel now; changes nothing",
            &[
                required("tool", Shape::Text, "tool name"),
                required("args", Shape::Text, "its arguments as JSON"),
                required("channel", Shape::Text, "where it would come from"),
                optional(
                    "session_id",
                    Shape::Text,
                    "in which session; default a new one",
                ),
            ],
            &[ok("RuleTest")],
            |api, call| Box::pin(test(api, call)),
        ),
        get(
            "/v1/rules/grants",
            "Permissions for shapes in sessions that hold, newest first",
            &[],
            &[page("Grant")],
            |api, _call| Box::pin(answer(api, RuleQuery::Grants)),
        ),
        command(
            Method::Delete,
            "/v1/rules/grants/{id}",
            "Take a permission for a shape back, by the approval it was given with",
            Body::None,
            &[ok("Removed")],
            |api, call| Box::pin(remove_grant(api, call)),
        ),
        get(
            "/v1/rules/{id}",
            "One rule",
            &[],
            &[ok("Rule")],
            |api, call| Box::pin(one(api, call)),
        ),
        command(
            Method::Patch,
            "/v1/rules/{id}",
            "Change a rule; what is left out stays",
            fields(FIELDS),
            &[ok("Rule")],
            |api, call| Box::pin(change(api, call)),
        ),
        command(
            Method::Delete,
            "/v1/rules/{id}",
            "Remove a rule; what it decided stays in the history",
            Body::None,
            &[ok("Removed")],
            |api, call| Box::pin(remove(api, call)),
        ),
    ]
}

async fn answer(api: Arc<Api>, query: RuleQuery) -> Result<Response, Refusal> {
    outcome::answer_json(&*api.client, Query::Rules(query)).await
}

async fn one(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let id = call.id()?;
    answer(api, RuleQuery::One { id }).await
}

async fn matches(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let text = |name: &str| call.query.get(name).cloned();
    let rule = RulePatch {
        tool: text("tool"),
        field: text("field"),
        matcher: call.word("matcher")?,
        value: text("value"),
        cwd: text("cwd"),
        executable: text("executable"),
        channel: text("channel"),
        session_id: call.word("session_id")?,
        verdict: call.word("verdict")?,
        ..RulePatch::default()
    };
    let query = RuleQuery::Matches {
        id: call.word("id")?,
        rule: Box::new(rule),
    };
    answer(api, query).await
}

async fn test(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let text = |name: &str| {
        call.query
            .get(name)
            .cloned()
            .ok_or_else(|| Problem::invalid(format!("query parameter `{name}` is missing")))
    };
    let args = serde_json::from_str(&text("args")?).map_err(|error| parameter("args", &error))?;
    let query = RuleQuery::Test {
        tool: text("tool")?,
        args,
        channel: text("channel")?,
        session_id: call.word("session_id")?,
    };
    answer(api, query).await
}

async fn carry_out(
    api: &Api,
    call: &Call,
    status: StatusCode,
    command: RuleCommand,
) -> Result<Response, Refusal> {
    let envelope = call.envelope(Command::Rule(command))?;
    match outcome::rule(&*api.client, envelope).await? {
        RuleOutcome::Rule(rule) => json(status, &rule),
        RuleOutcome::Removed(id) => json(status, &serde_json::json!({ "removed": id })),
        RuleOutcome::GrantRemoved(id) => json(status, &serde_json::json!({ "removed": id })),
    }
}

async fn add(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let rule: RulePatch = call.json()?;
    for (name, missing) in [
        ("tool", rule.tool.is_none()),
        ("matcher", rule.matcher.is_none()),
        ("value", rule.value.is_none()),
    ] {
        if missing {
            return Err(Problem::invalid(format!("missing field `{name}`")).into());
        }
    }
    let command = RuleCommand::Add {
        rule: Box::new(rule),
    };
    carry_out(&api, &call, StatusCode::CREATED, command).await
}

async fn change(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let command = RuleCommand::Change {
        id: call.id()?,
        patch: Box::new(call.json()?),
    };
    carry_out(&api, &call, StatusCode::OK, command).await
}

async fn remove(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let Nothing {} = call.json()?;
    let id = call.id()?;
    carry_out(&api, &call, StatusCode::OK, RuleCommand::Remove { id }).await
}

async fn remove_grant(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let Nothing {} = call.json()?;
    let id = call.id()?;
    carry_out(&api, &call, StatusCode::OK, RuleCommand::RemoveGrant { id }).await
}
