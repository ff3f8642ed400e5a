//! What a console starts from.

use crate::api::route::{Route, get, ok};
use crate::protocol::request::GetSnapshot;
use crate::protocol::snapshot::Snapshot;

/// The routes of this module.
pub fn routes() -> Vec<Route> {
    vec![get(
        "/v1/snapshot",
        "Everything a console starts from; follow events with after=seq",
        &[],
        &[ok::<Snapshot>()],
        |api, _call| Box::pin(async move { api.answer(GetSnapshot {}).await }),
    )]
}
