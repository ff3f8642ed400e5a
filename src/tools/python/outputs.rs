//! Pictures and tables that a cell made: they go to the conversation with the answer.
//!
//! Only files of the directory of the call are read, whatever the driver says.

use std::fmt::Write as _;
use std::io::Read as _;

use crate::protocol::artifact::media_type_of;
use crate::protocol::ids::ToolCallId;
use crate::tools::guard::Guard;
use crate::tools::python::reply::Reply;
use crate::tools::read_file::blocking;
use crate::tools::tool::ToolContext;

/// Most files of a cell.
const MAX_FILES: usize = 8;
/// Largest file that is sent, in bytes.
const MAX_BYTES: u64 = 8 * 1024 * 1024;

/// The directory of a call's files, below its workspace.
pub fn directory(call: ToolCallId) -> String {
    format!("outputs/{call}")
}

/// Sends the files of a cell; a line about each.
pub async fn send(context: &ToolContext<'_>, reply: &Reply) -> String {
    let mut lines = String::new();
    for name in reply
        .files
        .iter()
        .take(MAX_FILES)
        .filter(|name| is_plain(name))
    {
        let path = format!("{}/{name}", directory(context.call_id));
        let line = match read(context, &path).await {
            Ok(content) => {
                let size = content.len();
                let media_type = media_type_of(name).unwrap_or("application/octet-stream");
                match context.host.send_file(&path, media_type, content).await {
                    Ok(()) => {
                        format!("[{path} ({size} bytes) goes to the conversation with your answer]")
                    }
                    Err(why) => format!(
                        "[{path} ({size} bytes) is in the workspace and is not sent: {why}]"
                    ),
                }
            }
            Err(why) => format!("[{path} is not sent: {why}]"),
        };
        let _ = writeln!(lines, "{line}");
    }
    if reply.left_out > 0 {
        let _ = writeln!(
            lines,
            "[{} more pictures or tables were left out: a cell makes at most {MAX_FILES} files]",
            reply.left_out
        );
    }
    lines
}

/// Whether it is a name as the driver gives them.
fn is_plain(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.');
    name.len() < 64 && !name.starts_with('.') && name.chars().all(plain)
}

async fn read(context: &ToolContext<'_>, path: &str) -> Result<Vec<u8>, String> {
    let guard = Guard::new(context);
    let path = guard.file(path).map_err(|error| error.to_string())?;
    // A link that leads elsewhere would send another file of the workspace.
    if !path
        .relative()
        .starts_with(&format!("{}/", directory(context.call_id)))
    {
        return Err("it is a link".to_owned());
    }
    blocking(move || {
        let mut content = Vec::new();
        let file = guard.open_file(&path).map_err(|error| error.to_string())?;
        file.take(MAX_BYTES + 1)
            .read_to_end(&mut content)
            .map_err(|error| error.to_string())?;
        if content.len() as u64 > MAX_BYTES {
            return Err(format!("it has more than {} MiB", MAX_BYTES >> 20));
        }
        Ok(content)
    })
    .await
}
