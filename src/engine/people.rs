//! Who somebody is, and what they may decide. Pure lookups in the settings.
//!
//! Authorisation is by stable platform ids only; display names never enter here.

pub mod doctor;

use crate::config::person::PersonSettings;
use crate::config::settings::{ChannelSettings, SelfApproval, Settings};
use crate::protocol::approval::{self, Approval, Requester};
use crate::protocol::bridge::escape_conversation;
use crate::protocol::command::Actor;
use crate::protocol::enums::{ApprovalKind, ChannelKind, Risk, Role, Scope, Surface};

/// A person of the configuration with the name they are configured under.
pub struct Person<'a> {
    /// Name under `[people]`.
    pub name: &'a str,
    /// Ids and role.
    pub settings: &'a PersonSettings,
}

/// The person that a stable id is linked to. The configuration writes the user of a socket as `unix:1000`.
pub fn person<'a>(settings: &'a Settings, stable_id: &str) -> Option<Person<'a>> {
    let uid = stable_id.strip_prefix("operator:");
    let is_this =
        |id: &String| id == stable_id || (uid.is_some() && id.strip_prefix("unix:") == uid);
    settings
        .people
        .iter()
        .find(|(_, person)| person.ids.iter().any(is_this))
        .map(|(name, settings)| Person { name, settings })
}

/// The actor with the person that they are linked to now.
pub fn named(settings: &Settings, mut actor: Actor) -> Actor {
    let linked = person(settings, &actor.id()).map(|person| person.name.to_owned());
    match &mut actor {
        Actor::Operator { person, .. } => *person = linked,
        // The token's own record has said it, where it is somebody's.
        Actor::Token { person, .. } => *person = person.take().or(linked),
        Actor::Person { .. } | Actor::Engine => {}
    }
    actor
}

/// The actor behind a platform-authenticated sender.
pub fn chat_actor(settings: &Settings, platform_id: String) -> Actor {
    let person = person(settings, &platform_id);
    Actor::Person {
        name: person.as_ref().map(|person| person.name.to_owned()),
        role: person.map_or(Role::User, |person| person.settings.role),
        platform_id,
    }
}

/// Where somebody reads direct messages: each a channel and a conversation key.
pub fn direct_conversations(settings: &Settings, platform_id: &str) -> Vec<(String, String)> {
    let alone = [platform_id.to_owned()];
    let ids = person(settings, platform_id).map_or(&alone[..], |person| &person.settings.ids);
    let mut found = Vec::new();
    // Only ids of webhooks and programs can have what is escaped.
    for (platform, user) in ids.iter().filter_map(|id| id.split_once(':')) {
        for (channel, settings) in &settings.channels {
            if settings.id_prefix == platform {
                found.push((channel.clone(), escape_conversation(user)));
            }
        }
    }
    found
}

/// Who asks, when the asking is done by an actor directly (console, HTTP, command line).
pub fn requester(actor: &Actor) -> Requester {
    Requester {
        id: actor.id(),
        display: actor.label(),
        person: actor.person().map(str::to_owned),
    }
}

/// What a message of somebody who is not listed is called where untrusted content is named.
pub fn taint_of(requester: &Requester) -> String {
    format!("message of {}, who is not listed", requester.id)
}

/// What somebody is here, in a word for models. It orders nothing: what may be done is decided elsewhere.
pub fn role_word(settings: &Settings, requester: &Requester) -> &'static str {
    if let Some(person) = person(settings, &requester.id) {
        return person.settings.role.as_str();
    }
    match requester.id.split_once(':') {
        Some(("operator", _)) => "operator",
        Some(("token", _)) => "program",
        Some(("routine", _)) => "routine",
        None if requester.id == "engine" => "engine",
        Some(_) | None => Role::User.as_str(),
    }
}

/// Whether an actor holds a scope.
pub fn has_scope(actor: &Actor, scope: Scope) -> bool {
    match actor {
        Actor::Operator { .. } | Actor::Engine => true,
        Actor::Token { scopes, .. } => {
            let wider = scope == Scope::Chat && scopes.contains(&Scope::Operate);
            scopes.contains(&scope) || scopes.contains(&Scope::Admin) || wider
        }
        Actor::Person { role, .. } => match scope {
            Scope::Mcp | Scope::Gate | Scope::Chat => false,
            Scope::Read | Scope::Operate | Scope::Approve | Scope::Admin => gives(*role, scope),
        },
    }
}

/// Whether a role lets its holder have a token with a scope.
pub fn gives(role: Role, scope: Scope) -> bool {
    let least = match scope {
        Scope::Read | Scope::Operate | Scope::Chat | Scope::Mcp | Scope::Gate => Role::User,
        Scope::Approve => Role::Approver,
        Scope::Admin => Role::Owner,
    };
    role >= least
}

/// Whether an actor may give a command that needs a scope. A host of the Model Context Protocol operates through that
/// surface, which gives it none but its own sessions.
pub fn may(actor: &Actor, surface: Surface, scope: Scope) -> bool {
    let host = surface == Surface::Mcp && scope == Scope::Operate;
    has_scope(actor, scope) || (host && has_scope(actor, Scope::Mcp))
}

/// Whether a sender may talk to the agent in a conversation.
///
/// Who: people, ids in `allowed_users`, and whom an operator gave access; where that list is empty, anybody in a chat of
/// `allowed_chats`.
/// Where: any conversation, or only direct ones and those of `allowed_chats` when that list is not empty.
pub fn may_talk(
    settings: &Settings,
    channel: &ChannelSettings,
    sender: &str,
    conversation: &str,
    let_in: bool,
) -> bool {
    let platform_id = format!("{}:{sender}", channel.id_prefix);
    let chat = conversation.split('/').next().unwrap_or(conversation);
    let listed_chat = channel
        .allowed_chats
        .iter()
        .any(|id| id == chat || id == conversation);
    let listed_user = channel
        .allowed_users
        .iter()
        .any(|id| id == sender || *id == platform_id)
        || let_in
        || person(settings, &platform_id).is_some();
    let who = listed_user || (channel.allowed_users.is_empty() && listed_chat);
    let place = channel.allowed_chats.is_empty()
        || listed_chat
        || chat == sender
        || conversation == escape_conversation(sender);
    who && place
}

/// Whether what this requester says is untrusted content (nobody vouched for them by name or list, or let them in).
pub fn is_untrusted(
    settings: &Settings,
    channel: &ChannelSettings,
    let_in: &[String],
    requester: &Requester,
) -> bool {
    // What a program of this user writes is no message of a stranger.
    if channel.kind == ChannelKind::Gate
        || requester.person.is_some()
        || let_in.contains(&requester.id)
        || person(settings, &requester.id).is_some()
    {
        return false;
    }
    match requester.id.split_once(':') {
        // What a routine says was written by somebody with the scope `admin`.
        Some(("operator" | "token" | "routine", _)) => false,
        Some((_, bare)) => !channel
            .allowed_users
            .iter()
            .any(|id| id == bare || *id == requester.id),
        None => requester.id != "engine",
    }
}

/// Whether two ids are the same human: equal, or linked to the same `[people]` entry.
pub fn same_human(settings: &Settings, one: &str, other: &str) -> bool {
    one == other
        || match (person(settings, one), person(settings, other)) {
            (Some(one), Some(other)) => one.name == other.name,
            (Some(_) | None, None) | (None, Some(_)) => false,
        }
}

/// Whether an actor is who asked, whatever either of them came by.
fn is_requester(settings: &Settings, actor: &Actor, requester: &Requester) -> bool {
    let same_person = actor.person().is_some_and(|name| {
        requester.person.as_deref() == Some(name)
            || person(settings, &requester.id).is_some_and(|person| person.name == name)
    });
    same_person || same_human(settings, &actor.id(), &requester.id)
}

/// Whether a surface is one on which requesters decide what they asked themselves, where `self_approval` is `console`:
/// people are at it with a credential of this installation.
fn is_console(surface: Surface) -> bool {
    match surface {
        Surface::Console | Surface::Http | Surface::Cli | Surface::Engine => true,
        Surface::Chat | Surface::Scripted | Surface::Mcp | Surface::Gate => false,
    }
}

/// Why an actor may not decide an approval; none = they may.
pub fn may_not_decide(
    settings: &Settings,
    approval: &Approval,
    actor: &Actor,
    surface: Surface,
) -> Option<String> {
    if !has_scope(actor, Scope::Approve) {
        return Some(match actor {
            Actor::Token { name, .. } => format!("token `{name}` lacks the scope `approve`"),
            Actor::Person { .. } => {
                "only approvers and owners listed under [people] may decide".to_owned()
            }
            Actor::Operator { .. } | Actor::Engine => "this actor may not decide".to_owned(),
        });
    }
    let channel = settings.channels.get(&approval.channel);
    let approvers = channel.map_or(&[][..], |channel| &channel.approvers);
    if let Some(reason) = is_no_approver(&approval.channel, approvers, actor) {
        return Some(reason);
    }
    if is_requester(settings, actor, &approval.requester) {
        let by = match settings.approvals.self_approval {
            SelfApproval::Always => None,
            SelfApproval::Console if is_console(surface) => None,
            SelfApproval::Console => Some(("from the console", "console")),
            SelfApproval::Never => Some(("by somebody else", "never")),
        };
        if let Some((by, setting)) = by {
            return Some(format!(
                "your own request is decided {by} (approvals.self_approval = \"{setting}\")"
            ));
        }
    }
    let chat_max_risk = channel.map_or(Risk::Medium, |channel| channel.chat_max_risk);
    let in_chat = matches!(surface, Surface::Chat | Surface::Scripted);
    if in_chat && approval.risk > chat_max_risk {
        return Some(format!(
            "{} risk is decided from the console (chat_max_risk = \"{chat_max_risk}\")",
            approval.risk
        ));
    }
    None
}

/// Whether two people must allow what an approval asks about.
pub fn takes_two_people(settings: &Settings, approval: &Approval) -> bool {
    let channel = settings.channels.get(&approval.channel);
    approval.kind == ApprovalKind::Execute
        && channel.is_some_and(|channel| {
            approval::takes_two(&channel.two_people, &approval.tool, approval.risk)
        })
}

/// Why an actor is none of those who decide what a channel asks; none = they are, or nobody is named.
fn is_no_approver(channel: &str, approvers: &[String], actor: &Actor) -> Option<String> {
    let is_listed = |name: &str| approvers.iter().any(|one| one == name);
    if approvers.is_empty() || *actor == Actor::Engine || actor.person().is_some_and(is_listed) {
        return None;
    }
    let only = format!(
        "channel `{channel}` lets only {} decide (approvers)",
        approvers.join(", ")
    );
    Some(match (actor, actor.person()) {
        (_, Some(name)) => format!("{only}; you are {name}"),
        (Actor::Operator { uid, .. }, None) => format!(
            "{only}; nobody said who you are: `unix:{uid}` is an id of nobody under [people]"
        ),
        (Actor::Token { name, .. }, None) => {
            format!("{only}; token `{name}` is nobody's: make one with `--person`")
        }
        (Actor::Person { .. } | Actor::Engine, None) => only,
    })
}
