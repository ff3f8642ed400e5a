//! The response cache in a turn: a look before the model is asked, and what becomes of its answer.
//!
//! Whatever goes wrong here ends in asking the model. A cached response passes through the same steps, events and
//! deliveries as one that was just made, and says that it was kept.

use std::time::Duration;

use crate::config::settings::{ProviderKind, ReplyStyle};
use crate::engine::core::Engine;
use crate::engine::response_cache::key::Facts;
use crate::engine::response_cache::single_flight::{FlightResult, FlightRole, Lead};
use crate::engine::response_cache::state::Shared;
use crate::engine::turn::policy_context::PolicyContext;
use crate::model::request::{ModelAnswer, ModelMessage, ModelRequest};
use crate::protocol::approval::Speaker;
use crate::protocol::enums::{CacheMissReason, CacheScope, CacheSkipReason};
use crate::protocol::event::EventBody;
use crate::protocol::hex::hex;
use crate::protocol::policy::Policy;
use crate::protocol::session::{CachedAnswer, Usage};
use crate::store::queries::turn::TurnRows;
use crate::store::response_cache::counters::{CounterKey, CounterKind, Delta, local_day};
use crate::store::response_cache::{CacheState, Key, NewEntry, StoredAnswer};

pub mod eligibility;
pub mod key;
pub mod single_flight;
pub mod state;
pub mod stats;

/// Pieces in which a cached response is shown.
const PIECES: usize = 3;

/// What a look came to.
pub enum CacheLookup {
    /// A cached response.
    Answer(StoredResponse),
    /// Ask the model, and give its answer to this.
    Ask(Pass),
}

/// A cached response for one turn.
pub struct StoredResponse {
    /// The answer: outside text.
    pub text: String,
    /// `<provider>/<model>` that had answered.
    pub model: String,
    /// Where it came from.
    pub cached: CachedAnswer,
}

/// What becomes of the answer that the model gives now. Dropping it gives those who wait for the same answer back
/// their turn.
#[derive(Default)]
pub struct Pass(Option<Box<Candidate>>);

struct Candidate {
    key: Key,
    asked: [u8; 16],
    scope: CacheScope,
    /// `<provider>/<model>` that was asked for.
    model: String,
    lead: Option<Lead<Key, Shared>>,
}

/// One turn at the cache.
struct Visit<'a> {
    engine: &'a Engine,
    rows: &'a TurnRows,
    /// `<provider>/<model>` that was asked for.
    model: &'a str,
    scope: CacheScope,
}

impl Visit<'_> {
    fn count(&self, counted: CounterKind, delta: Delta) {
        let caching = &self.engine.response_cache;
        if caching.is_enabled() {
            let key = CounterKey {
                day: local_day(self.engine.clock.now()),
                channel: self.rows.channel.clone(),
                model: self.model.to_owned(),
                scope: self.scope,
                counted,
            };
            caching.file.count(key, delta);
        }
    }

    /// Counts a miss and tells whoever watches.
    fn miss(&self, reason: CacheMissReason) {
        self.count(CounterKind::Miss(reason), Delta::ONCE);
        if reason != CacheMissReason::Off {
            let channel = self.rows.channel.clone();
            let body = EventBody::CacheMiss { channel, reason };
            self.engine.publish_of(self.rows, body);
        }
    }

    fn hit(&self, key: &Key, found: StoredAnswer, coalesced: bool) -> CacheLookup {
        let saved = found.usage;
        let counted = if coalesced {
            CounterKind::Coalesced
        } else {
            CounterKind::Hit
        };
        self.count(counted, self.savings(&saved));
        let mut entry = hex(key);
        entry.truncate(16);
        CacheLookup::Answer(StoredResponse {
            text: found.answer,
            model: found.model,
            cached: CachedAnswer {
                entry,
                stored_at: found.stored_at,
                saved,
                coalesced,
            },
        })
    }

    /// What was not spent. The built-in model costs nothing, so nothing is saved by not asking it.
    fn savings(&self, usage: &Usage) -> Delta {
        let provider = self.model.split_once('/').map_or("", |(name, _)| name);
        let scripted = self
            .engine
            .settings
            .providers
            .get(provider)
            .is_none_or(|provider| provider.kind == ProviderKind::Scripted);
        if scripted {
            return Delta::ONCE;
        }
        Delta {
            times: 1,
            input_tokens: usage.input_tokens,
            output_tokens: usage.output_tokens,
            cost_usd: usage.cost_usd.unwrap_or(0.0),
            unpriced: u64::from(usage.cost_usd.is_none()),
        }
    }
}

/// What a model would be sent.
#[derive(Debug, Clone, Copy)]
pub struct ModelInput<'a> {
    /// All of it.
    pub request: &'a ModelRequest,
    /// What of the history was left out.
    pub dropped: &'a [String],
    /// What is remembered, where it stands before the question; else empty.
    pub remembered: &'a str,
    /// Who asks and when, as it stands between that and the question; may be empty.
    pub header: &'a str,
    /// Whether some of that came from untrusted content.
    pub tainted: bool,
}

impl ModelInput<'_> {
    /// The request without what stands before the question, and the digest of that: the question is known by its own
    /// words. Of who asks, the role counts and not the name: the scope says whom an answer is for, and an answer that
    /// names somebody is not given to others.
    fn apart(&self, speaker: Option<&Speaker>) -> (ModelRequest, Option<String>) {
        let mut request = self.request.clone();
        let alone = request.messages.len() == 1;
        let Some(ModelMessage::User { text, .. }) = request.messages.last_mut() else {
            return (request, None);
        };
        let rest = text.strip_prefix(self.remembered).unwrap_or(text);
        if let Some(question) = rest.strip_prefix(self.header) {
            *text = question.to_owned();
        }
        if !alone {
            return (request, None);
        }
        let (role, at) = speaker.map_or(("", ""), |speaker| (&speaker.role, &speaker.at));
        let digest = crate::tools::canonical::digest(&["before", self.remembered, role, at]);
        (request, Some(digest))
    }
}

/// Looks for a cached response before the first model call of a turn.
pub async fn consult(
    engine: &Engine,
    rows: &TurnRows,
    model: &str,
    sent: ModelInput<'_>,
) -> CacheLookup {
    let ask = || CacheLookup::Ask(Pass::default());
    let caching = &engine.response_cache;
    // Only the question itself is ever answered from here, not what comes behind a tool.
    if !caching.is_enabled() || !rows.steps.is_empty() || !rows.calls.is_empty() {
        return ask();
    }
    let Some(channel) = engine.settings.channels.get(&rows.channel) else {
        return ask();
    };
    let visit = Visit {
        engine,
        rows,
        model,
        scope: eligibility::scope(channel.response_cache, rows.cache.private),
    };
    if visit.scope == CacheScope::Off {
        visit.miss(CacheMissReason::Off);
        return ask();
    }
    let policy_context = match PolicyContext::read(engine, rows).await {
        Ok(policy_context) => policy_context,
        Err(error) => {
            tracing::warn!(%error, "cannot look into the response cache");
            return ask();
        }
    };
    let (request, memory) = sent.apart(rows.speaker.as_ref());
    let policies: Vec<&Policy> = std::iter::once(&policy_context.policy)
        .chain(&policy_context.also)
        .collect();
    let provider = model.split_once('/').map_or("", |(name, _)| name);
    let settings = engine.settings.providers.get(provider);
    let reply_format = match channel.reply_style {
        ReplyStyle::Final => format!("{} final", channel.kind),
        ReplyStyle::Progress => format!("{} progress", channel.kind),
        ReplyStyle::Streaming => format!("{} streaming", channel.kind),
    };
    let facts = Facts {
        scope: visit.scope,
        channel: &rows.channel,
        requester: &rows.requester.id,
        provider,
        base_url: settings.map_or("", |provider| provider.base_url.as_str()),
        request: &request,
        policies: &policies,
        memory: memory.as_deref(),
        reply_format: &reply_format,
    };
    let asked = key::asked(&facts);
    if !eligibility::is_fresh(&request, sent.dropped) {
        let known = caching.file.knows_question(asked).await;
        visit.miss(if known {
            CacheMissReason::DifferentHistory
        } else {
            CacheMissReason::NotFresh
        });
        return ask();
    }
    if sent.tainted || !policy_context.taint.is_empty() {
        visit.miss(CacheMissReason::Tainted);
        return ask();
    }
    let candidate = |lead| {
        CacheLookup::Ask(Pass(Some(Box::new(Candidate {
            key: key::of(&facts),
            asked,
            scope: visit.scope,
            model: model.to_owned(),
            lead,
        }))))
    };
    if rows.cache.fresh {
        visit.miss(CacheMissReason::Bypass);
        return candidate(None);
    }
    let key = key::of(&facts);
    let known_refused = caching.refused(&key);
    if let Some(reason) = known_refused {
        // Its answers are never shared: nobody should wait for one.
        visit.miss(reason);
        return candidate(None);
    }
    let patience = settings.map_or(Duration::from_secs(60), |provider| {
        Duration::from_secs(provider.first_byte_timeout_seconds + provider.idle_timeout_seconds)
    });
    let lead = match caching.join(&key) {
        FlightRole::Lead(lead) => lead,
        FlightRole::Follow(told) => match tokio::time::timeout(patience, told).await {
            Ok(Ok(FlightResult::Answer(shared))) => {
                return visit.hit(&key, shared.found, !shared.kept);
            }
            Ok(Ok(FlightResult::Lead(lead))) => lead,
            Ok(Ok(FlightResult::Alone) | Err(_)) | Err(_) => {
                visit.miss(CacheMissReason::Ineligible);
                return candidate(None);
            }
        },
    };
    let reason = match caching.file.look(key, asked, engine.clock.now()).await {
        CacheState::Found(found) => {
            lead.answer(&Shared {
                found: found.clone(),
                kept: true,
            });
            return visit.hit(&key, found, false);
        }
        CacheState::Expired => CacheMissReason::Expired,
        CacheState::Changed => CacheMissReason::Changed,
        CacheState::Nothing => CacheMissReason::NoEntry,
        CacheState::Unusable => CacheMissReason::Disabled,
    };
    visit.miss(reason);
    candidate(Some(lead))
}

impl Pass {
    /// Keeps the answer where that is allowed, and gives it to those who wait. `gave` is the model that answered;
    /// `noted` says that an operator is told something about how the answer came, which goes with the step only.
    pub fn settle(
        self,
        engine: &Engine,
        rows: &TurnRows,
        answer: &ModelAnswer,
        gave: &str,
        noted: bool,
    ) {
        let Some(candidate) = self.0 else {
            return;
        };
        let Candidate {
            key,
            asked,
            scope,
            model,
            lead,
        } = *candidate;
        let visit = Visit {
            engine,
            rows,
            model: &model,
            scope,
        };
        let caching = &engine.response_cache;
        let id = rows.speaker.as_ref().map(|speaker| speaker.id.as_str());
        let may_keep = eligibility::may_keep(answer, model == gave, noted).and_then(|()| {
            let names = scope == CacheScope::Channel
                && id.is_some_and(|id| {
                    eligibility::names(&answer.text, &rows.requester.display, id)
                });
            if names {
                return Err(CacheSkipReason::NamesSender);
            }
            Ok(())
        });
        if let Err(why) = may_keep {
            visit.count(CounterKind::NotKept(why), Delta::ONCE);
            let lasting = match why {
                CacheSkipReason::ToolsUsed => Some(CacheMissReason::ToolsUsed),
                CacheSkipReason::Cut
                | CacheSkipReason::Refused
                | CacheSkipReason::Unnatural
                | CacheSkipReason::Empty
                | CacheSkipReason::TooLarge => Some(CacheMissReason::Ineligible),
                // The next answer may come from the right model, or to somebody whom it does not name.
                CacheSkipReason::StandIn | CacheSkipReason::NamesSender => None,
            };
            if let Some(lead) = lead {
                lead.unshareable();
            }
            if let Some(reason) = lasting {
                caching.refuse(key, reason);
            }
            return;
        }
        let found = StoredAnswer {
            answer: engine.redactor.redact(&answer.text).into_owned(),
            model: gave.to_owned(),
            usage: answer.usage,
            stored_at: engine.clock.now(),
        };
        // Before those who wait are told: whoever comes later looks behind this.
        caching.file.keep(NewEntry {
            key,
            asked,
            channel: rows.channel.clone(),
            scope,
            requester: rows.requester.id.clone(),
            model: found.model.clone(),
            question: engine.redactor.redact(&rows.text).into_owned(),
            answer: found.answer.clone(),
            usage: found.usage,
            stored_at: found.stored_at,
        });
        caching.accept(&key);
        if let Some(lead) = lead {
            lead.answer(&Shared { found, kept: false });
        }
    }
}

/// Shows a cached response as one that is being written, in few pieces.
pub fn replay(engine: &Engine, rows: &TurnRows, step: u32, text: &str) {
    engine.publish_of(rows, EventBody::ContinuationStreaming { step });
    let size = text.len().div_ceil(PIECES).max(1);
    let mut from = 0;
    while from < text.len() {
        let to = text.ceil_char_boundary((from + size).min(text.len()));
        let piece = EventBody::MessageDelta {
            step,
            offset: from as u64,
            text: text.get(from..to).unwrap_or_default().to_owned(),
        };
        engine.publish_of(rows, piece);
        from = to;
    }
}
