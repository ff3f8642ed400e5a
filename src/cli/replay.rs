//! `leverframe replay`: what is to be played, and where it is read from.

use std::path::Path;
use std::sync::Arc;

use crate::cli::connect;
use crate::cli::exit::{Failure, usage};
use crate::cli::find;
use crate::client::console_client::ConsoleClient;
use crate::protocol::problem::ProblemKind;
use crate::protocol::request::{GetContinuation, GetSession};
use crate::runtime::archived_session::{self, ArchiveMatch};
use crate::runtime::offline::OfflineSessions;
use crate::text::untrusted::limit_line;
use crate::tui::state::replay::Source;

/// What is played, and who has it.
type Playable = (Arc<dyn ConsoleClient>, Source);

/// The running daemon of a data directory, else its files.
async fn client(data_dir: &Path) -> Result<Arc<dyn ConsoleClient>, Failure> {
    match connect::daemon(data_dir).await {
        Ok(client) => Ok(Arc::new(client)),
        Err(Failure::NothingRunning(_)) => Ok(Arc::new(OfflineSessions::open(data_dir)?)),
        Err(other) => Err(other),
    }
}

/// The continuation or session of this id, or of a unique beginning of it, in the database, else in the event archive.
/// A beginning without its kind's prefix names a continuation.
pub async fn playable(data_dir: &Path, text: &str, archive: bool) -> Result<Playable, Failure> {
    let missing = if archive {
        usage!(
            "the event archive has nothing that starts with `{}`",
            limit_line(text, 64)
        )
    } else {
        let client = client(data_dir).await?;
        match stored(&*client, text).await {
            Ok(source) => return Ok((client, source)),
            Err(Failure::Problem(problem)) if problem.kind != ProblemKind::NotFound => {
                return Err(problem.into());
            }
            Err(missing) => missing,
        }
    };
    match archived_session::find(data_dir, text)? {
        ArchiveMatch::One(session) => {
            let source = Source::Session(session.session_id);
            Ok((Arc::new(session), source))
        }
        ArchiveMatch::Several(ids) => Err(usage!(
            "`{}` fits more than one in the event archive: {}",
            limit_line(text, 64),
            ids.iter()
                .take(5)
                .map(String::as_str)
                .collect::<Vec<_>>()
                .join(", ")
        )),
        ArchiveMatch::Nothing => Err(missing),
    }
}

async fn stored(client: &dyn ConsoleClient, text: &str) -> Result<Source, Failure> {
    if text.starts_with("ses_") {
        let id = find::session(client, text).await?;
        client.call(GetSession { id }).await?;
        return Ok(Source::Session(id));
    }
    let id = find::continuation(client, text).await?;
    client.call(GetContinuation { id }).await?;
    Ok(Source::Continuation(id))
}
