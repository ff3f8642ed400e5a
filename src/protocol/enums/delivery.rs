//! Values about channels, inbound items and deliveries.

string_enum!(/// State of one outbound part.
    OutboxState as "outbox state" {
    /// Waits to be sent.
    Pending = "pending",
    /// The bridge is sending it; the outcome is not recorded yet.
    Sending = "sending",
    /// The platform accepted it.
    Sent = "sent",
    /// The platform refused it for good.
    Failed = "failed",
    /// It was in flight when the process died or the connection broke; nobody knows whether it arrived.
    Unknown = "unknown",
    /// A newer text replaced it before it was sent.
    Superseded = "superseded",
    /// A person gave it up.
    Abandoned = "abandoned",
});

string_enum!(/// What an outbound part is for.
    OutboxClass as "outbox class" {
    /// Part of a final answer. Never dropped.
    Final = "final",
    /// An approval with buttons. Never dropped.
    ApprovalCard = "approval_card",
    /// An earlier card that now shows the outcome.
    CardUpdate = "card_update",
    /// A message about progress. Dropped when stale.
    Progress = "progress",
    /// A notice of the engine (queue full, help, emergency stop).
    Notice = "notice",
});

string_enum!(/// What a conversation had too much of.
    FloodKind as "flood kind" {
    /// Calls in a row that people denied.
    Denials = "denials",
    /// Turns in ten minutes.
    Turns = "turns",
});

string_enum!(/// What the engine did with an inbound item.
    Disposition as "disposition" {
    /// It queued a turn.
    Turn = "turn",
    /// It carried out a slash command or a click.
    Command = "command",
    /// The sender has no access to the channel, and the engine asked about them.
    Pairing = "pairing",
    /// The item is not for the bot, or has an unknown form.
    Ignored = "ignored",
    /// The conversation's queue is full, and the engine told the sender.
    QueueFull = "queue_full",
});

string_enum!(/// State of a request for access.
    PairingState as "pairing state" {
    /// It waits for a person.
    Pending = "pending",
    /// The sender may talk to the agent.
    Accepted = "accepted",
    /// The sender has no access, and cannot ask again.
    Refused = "refused",
    /// Nobody decided before the deadline; the sender may ask again.
    Expired = "expired",
    /// A person took the decision back; the sender may ask again.
    Revoked = "revoked",
});

string_enum!(/// State of a channel's connection, judged by its last exchanges and never by a running task.
    ChannelState as "channel state" {
    /// Connecting; no exchange yet.
    Starting = "starting",
    /// The last exchange succeeded.
    Connected = "connected",
    /// The last exchange failed; the bridge tries again.
    Degraded = "degraded",
    /// It cannot work until a person changes something.
    Failed = "failed",
    /// An operator paused it.
    Paused = "paused",
    /// It needs no connection (desk, api, cli).
    Local = "local",
});

string_enum!(/// Kind of a channel.
    ChannelKind as "channel kind" {
    /// The chat in the console.
    Desk = "desk",
    /// Sessions that start over HTTP.
    Api = "api",
    /// Sessions that MCP clients start.
    Mcp = "mcp",
    /// Sessions of `leverframe ask`.
    Cli = "cli",
    /// Sessions of routines.
    Routine = "routine",
    /// Scripted visitors of `--demo`.
    Scripted = "scripted",
    /// Telegram.
    Telegram = "telegram",
    /// Discord.
    Discord = "discord",
    /// Slack.
    Slack = "slack",
    /// Matrix.
    Matrix = "matrix",
    /// Signed requests to and from another system.
    Webhook = "webhook",
    /// A bridge that runs as its own program.
    Process = "process",
    /// Calls of external agents.
    Gate = "gate",
});

impl ChannelKind {
    /// Whether the people are on an outside platform. Scripted visitors and built-in channels are not.
    pub const fn is_platform(self) -> bool {
        match self {
            Self::Telegram
            | Self::Discord
            | Self::Slack
            | Self::Matrix
            | Self::Webhook
            | Self::Process => true,
            Self::Desk
            | Self::Api
            | Self::Mcp
            | Self::Cli
            | Self::Routine
            | Self::Scripted
            | Self::Gate => false,
        }
    }

    /// Whether a bridge carries its messages through the outbox.
    pub const fn has_bridge(self) -> bool {
        self.is_platform() || matches!(self, Self::Scripted)
    }
}
