//! What a run leaves in places from which git, editors and agents run programs: it is renamed and told.
//!
//! Nothing new in such a place stays under its name once the run is over.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::protocol::ids::ToolCallId;
use crate::text::quote::quote;
use crate::tools::executable_places::{ExecutablePlaces, Leftovers};
use crate::tools::guard::Guard;
use crate::tools::output;
use crate::tools::place::ExecutableDirectory;
use crate::tools::place_scan::ScanError;
use crate::tools::tool::{RunJournal, ToolContext};

/// How long a cancelled call waits for a look through its workspace.
const HURRY: Duration = Duration::from_millis(400);
/// Most places named in a result, and most files.
const MOST_NOTICES: usize = 20;

/// Resolves a little after a call was cancelled.
async fn hurry(cancel: &CancellationToken) {
    cancel.cancelled().await;
    tokio::time::sleep(HURRY).await;
}

/// Watches over one run: what is new afterwards in places that make programs run is set aside and written down, also
/// when the call is given up meanwhile.
pub struct PlaceWatch {
    /// `None` once somebody looks again.
    before: Option<(Guard, ExecutablePlaces)>,
    call: ToolCallId,
    journal: Arc<dyn RunJournal>,
}

impl PlaceWatch {
    /// Looks through the workspace, and writes down what is there; an error says why the program must not start.
    pub async fn begin(guard: &Guard, context: &ToolContext<'_>) -> Result<Self, String> {
        let guard = guard.clone();
        let scan = tokio::task::spawn_blocking(move || {
            let found = ExecutablePlaces::scan(&guard)?;
            Ok::<_, ScanError>((found.to_store(&guard), guard, found))
        });
        let (stored, guard, found) = scan
            .await
            .map_err(|error| format!("the workspace cannot be looked through: {error}"))?
            .map_err(|problem| {
                format!(
                    "the program was not started, as git and editor settings of the workspace cannot be \
                     protected: {problem}; make the workspace smaller or choose another"
                )
            })?;
        let not_written = |problem: String| {
            format!("the program was not started, as its run cannot be written down: {problem}")
        };
        let stored = stored.map_err(|error| not_written(error.to_string()))?;
        let workspace = guard.workspace().to_owned();
        // From here on, whatever happens ends what the journal begins.
        let watch = Self {
            before: Some((guard, found)),
            call: context.call_id,
            journal: Arc::clone(&context.journal),
        };
        tokio::select! {
            biased;
            begun = context.journal.begin(context.call_id, &workspace, &stored) => {
                begun.map_err(not_written)?;
            }
            () = context.cancel.cancelled() => return Err("cancelled before it started".to_owned()),
        }
        Ok(watch)
    }

    /// How many bytes the workspace took on the disk, and how long it took to look.
    pub fn measured(&self) -> (u64, Duration) {
        self.before
            .as_ref()
            .map_or_else(Default::default, |(_, places)| (places.bytes, places.took))
    }

    /// What is there, to be protected.
    pub fn list(&self) -> &[ExecutableDirectory] {
        self.before
            .as_ref()
            .map_or(&[], |(_, places)| places.list())
    }

    /// What the person and the model must know; empty when nothing is new.
    pub async fn end(mut self, cancel: &CancellationToken) -> String {
        let Some(look) = self.look() else {
            return String::new();
        };
        // Whoever cancels does not wait for a large workspace: the look goes on by itself.
        tokio::select! {
            biased;
            found = tokio::spawn(look) => match found {
                Ok(notice) => notice,
                Err(error) => format!("[the workspace could not be looked through: {error}]\n"),
            },
            () = hurry(cancel) => "[the workspace is still being looked through for git and editor settings; what is \
                                   found comes to the Queue]\n".to_owned(),
        }
    }

    /// Looks again, renames, and writes down what is new; once.
    fn look(&mut self) -> Option<impl Future<Output = String> + Send + 'static> {
        let (guard, places) = self.before.take()?;
        let (call, journal) = (self.call, Arc::clone(&self.journal));
        Some(async move {
            let tag = call.to_string();
            let look = tokio::task::spawn_blocking(move || places.set_aside_new(&guard, &tag));
            match look.await {
                Ok(found) => {
                    let words = notice(&found);
                    journal.end(call, found.new).await;
                    words
                }
                Err(error) => format!("[the workspace could not be looked through: {error}]\n"),
            }
        })
    }
}

impl Drop for PlaceWatch {
    fn drop(&mut self) {
        // Where no runtime is left, the process ends, and the next start looks.
        if let Ok(runtime) = tokio::runtime::Handle::try_current()
            && let Some(look) = self.look()
        {
            runtime.spawn(look);
        }
    }
}

/// What a run left where programs are run from, in words.
fn notice(found: &Leftovers) -> String {
    let mut words = String::new();
    // The names are the program's: no line break of theirs makes a line of ours.
    let shown = |name: &str| {
        let escaped: String = name.escape_debug().collect();
        output::first(&escaped, 300).to_owned()
    };
    let new = &found.new;
    if !new.set_aside.is_empty() {
        words.push_str(
            "[set aside: git, editors, shells and agents run programs from these places, so a person must \
             look at them and rename them back]\n",
        );
    }
    for one in new.set_aside.iter().take(MOST_NOTICES) {
        let _ = writeln!(
            words,
            "[{} is now named {}]",
            shown(&one.path),
            shown(&one.name)
        );
    }
    let more = new.more + new.set_aside.len().saturating_sub(MOST_NOTICES) as u64;
    if more > 0 {
        let _ = writeln!(words, "[and {more} more]");
    }
    for one in new.in_place.iter().take(MOST_NOTICES) {
        let _ = writeln!(
            words,
            "[DANGER: {} is new, can make programs run, and could not be renamed: {}]",
            shown(&one.path),
            one.problem
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
    if let Some(problem) = &new.incomplete {
        let _ = writeln!(
            words,
            "[DANGER: not the whole workspace was looked through for new git and editor settings: {problem}]"
        );
    }
    words
}
