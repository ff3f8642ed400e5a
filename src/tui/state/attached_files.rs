//! The files of the turns that are read in Session, and the pictures among them. Only what is selected is asked for.

use std::collections::BTreeMap;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use crate::protocol::artifact::{Artifact, ArtifactHash, ArtifactRef};
use crate::protocol::ids::ContinuationId;
use crate::protocol::session::{Continuation, StepBody, TranscriptBody, TranscriptEntry};

/// Largest file that is fetched to be shown, in bytes.
pub const MAX_SHOWN: u64 = 20 * 1024 * 1024;
/// Most pictures of an entry that are shown, and files whose content is held.
const PICTURES: usize = 4;
/// Turns whose files are known at most.
const TURNS: usize = 500;

/// A file and its name: outside text.
pub type NamedFile = (String, ArtifactRef);

/// What a file holds, or why it did not come.
pub type Content = Result<Arc<Vec<u8>>, String>;

#[derive(Debug, Clone, Default, PartialEq)]
struct TurnFiles {
    received: Vec<NamedFile>,
    sent: Vec<NamedFile>,
}

/// What is known of them. An inner none = it was asked.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AttachedFiles {
    turns: BTreeMap<ContinuationId, Option<TurnFiles>>,
    content: BTreeMap<ArtifactHash, Option<Content>>,
}

impl AttachedFiles {
    /// The files of an entry: what came with a message, what goes with an answer, what a tool made.
    pub fn of(&self, entry: &TranscriptEntry) -> Vec<NamedFile> {
        let turn = || self.turns.get(&entry.continuation_id)?.as_ref();
        match &entry.body {
            TranscriptBody::User { .. } => {
                turn().map_or_else(Vec::new, |files| files.received.clone())
            }
            TranscriptBody::Step { step, tool_calls } => match &step.body {
                StepBody::Final { .. } => turn().map_or_else(Vec::new, |files| files.sent.clone()),
                StepBody::ToolResult { name, artifact, .. } => {
                    let artifact = artifact.iter().cloned();
                    artifact.map(|one| (name.clone(), one)).collect()
                }
                StepBody::Model { .. } => (tool_calls.iter())
                    .filter_map(|call| Some((call.name.clone(), call.artifact.clone()?)))
                    .collect(),
                StepBody::OperatorNote { .. } | StepBody::Error { .. } => Vec::new(),
            },
            TranscriptBody::State { .. } | TranscriptBody::Compacted { .. } => Vec::new(),
        }
    }

    /// The turn whose files must be asked for to know those of an entry; none = they are known, or it can have none.
    pub fn unknown_turn(&mut self, entry: &TranscriptEntry) -> Option<ContinuationId> {
        let has_some = match &entry.body {
            TranscriptBody::User { .. } => true,
            TranscriptBody::Step { step, .. } => matches!(step.body, StepBody::Final { .. }),
            TranscriptBody::State { .. } | TranscriptBody::Compacted { .. } => false,
        };
        let id = entry.continuation_id;
        if !has_some || self.turns.contains_key(&id) {
            return None;
        }
        if self.turns.len() >= TURNS {
            self.turns.clear();
        }
        self.turns.insert(id, None);
        Some(id)
    }

    /// The pictures of an entry whose content must be asked for.
    pub fn unknown_pictures(&mut self, entry: &TranscriptEntry) -> Vec<ArtifactHash> {
        let files = self.of(entry).into_iter().map(|(_, file)| file);
        let shown = files.filter(|file| is_picture(file) && file.size <= MAX_SHOWN);
        let shown: Vec<ArtifactHash> = shown.map(|file| file.hash).take(PICTURES).collect();
        let mut unknown = shown.clone();
        unknown.retain(|hash| !self.content.contains_key(hash));
        if !unknown.is_empty() {
            self.content.retain(|hash, _| shown.contains(hash));
            self.content
                .extend(unknown.iter().map(|hash| (*hash, None)));
        }
        unknown
    }

    /// Whether the content of a file was asked for: it is one of those that are shown.
    pub fn is_asked(&self, hash: ArtifactHash) -> bool {
        self.content.contains_key(&hash)
    }

    /// The content of a picture; none = it is on its way.
    pub fn content(&self, hash: ArtifactHash) -> Option<&Content> {
        self.content.get(&hash)?.as_ref()
    }

    /// A turn came that somebody asked for.
    pub fn take_turn(&mut self, turn: &Continuation) {
        if let Some(waits) = self.turns.get_mut(&turn.id) {
            let name = |path: &str| path.rsplit('/').next().unwrap_or(path).to_owned();
            let received = turn.attachments.iter();
            let sent = turn.files.iter();
            *waits = Some(TurnFiles {
                received: received
                    .map(|file| (name(&file.path), file.artifact.clone()))
                    .collect(),
                sent: sent
                    .map(|file| (file.name.clone(), file.artifact.clone()))
                    .collect(),
            });
        }
    }

    /// A file came that somebody asked for, or why it did not.
    pub fn take_content(&mut self, hash: ArtifactHash, artifact: Result<&Artifact, String>) {
        if let Some(waits) = self.content.get_mut(&hash) {
            let content = artifact.and_then(|artifact| match &artifact.data {
                Some(data) => BASE64.decode(data).map_err(|error| error.to_string()),
                None => Ok(artifact.text.clone().into_bytes()),
            });
            *waits = Some(content.map(Arc::new));
        }
    }
}

/// Whether a file says that it is a picture.
pub fn is_picture(file: &ArtifactRef) -> bool {
    file.media_type.starts_with("image/")
}
