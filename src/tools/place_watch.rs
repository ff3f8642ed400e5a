//! What a run leaves in places from which git, editors and agents run programs: it is renamed and told.
//!
//! Nothing new in such a place stays under its name once the run is over.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::protocol::ids::ToolCallId;
use crate::text::quote::quote;
use crate::tools::executable_places::{ExecutablePlace, ExecutablePlaces, Leftovers};
use crate::tools::guard::Guard;
use crate::tools::output;

/// How long a cancelled call waits for a look through its workspace.
const HURRY: Duration = Duration::from_millis(400);
/// Most places named in a result, and most files.
const MOST_NOTICES: usize = 20;

/// Resolves a little after a call was cancelled.
async fn hurry(cancel: &CancellationToken) {
    cancel.cancelled().await;
    tokio::time::sleep(HURRY).await;
}

/// Watches over one run: what is new afterwards in places that make programs run is set aside, also when
/// the call is given up meanwhile.
pub struct PlaceWatch {
    /// `None` once somebody looks again.
    before: Option<(Guard, ExecutablePlaces)>,
    tag: String,
}

impl PlaceWatch {
    /// Looks through the workspace; an error says why the program must not start.
    pub async fn begin(guard: &Guard, call: ToolCallId) -> Result<Self, String> {
        let guard = guard.clone();
        let scan = tokio::task::spawn_blocking(move || {
            ExecutablePlaces::scan(&guard).map(|found| (guard, found))
        });
        let before = scan
            .await
            .map_err(|error| format!("the workspace cannot be looked through: {error}"))?
            .map_err(|problem| {
                format!(
                    "the program was not started, as git and editor settings of the workspace cannot be \
                     protected: {problem}; make the workspace smaller or choose another"
                )
            })?;
        Ok(Self {
            before: Some(before),
            tag: call.to_string(),
        })
    }

    /// How many bytes the workspace took on the disk, and how long it took to look.
    pub fn measured(&self) -> (u64, Duration) {
        self.before
            .as_ref()
            .map_or_else(Default::default, |(_, places)| (places.bytes, places.took))
    }

    /// What is there, to be protected.
    pub fn list(&self) -> &[ExecutablePlace] {
        self.before
            .as_ref()
            .map_or(&[], |(_, places)| places.list())
    }

    /// What the person and the model must know; empty when nothing is new.
    pub async fn end(mut self, cancel: &CancellationToken) -> String {
        let Some((guard, places)) = self.before.take() else {
            return String::new();
        };
        let tag = self.tag.clone();
        let look = tokio::task::spawn_blocking(move || places.set_aside_new(&guard, &tag));
        // Whoever cancels does not wait for a large workspace: the look goes on by itself.
        tokio::select! {
            biased;
            found = look => match found {
                Ok(found) => notice(&found),
                Err(error) => format!("[the workspace could not be looked through: {error}]\n"),
            },
            () = hurry(cancel) => "[the workspace is still being looked through for git and editor settings]\n".to_owned(),
        }
    }
}

impl Drop for PlaceWatch {
    fn drop(&mut self) {
        if let Some((guard, places)) = self.before.take() {
            let tag = self.tag.clone();
            std::thread::spawn(move || places.set_aside_new(&guard, &tag));
        }
    }
}

/// What a run left where programs are run from, in words.
fn notice(found: &Leftovers) -> String {
    let mut words = String::new();
    // The names are the program's: no line break of theirs makes a line of ours.
    let shown = |path: &Path| {
        let escaped: String = path.to_string_lossy().escape_debug().collect();
        output::first(&escaped, 300).to_owned()
    };
    if !found.set_aside.is_empty() {
        words.push_str(
            "[set aside: git, editors, shells and agents run programs from these places, so a person must \
             look at them and rename them back]\n",
        );
    }
    for (path, name) in found.set_aside.iter().take(MOST_NOTICES) {
        let _ = writeln!(
            words,
            "[{} is now named {}]",
            shown(path),
            shown(Path::new(name))
        );
    }
    if found.set_aside.len() > MOST_NOTICES {
        let _ = writeln!(words, "[and {} more]", found.set_aside.len() - MOST_NOTICES);
    }
    for (path, problem) in found.in_place.iter().take(MOST_NOTICES) {
        let _ = writeln!(
            words,
            "[DANGER: {} is new, can make programs run, and could not be renamed: {problem}]",
            shown(path)
        );
    }
    if !found.cleared.is_empty() {
        let named = found.cleared.iter().take(MOST_NOTICES);
        let names: Vec<String> = named.map(|file| quote(&file.to_string_lossy())).collect();
        let more = match found.cleared.len().saturating_sub(MOST_NOTICES) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let _ = writeln!(
            words,
            "[set-user-ID and set-group-ID bits were taken away from {}{more}]",
            names.join(", ")
        );
    }
    if found.set_id_left {
        words.push_str(
            "[not every file could be looked at for set-user-ID and set-group-ID bits]\n",
        );
    }
    if let Some(problem) = &found.incomplete {
        let _ = writeln!(
            words,
            "[DANGER: not the whole workspace was looked through for new git and editor settings: {problem}]"
        );
    }
    words
}
