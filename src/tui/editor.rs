//! The external editor: a private file, the program, the file's text back.

use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use crate::tui::options::Editor;

/// Longest text taken back.
const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// The file, removed when dropped.
struct Draft(PathBuf);

impl Drop for Draft {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_file(&self.0) {
            tracing::warn!(%error, "the editor's draft file could not be removed");
        }
    }
}

/// Runs the editor on `text` and returns what was saved. The terminal must have been given back before.
pub async fn edit(editor: &Editor, text: &str) -> Result<String, String> {
    let (program, arguments) = editor.argv.split_first().ok_or("no editor is set")?;
    let path = editor
        .directory
        .join(format!("leverframe-draft-{}.txt", std::process::id()));
    let mut file = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&path)
        .map_err(|error| format!("{}: {error}", path.display()))?;
    let draft = Draft(path);
    file.write_all(text.as_bytes())
        .map_err(|error| format!("{}: {error}", draft.0.display()))?;
    drop(file);
    let status = tokio::process::Command::new(program)
        .args(arguments)
        .arg(&draft.0)
        .status()
        .await
        .map_err(|error| format!("{program}: {error}"))?;
    if !status.success() {
        return Err(format!(
            "{program} ended with {status}; the text is unchanged"
        ));
    }
    let size = std::fs::metadata(&draft.0)
        .map_err(|error| error.to_string())?
        .len();
    if size > MAX_BYTES {
        return Err(format!(
            "the file has {size} bytes; at most {MAX_BYTES} are taken"
        ));
    }
    std::fs::read_to_string(&draft.0).map_err(|error| format!("{}: {error}", draft.0.display()))
}
