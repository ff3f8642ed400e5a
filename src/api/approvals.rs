//! Approvals: list, look, decide.

use std::sync::Arc;

use axum::response::Response;

use crate::api::error::Refusal;
use crate::api::request::Call;
use crate::api::route::{Method, Route, Shape, body, command, get, ok, optional, page};
use crate::api::state::Api;
use crate::protocol::approval::Approval;
use crate::protocol::command::DecisionRequest;
use crate::protocol::duty::AssignRequest;
use crate::protocol::request::{AssignApproval, Decide, GetApproval, ListApprovals};
use crate::protocol::words::ApprovalState;
use crate::words_of;

words_of!(states, ApprovalState);

/// The routes of this module.
pub fn routes() -> Vec<Route> {
    vec![
        get(
            "/v1/approvals",
            "Approvals, oldest first while pending, else newest first",
            &[
                optional("state", Shape::Words(states), "only this state"),
                optional("limit", Shape::Number, "at most this many, 1 to 500"),
                optional("cursor", Shape::Text, "`next_cursor` of the page before"),
            ],
            &[page::<Approval>()],
            |api, call| Box::pin(list(api, call)),
        ),
        get(
            "/v1/approvals/{id}",
            "One approval",
            &[],
            &[ok::<Approval>()],
            |api, call| Box::pin(one(api, call)),
        ),
        command(
            Method::Post,
            "/v1/approvals/{id}/decision",
            "Decide",
            body::<DecisionRequest>(),
            &[ok::<Approval>()],
            |api, call| Box::pin(decide(api, call)),
        ),
        command(
            Method::Post,
            "/v1/approvals/{id}/assign",
            "Let it wait for somebody in particular; decides nothing, and everybody still can",
            body::<AssignRequest>(),
            &[ok::<Approval>()],
            |api, call| Box::pin(assign(api, call)),
        ),
    ]
}

async fn list(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let query = ListApprovals {
        state: call.word("state")?,
        page: call.page()?,
    };
    api.answer(query).await
}

async fn one(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    api.answer(GetApproval { id: call.id()? }).await
}

async fn decide(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let decision = call.json()?;
    api.execute(
        &call,
        Decide {
            approval_id: call.id()?,
            decision,
        },
    )
    .await
}

async fn assign(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let request: AssignRequest = call.json()?;
    api.execute(
        &call,
        AssignApproval {
            approval_id: call.id()?,
            request,
        },
    )
    .await
}
