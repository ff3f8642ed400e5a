//! Who the bot is at Slack.

/// Who we are on the platform.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Me {
    /// The workspace.
    pub team: String,
    /// The bot's user.
    pub user: String,
    /// The bot, as its messages name it.
    pub bot: Option<String>,
    /// Its name.
    pub name: String,
}

impl Me {
    /// What keys and cursor belong to.
    pub fn account(&self) -> String {
        format!("{}/{}", self.team, self.user)
    }
}
