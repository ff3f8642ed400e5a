//! Everything there is of a person: found in pages, so that no transaction is long.
//!
//! A person is a stable platform id. What is said to them in a direct message is theirs, whoever said it.

use std::collections::{HashMap, HashSet};

use crate::store::handle::Store;
use crate::store::meta;

use crate::protocol::bridge::escape_conversation;
use crate::protocol::ids::{ContinuationId, MemoryId};
use crate::store::error::StoreError;
use crate::store::queries::sweep::{OldTurn, RawId};
use crate::store::reader::Reader;
use crate::store::sql::{Connection, Statements, columns};

/// Name of the note that an erasure is under way.
pub(crate) const UNDER_WAY: &str = "forgetting";

/// Where a person writes alone with the bot.
#[derive(Debug, Clone, Default)]
pub(crate) struct Direct {
    channels: HashSet<String>,
    id: String,
    /// The id as the key of a conversation has it.
    key: String,
}

impl Direct {
    pub(crate) fn of(conn: &Connection, person: &str) -> Result<Self, StoreError> {
        let Some((kind, id)) = person.split_once(':') else {
            return Ok(Self::default());
        };
        // Ids of webhooks and programs name their channel, because only that channel knows them.
        let (kind, only) = kind.split_once('/').unwrap_or((kind, ""));
        let channels = conn.values(
            "SELECT name FROM channel_accounts WHERE kind = ?1 AND (?2 = '' OR name = ?2)",
            [kind, only],
        )?;
        Ok(Self {
            channels: channels.into_iter().collect(),
            id: id.to_owned(),
            key: escape_conversation(id),
        })
    }

    pub(crate) fn holds(&self, channel: &str, conversation: &str) -> bool {
        let rest = || {
            conversation
                .strip_prefix(self.key.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '#']))
        };
        let own = || {
            conversation
                .split_once('#')
                .is_some_and(|(_, sender)| sender == self.id)
        };
        !self.id.is_empty() && self.channels.contains(channel) && (rest() || own())
    }
}

/// What there is of a person.
#[derive(Debug, Clone, Default)]
pub struct Traces {
    /// Their turns that ended, newest first.
    pub turns: Vec<OldTurn>,
    /// Their turns that have not.
    pub open: Vec<ContinuationId>,
    /// Whether something to them is being sent at this moment.
    pub sending: bool,
    /// Sessions that only they took part in.
    pub sessions: Vec<RawId>,
    /// Sessions that others took part in too.
    pub shared: Vec<RawId>,
    /// Summaries that may stand for what they said.
    pub summaries: u64,
    /// What is remembered of them.
    pub memories: Vec<MemoryId>,
    /// Events about their turns and sessions.
    pub events: Vec<u64>,
    /// Messages to them that belong to no turn.
    pub outbox: Vec<i64>,
    /// Their keys that belong to no turn.
    pub inbox: Vec<RawId>,
    /// Questions about them that belong to no turn of theirs.
    pub approvals: Vec<RawId>,
    /// Routines that write to them.
    pub routines: Vec<RawId>,
    /// Datasets that came with their messages.
    pub datasets: Vec<RawId>,
    /// Artifacts that only their turns refer to.
    pub artifacts: Vec<[u8; 32]>,
    /// Artifacts that nobody refers to: what an erasure leaves that died between the turns and their artifacts.
    pub unreferred: Vec<[u8; 32]>,
}

impl Traces {
    /// Whether there is nothing left that goes row by row.
    pub fn is_empty(&self) -> bool {
        self.turns.is_empty()
            && self.sessions.is_empty()
            && self.summaries == 0
            && self.memories.is_empty()
            && self.events.is_empty()
            && self.outbox.is_empty()
            && self.inbox.is_empty()
            && self.approvals.is_empty()
            && self.routines.is_empty()
            && self.datasets.is_empty()
            && self.artifacts.is_empty()
            && self.unreferred.is_empty()
    }
}

impl Store {
    /// Everything there is of a person.
    pub async fn traces(&self, person: &str) -> Result<Traces, StoreError> {
        let owned = person.to_owned();
        let direct = self
            .read(move |reader| Direct::of(reader.conn, &owned))
            .await?;
        let mut traces = Traces::default();

        let mut alone: HashSet<RawId> = HashSet::new();
        self.each_row(
            "SELECT position, id, channel, conversation FROM sessions WHERE position > ?1 ORDER BY position LIMIT ?2",
            columns!(id, channel, conversation),
            |(id, channel, conversation): (RawId, String, String)| {
                if direct.holds(&channel, &conversation) {
                    alone.insert(id);
                }
            },
        )
        .await?;

        let mut turns: HashMap<RawId, OldTurn> = HashMap::new();
        let mut with_others: HashSet<RawId> = HashSet::new();
        let mut of_theirs: HashSet<RawId> = HashSet::new();
        let mut retries: Vec<(RawId, RawId)> = Vec::new();
        self.each_row(
            "SELECT position, id, session_id, ended_at IS NULL AS open, requester_id, retry_of FROM continuations
             WHERE position > ?1 ORDER BY position LIMIT ?2",
            columns!(position, id, session_id, open, requester_id, retry_of),
            |(position, id, session, open, requester, retry_of): (
                i64,
                RawId,
                RawId,
                bool,
                String,
                Option<RawId>,
            )| {
                if let Some(of) = retry_of {
                    retries.push((of, id));
                }
                if requester != person && !alone.contains(&session) {
                    with_others.insert(session);
                    return;
                }
                of_theirs.insert(session);
                if open {
                    traces.open.push(ContinuationId::from_bytes(id));
                }
                turns.insert(
                    id,
                    OldTurn {
                        id,
                        position,
                        ..OldTurn::default()
                    },
                );
            },
        )
        .await?;
        for (of, by) in retries {
            if !turns.contains_key(&by)
                && let Some(turn) = turns.get_mut(&of)
            {
                turn.retried_by.push(by);
            }
        }
        let whole: HashSet<RawId> = alone
            .iter()
            .chain(&of_theirs)
            .filter(|id| !with_others.contains(*id))
            .copied()
            .collect();
        traces.shared = of_theirs.intersection(&with_others).copied().collect();

        let mut sent: HashSet<RawId> = HashSet::new();
        self.each_row(
            "SELECT position, id, continuation_id, channel, conversation, state = 'sending' AS sending FROM outbox
             WHERE position > ?1 ORDER BY position LIMIT ?2",
            columns!(position, id, continuation_id, channel, conversation, sending),
            |(position, id, of, channel, conversation, sending): (
                i64,
                RawId,
                Option<RawId>,
                String,
                String,
                bool,
            )| {
                match of.and_then(|of| turns.get_mut(&of)) {
                    Some(turn) => turn.outbox.push(position),
                    None if direct.holds(&channel, &conversation) => traces.outbox.push(position),
                    None => return,
                }
                sent.insert(id);
                traces.sending |= sending;
            },
        )
        .await?;

        self.each_row(
            "SELECT id, continuation_id, principal FROM inbox WHERE id > ?1 ORDER BY id LIMIT ?2",
            columns!(id, continuation_id, principal),
            |(id, of, principal): (RawId, Option<RawId>, String)| match of
                .and_then(|of| turns.get_mut(&of))
            {
                Some(turn) => turn.inbox.push(id),
                None if of.is_none() && principal == person => traces.inbox.push(id),
                None => {}
            },
        )
        .await?;

        self.each_row(
            "SELECT id, continuation_id FROM model_attempts WHERE id > ?1 ORDER BY id LIMIT ?2",
            columns!(id, continuation_id),
            |(id, of): (RawId, RawId)| {
                if let Some(turn) = turns.get_mut(&of) {
                    turn.models.push(id);
                }
            },
        )
        .await?;

        // Turns whose rows have gone before their events did.
        let mut said: HashSet<RawId> = HashSet::new();
        self.each_row(
            "SELECT seq, continuation_id, json_extract(body, '$.sender_id') AS sender,
                json_extract(body, '$.channel') AS channel, json_extract(body, '$.conversation') AS conversation
             FROM events WHERE seq > ?1 AND body LIKE '{\"kind\":\"message.received\"%' ORDER BY seq LIMIT ?2",
            columns!(continuation_id, sender, channel, conversation),
            |(of, sender, channel, conversation): (
                Option<RawId>,
                Option<String>,
                String,
                String,
            )| {
                if sender.as_deref() == Some(person) || direct.holds(&channel, &conversation) {
                    said.extend(of);
                }
            },
        )
        .await?;

        self.each_row(
            "SELECT seq, session_id, continuation_id FROM events WHERE seq > ?1 AND seq < (SELECT max(seq) FROM events)
             ORDER BY seq LIMIT ?2",
            columns!(seq, session_id, continuation_id),
            |(seq, session, of): (u64, Option<RawId>, Option<RawId>)| {
                if of.is_some_and(|of| turns.contains_key(&of) || said.contains(&of))
                    || session.is_some_and(|session| whole.contains(&session))
                {
                    traces.events.push(seq);
                }
            },
        )
        .await?;

        self.each_row(
            "SELECT position, id, continuation_id, session_id, outbox_id, requester_id FROM approvals
             WHERE position > ?1 ORDER BY position LIMIT ?2",
            columns!(id, continuation_id, session_id, outbox_id, requester_id),
            |(id, of, session, outbox, requester): (
                RawId,
                Option<RawId>,
                Option<RawId>,
                Option<RawId>,
                String,
            )| {
                let with_turn = of.is_some_and(|of| turns.contains_key(&of));
                if !with_turn
                    && (requester == person
                        || session.is_some_and(|session| whole.contains(&session))
                        || outbox.is_some_and(|outbox| sent.contains(&outbox)))
                {
                    traces.approvals.push(id);
                }
            },
        )
        .await?;

        self.each_row(
            "SELECT position, id, person_id, author_id, source_id, session_id FROM memories WHERE position > ?1
             ORDER BY position LIMIT ?2",
            columns!(id, person_id, author_id, source_id, session_id),
            |(id, of, author, source, session): (
                RawId,
                Option<String>,
                String,
                Option<RawId>,
                Option<RawId>,
            )| {
                if of.as_deref() == Some(person)
                    || author == person
                    || source.is_some_and(|source| turns.contains_key(&source))
                    || session.is_some_and(|session| whole.contains(&session))
                {
                    traces.memories.push(MemoryId::from_bytes(id));
                }
            },
        )
        .await?;

        self.each_row(
            "SELECT position, id, sender FROM datasets
             WHERE position > ?1 AND sender IS NOT NULL ORDER BY position LIMIT ?2",
            columns!(id, sender),
            |(id, sender): (RawId, String)| {
                if sender == person {
                    traces.datasets.push(id);
                }
            },
        )
        .await?;

        self.each_row(
            "SELECT position, id, channel, conversation FROM routines WHERE position > ?1 ORDER BY position LIMIT ?2",
            columns!(id, channel, conversation),
            |(id, channel, conversation): (RawId, String, String)| {
                if direct.holds(&channel, &conversation) {
                    traces.routines.push(id);
                }
            },
        )
        .await?;

        let mut next = Some(None);
        while let Some(after) = next {
            let batch = self
                .read(move |reader| reader.referred_artifacts(after))
                .await?;
            for artifact in batch.items {
                if artifact.by.is_empty() {
                    traces.unreferred.push(artifact.hash);
                } else if artifact.by.iter().all(|by| turns.contains_key(by)) {
                    traces.artifacts.push(artifact.hash);
                }
            }
            next = batch.next.map(Some);
        }

        let concerned: Vec<RawId> = whole.iter().chain(&traces.shared).copied().collect();
        traces.summaries = self
            .read(move |reader| {
                let there = "SELECT count(*) FROM summaries WHERE session_id = ?1";
                concerned.iter().try_fold(0, |sum, id| {
                    let count: u64 = reader.conn.value(there, [id])?;
                    Ok(sum + count)
                })
            })
            .await?;
        traces.sessions = whole.into_iter().collect();
        traces.turns = turns.into_values().collect();
        traces
            .turns
            .sort_unstable_by_key(|turn| std::cmp::Reverse(turn.position));
        Ok(traces)
    }
}

impl Reader<'_> {
    /// The erasure that was begun and not ended: whom, and who asked for it.
    pub fn open_erasure(&self) -> Result<Option<String>, StoreError> {
        meta::get(self.conn, UNDER_WAY)
    }
}
