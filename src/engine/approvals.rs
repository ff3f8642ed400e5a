//! Building approvals: digest, code, deadline, what is offered, and who gets a card.
//!
//! Nothing here decides; it prepares what a person is shown.

use crate::clock::Timestamp;
use crate::config::settings::Settings;
use crate::engine::core::Engine;
use crate::engine::people;
use crate::protocol::approval::{Preview, Requester};
use crate::protocol::decision::capitalised;
use crate::protocol::ids::ApprovalId;
use crate::protocol::words::{ApprovalKind, DecisionWord, Risk, Role};
use crate::store::input::{NewApproval, NewCard};

/// Letters of short codes: no vowels, nothing that looks like another.
const CODE_ALPHABET: &[u8; 28] = b"23456789BCDFGHJKLMNPQRSTVWXZ";

/// A random string over the code alphabet.
fn random_code(length: usize) -> String {
    let mut bytes = vec![0_u8; length];
    if getrandom::fill(&mut bytes).is_err() {
        // The ULID generator has its own entropy; a code only has to be unlikely to repeat.
        let id = ApprovalId::generate().to_bytes();
        bytes = id.iter().rev().copied().cycle().take(length).collect();
    }
    bytes
        .iter()
        .map(|byte| char::from(CODE_ALPHABET[usize::from(*byte) % CODE_ALPHABET.len()]))
        .collect()
}

/// An opaque one-shot button token: 26 letters, about 125 bits.
pub fn button_token() -> String {
    random_code(26)
}

/// Where the turn came from, as cards need it.
#[derive(Debug, Clone)]
pub struct Origin {
    /// Channel name.
    pub channel: String,
    /// Conversation key.
    pub conversation: String,
    /// Who asked.
    pub requester: Requester,
    /// Platform id of the message.
    pub message_ref: Option<String>,
}

/// Seconds an approval of this risk lives.
pub fn life_seconds(settings: &Settings, risk: Risk) -> u64 {
    match risk {
        Risk::Low | Risk::Medium => settings.approvals.life_seconds,
        Risk::High | Risk::Critical => settings.approvals.high_risk_life_seconds,
    }
}

/// The decisions an approval of this kind accepts.
pub fn offered(kind: ApprovalKind) -> Vec<DecisionWord> {
    use DecisionWord::{
        Answer, Approve, Deny, DenyAndStop, Drop, Edit, GiveUp, Happened, RunAgain, SendAgain, Sent,
    };
    let mut words = match kind {
        ApprovalKind::Execute => vec![Approve, Deny, DenyAndStop, Edit, Answer],
        ApprovalKind::ResolveUnknown => vec![Happened, RunAgain, GiveUp],
        ApprovalKind::Resend => vec![Sent, SendAgain, Drop],
        ApprovalKind::Question => vec![Answer, Deny],
        ApprovalKind::Budget
        | ApprovalKind::Pairing
        | ApprovalKind::Memory
        | ApprovalKind::ServerPin
        | ApprovalKind::PolicyRaise => vec![Approve, Deny],
    };
    // Anybody may hide a question from themselves for a while.
    words.push(DecisionWord::Snooze);
    words
}

/// The cards of an approval: one for each person who is asked and reachable on a bridged channel.
pub fn cards(engine: &Engine, origin: &Origin, kind: ApprovalKind, risk: Risk) -> Vec<NewCard> {
    cards_for(engine, origin, kind, risk, |name| {
        is_asked(engine, &origin.channel, name)
    })
}

/// Whether a person is asked what comes from a channel.
pub fn is_asked(engine: &Engine, channel: &str, name: &str) -> bool {
    let asked = engine
        .settings
        .channels
        .get(channel)
        .map(|home| &home.approval_to);
    asked.is_some_and(|asked| asked.is_empty() || asked.iter().any(|one| one == name))
}

/// The cards of an approval for those who are `asked`, where they may decide and can be reached.
pub fn cards_for(
    engine: &Engine,
    origin: &Origin,
    kind: ApprovalKind,
    risk: Risk,
    asked: impl Fn(&str) -> bool,
) -> Vec<NewCard> {
    let settings = &engine.settings;
    let Some(home) = settings.channels.get(&origin.channel) else {
        return Vec::new();
    };
    let mut cards = Vec::new();
    for (name, person) in settings
        .people
        .iter()
        .filter(|(name, person)| person.role >= Role::Approver && asked(name))
    {
        for id in &person.ids {
            let Some((platform, user)) = id.split_once(':') else {
                continue;
            };
            // Prefer the channel the request came from; else any channel of that platform reaches them.
            let channel = Some(&origin.channel)
                .filter(|channel| settings.channels[channel.as_str()].kind.as_str() == platform)
                .or_else(|| {
                    settings
                        .channels
                        .iter()
                        .find(|(_, c)| c.kind.as_str() == platform)
                        .map(|(channel, _)| channel)
                });
            let Some(channel) = channel.filter(|channel| engine.has_bridge(channel)) else {
                continue;
            };
            let own_request = people::same_human(settings, id, &origin.requester.id);
            let self_allowed = match settings.approvals.self_approval {
                crate::config::settings::SelfApproval::Always => true,
                crate::config::settings::SelfApproval::Console
                | crate::config::settings::SelfApproval::Never => false,
            };
            if own_request && !self_allowed {
                continue;
            }
            let decidable = risk <= home.chat_max_risk;
            cards.push(NewCard {
                channel: channel.clone(),
                conversation: user.to_owned(),
                buttons: if decidable { buttons(kind) } else { Vec::new() },
                reply_to: None,
            });
            tracing::debug!(%name, %channel, "card queued");
        }
    }
    cards
}

fn buttons(kind: ApprovalKind) -> Vec<(DecisionWord, String, String)> {
    let words: &[DecisionWord] = match kind {
        ApprovalKind::Execute
        | ApprovalKind::Budget
        | ApprovalKind::Pairing
        | ApprovalKind::Memory
        | ApprovalKind::ServerPin
        | ApprovalKind::PolicyRaise => &[DecisionWord::Approve, DecisionWord::Deny],
        ApprovalKind::ResolveUnknown => &[
            DecisionWord::Happened,
            DecisionWord::RunAgain,
            DecisionWord::GiveUp,
        ],
        ApprovalKind::Resend => &[
            DecisionWord::Sent,
            DecisionWord::SendAgain,
            DecisionWord::Drop,
        ],
        ApprovalKind::Question => &[DecisionWord::Deny],
    };
    let button = |word: &DecisionWord| (*word, capitalised(word.text().label), button_token());
    words.iter().map(button).collect()
}

/// What a new approval says beside its call.
pub struct Ask {
    /// What is asked.
    pub kind: ApprovalKind,
    /// Digest of the plan.
    pub digest: String,
    /// Risk, for deadline and cards.
    pub risk: Risk,
    /// Untrusted content in context.
    pub taint: Vec<String>,
    /// Shown beside the arguments.
    pub preview: Preview,
    /// What the model said beside the call.
    pub model_reason: Option<String>,
    /// For kinds without a call.
    pub question: Option<String>,
}

/// An approval ready to be stored.
pub fn build(engine: &Engine, origin: &Origin, ask: Ask, now: Timestamp) -> NewApproval {
    let life = i64::try_from(life_seconds(&engine.settings, ask.risk)).unwrap_or(i64::MAX / 1000);
    let expires_at = match ask.kind {
        // Nothing could be done with the delivery once nobody is asked any more.
        ApprovalKind::Resend => None,
        ApprovalKind::Execute
        | ApprovalKind::ResolveUnknown
        | ApprovalKind::Budget
        | ApprovalKind::Question
        | ApprovalKind::Pairing
        | ApprovalKind::Memory
        | ApprovalKind::ServerPin
        | ApprovalKind::PolicyRaise => Some(now.plus_seconds(life)),
    };
    NewApproval {
        id: ApprovalId::generate(),
        short_code: random_code(6),
        kind: ask.kind,
        digest: ask.digest,
        taint: ask.taint,
        preview: ask.preview,
        model_reason: ask.model_reason.filter(|reason| !reason.trim().is_empty()),
        offered: offered(ask.kind),
        expires_at,
        question: ask.question,
        once_only: None,
        cards: cards(engine, origin, ask.kind, ask.risk),
    }
}
