//! One batch of a sync: everything in it, in order, and the position with the last item.
//!
//! Nothing from before we came into a room is taken in, and what a sync leaves out is read before what comes after it (`gap`).

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::channels::intake;
use crate::channels::matrix::encrypted;
use crate::channels::matrix::events::{self, Around, Target};
use crate::channels::matrix::gap::Gap;
use crate::channels::matrix::joins::{self, Choice, Invite};
use crate::channels::matrix::position;
use crate::channels::matrix::syncer::{Halt, Syncer};
use crate::channels::sync::unless_stopped;
use crate::protocol::bridge::Inbound;
use crate::protocol::problem::Problem;

/// What the health says of rooms that removed us, until we come into another.
const ROOM: &str = "a room";

/// The invites of an answer, each with what becomes of it; those to be accepted are.
///
/// # Errors
/// The engine cannot say now who may invite.
pub async fn invites(syncer: &Syncer, answer: &Value) -> Result<Vec<(Invite, Choice)>, Problem> {
    let awaited = syncer.rooms.awaited();
    let mut all = Vec::new();
    for (room, section) in answer["rooms"]["invite"].as_object().into_iter().flatten() {
        let Some(invite) = joins::invite(room, section, &syncer.me.user) else {
            continue;
        };
        let choice = syncer.joins.choose(&invite, &awaited).await?;
        if choice == Choice::Join {
            syncer.joins.accept(room);
        }
        all.push((invite, choice));
    }
    Ok(all)
}

/// Items on their way into the engine: each but the newest is in.
struct Intake<'a> {
    syncer: &'a Syncer,
    stop: &'a CancellationToken,
    newest: Option<Inbound>,
    count: usize,
}

impl Intake<'_> {
    async fn push(&mut self, item: Inbound) -> Result<(), Halt> {
        if self.stop.is_cancelled() {
            return Err(Halt::Stopped);
        }
        self.count += 1;
        match self.newest.replace(item) {
            Some(before) => self.store(before).await,
            None => Ok(()),
        }
    }

    /// Takes in the last item, with the position after all of them.
    async fn finish(mut self, cursor: String) -> Result<usize, Halt> {
        if let Some(mut last) = self.newest.take() {
            last.cursor = Some(cursor);
            self.store(last).await?;
        }
        Ok(self.count)
    }

    async fn store(&self, item: Inbound) -> Result<(), Halt> {
        let (port, health) = (self.syncer.port.as_ref(), &self.syncer.health);
        intake::take_in(port, health, &self.syncer.me.user, item)
            .await
            .map(drop)
            .map_err(Halt::Store)
    }
}

/// Takes in a batch: how many items it had.
///
/// # Errors
/// It was not taken in to its end, and comes again.
pub async fn take_in(
    syncer: &Syncer,
    batch: &Value,
    since: &str,
    next: &str,
    stop: &CancellationToken,
) -> Result<usize, Halt> {
    let mut intake = Intake {
        syncer,
        stop,
        newest: None,
        count: 0,
    };
    let part = |name: &str| batch["rooms"][name].as_object().into_iter().flatten();
    for (room, section) in part("join") {
        if syncer.rooms.apply(room, section) {
            syncer.health.note(ROOM, None);
        }
    }
    for (invite, choice) in invites(syncer, batch).await.map_err(Halt::Store)? {
        intake.push(joins::record(&invite, choice)).await?;
    }
    for (room, section) in part("join") {
        said(syncer, room, section, since, &mut intake).await?;
    }
    for (room, section) in part("leave") {
        left(syncer, room, section, since, &mut intake).await?;
    }
    for (room, via) in syncer.rooms.awaited() {
        syncer.joins.follow(&room, via);
    }
    intake.finish(position::cursor(&syncer.me.user, next)).await
}

/// What was said in a room since the last batch, oldest first, without what is from before we came.
async fn said(
    syncer: &Syncer,
    room: &str,
    section: &Value,
    since: &str,
    intake: &mut Intake<'_>,
) -> Result<(), Halt> {
    let timeline = &section["timeline"];
    let mut newest = timeline["events"].as_array().cloned().unwrap_or_default();
    let came = newest
        .iter()
        .rposition(|event| events::is_joining(event, &syncer.me.user));
    let mut unreadable = false;
    if let (None, true, Some(from)) = (
        came,
        timeline["limited"] == true,
        timeline["prev_batch"].as_str(),
    ) {
        let missed = missed(syncer, (room, section), from, since, intake).await;
        syncer.health.reading_missed(None);
        unreadable |= missed?;
    }
    newest.drain(..came.unwrap_or(0));
    unreadable |= hear(syncer, room, newest, intake).await?;
    if unreadable {
        encrypted::tell(&syncer.api, &syncer.health, &syncer.me.user, room).await;
    }
    Ok(())
}

/// What the sync left out of a room, page by page; whether something in it was encrypted.
async fn missed(
    syncer: &Syncer,
    room: (&str, &Value),
    from: &str,
    since: &str,
    intake: &mut Intake<'_>,
) -> Result<bool, Halt> {
    let mut unreadable = false;
    let mut gap = Gap::find(syncer, intake.stop, room, from, since).await?;
    while let Some(page) = gap.next().await? {
        unreadable |= hear(syncer, room.0, page, intake).await?;
    }
    Ok(unreadable)
}

/// Events of a room, one after the other; whether one of them is encrypted.
async fn hear(
    syncer: &Syncer,
    room: &str,
    events: Vec<Value>,
    intake: &mut Intake<'_>,
) -> Result<bool, Halt> {
    let mut unreadable = false;
    for event in events {
        if events::is_from_before_us(&event) {
            continue;
        }
        let target = match events::target_of(&event, &syncer.me) {
            Some(target) => unless_stopped(intake.stop, syncer.targets.of(room, &target))
                .await
                .ok_or(Halt::Stopped)??,
            None => Target::default(),
        };
        let known = syncer.rooms.room(room).unwrap_or_default();
        let around = Around {
            room: room.to_owned(),
            title: known.title(),
            direct: syncer.rooms.is_direct(room),
            sender_name: event["sender"]
                .as_str()
                .and_then(|user| known.name_of(user)),
            target,
        };
        if let Some(item) = events::decode(&event, &syncer.me, &around) {
            unreadable |= event["type"] == "m.room.encrypted";
            intake.push(item).await?;
        }
    }
    Ok(unreadable)
}

/// A room that we are not in any more, and what was said before that.
async fn left(
    syncer: &Syncer,
    room: &str,
    section: &Value,
    since: &str,
    intake: &mut Intake<'_>,
) -> Result<(), Halt> {
    let is_end = |event: &&Value| {
        event["type"] == "m.room.member"
            && event["state_key"].as_str() == Some(&syncer.me.user)
            && matches!(
                event["content"]["membership"].as_str(),
                Some("leave" | "ban")
            )
    };
    let events = ["state", "timeline"].map(|part| section[part]["events"].as_array());
    let end = events.into_iter().flatten().flatten().rfind(is_end);
    let was = end.and_then(|event| event["unsigned"]["prev_content"]["membership"].as_str());
    if was == Some("invite") {
        // We were never in it.
        return Ok(());
    }
    said(syncer, room, section, since, intake).await?;
    let title = syncer.rooms.room(room).and_then(|room| room.title());
    syncer.rooms.remove(room);
    let by_us = end.is_some_and(|event| event["sender"].as_str() == Some(&syncer.me.user));
    let (item, what) = events::removal(room, end);
    if !by_us {
        let title = title.unwrap_or_else(|| room.to_owned());
        syncer
            .health
            .note("a room", Some(format!("{title}: {what}")));
    }
    intake.push(item).await
}
