//! A file of this machine as it goes with a message. Nothing is sent here.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use crate::protocol::artifact::{MAX_ATTACHED_MIB, NewAttachment, media_type_of};

/// Reads a file; else why it cannot go with a message, for people.
pub fn read(path: &Path) -> Result<NewAttachment, String> {
    let shown = path.display();
    let cannot = |error: std::io::Error| format!("{shown}: {error}");
    let file = File::open(path).map_err(cannot)?;
    let most = MAX_ATTACHED_MIB * 1024 * 1024;
    let mut content = Vec::new();
    file.take(most + 1)
        .read_to_end(&mut content)
        .map_err(cannot)?;
    if content.len() as u64 > most {
        return Err(format!(
            "{shown} has more than {MAX_ATTACHED_MIB} MiB; put it into the workspace of the channel and name its path"
        ));
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    Ok(NewAttachment {
        media_type: media_type_of(&name).map(str::to_owned),
        name: name.into_owned(),
        data: BASE64.encode(content),
    })
}
