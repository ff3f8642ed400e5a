//! The key of a tool's result: a hash over everything the result follows from and everybody it may be given to. Pure.
//!
//! A plan is taken apart without `..`: a new field does not compile until somebody has said whether results depend on
//! it.

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::engine::response_cache::key::Fields;
use crate::protocol::approval::PlanFacts;
use crate::store::response_cache::Key;
use crate::tools::canonical::canonical_json;
use crate::tools::tool::Plan;

/// Layout of the hashed bytes; a changed layout gets a new word.
const LAYOUT: &[u8] = b"tc1";

/// Everything a key is made of.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    /// Name of the tool.
    pub tool: &'a str,
    /// Digest of its pinned definition.
    pub definition: &'a str,
    pub args: &'a Value,
    pub channel: &'a str,
    /// Stable id of who asked.
    pub requester: &'a str,
    /// Versions of the policies in force: the channel's, then that of the surface where it counts too.
    pub policies: &'a [u64],
    /// Where the tool reads.
    pub workspace: &'a Path,
    /// What it must not see there.
    pub hidden: &'a [PathBuf],
    /// What the call would do.
    pub plan: &'a Plan,
}

fn fields(facts: &Facts<'_>, what: &str) -> Fields {
    let Facts {
        tool,
        definition,
        args,
        channel,
        requester,
        policies: _,
        workspace,
        hidden,
        plan,
    } = *facts;
    let Plan {
        access,
        // What people are told of a call, and whether they are asked, changes no result.
        risk_reasons: _,
        preview: _,
        always_asks: _,
        facts:
            PlanFacts {
                cwd,
                executable,
                env,
                // What it leads to is part of the workspace, whose state counts.
                path: _,
                paths: _,
                // The arguments say it.
                host: _,
                // They are the operands.
                bound: _,
                unbound: _,
                sandbox,
                // What an external agent is told is never kept.
                external: _,
            },
        operands,
    } = plan;
    let mut fields = Fields::of_layout(LAYOUT);
    fields.text(0, what);
    fields.text(1, tool);
    fields.text(2, definition);
    fields.text(3, &canonical_json(args));
    fields.text(4, channel);
    fields.text(5, requester);
    fields.bytes(6, workspace.as_os_str().as_bytes());
    for path in hidden {
        fields.bytes(7, path.as_os_str().as_bytes());
    }
    fields.text(8, access.as_str());
    fields.optional(9, cwd.as_deref());
    fields.optional(10, executable.as_deref());
    for (name, value) in env {
        fields.text(11, name);
        fields.text(12, value);
    }
    fields.optional(13, sandbox.as_deref());
    for (path, digest) in operands {
        fields.text(14, path);
        fields.text(15, digest);
    }
    fields
}

/// The same for every policy, to tell that a call is known under another one.
pub fn asked(facts: &Facts<'_>) -> Key {
    fields(facts, "call").finish()
}

pub fn of(facts: &Facts<'_>) -> Key {
    let mut fields = fields(facts, "result");
    for version in facts.policies {
        fields.number(16, *version);
    }
    fields.finish()
}
