//! Results that are too large to be read by a model whole: kept in a file, shown in part.
//!
//! What is stored is redacted already; what is shown is a part of what is stored.

use crate::engine::core::Engine;
use crate::protocol::artifact::ArtifactRef;
use crate::store::artifacts::{StoredArtifact, TEXT};
use crate::tools::output::{first, last};

/// Longest result that a model reads whole.
const WHOLE: usize = 8 * 1024;
/// Of a longer one, bytes shown of its beginning.
const HEAD: usize = 6 * 1024;
/// And of its end.
const TAIL: usize = 2 * 1024;
/// Longest result shown of a tool that reads windows of what is kept elsewhere, and of one that could not be kept.
const WINDOW: usize = 64 * 1024;

/// What the model reads, and where the rest is.
pub struct ResultExcerpt {
    /// What the model reads.
    pub content: String,
    /// Hold it until the row that names it is committed.
    pub stored: Option<StoredArtifact>,
    /// Whether nothing is left out.
    pub whole: bool,
}

impl ResultExcerpt {
    /// What to name in the row.
    pub fn artifact(&self) -> Option<ArtifactRef> {
        self.stored.as_ref().map(|stored| stored.artifact.clone())
    }
}

/// Keeps a redacted result whole and shows its ends, unless it is short or a window already.
pub async fn show(engine: &Engine, content: String, is_window: bool) -> ResultExcerpt {
    if content.len() <= WHOLE || is_window {
        return ResultExcerpt {
            whole: content.len() <= WINDOW,
            content: shorten(content),
            stored: None,
        };
    }
    let now = engine.clock.now();
    let put = engine
        .store
        .put_artifact(content.clone().into_bytes(), TEXT, now);
    match put.await {
        Ok(stored) => ResultExcerpt {
            content: ends(&content, &stored.artifact),
            stored: Some(stored),
            whole: false,
        },
        // The result counts more than its middle: the call ran, and its outcome must be recorded.
        Err(error) => {
            tracing::warn!(%error, "cannot store a large result; cutting it");
            ResultExcerpt {
                content: shorten(content),
                stored: None,
                whole: false,
            }
        }
    }
}

/// The beginning and the end, with the name of the whole between them.
fn ends(content: &str, artifact: &ArtifactRef) -> String {
    let (head, tail) = (first(content, HEAD), last(content, TAIL));
    let left_out = content.len() - head.len() - tail.len();
    format!(
        "{head}\n[… {left_out} of {} bytes left out; the whole is {}, which read_file takes as a path …]\n{tail}",
        content.len(),
        artifact.hash.reference()
    )
}

fn shorten(mut content: String) -> String {
    if content.len() > WINDOW {
        let total = content.len();
        let cut = first(&content, WINDOW).len();
        content.truncate(cut);
        content.push_str(&format!("\n[shortened: {cut} of {total} bytes shown]"));
    }
    content
}
