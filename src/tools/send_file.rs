//! `send_file`: a file of the workspace goes to the conversation with the answer.
//!
//! Nothing is sent here. The file is kept, and it leaves with the answer of the turn or not at all.

use std::fs::File;
use std::io::Read as _;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::protocol::approval::PlanFacts;
use crate::protocol::artifact::{MAX_ATTACHED_MIB, media_type_of};
use crate::protocol::enums::{Access, Effect};
use crate::protocol::hex::hex;
use crate::tools::guard::{Guard, GuardedPath};
use crate::tools::read_file::{blocking, read_outcome, text};
use crate::tools::risk::RiskReason;
use crate::tools::tool::{Plan, PrepareError, Tool, ToolContext, ToolOutcome, ToolSpec, arguments};

/// Largest file, in bytes.
const MAX_BYTES: u64 = MAX_ATTACHED_MIB * 1024 * 1024;
/// Media type of a file whose name does not tell.
const BINARY: &str = "application/octet-stream";

/// The tool.
pub struct SendFile {
    spec: ToolSpec,
}

impl Default for SendFile {
    fn default() -> Self {
        Self {
            spec: ToolSpec {
                name: "send_file".into(),
                description:
                    "Send a file of the workspace to this conversation, together with your answer."
                        .into(),
                input_schema: arguments!(["path"], {
                    "path": {"type": "string", "minLength": 1, "description": "relative to the workspace"}
                }),
                access: Access::Send,
                effect: Effect::Idempotent,
                max_duration: Duration::from_secs(30),
                key_lifetime: None,
                cacheable: None,
            },
        }
    }
}

fn media_type(path: &GuardedPath) -> &'static str {
    media_type_of(&path.relative()).unwrap_or(BINARY)
}

/// The whole file.
fn read(guard: &Guard, path: &GuardedPath) -> Result<Vec<u8>, String> {
    let name = path.relative();
    let cannot = |error: std::io::Error| format!("`{name}` cannot be read: {error}");
    let file: File = guard.open_file(path).map_err(cannot)?;
    let mut content = Vec::new();
    file.take(MAX_BYTES + 1)
        .read_to_end(&mut content)
        .map_err(cannot)?;
    if content.len() as u64 > MAX_BYTES {
        return Err(format!(
            "`{name}` has more than {MAX_ATTACHED_MIB} MiB: send a part of it, or name its path"
        ));
    }
    Ok(content)
}

#[async_trait]
impl Tool for SendFile {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare(&self, context: &ToolContext<'_>, args: &Value) -> Result<Plan, PrepareError> {
        let guard = Guard::new(context);
        let path = guard.file(text(args, "path").unwrap_or_default())?;
        let content = read(&guard, &path).map_err(PrepareError::Invalid)?;
        let name = path.relative();
        let reason = RiskReason::SendsFile(content.len() as u64, media_type(&path));
        Ok(Plan {
            facts: PlanFacts {
                path: Some(name.clone()),
                ..PlanFacts::default()
            },
            // What was allowed is what leaves.
            operands: vec![(name, hex(&Sha256::digest(&content)))],
            ..Plan::new(Access::Send, vec![reason])
        })
    }

    async fn execute(&self, context: &ToolContext<'_>, args: &Value) -> ToolOutcome {
        let guard = Guard::new(context);
        let path = match guard.file(text(args, "path").unwrap_or_default()) {
            Ok(path) => path,
            Err(error) => return read_outcome(Err(error.to_string())),
        };
        let media_type = media_type(&path);
        let name = path.relative();
        let content = match blocking(move || read(&guard, &path)).await {
            Ok(content) => content,
            Err(error) => return read_outcome(Err(error)),
        };
        let kept = context.host.send_file(&name, media_type, content).await;
        read_outcome(kept.map(|()| format!("`{name}` goes to the conversation with your answer")))
    }
}
