//! Pausing, resuming, draining and testing channels.

use std::time::Duration;

use crate::config::settings::Settings;
use crate::engine::caller::Caller;
use crate::engine::core::Engine;
use crate::engine::views::{announce_channel, channel_view};
use crate::protocol::channel::Channel;
use crate::protocol::doctor::Finding;
use crate::protocol::enums::OutboxClass;
use crate::protocol::problem::{Problem, ProblemKind};
use crate::protocol::session::OutboxItem;
use crate::protocol::snapshot::Page;
use crate::store::commands::ensure_channel::{Baseline, EnsureChannel};
use crate::store::commands::queue_channel_test::QueueChannelTest;
use crate::store::commands::set_channel_draining::SetChannelDraining;
use crate::store::commands::set_channel_paused::SetChannelPaused;
use crate::store::input::NewNotice;

fn bridged(engine: &Engine, channel: &str, what: &str, hint: &str) -> Result<(), Problem> {
    engine.channel(channel)?;
    if engine.has_bridge(channel) {
        return Ok(());
    }
    Err(Problem::not_offered(
        "not possible here",
        format!("`{channel}` has no connection to {what}"),
    )
    .hint(hint))
}

/// How long somebody waits for what a bridge finds out.
const CHECK_LIMIT: Duration = Duration::from_secs(40);

/// Asks the bridge of a channel whether its account is set up as it must be.
pub async fn check(engine: &Engine, channel: String) -> Result<Page<Finding>, Problem> {
    bridged(
        engine,
        &channel,
        "check",
        "check a channel of a chat platform; `leverframe channels list` shows them",
    )?;
    let found = engine.delivery.link(&channel).check();
    match tokio::time::timeout(CHECK_LIMIT, found).await {
        Ok(Ok(findings)) => Ok(Page::from(findings)),
        Ok(Err(_)) | Err(_) => Err(Problem::unavailable(
            "no answer",
            format!("the bridge of `{channel}` does not answer"),
        )
        .hint("a restored database connects its channels once it is released")),
    }
}

/// Pauses or resumes a bridge.
pub async fn set_paused(
    engine: &Engine,
    caller: &Caller,
    channel: String,
    paused: bool,
) -> Result<Channel, Problem> {
    bridged(engine, &channel, "pause", "pause a session instead")?;
    engine
        .write(SetChannelPaused {
            channel: channel.clone(),
            paused,
            by: caller.reference(),
        })
        .await?;
    engine.delivery.link(&channel).set_paused(paused);
    channel_view(engine, &channel).await
}

/// Lets a channel finish what was begun and take up nothing new, or everything again.
pub async fn set_draining(
    engine: &Engine,
    caller: &Caller,
    channel: String,
    draining: bool,
) -> Result<Channel, Problem> {
    engine.channel(&channel)?;
    engine
        .write(SetChannelDraining {
            channel: channel.clone(),
            draining,
            by: caller.reference(),
        })
        .await?;
    if !draining {
        let held_back = engine.read(|reader| reader.sessions_with_pending()).await?;
        for session in held_back {
            engine.wake(session);
        }
    }
    announce_channel(engine, &channel).await;
    channel_view(engine, &channel).await
}

/// Sends a message that says that it is a test, the way every message goes.
pub async fn test(
    engine: &Engine,
    caller: &Caller,
    channel: String,
    conversation: Option<String>,
) -> Result<OutboxItem, Problem> {
    bridged(
        engine,
        &channel,
        "send through",
        "test a channel of a chat platform; `leverframe channels list` shows them",
    )?;
    let wanted = (channel.clone(), conversation.clone());
    let known = engine
        .read(move |reader| reader.known_conversation(&wanted.0, wanted.1.as_deref()))
        .await?;
    let Some(known) = known else {
        let what = match conversation {
            Some(key) => format!(
                "`{channel}` has no conversation `{}`",
                key.chars().take(64).collect::<String>()
            ),
            None => format!("nobody has written on `{channel}` yet"),
        };
        return Err(
            Problem::new(ProblemKind::NotFound, "no such conversation", what).hint(
                "a bot can only write where somebody wrote to it: write to it first, then test",
            ),
        );
    };
    let text = format!(
        "This is a test by {} at {}: if you can read it, messages of this bot arrive here.",
        caller.actor.label(),
        engine.clock.now()
    );
    let outbox_id = engine
        .write(QueueChannelTest {
            notice: NewNotice {
                channel,
                conversation: known,
                class: OutboxClass::Notice,
                text: engine.redactor.redact(&text).into_owned(),
                reply_to: None,
                continuation_id: None,
            },
            by: caller.reference(),
        })
        .await?;
    engine
        .read_here(move |reader| reader.delivery(outbox_id))
        .await
}

/// Makes every channel of a configuration known, with the policy that it gives each. What is stricter than the policy in
/// force applies at once; what is looser is asked.
pub async fn ensure(engine: &Engine, settings: &Settings) -> Result<(), Problem> {
    // Submitted together, so that they share one commit.
    let known = settings.channels.iter().map(|(name, channel)| {
        engine.store.write(EnsureChannel {
            name: name.clone(),
            kind: channel.kind,
            baseline: Baseline {
                autonomy: channel.autonomy,
                auto_approve: channel.auto_approve.clone(),
                block: channel.block.clone(),
                always_ask: channel.always_ask.clone(),
            },
        })
    });
    futures_util::future::try_join_all(known).await?;
    Ok(())
}
