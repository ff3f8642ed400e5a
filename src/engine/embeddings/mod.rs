//! Meaning: memories are embedded in the background, searches when they are made. Off unless a model is configured, and
//! then nothing here does anything.
//!
//! Invariant: whatever goes wrong here, memory is searched by words, and the search says why it was only that. Every call
//! is reserved before it is made, and none is made while work is held.

use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::broadcast::{Receiver, error::RecvError};

use crate::clock::backoff::doubled;
use crate::clock::{Day, Timestamp};
use crate::engine::budget;
use crate::engine::context::estimate;
use crate::engine::core::Engine;
use crate::model::embeddings::{Embedder, EmbeddingBatch, MOST_TEXTS};
use crate::model::limits::Lane;
use crate::model::request::ModelErrorKind;
use crate::protocol::event::{Event, EventBody};
use crate::protocol::memory::{MAX_TEXT, MemoryStats};
use crate::protocol::session::Usage;
use crate::store::commands::embed::{
    EmbeddingCall, NewVector, PutVectors, ReserveEmbedding, SettleEmbedding,
};
use crate::store::error::StoreError;
use crate::store::queries::memory_vectors::{LookedAt, MissingVector};
use crate::store::vectors::{Meaning, normalised};

pub mod state;

/// Longest wait of a search for what it means.
const PATIENCE: Duration = Duration::from_secs(2);
/// First wait after a failure; each further one doubles it.
const BACKOFF: Duration = Duration::from_secs(1);
/// Longest wait after a failure, and between two looks at everything.
const LONGEST: Duration = Duration::from_secs(600);
/// Texts in a row that are refused one by one before the refusal is taken to be of the model, not of the text.
const REFUSED: u32 = 5;
/// What calls count on that no turn makes.
const CHANNEL: &str = "memory";

/// A call that gave nothing.
struct EmbeddingFailure {
    why: String,
    /// The server does not take these texts.
    refused: bool,
    /// We waited no longer: it may have been billed.
    left: bool,
    /// What it asked us to wait, or how long nothing can change.
    wait: Option<Duration>,
}

impl EmbeddingFailure {
    fn new(why: impl Into<String>) -> Self {
        Self {
            why: why.into(),
            refused: false,
            left: false,
            wait: None,
        }
    }
}

/// Who asks, and how long that may take.
struct Asker<'a> {
    channel: &'a str,
    session: String,
    until: Option<Instant>,
}

impl Asker<'_> {
    /// Resolves when nobody waits any more, with the reason.
    async fn stopped(&self, engine: &Engine) -> String {
        let mut held = engine.emergency.changes();
        let late = async {
            match self.until {
                Some(until) => tokio::time::sleep_until(until.into()).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = engine.shutdown.cancelled() => "the process was stopped".to_owned(),
            _ = held.wait_for(Option::is_some) => "an emergency stop blocks model calls".to_owned(),
            () = late => format!("no embedding came within {} s", PATIENCE.as_secs()),
        }
    }
}

/// One call: in its place among those of the provider, reserved, made, and settled.
async fn call(
    engine: &Engine,
    embedder: &Embedder,
    texts: &[String],
    asker: Asker<'_>,
) -> Result<Vec<Vec<f32>>, EmbeddingFailure> {
    let stopped = asker.stopped(engine);
    let mut stopped = pin!(stopped);
    let lane = Lane::of(asker.channel, asker.session.clone());
    let _place = tokio::select! {
        biased;
        why = &mut stopped => return Err(EmbeddingFailure::new(why)),
        place = embedder.limiter().enter(lane) => place,
    };
    let name = embedder.settings().name();
    let tokens = texts.iter().map(|text| estimate::text(text) + 1).sum();
    let most = budget::most(tokens, 0);
    // None of it is written to a prompt cache.
    let estimate = priced(engine, &name, most.input_tokens);
    let call = EmbeddingCall {
        channel: asker.channel.to_owned(),
        model: name.clone(),
        day: Day::local(engine.clock.now()).0,
        estimate,
    };
    let limits = budget::shared_limits(&engine.settings, asker.channel, call.day);
    let reserve = ReserveEmbedding {
        call: call.clone(),
        limits,
    };
    match engine.store.write(reserve).await {
        Ok(None) => {}
        Ok(Some(stop)) => {
            return Err(EmbeddingFailure {
                wait: Some(LONGEST),
                ..EmbeddingFailure::new(budget::refusal(&stop))
            });
        }
        Err(error) => return Err(EmbeddingFailure::new(error.to_string())),
    }
    let asked = tokio::select! {
        biased;
        why = &mut stopped => Err(EmbeddingFailure { left: true, ..EmbeddingFailure::new(why) }),
        asked = embedder.embed(texts) => asked.map_err(|error| EmbeddingFailure {
            why: engine.redactor.redact_excerpts(&error.message),
            refused: matches!(
                error.kind,
                ModelErrorKind::InvalidRequest | ModelErrorKind::ContextTooLong
            ),
            left: false,
            wait: error.retry_after,
        }),
    };
    let (usage, asked) = match asked {
        Ok(EmbeddingBatch {
            vectors,
            input_tokens,
        }) => {
            let used = input_tokens.unwrap_or(tokens);
            let vectors: Option<Vec<_>> = vectors.into_iter().map(normalised).collect();
            let vectors = vectors.ok_or_else(|| {
                EmbeddingFailure::new(format!("{name} gave an embedding that points nowhere"))
            });
            (priced(engine, &name, used), vectors)
        }
        Err(failed) if failed.left => (estimate, Err(failed)),
        Err(failed) => (Usage::default(), Err(failed)),
    };
    let settle = SettleEmbedding {
        call,
        usage,
        failed: asked.is_err(),
    };
    if let Err(error) = engine.store.write(settle).await {
        tracing::warn!(%error, "cannot settle an embedding call; its whole reservation counts");
    }
    asked
}

/// What so many tokens cost with a model, as far as its price is known.
pub fn priced(engine: &Engine, name: &str, input_tokens: u64) -> Usage {
    let usage = Usage {
        input_tokens,
        ..Usage::default()
    };
    engine.models.priced(name, usage)
}

/// For whom something is searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Searcher<'a> {
    Person,
    /// The agent, with a tool, on this channel.
    Agent(&'a str),
    /// A turn on this channel, before its model is asked: it waits for no server that failed a moment ago.
    Turn(&'a str),
}

/// What a search means; none where it is off, or where there is nothing to look for. The error says why only words can be
/// looked for.
pub async fn meaning(
    engine: &Engine,
    text: &str,
    searcher: Searcher<'_>,
) -> Result<Option<Arc<Meaning>>, String> {
    let Some(embedder) = engine.models.embedder() else {
        return Ok(None);
    };
    let text = engine.redactor.redact(text.trim());
    let end = text.floor_char_boundary(MAX_TEXT);
    let text = text.get(..end).unwrap_or_default();
    if text.is_empty() {
        return Ok(None);
    }
    if engine.is_held() || engine.shutdown.is_cancelled() {
        return Err("an emergency stop blocks model calls".to_owned());
    }
    let held = &engine.embeddings;
    if let Some(known) = held.known(text) {
        return Ok(Some(known));
    }
    let (channel, patient) = match searcher {
        Searcher::Person => (CHANNEL, true),
        Searcher::Agent(channel) => (channel, true),
        Searcher::Turn(channel) => (channel, false),
    };
    if !patient {
        if let Some(why) = held.resting() {
            return Err(why);
        }
        let model = embedder.settings().stored_as();
        let any = engine.store.read_here(|reader| reader.has_vectors(&model));
        if !any.await.map_err(|error| error.to_string())? {
            return Ok(None);
        }
    }
    let asker = Asker {
        channel,
        session: "search".to_owned(),
        until: Some(Instant::now() + PATIENCE),
    };
    let texts = [text.to_owned()];
    let called = call(engine, &embedder, &texts, asker).await;
    let settings = embedder.settings();
    match called.map(|vectors| vectors.into_iter().next()) {
        Ok(Some(vector)) => {
            let meaning = Arc::new(Meaning {
                model: settings.stored_as(),
                vector,
                least: settings.min_similarity as f32 / 100.0,
            });
            held.note(Ok(()));
            held.keep(text.to_owned(), &meaning);
            Ok(Some(meaning))
        }
        Ok(None) => Err("no embedding came".to_owned()),
        Err(failed) => {
            held.note(Err(&failed.why));
            held.rest(&failed.why);
            tracing::warn!(why = %failed.why, "searched by words only");
            Err(failed.why)
        }
    }
}

/// Adds what the engine knows to counts of memory.
pub async fn stats(engine: &Engine, stats: MemoryStats) -> Result<MemoryStats, StoreError> {
    let Some(embedder) = engine.models.embedder() else {
        return Ok(stats);
    };
    let model = embedder.settings().stored_as();
    let (name, now) = (model.clone(), engine.clock.now());
    let unembedded = engine
        .store
        .read(move |reader| reader.count_unembedded(&name, now))
        .await?;
    let (embedding_failures, embedding_error) = engine.embeddings.failures();
    Ok(MemoryStats {
        embeddings: Some(model),
        unembedded,
        embedding_failures,
        embedding_error,
        ..stats
    })
}

/// Runs until the engine stops; ends at once where it is off.
pub async fn run(engine: Engine) {
    let mut events = engine.store.subscribe();
    let mut held = engine.emergency.changes();
    let beginning = (Timestamp(i64::MIN), 0);
    let mut after = beginning;
    let mut failures = 0;
    loop {
        let engine = engine.current();
        let Some(embedder) = engine.models.embedder() else {
            return;
        };
        held.mark_unchanged();
        let mut sleep = LONGEST;
        if !engine.writable().await {
            return;
        }
        if engine.may_begin() {
            match pass(&engine, &embedder, &mut after).await {
                Ok(()) => failures = 0,
                Err(failed) => {
                    tracing::warn!(why = %failed.why, "cannot embed memories");
                    failures += 1;
                    let wait = doubled(BACKOFF, failures, LONGEST);
                    sleep = failed.wait.unwrap_or(wait).clamp(BACKOFF, LONGEST);
                }
            }
        }
        tokio::select! {
            () = tokio::time::sleep(sleep) => if failures == 0 { after = beginning },
            all = news(&mut events), if failures == 0 => match all {
                Some(true) => after = beginning,
                // Those written in the same moment as the last one looked at.
                Some(false) => after = (after.0.plus_millis(-1000), 0),
                None => return,
            },
            changed = held.changed() => if changed.is_err() { return },
            () = engine.shutdown.cancelled() => return,
        }
    }
}

/// Waits for something to embed; true = it may be anything. None = there is nobody any more who could say so.
async fn news(events: &mut Receiver<Arc<Event>>) -> Option<bool> {
    loop {
        match events.recv().await {
            Ok(event) => {
                if let EventBody::MemoryChanged { change, .. } = &event.body
                    && change != "embedded"
                {
                    return Some(false);
                }
                if let EventBody::HygieneFinished { .. } = &event.body {
                    return Some(true);
                }
            }
            Err(RecvError::Lagged(_)) => return Some(true),
            Err(RecvError::Closed) => return None,
        }
    }
}

/// Embeds everything that lacks it, from `after` on, which says how far that went.
async fn pass(
    engine: &Engine,
    embedder: &Embedder,
    after: &mut LookedAt,
) -> Result<(), EmbeddingFailure> {
    let model = embedder.settings().stored_as();
    // Texts that were refused together are sent one by one.
    let (mut singly, mut refused) = (0, 0);
    while engine.may_begin() {
        let (name, from, now) = (model.clone(), *after, engine.clock.now());
        let most = if singly > 0 { 1 } else { MOST_TEXTS };
        let (found, looked_at) = engine
            .store
            .read(move |reader| reader.unembedded(&name, now, from, most))
            .await
            .map_err(|error| EmbeddingFailure::new(error.to_string()))?;
        if !found.is_empty() {
            match embed(engine, embedder, &model, &found).await {
                Ok(()) => {
                    engine.embeddings.note(Ok(()));
                    refused = 0;
                }
                Err(failed) => {
                    engine.embeddings.note(Err(&failed.why));
                    if !failed.refused {
                        return Err(failed);
                    }
                    if found.len() > 1 {
                        singly = found.len();
                        continue;
                    }
                    // It is passed over until the next look at everything.
                    refused += 1;
                    if refused == REFUSED {
                        return Err(failed);
                    }
                    tracing::warn!(memory = ?found.first().map(|text| text.id), "cannot embed the text of a memory");
                }
            }
            singly = singly.saturating_sub(1);
        }
        match looked_at {
            Some(next) => *after = next,
            None => break,
        }
    }
    Ok(())
}

async fn embed(
    engine: &Engine,
    embedder: &Embedder,
    model: &str,
    found: &[MissingVector],
) -> Result<(), EmbeddingFailure> {
    let texts: Vec<String> = found
        .iter()
        .map(|text| engine.redactor.redact(&text.text).into_owned())
        .collect();
    let asker = Asker {
        channel: CHANNEL,
        session: "embed".to_owned(),
        until: None,
    };
    let vectors = call(engine, embedder, &texts, asker).await?;
    let vectors = found.iter().zip(vectors).map(|(text, vector)| NewVector {
        id: text.id,
        digest: text.digest,
        vector,
    });
    let put = PutVectors {
        model: model.to_owned(),
        vectors: vectors.collect(),
    };
    let kept = engine.store.write(put).await;
    kept.map(drop)
        .map_err(|error| EmbeddingFailure::new(error.to_string()))
}
