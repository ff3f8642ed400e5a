//! Samples of what tools did to files.

use leverframe::protocol::enums::ToolCallState;
use leverframe::protocol::file_change::{CallDiff, DiffSource, FileChange, FileFate, FileOfChange};
use leverframe::protocol::request::{
    Answer, Command, GetCallDiff, ListFileChanges, Query, UndoFileChange,
};

use crate::api_http::samples::{NASTY, at, call_id, page, session_id};

pub fn changed() -> FileChange {
    FileChange {
        tool_call_id: call_id(),
        session_id: session_id(),
        tool: "apply_patch".to_owned(),
        at: at(),
        workspace: "/srv/team".to_owned(),
        files: [FileFate::Created, FileFate::Changed, FileFate::Deleted]
            .map(|fate| FileOfChange {
                path: NASTY.to_owned(),
                fate,
            })
            .to_vec(),
        undone_at: Some(at()),
    }
}

pub fn command() -> Command {
    Command::UndoFileChange(UndoFileChange {
        tool_call_id: call_id(),
    })
}

pub fn query() -> (Query, Answer) {
    (
        Query::ListFileChanges(ListFileChanges {}),
        Answer::ListFileChanges(page(changed())),
    )
}

pub fn diff() -> (Query, Answer) {
    (
        Query::GetCallDiff(GetCallDiff {
            tool_call_id: call_id(),
        }),
        Answer::GetCallDiff(CallDiff {
            tool_call_id: call_id(),
            tool: "write_file".to_owned(),
            state: ToolCallState::Succeeded,
            source: Some(DiffSource::Arguments),
            unified: NASTY.to_owned(),
            missing: vec![NASTY.to_owned()],
            undone: false,
        }),
    )
}
