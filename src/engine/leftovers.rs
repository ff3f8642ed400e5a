//! What runs of programs leave in places from which other programs run code: written down before and after each run,
//! and looked for at the start where the process died during one.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;

use crate::engine::core::Engine;
use crate::protocol::ids::ToolCallId;
use crate::protocol::leftovers::NewPlaces;
use crate::protocol::problem::Problem;
use crate::store::commands::watch_run::{BeginRun, EndRun};
use crate::tools::executable_places::ExecutablePlaces;
use crate::tools::guard::Guard;
use crate::tools::place::PlacesBefore;
use crate::tools::tool::RunJournal;

/// Writes runs of tools into the database.
struct Journal {
    engine: Engine,
}

/// Where the tools of an engine write their runs.
pub fn journal(engine: &Engine) -> Arc<dyn RunJournal> {
    Arc::new(Journal {
        engine: engine.clone(),
    })
}

#[async_trait]
impl RunJournal for Journal {
    async fn begin(
        &self,
        call: ToolCallId,
        workspace: &Path,
        before: &PlacesBefore,
    ) -> Result<(), String> {
        let before = serde_json::to_string(before).map_err(|error| error.to_string())?;
        let begin = BeginRun {
            call_id: call,
            workspace: workspace.to_string_lossy().into_owned(),
            before,
        };
        let begun = self.engine.persist(begin).await;
        begun.map_err(|error| error.to_string())
    }

    async fn end(&self, call: ToolCallId, new: NewPlaces) {
        end(&self.engine, call, new).await;
    }
}

/// What cannot be stored now is found again at the next start.
async fn end(engine: &Engine, call: ToolCallId, new: NewPlaces) {
    let end = EndRun {
        call_id: call,
        new: redacted(engine, new),
    };
    if let Err(error) = engine.persist(end).await {
        tracing::error!(%call, %error, "cannot record the leftovers of a run; the next start searches again");
    }
}

fn redacted(engine: &Engine, mut new: NewPlaces) -> NewPlaces {
    let clean = |text: &mut String| *text = engine.redactor.redact(text).into_owned();
    for one in &mut new.set_aside {
        clean(&mut one.path);
        clean(&mut one.name);
    }
    for one in &mut new.in_place {
        clean(&mut one.path);
        clean(&mut one.problem);
    }
    new.incomplete.iter_mut().for_each(clean);
    new
}

/// Looks through the workspaces in which programs ran when the process died, and sets aside what they added. Nothing
/// runs yet. Of a restored copy nobody knows what was there when its runs began: that is told, and nothing is renamed.
pub async fn look_again(engine: &Engine, is_copy: bool) -> Result<(), Problem> {
    let open = engine.read(|reader| reader.open_runs()).await?;
    for run in open {
        let workspace = PathBuf::from(&run.workspace);
        let guard = Guard::of(workspace.clone(), engine.hidden_directories(&workspace));
        let tag = run.call_id.to_string();
        let found = if is_copy {
            Err("the database was restored from a copy".to_owned())
        } else {
            tokio::task::spawn_blocking(move || {
                let before: PlacesBefore =
                    serde_json::from_str(&run.before).map_err(|error| error.to_string())?;
                let places = ExecutablePlaces::restored(&before, &guard)?;
                Ok(places.set_aside_new(&guard, &tag).new)
            })
            .await
            .map_err(|error| error.to_string())
            .flatten()
        };
        let mut new = found.unwrap_or_else(|problem| NewPlaces {
            incomplete: Some(format!(
                "the process died while the program ran, and nothing was set aside: {problem}"
            )),
            ..NewPlaces::default()
        });
        if !new.is_empty() {
            tracing::warn!(call = %run.call_id, "an interrupted program left files in places from which other programs run code; see the Queue");
            new.interrupted = true;
        }
        end(engine, run.call_id, new).await;
    }
    Ok(())
}
