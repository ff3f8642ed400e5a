//! Rules and permissions for shapes.

use std::sync::Arc;

use axum::http::StatusCode;
use axum::response::Response;

use crate::api::error::{Refusal, json};
use crate::api::request::{Call, EmptyBody, Removed, parameter};
use crate::api::route::{
    Body, Method, Route, Shape, body, body_with, command, get, ok, optional, page, required,
    success,
};
use crate::api::state::Api;
use crate::protocol::ids::{ApprovalId, RuleId};
use crate::protocol::problem::Problem;
use crate::protocol::request::{
    AddRule, ChangeRule, GetRule, GetRuleMatches, ListGrants, ListRules, RemoveGrant, RemoveRule,
    TestRules,
};
use crate::protocol::rule::{Grant, Rule, RuleMatches, RulePatch, RuleTest};
use crate::protocol::words::{RuleMatcher, VerdictWord};
use crate::words_of;

words_of!(matchers, RuleMatcher);
words_of!(verdicts, VerdictWord);

/// The routes of this module.
pub fn routes() -> Vec<Route> {
    vec![
        get(
            "/v1/rules",
            "Rules, newest first",
            &[],
            &[page::<Rule>()],
            |api, _call| Box::pin(async move { api.answer(ListRules {}).await }),
        ),
        command(
            Method::Post,
            "/v1/rules",
            "Make a rule",
            body_with::<RulePatch>(&["tool", "matcher", "value"]),
            &[success::<Rule>(201)],
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
            &[ok::<RuleMatches>()],
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
            &[ok::<RuleTest>()],
            |api, call| Box::pin(test(api, call)),
        ),
        get(
            "/v1/rules/grants",
            "Permissions for shapes in sessions that hold, newest first",
            &[],
            &[page::<Grant>()],
            |api, _call| Box::pin(async move { api.answer(ListGrants {}).await }),
        ),
        command(
            Method::Delete,
            "/v1/rules/grants/{id}",
            "Take a permission for a shape back, by the approval it was given with",
            Body::None,
            &[ok::<Removed<ApprovalId>>()],
            |api, call| Box::pin(remove_grant(api, call)),
        ),
        get(
            "/v1/rules/{id}",
            "One rule",
            &[],
            &[ok::<Rule>()],
            |api, call| Box::pin(one(api, call)),
        ),
        command(
            Method::Patch,
            "/v1/rules/{id}",
            "Change a rule; what is left out stays",
            body::<RulePatch>(),
            &[ok::<Rule>()],
            |api, call| Box::pin(change(api, call)),
        ),
        command(
            Method::Delete,
            "/v1/rules/{id}",
            "Remove a rule; what it decided stays in the history",
            Body::None,
            &[ok::<Removed<RuleId>>()],
            |api, call| Box::pin(remove(api, call)),
        ),
    ]
}

async fn one(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let id = call.id()?;
    api.answer(GetRule { id }).await
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
    let query = GetRuleMatches {
        id: call.word("id")?,
        rule: Box::new(rule),
    };
    api.answer(query).await
}

async fn test(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let text = |name: &str| {
        call.query
            .get(name)
            .cloned()
            .ok_or_else(|| Problem::invalid(format!("query parameter `{name}` is missing")))
    };
    let args = serde_json::from_str(&text("args")?).map_err(|error| parameter("args", &error))?;
    let query = TestRules {
        tool: text("tool")?,
        args,
        channel: text("channel")?,
        session_id: call.word("session_id")?,
    };
    api.answer(query).await
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
    let command = AddRule {
        rule: Box::new(rule),
    };
    let made = api.client.execute(call.envelope(command)?).await?;
    json(StatusCode::CREATED, &made)
}

async fn change(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let command = ChangeRule {
        id: call.id()?,
        patch: Box::new(call.json()?),
    };
    api.execute(&call, command).await
}

async fn remove(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let EmptyBody {} = call.json()?;
    let id = call.id()?;
    let removed = api
        .client
        .execute(call.envelope(RemoveRule { id })?)
        .await?;
    json(StatusCode::OK, &Removed { removed })
}

async fn remove_grant(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let EmptyBody {} = call.json()?;
    let id = call.id()?;
    let removed = api
        .client
        .execute(call.envelope(RemoveGrant { id })?)
        .await?;
    json(StatusCode::OK, &Removed { removed })
}
