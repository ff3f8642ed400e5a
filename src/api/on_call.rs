//! Who is on call, as the caller sees it.

use crate::api::route::{Route, query};
use crate::protocol::request::GetOnCall;

/// The routes of this module.
pub fn routes() -> Vec<Route> {
    vec![Route {
        handler: |api, call| {
            Box::pin(async move {
                let actor = Some(call.actor()?.clone());
                api.answer(GetOnCall { actor }).await
            })
        },
        ..query::<GetOnCall>("/v1/on-call").without(&["actor"])
    }]
}
