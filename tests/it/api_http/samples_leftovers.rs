//! Samples of what runs left.

use leverframe::protocol::event::{Event, EventBody};
use leverframe::protocol::leftovers::{BlockedRename, Leftovers, NewPlaces, SetAside};
use leverframe::protocol::request::{Answer, Command, DismissLeftovers, ListLeftovers, Query};

use crate::api_http::samples::{NASTY, at, call_id, continuation_id, page, session_id};
use crate::api_http::samples_traffic;

pub fn left() -> Leftovers {
    Leftovers {
        tool_call_id: call_id(),
        session_id: session_id(),
        continuation_id: continuation_id(),
        channel: "team".to_owned(),
        conversation: "42".to_owned(),
        tool: "execute_command".to_owned(),
        preview: NASTY.to_owned(),
        workspace: "/srv/team".to_owned(),
        new: NewPlaces {
            set_aside: vec![SetAside {
                path: NASTY.to_owned(),
                name: NASTY.to_owned(),
            }],
            in_place: vec![BlockedRename {
                path: ".git".to_owned(),
                problem: "no".to_owned(),
            }],
            more: 2,
            incomplete: Some("too slow".to_owned()),
            interrupted: true,
        },
        found_at: at(),
        dismissed_at: Some(at()),
        by: Some("anna".to_owned()),
    }
}

pub fn command() -> Command {
    Command::DismissLeftovers(DismissLeftovers {
        tool_call_id: call_id(),
    })
}

pub fn query() -> (Query, Answer) {
    (
        Query::ListLeftovers(ListLeftovers { all: true }),
        Answer::ListLeftovers(page(left())),
    )
}

pub fn event() -> Event {
    samples_traffic::event(
        Some(7),
        EventBody::LeftoversChanged {
            leftovers: Box::new(left()),
        },
    )
}
