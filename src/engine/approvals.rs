//! Building approvals: digest, code, deadline, what is offered, and who gets a card.
//!
//! Nothing here decides; it prepares what a person is shown.

use crate::clock::Timestamp;
use crate::clock::quiet_hours::QuietTimes;
use crate::config::settings::{SelfApproval, Settings};
use crate::engine::core::Engine;
use crate::engine::people;
use crate::protocol::approval::{Approval, Preview};
use crate::protocol::bridge::escape_conversation;
use crate::protocol::decision::capitalised;
use crate::protocol::enums::{ApprovalKind, DecisionKind, Risk, Role};
use crate::protocol::ids::ApprovalId;
use crate::store::input::{NewApproval, NewCard};
use crate::store::queries::turn::TurnRows;

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

/// Where a question comes from: that decides who is asked.
#[derive(Debug, Clone, Copy)]
pub struct Origin<'a> {
    pub channel: &'a str,
    /// Id of whoever its turn is for.
    pub requester: &'a str,
}

impl<'a> Origin<'a> {
    pub fn of(rows: &'a TurnRows) -> Self {
        Self {
            channel: &rows.channel,
            requester: &rows.requester.id,
        }
    }
}

/// Seconds an approval of this risk lives.
pub fn life_seconds(settings: &Settings, risk: Risk) -> u64 {
    match risk {
        Risk::Low | Risk::Medium => settings.approvals.life_seconds,
        Risk::High | Risk::Critical => settings.approvals.high_risk_life_seconds,
    }
}

/// The decisions an approval of this kind accepts.
pub fn offered(kind: ApprovalKind) -> Vec<DecisionKind> {
    use DecisionKind::{
        Answer, Approve, Deny, DenyAndStop, Drop, Edit, GiveUp, Happened, RunAgain, SendAgain, Sent,
    };
    let mut words = match kind {
        ApprovalKind::Execute => vec![Approve, Deny, DenyAndStop, Edit, Answer],
        ApprovalKind::ResolveUnknown => vec![Happened, RunAgain, GiveUp],
        ApprovalKind::Resend => vec![Sent, SendAgain, Drop],
        ApprovalKind::Question => vec![Answer, Deny, DenyAndStop],
        ApprovalKind::Memory => vec![Approve, Deny, DenyAndStop, Edit],
        ApprovalKind::Budget
        | ApprovalKind::Pairing
        | ApprovalKind::ServerPin
        | ApprovalKind::PolicyRaise => vec![Approve, Deny],
    };
    // Anybody may hide a question from themselves for a while.
    words.push(DecisionKind::Snooze);
    words
}

/// The cards of an approval: one for each person who is asked, may be disturbed now and is reachable on a bridged
/// channel.
pub fn cards(
    engine: &Engine,
    origin: Origin<'_>,
    kind: ApprovalKind,
    choices: &[&str],
    risk: Risk,
    now: Timestamp,
) -> Vec<NewCard> {
    cards_for(engine, origin, kind, choices, risk, |name| {
        is_asked(engine, origin.channel, name)
            && quiet_until(engine, origin.channel, name, risk, now).is_none()
    })
}

/// Further cards of an approval, for those who are `asked`.
pub fn cards_of(
    engine: &Engine,
    approval: &Approval,
    asked: impl Fn(&str) -> bool,
) -> Vec<NewCard> {
    let origin = Origin {
        channel: &approval.channel,
        requester: &approval.requester.id,
    };
    let (kind, choices) = (approval.kind, approval.choices());
    cards_for(engine, origin, kind, &choices, approval.risk, asked)
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

/// When a person may be asked what comes from a channel; none = now. Quiet hours hold nothing that is critical.
pub fn quiet_until(
    engine: &Engine,
    channel: &str,
    name: &str,
    risk: Risk,
    now: Timestamp,
) -> Option<Timestamp> {
    let settings = &engine.settings;
    let person = settings.people.get(name)?;
    let channel = settings.channels.get(channel)?.quiet_hours.as_ref();
    let times = QuietTimes {
        channel,
        people: vec![person.quiet_hours.as_ref()],
    };
    (risk < Risk::Critical).then(|| times.end(now)).flatten()
}

/// When quiet hours let somebody be asked in chats, as people there write the time; none = somebody can be asked now,
/// or nobody ever.
pub fn asked_from(
    engine: &Engine,
    origin: Origin<'_>,
    risk: Risk,
    now: Timestamp,
) -> Option<String> {
    let settings = &engine.settings;
    let asked = asked_recipients(engine, origin, risk);
    let ends: Option<Vec<(Timestamp, &str)>> = asked
        .iter()
        .map(|one| {
            let end = quiet_until(engine, origin.channel, &one.person, risk, now)?;
            Some((end, one.person.as_str()))
        })
        .collect();
    let (end, person) = ends?.into_iter().min()?;
    let own = settings.people.get(person)?.quiet_hours.as_ref();
    let home = settings.channels.get(origin.channel)?.quiet_hours.as_ref();
    home.or(own).map(|hours| hours.clock(end))
}

/// A conversation in which a person can be asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recipient {
    /// Name under `[people]`.
    pub person: String,
    pub channel: String,
    pub conversation: String,
    /// Whether the question can be decided there.
    pub decides: bool,
}

impl Recipient {
    /// A card for them, with new buttons. A question has one for each of its `choices`.
    pub fn card(&self, kind: ApprovalKind, choices: &[&str]) -> NewCard {
        NewCard {
            person: self.person.clone(),
            channel: self.channel.clone(),
            conversation: self.conversation.clone(),
            buttons: if self.decides {
                buttons(kind, choices)
            } else {
                Vec::new()
            },
            reply_to: None,
        }
    }
}

/// The cards of an approval for those who are `asked`, where they may decide and can be reached.
pub fn cards_for(
    engine: &Engine,
    origin: Origin<'_>,
    kind: ApprovalKind,
    choices: &[&str],
    risk: Risk,
    asked: impl Fn(&str) -> bool,
) -> Vec<NewCard> {
    let recipients = recipients(engine, origin, risk, asked);
    recipients
        .iter()
        .map(|one| one.card(kind, choices))
        .collect()
}

/// Where those can be reached who are asked what comes from there, as far as they may decide.
pub fn asked_recipients(engine: &Engine, origin: Origin<'_>, risk: Risk) -> Vec<Recipient> {
    recipients(engine, origin, risk, |name| {
        is_asked(engine, origin.channel, name)
    })
}

/// Where those who are `asked` can be reached, as far as they may decide.
pub fn recipients(
    engine: &Engine,
    origin: Origin<'_>,
    risk: Risk,
    asked: impl Fn(&str) -> bool,
) -> Vec<Recipient> {
    let settings = &engine.settings;
    let Some(home) = settings.channels.get(origin.channel) else {
        return Vec::new();
    };
    let mut recipients = Vec::new();
    let decides = |name: &String| home.approvers.is_empty() || home.approvers.contains(name);
    for (name, person) in settings
        .people
        .iter()
        .filter(|(name, person)| person.role >= Role::Approver && decides(name) && asked(name))
    {
        for id in &person.ids {
            let Some((platform, user)) = id.split_once(':') else {
                continue;
            };
            // Prefer the channel the request came from; else any channel of that platform reaches them.
            let channel = Some(origin.channel)
                .filter(|_| home.id_prefix == platform)
                .or_else(|| {
                    let mut channels = settings.channels.iter();
                    let (channel, _) = channels.find(|(_, c)| c.id_prefix == platform)?;
                    Some(channel.as_str())
                });
            let Some(channel) = channel.filter(|channel| engine.has_bridge(channel)) else {
                continue;
            };
            let own_request = people::same_human(settings, id, origin.requester);
            let self_allowed = settings.approvals.self_approval == SelfApproval::Always;
            if own_request && !self_allowed {
                continue;
            }
            recipients.push(Recipient {
                person: name.clone(),
                channel: channel.to_owned(),
                conversation: escape_conversation(user),
                decides: risk <= home.chat_max_risk,
            });
        }
    }
    recipients
}

fn buttons(kind: ApprovalKind, choices: &[&str]) -> Vec<(DecisionKind, String, String)> {
    let words: &[DecisionKind] = match kind {
        ApprovalKind::Execute
        | ApprovalKind::Budget
        | ApprovalKind::Pairing
        | ApprovalKind::Memory
        | ApprovalKind::ServerPin
        | ApprovalKind::PolicyRaise => &[DecisionKind::Approve, DecisionKind::Deny],
        ApprovalKind::ResolveUnknown => &[
            DecisionKind::Happened,
            DecisionKind::RunAgain,
            DecisionKind::GiveUp,
        ],
        ApprovalKind::Resend => &[
            DecisionKind::Sent,
            DecisionKind::SendAgain,
            DecisionKind::Drop,
        ],
        ApprovalKind::Question => &[DecisionKind::Deny],
    };
    let answer = |choice: &&str| (DecisionKind::Answer, (*choice).to_owned(), button_token());
    let button = |word: &DecisionKind| (*word, capitalised(word.text().label), button_token());
    let answers = choices.iter().map(answer);
    answers.chain(words.iter().map(button)).collect()
}

/// What a new approval says beside its call.
pub struct Ask {
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
    /// What people are asked, where the kind does not say it.
    pub question: Option<String>,
    /// The answers that a question offers; empty = none, or it is no question.
    pub choices: Vec<String>,
}

impl Ask {
    /// One that is about no call, in these words.
    pub fn new(kind: ApprovalKind, digest: String, risk: Risk, question: String) -> Self {
        Self {
            kind,
            digest,
            risk,
            taint: Vec::new(),
            preview: Preview::None,
            model_reason: None,
            question: Some(question),
            choices: Vec::new(),
        }
    }
}

/// When a question expires that is asked now. Its time stands still in quiet hours, unless it is critical.
fn deadline(engine: &Engine, origin: Origin<'_>, risk: Risk, now: Timestamp) -> Timestamp {
    let settings = &engine.settings;
    let life = i64::try_from(life_seconds(settings, risk)).unwrap_or(i64::MAX / 1000);
    if risk == Risk::Critical {
        return now.plus_seconds(life);
    }
    let asked = asked_recipients(engine, origin, risk);
    let people = asked
        .iter()
        .filter_map(|one| settings.people.get(&one.person));
    let home = settings.channels.get(origin.channel);
    let times = QuietTimes {
        channel: home.and_then(|home| home.quiet_hours.as_ref()),
        people: people.map(|person| person.quiet_hours.as_ref()).collect(),
    };
    times.deadline(now, life)
}

/// An approval ready to be stored.
pub fn build(engine: &Engine, origin: Origin<'_>, ask: Ask) -> NewApproval {
    let now = engine.clock.now();
    let expires_at = match ask.kind {
        // Nothing could be done with the delivery or the server once nobody is asked any more.
        ApprovalKind::Resend | ApprovalKind::ServerPin => None,
        ApprovalKind::Execute
        | ApprovalKind::ResolveUnknown
        | ApprovalKind::Budget
        | ApprovalKind::Question
        | ApprovalKind::Pairing
        | ApprovalKind::Memory
        | ApprovalKind::PolicyRaise => Some(deadline(engine, origin, ask.risk, now)),
    };
    let choices: Vec<&str> = ask.choices.iter().map(String::as_str).collect();
    let cards = cards(engine, origin, ask.kind, &choices, ask.risk, now);
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
        cards,
    }
}
