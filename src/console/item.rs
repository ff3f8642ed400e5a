//! Items of the Queue: what each is, and what is known of it. Nothing here knows their order.

use crate::clock::Timestamp;
use crate::console::ids::HostId;
use crate::console::world::World;
use crate::protocol::approval::{Approval, PlanFacts, Preview};
use crate::protocol::enums::{
    ApprovalKind, ApprovalState, ChannelState, ContinuationState, OutboxState, Risk,
};
use crate::protocol::ids::{ApprovalId, ContinuationId, OutboxId, SessionId, ToolCallId};
use crate::protocol::session::{Flood, RefusedCalls};

/// The stable identity of a queue item.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ItemKey {
    /// An approval of any kind.
    Approval(ApprovalId),
    /// An interrupted continuation.
    Continuation(ContinuationId),
    /// A failed or unknown delivery.
    Delivery(OutboxId),
    /// What a run left, by its call.
    Leftovers(ToolCallId),
    /// Calls of a session that nobody was asked about.
    RefusedCalls(SessionId),
    /// A conversation that the engine paused, by its session.
    Flood(SessionId),
    /// A channel that cannot work.
    Channel(String),
    /// A problem of the engine, by its text.
    Problem(String),
}

impl ItemKey {
    /// The approval that it is; none = it is something else.
    pub const fn approval(&self) -> Option<ApprovalId> {
        match self {
            Self::Approval(id) => Some(*id),
            Self::Continuation(_)
            | Self::Delivery(_)
            | Self::Leftovers(_)
            | Self::RefusedCalls(_)
            | Self::Flood(_)
            | Self::Channel(_)
            | Self::Problem(_) => None,
        }
    }
}

/// An item of the queue: of which host, and what. Ids of two hosts may be the same.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QueueKey {
    pub host: HostId,
    pub item: ItemKey,
}

impl QueueKey {
    pub const fn new(host: HostId, item: ItemKey) -> Self {
        Self { host, item }
    }
}

/// What the items of the queue are grouped by. Inside a group the deadline orders.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Grouping {
    /// One list.
    #[default]
    None,
    Channel,
    Tool,
    /// By risk, the highest first.
    Risk,
    /// By who asks: an external agent with its directory, or a person.
    Requester,
}

impl Grouping {
    pub const fn next(self) -> Self {
        match self {
            Self::None => Self::Channel,
            Self::Channel => Self::Tool,
            Self::Tool => Self::Risk,
            Self::Risk => Self::Requester,
            Self::Requester => Self::None,
        }
    }

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "by deadline",
            Self::Channel => "by channel",
            Self::Tool => "by tool",
            Self::Risk => "by risk",
            Self::Requester => "by who asks",
        }
    }
}

/// Whether an item needs a person now.
pub fn is_open(world: &World, key: &ItemKey) -> bool {
    match key {
        ItemKey::Approval(id) => world
            .approvals
            .get(id)
            .is_some_and(|a| a.state == ApprovalState::Pending),
        ItemKey::Continuation(id) => {
            world
                .continuations
                .get(id)
                .is_some_and(|c| c.state == ContinuationState::Interrupted)
                && !has_gate(world, *id)
        }
        ItemKey::Delivery(id) => world.deliveries.get(id).is_some_and(|d| {
            let stuck = match d.state {
                OutboxState::Failed | OutboxState::Unknown => true,
                OutboxState::Pending
                | OutboxState::Sending
                | OutboxState::Sent
                | OutboxState::Superseded
                | OutboxState::Abandoned => false,
            };
            stuck && !has_resend(world, *id)
        }),
        ItemKey::Leftovers(id) => world.leftovers.contains_key(id),
        ItemKey::RefusedCalls(id) => refused_calls(world, *id).is_some(),
        ItemKey::Flood(id) => flood(world, *id).is_some(),
        ItemKey::Channel(name) => world
            .channels
            .get(name)
            .is_some_and(|c| c.health.state == ChannelState::Failed),
        ItemKey::Problem(text) => world
            .engine
            .as_ref()
            .is_some_and(|e| e.problems.contains(text)),
    }
}

/// What alike calls have in common. They share a row and a card.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct StackKey<'a> {
    session: SessionId,
    risk: Risk,
    tool: &'a str,
    call: String,
}

/// What this call has in common with those that are alike, whether it waits or not: session, risk, and what it would do.
/// Commands are alike where only words behind the program differ, and all else that a card must show is the same.
/// None = no call is alike: each call of high risk, and each assigned call.
pub fn likeness(approval: &Approval) -> Option<StackKey<'_>> {
    let stacks = approval.kind == ApprovalKind::Execute
        && approval.risk < Risk::High
        && approval.assignment.is_none()
        && !approval.digest.is_empty();
    let session = approval.session_id.filter(|_| stacks)?;
    Some(StackKey {
        session,
        risk: approval.risk,
        tool: &approval.tool,
        call: command_likeness(approval).unwrap_or_else(|| approval.digest.clone()),
    })
}

/// All that a card must show of a command beside the words behind its program. None = it is no plain command.
fn command_likeness(approval: &Approval) -> Option<String> {
    let Preview::Exec { argv } = &approval.preview else {
        return None;
    };
    let mut args = approval.args.clone();
    let words = args.as_object_mut()?.remove("argv")?;
    let is_plain = words.as_array()?.iter().eq(argv.iter());
    if !is_plain || approval.shortened || approval.unknown.is_some() || approval.question.is_some()
    {
        return None;
    }
    let plan = PlanFacts {
        // Files that the words name: who lists the words lists these too.
        bound: Vec::new(),
        ..approval.plan.clone()
    };
    let (program, others) = argv.split_first()?;
    Some(format!(
        "{program:?} {} {args} {plan:?} {:?} {:?} {} {:?} {:?}",
        others.len(),
        approval.risk_reasons,
        approval.taint,
        approval.requester.id,
        approval.verdict,
        approval.offered,
    ))
}

/// What calls that wait as one row have in common; none = a row of its own.
pub fn stack_key(approval: &Approval) -> Option<StackKey<'_>> {
    likeness(approval).filter(|_| approval.state == ApprovalState::Pending)
}

/// Alike calls that wait as one row, itself among them, oldest first; none but itself = a row of its own.
pub fn stack(world: &World, approval: &Approval) -> Vec<ApprovalId> {
    match stack_key(approval) {
        None => vec![approval.id],
        key => world
            .pending()
            .filter(|other| other.session_id == approval.session_id && stack_key(other) == key)
            .map(|other| other.id)
            .collect(),
    }
}

/// The calls of a session that were refused because too many waited.
pub fn refused_calls(world: &World, id: SessionId) -> Option<&RefusedCalls> {
    world.sessions.get(&id)?.refused_calls.as_ref()
}

/// Why the engine paused a conversation.
pub fn flood(world: &World, id: SessionId) -> Option<Flood> {
    world.sessions.get(&id)?.flood
}

/// An interrupted continuation with an unknown outcome is resumed by deciding that, not by itself.
fn has_gate(world: &World, id: ContinuationId) -> bool {
    world.pending().any(|a| a.continuation_id == Some(id))
}

/// An unknown delivery for which an approval asks already is shown once, as that approval.
fn has_resend(world: &World, id: OutboxId) -> bool {
    world.pending().any(|a| {
        let delivery = a.unknown.as_ref().and_then(|u| u.delivery.as_ref());
        a.kind == ApprovalKind::Resend && delivery.is_some_and(|d| d.id == id)
    })
}

/// When an item must be dealt with; none = no deadline.
pub fn deadline(world: &World, key: &ItemKey) -> Option<Timestamp> {
    world.approvals.get(&key.approval()?)?.expires_at
}

/// Since when an item waits.
pub fn since(world: &World, key: &ItemKey) -> Option<Timestamp> {
    match key {
        ItemKey::Approval(id) => world.approvals.get(id).map(|a| a.requested_at),
        ItemKey::Continuation(id) => world.continuations.get(id).map(|c| c.updated_at),
        ItemKey::Delivery(id) => world.deliveries.get(id).map(|d| d.updated_at),
        ItemKey::Leftovers(id) => world.leftovers.get(id).map(|one| one.found_at),
        ItemKey::RefusedCalls(id) => refused_calls(world, *id).map(|refused| refused.last_at),
        ItemKey::Flood(id) => flood(world, *id).map(|flood| flood.at),
        ItemKey::Channel(name) => world
            .channels
            .get(name)
            .and_then(|c| c.health.last_exchange_at),
        ItemKey::Problem(_) => world.engine.as_ref().map(|e| e.started_at),
    }
}

/// How a word of the filter begins that names a channel.
const CHANNEL_WORD: &str = "channel:";

/// The channel that an item is about.
pub fn channel<'w>(world: &'w World, key: &'w ItemKey) -> Option<&'w str> {
    let name = match key {
        ItemKey::Approval(id) => &world.approvals.get(id)?.channel,
        ItemKey::Continuation(id) => &world.continuations.get(id)?.channel,
        ItemKey::Delivery(id) => &world.deliveries.get(id)?.channel,
        ItemKey::Leftovers(id) => &world.leftovers.get(id)?.channel,
        ItemKey::RefusedCalls(id) | ItemKey::Flood(id) => &world.sessions.get(id)?.channel,
        ItemKey::Channel(name) => name,
        ItemKey::Problem(_) => return None,
    };
    Some(name)
}

/// The group of an item: where it stands among the groups, and what it is called.
pub fn group(world: &World, grouping: Grouping, key: &ItemKey) -> (u8, String) {
    let approval = key.approval().and_then(|id| world.approvals.get(&id));
    match grouping {
        Grouping::None => (0, String::new()),
        Grouping::Channel => match channel(world, key) {
            Some(channel) => (0, format!("channel {channel}")),
            None => (1, "no channel".to_owned()),
        },
        Grouping::Tool => match (approval, key) {
            (Some(approval), _) if !approval.tool.is_empty() => (0, approval.tool.clone()),
            (Some(approval), _) => (1, approval.kind.as_str().replace('_', " ")),
            (None, ItemKey::Continuation(_)) => (2, "interrupted turns".to_owned()),
            (None, ItemKey::Delivery(_)) => (2, "deliveries".to_owned()),
            (None, ItemKey::Leftovers(_)) => (2, "left by runs".to_owned()),
            (None, ItemKey::RefusedCalls(_)) => (2, "refused calls".to_owned()),
            (None, ItemKey::Flood(_)) => (2, "paused conversations".to_owned()),
            (None, ItemKey::Channel(_)) => (2, "dead channels".to_owned()),
            (None, ItemKey::Approval(_) | ItemKey::Problem(_)) => (3, "engine".to_owned()),
        },
        Grouping::Risk => match approval.map(|approval| approval.risk) {
            Some(Risk::Critical) => (0, "critical risk".to_owned()),
            Some(Risk::High) => (1, "high risk".to_owned()),
            Some(Risk::Medium) => (2, "medium risk".to_owned()),
            Some(Risk::Low) => (3, "low risk".to_owned()),
            None => (4, "no call".to_owned()),
        },
        Grouping::Requester => match approval {
            Some(approval) => (0, requester(approval)),
            None => (1, "nobody".to_owned()),
        },
    }
}

/// Who asks: an external agent with its directory, or a person.
fn requester(approval: &Approval) -> String {
    match &approval.plan.external {
        Some(external) => format!("{} in {}", external.label(), external.directory),
        None => approval.requester.display.clone(),
    }
}

/// What the filter looks at.
fn searched(world: &World, key: &ItemKey) -> String {
    let text = match key {
        ItemKey::Approval(id) => world.approvals.get(id).map(|a| {
            let person = a.requester.person.as_deref().unwrap_or_default();
            let question = a.question.as_deref().unwrap_or_default();
            let waits = a.assignment.as_ref().map_or_else(String::new, |one| {
                let me = if world.on_call_status.is_me(&one.to) {
                    " for:me"
                } else {
                    ""
                };
                format!("for:{}{me}", one.to)
            });
            format!(
                "{} {} {} {} {} {} {person} {} {question} {waits} {}",
                a.kind,
                a.tool,
                a.channel,
                a.conversation,
                a.risk,
                a.requester.display,
                a.short_code,
                a.args
            )
        }),
        ItemKey::Continuation(id) => world.continuations.get(id).map(|turn| {
            format!(
                "interrupted resume {} {} {} {}",
                turn.channel, turn.conversation, turn.requester.display, turn.request.text
            )
        }),
        ItemKey::Delivery(id) => world.deliveries.get(id).map(|one| {
            format!(
                "delivery {} {} {} {}",
                one.state, one.channel, one.conversation, one.preview
            )
        }),
        ItemKey::Leftovers(id) => world.leftovers.get(id).map(|one| {
            let places = one.new.set_aside.iter().map(|place| &place.path);
            let places = places.chain(one.new.in_place.iter().map(|place| &place.path));
            let places: Vec<&str> = places.map(String::as_str).collect();
            format!(
                "left set aside {} {} {} {} {}",
                one.channel,
                one.conversation,
                one.tool,
                one.preview,
                places.join(" ")
            )
        }),
        ItemKey::RefusedCalls(id) => world
            .sessions
            .get(id)
            .map(|one| format!("refused calls {} {}", one.channel, one.conversation)),
        ItemKey::Flood(id) => world.sessions.get(id).map(|one| {
            let why = one.flood.map_or_else(String::new, Flood::text);
            format!("paused {} {} {why}", one.channel, one.conversation)
        }),
        ItemKey::Channel(name) => Some(format!("channel dead {name}")),
        ItemKey::Problem(text) => Some(format!("engine problem {text}")),
    };
    text.unwrap_or_default().to_lowercase()
}

/// The word of the filter that stands for one channel.
pub fn of_channel(name: &str) -> String {
    format!("{CHANNEL_WORD}{name}")
}

/// Whether an item has all the words of the filter. `channel:NAME` stands for exactly this channel.
pub fn passes(world: &World, filter: &str, key: &ItemKey) -> bool {
    if filter.trim().is_empty() {
        return true;
    }
    let text = searched(world, key);
    let own = channel(world, key).map(str::to_lowercase);
    let filter = filter.to_lowercase();
    filter.split_whitespace().all(|word| {
        let named = word.strip_prefix(CHANNEL_WORD);
        named.map_or_else(|| text.contains(word), |name| own.as_deref() == Some(name))
    })
}

/// How long an approved call can still be taken back before it starts, in milliseconds; none = it is not held.
pub fn starts_in(wall: Timestamp, approval: &Approval) -> Option<u64> {
    let starts = approval.decision.as_ref()?.starts_at?;
    let is_held = approval.state == ApprovalState::Approved && starts > wall;
    is_held.then(|| starts.millis_since(wall))
}
