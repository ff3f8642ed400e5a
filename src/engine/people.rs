//! Who somebody is, and what they may decide. Pure lookups in the settings.
//!
//! Authorisation is by stable platform ids only; display names never enter here.

use crate::config::settings::{
    ApprovalSettings, ChannelSettings, PersonSettings, SelfApproval, Settings,
};
use crate::protocol::approval::{Approval, Requester};
use crate::protocol::command::Actor;
use crate::protocol::enums::{ChannelKind, Risk, Role, Scope, Surface};

/// A person of the configuration with the name they are configured under.
pub struct Person<'a> {
    /// Name under `[people]`.
    pub name: &'a str,
    /// Ids and role.
    pub settings: &'a PersonSettings,
}

/// The person a platform id is linked to.
pub fn person<'a>(settings: &'a Settings, platform_id: &str) -> Option<Person<'a>> {
    settings
        .people
        .iter()
        .find(|(_, person)| person.ids.iter().any(|id| id == platform_id))
        .map(|(name, settings)| Person { name, settings })
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

/// The stable id of an actor, as stored with what they do.
pub fn actor_id(actor: &Actor) -> String {
    actor.id()
}

/// Where somebody reads direct messages: each a channel and a conversation key.
pub fn direct_conversations(settings: &Settings, platform_id: &str) -> Vec<(String, String)> {
    let alone = [platform_id.to_owned()];
    let ids = person(settings, platform_id).map_or(&alone[..], |person| &person.settings.ids);
    let mut found = Vec::new();
    for (platform, user) in ids.iter().filter_map(|id| id.split_once(':')) {
        for (channel, settings) in &settings.channels {
            if settings.id_prefix == platform {
                found.push((channel.clone(), user.to_owned()));
            }
        }
    }
    found
}

/// Who asks, when the asking is done by an actor directly (console, HTTP, command line).
pub fn requester(actor: &Actor) -> Requester {
    let person = match actor {
        Actor::Person { name, .. } => name.clone(),
        Actor::Operator { .. } | Actor::Token { .. } | Actor::Engine => None,
    };
    Requester {
        id: actor_id(actor),
        display: actor.label(),
        person,
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
            Scope::Read | Scope::Operate => true,
            Scope::Mcp | Scope::Gate | Scope::Chat => false,
            Scope::Approve => *role >= Role::Approver,
            Scope::Admin => *role >= Role::Owner,
        },
    }
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
    let place = channel.allowed_chats.is_empty() || listed_chat || chat == sender;
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

/// Why an actor may not decide an approval; none = they may.
pub fn may_not_decide(
    settings: &Settings,
    approvals: &ApprovalSettings,
    chat_max_risk: Risk,
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
    let own_request = same_human(settings, &actor_id(actor), &approval.requester.id);
    let in_chat = match surface {
        Surface::Chat | Surface::Scripted => true,
        Surface::Console
        | Surface::Http
        | Surface::Cli
        | Surface::Engine
        | Surface::Mcp
        | Surface::Gate => false,
    };
    if own_request {
        match approvals.self_approval {
            SelfApproval::Always => {}
            SelfApproval::Console if !in_chat => {}
            SelfApproval::Console => {
                return Some(
                    "your own request is decided from the console (approvals.self_approval = \"console\")".to_owned(),
                );
            }
            SelfApproval::Never => {
                return Some(
                    "your own request is decided by somebody else (approvals.self_approval = \"never\")".to_owned(),
                );
            }
        }
    }
    if in_chat && approval.risk > chat_max_risk {
        return Some(format!(
            "{} risk is decided from the console (chat_max_risk = \"{chat_max_risk}\")",
            approval.risk
        ));
    }
    None
}
