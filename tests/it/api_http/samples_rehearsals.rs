//! Samples of rehearsals.

use leverframe::protocol::file_change::FileFate;
use leverframe::protocol::rehearsal::{Rehearsal, RehearsalEnd, RehearsedFile};
use leverframe::protocol::request::{Command, RehearseCall};

use crate::api_http::samples::{NASTY, approval_id, at};

pub fn command() -> Command {
    Command::RehearseCall(RehearseCall {
        approval_id: approval_id(),
    })
}

pub fn rehearsal() -> Rehearsal {
    Rehearsal {
        approval_id: approval_id(),
        revision: 2,
        digest: "ab".repeat(32),
        by: NASTY.to_owned(),
        at: at(),
        ended: RehearsalEnd::Exited,
        outcome: "exit status 0 after 0.1 s".to_owned(),
        exit_status: Some(0),
        duration_ms: 84,
        output: NASTY.to_owned(),
        files: vec![RehearsedFile {
            path: NASTY.to_owned(),
            fate: FileFate::Changed,
            bytes: Some(9),
            note: Some(NASTY.to_owned()),
            diff: Some(NASTY.to_owned()),
        }],
        more_files: 3,
        incomplete: Some("too slow".to_owned()),
        sandbox: "bubblewrap: a copy of the workspace, no network".to_owned(),
    }
}
