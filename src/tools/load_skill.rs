//! `load_skill`: what the agent reads of a skill. It gets what an operator trusts, never what lies in the folder now.

use std::time::Duration;

use crate::protocol::skill::LOAD_SKILL;
use crate::tools::host_tool::HostTool;
use crate::tools::read_file::text;
use crate::tools::risk::RiskReason;
use crate::tools::tool::arguments;

/// The tool.
pub fn load_skill() -> HostTool {
    let schema = arguments!(["name"], {
        "name": {"type": "string", "minLength": 1},
        "file": {"type": "string", "minLength": 1, "description": "a file of it, default SKILL.md"}
    });
    HostTool::new(
        LOAD_SKILL,
        "Read a skill of the list before a task that it describes.",
        schema,
        Duration::from_secs(30),
        RiskReason::ReadsSkill,
        |host, args| host.skill(text(args, "name").unwrap_or_default(), text(args, "file")),
    )
}
