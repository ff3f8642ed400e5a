//! Channels, what comes in through them and what goes out.

string_enum!(/// State of one outbound part.
    OutboxState as "outbox state" {
    /// To be sent.
    Pending = "pending",
    /// Handed to the platform, answer not yet recorded.
    Sending = "sending",
    /// Accepted by the platform.
    Sent = "sent",
    /// Refused by the platform for good.
    Failed = "failed",
    /// In flight when the process died or the connection broke; nobody knows.
    Unknown = "unknown",
    /// A newer text took its place before it was sent.
    Superseded = "superseded",
    /// Given up by a person.
    Abandoned = "abandoned",
});

string_enum!(/// What an outbound part is for.
    OutboxClass as "outbox class" {
    /// Part of a final answer. Never dropped.
    Final = "final",
    /// An approval with buttons. Never dropped.
    ApprovalCard = "approval_card",
    /// An earlier card, now showing the outcome.
    CardUpdate = "card_update",
    /// A word about progress. Dropped when stale.
    Progress = "progress",
    /// A notice of ours (queue full, help, held).
    Notice = "notice",
});

string_enum!(/// What a conversation had too much of.
    FloodKind as "flood kind" {
    /// Calls that people denied, in a row.
    Denials = "denials",
    /// Turns in ten minutes.
    Turns = "turns",
});

string_enum!(/// What became of an inbound item.
    Disposition as "disposition" {
    /// A turn was queued.
    Turn = "turn",
    /// A slash command or a click was carried out.
    Command = "command",
    /// The sender is not on the channel's list.
    Pairing = "pairing",
    /// Not for us, or of an unknown shape.
    Ignored = "ignored",
    /// The conversation's queue is full; the sender was told.
    QueueFull = "queue_full",
});

string_enum!(/// What became of somebody who asked for access.
    PairingState as "pairing state" {
    /// Waits for a person.
    Pending = "pending",
    /// May talk to the agent.
    Accepted = "accepted",
    /// Stays out, and does not ask again.
    Refused = "refused",
    /// Nobody answered in time; may ask again.
    Expired = "expired",
    /// The decision was taken back; may ask again.
    Revoked = "revoked",
});

string_enum!(/// State of a channel's connection, from its last exchanges, never from "a task exists".
    ChannelState as "channel state" {
    /// Connecting, nothing exchanged yet.
    Starting = "starting",
    /// The last exchange succeeded.
    Connected = "connected",
    /// The last exchange failed; retrying.
    Degraded = "degraded",
    /// Cannot work until a person changes something.
    Failed = "failed",
    /// Paused by an operator.
    Paused = "paused",
    /// Needs no connection (desk, api, cli).
    Local = "local",
});

string_enum!(/// Kind of a channel.
    ChannelKind as "channel kind" {
    /// The console's own chat.
    Desk = "desk",
    /// Sessions started over HTTP.
    Api = "api",
    /// Sessions started by an MCP client.
    Mcp = "mcp",
    /// Sessions started by `leverframe ask`.
    Cli = "cli",
    /// Sessions started by the scheduler.
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
    /// Signed requests of another system, both ways.
    Webhook = "webhook",
    /// A bridge that is a program.
    Process = "process",
    /// Calls that external agents make by themselves.
    Gate = "gate",
});

impl ChannelKind {
    /// Whether people are on a platform outside. Scripted visitors and the built-in channels are not.
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

    /// Whether a bridge carries what comes and goes, through the outbox.
    pub const fn has_bridge(self) -> bool {
        self.is_platform() || matches!(self, Self::Scripted)
    }
}
