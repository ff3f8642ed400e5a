//! Texts that were written and not yet accepted. A text leaves here only when the engine has taken it, or when the
//! operator empties it.

use std::collections::BTreeMap;

use crate::protocol::artifact::NewAttachment;
use crate::protocol::ids::SessionId;
use crate::protocol::request::Command;

/// Texts by what they are for.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Drafts {
    texts: BTreeMap<String, String>,
    /// Files that go with the next message to a session.
    files: BTreeMap<SessionId, Vec<NewAttachment>>,
    // Commands on their way: what each is for, and its text.
    sent: Vec<(Command, String, String)>,
}

impl Drafts {
    /// The text that is for this.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.texts.get(key).map(String::as_str)
    }

    /// Files that go with the next message to a session.
    pub fn files(&self, session: SessionId) -> &[NewAttachment] {
        self.files.get(&session).map_or(&[], Vec::as_slice)
    }

    /// Attaches a file to the next message.
    pub fn attach(&mut self, session: SessionId, file: NewAttachment) {
        self.files.entry(session).or_default().push(file);
    }

    /// Takes the files, for a message that is sent or to leave them out.
    pub fn take_files(&mut self, session: SessionId) -> Vec<NewAttachment> {
        self.files.remove(&session).unwrap_or_default()
    }

    pub fn len(&self) -> usize {
        self.texts.len() + self.files.len() + self.sent.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A field was closed with this text in it.
    pub fn put(&mut self, key: String, text: String) {
        if text.is_empty() {
            self.texts.remove(&key);
        } else {
            self.texts.insert(key, text);
        }
    }

    /// A text is on its way in these commands: it is kept until the engine has answered.
    pub fn sending<'c>(
        &mut self,
        key: &str,
        text: &str,
        commands: impl IntoIterator<Item = &'c Command>,
    ) {
        self.texts.remove(key);
        for command in commands {
            self.sent
                .push((command.clone(), key.to_owned(), text.to_owned()));
        }
    }

    /// The engine answered a command. A refused text is a draft again, before what was written since. Whether it is.
    pub fn answered(&mut self, command: &Command, accepted: bool) -> bool {
        let Some(at) = self.sent.iter().position(|(sent, ..)| sent == command) else {
            return false;
        };
        let (_, key, mut text) = self.sent.remove(at);
        if accepted {
            return false;
        }
        if let Command::SendMessage(message) = command
            && !message.attachments.is_empty()
        {
            let since = self.take_files(message.session_id);
            let files = message.attachments.iter().cloned().chain(since).collect();
            self.files.insert(message.session_id, files);
        }
        if let Some(since) = self.texts.remove(&key) {
            text.push('\n');
            text.push_str(&since);
        }
        self.texts.insert(key, text);
        true
    }
}
