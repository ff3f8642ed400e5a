//! Opens a session, or finds the active one of the conversation.

/// Opens a session on a conversation. Durable; the active one is reused and not changed.
#[derive(Debug, Clone)]
pub struct StartSession {
    /// Channel name.
    pub channel: String,
    /// Conversation key.
    pub conversation: String,
    /// Title.
    pub title: Option<String>,
    /// `<provider>/<model>`.
    pub model: Option<String>,
}
