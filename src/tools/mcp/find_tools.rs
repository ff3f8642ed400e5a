//! `find_tools`: the tools of servers that requests leave out, found by words.

use std::time::Duration;

use serde_json::Value;

use crate::protocol::mcp::FIND_TOOLS;
use crate::tools::host_tool::HostTool;
use crate::tools::read_file::text;
use crate::tools::risk::RiskReason;
use crate::tools::tool::arguments;

/// The tool.
pub fn find_tools() -> HostTool {
    let schema = arguments!(["query"], {
        "query": {"type": "string", "minLength": 1, "maxLength": 200},
        "limit": {"type": "integer", "minimum": 1, "maximum": 20}
    });
    HostTool::new(
        FIND_TOOLS,
        "Find further tools by words of their names and descriptions; you can call those it names.",
        schema,
        Duration::from_secs(10),
        RiskReason::ReadsToolList,
        |host, args| {
            let limit = args.get("limit").and_then(Value::as_u64);
            let limit = limit.and_then(|limit| usize::try_from(limit).ok());
            host.find_tools(text(args, "query").unwrap_or_default(), limit)
        },
    )
}
