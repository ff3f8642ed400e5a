//! One text line a row, written once from the model and once from the tables: the two must be equal.

use std::collections::HashMap;
use std::hash::{Hash, Hasher};

use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row};

use crate::store_model::model::{CHANNELS, Model};
use crate::support::content_hash::ContentHasher;

/// The lines of each table.
pub(crate) type Picture = Vec<(&'static str, Vec<String>)>;

/// A number or nothing.
fn or_dash<T: ToString>(value: Option<T>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| value.to_string())
}

impl Model {
    /// What the tables must hold.
    pub(crate) fn picture(&self) -> Picture {
        let sorted = |mut lines: Vec<String>| {
            lines.sort_unstable();
            lines
        };
        vec![
            (
                "sessions",
                self.sessions
                    .iter()
                    .map(|row| {
                        format!(
                            "{}/chat-{} {} temporary={} paused={} turns={} tokens={} summary={}",
                            CHANNELS[row.channel],
                            row.chat,
                            row.state,
                            u8::from(row.temporary),
                            u8::from(row.paused),
                            row.turns,
                            row.tokens,
                            row.summary
                        )
                    })
                    .collect(),
            ),
            (
                "continuations",
                self.turns
                    .iter()
                    .map(|row| {
                        format!(
                            "s{} {} epoch={} attempt={} limits={:?} used={}/{}/{}/{} decided={} retry={} ended={} away={}",
                            row.session,
                            row.state,
                            row.epoch,
                            row.attempt,
                            row.limits,
                            row.model_steps,
                            row.calls,
                            row.active_ms,
                            row.tokens,
                            or_dash(row.decided),
                            or_dash(row.retry),
                            u8::from(row.state.is_terminal()),
                            u8::from(row.put_away)
                        )
                    })
                    .collect(),
            ),
            (
                "steps",
                self.turns
                    .iter()
                    .enumerate()
                    .flat_map(|(turn, row)| {
                        row.steps
                            .iter()
                            .enumerate()
                            .map(move |(n, kind)| format!("t{turn} {} {kind}", n + 1))
                    })
                    .collect(),
            ),
            (
                "tool_calls",
                self.calls
                    .iter()
                    .enumerate()
                    .map(|(n, row)| {
                        format!(
                            "t{} {}.{} {} {} plan={n}.{} {} v{} gate={} attempts={} result={} finished={}",
                            row.turn,
                            row.step,
                            row.index,
                            row.state,
                            row.effect,
                            row.plan,
                            row.verdict,
                            row.policy_version,
                            or_dash(row.gate),
                            row.attempts,
                            or_dash(row.result_step),
                            or_dash(row.finished)
                        )
                    })
                    .collect(),
            ),
            (
                "tool_attempts",
                sorted(
                    self.runs
                        .iter()
                        .map(|row| {
                            format!(
                                "c{} #{} epoch={} gate={} key={} {}",
                                row.call,
                                row.attempt,
                                row.epoch,
                                or_dash(row.gate),
                                or_dash(row.key_until),
                                or_dash(row.outcome)
                            )
                        })
                        .collect(),
                ),
            ),
            (
                "approvals",
                self.gates
                    .iter()
                    .map(|row| {
                        format!(
                            "{} {} plan={} r{} {} turn={} call={} part={} budget={} offers={} expires={} said={} decided={} notified={} waits={}",
                            row.kind,
                            row.state,
                            or_dash(row.call.zip(row.plan).map(|(call, plan)| format!("{call}.{plan}"))),
                            row.revision,
                            CHANNELS[row.channel],
                            or_dash(row.turn),
                            or_dash(row.call),
                            or_dash(row.part),
                            or_dash(row.budget.map(|kind| kind.as_str())),
                            row.offered
                                .iter()
                                .map(|word| word.as_str())
                                .collect::<Vec<_>>()
                                .join(","),
                            or_dash(row.expires),
                            or_dash(row.decision.map(|(word, _)| word)),
                            or_dash(row.decided),
                            u8::from(row.notified),
                            or_dash(row.waits.map(|(to, by)| format!("person {to}/person {by}")))
                        )
                    })
                    .collect(),
            ),
            (
                "outbox",
                self.parts
                    .iter()
                    .map(|row| {
                        format!(
                            "{}/{} {} {} {}/{} turn={} gate={} attempts={} epoch={} after={} begun={} refs={} edits={}",
                            CHANNELS[row.channel],
                            row.conversation,
                            row.class,
                            row.state,
                            row.part,
                            row.parts,
                            or_dash(row.turn),
                            or_dash(row.gate),
                            row.attempts,
                            row.epoch,
                            or_dash(row.not_before),
                            or_dash(row.begun),
                            row.refs.join(","),
                            or_dash(row.target.clone())
                        )
                    })
                    .collect(),
            ),
            (
                "card_tokens",
                sorted(
                    self.tokens
                        .iter()
                        .map(|row| {
                            format!(
                                "gate={} part={} r{} spent={}",
                                row.gate,
                                row.part,
                                row.revision,
                                u8::from(row.spent)
                            )
                        })
                        .collect(),
                ),
            ),
            (
                "inbox",
                sorted(
                    self.inbox
                        .iter()
                        .map(|row| {
                            format!(
                                "{} {} {} body={} {} turn={}",
                                CHANNELS[row.channel],
                                row.principal,
                                or_dash(row.key.map(|key| format!("key-{key}"))),
                                row.body,
                                row.disposition,
                                or_dash(row.turn)
                            )
                        })
                        .collect(),
                ),
            ),
            (
                "model_attempts",
                sorted(
                    self.tries
                        .iter()
                        .enumerate()
                        .map(|(n, row)| {
                            format!(
                                "m{n} t{} epoch={} estimate={} used={}",
                                row.turn,
                                row.epoch,
                                row.estimate,
                                or_dash(row.used)
                            )
                        })
                        .collect(),
                ),
            ),
            (
                "compactions",
                self.compactions
                    .iter()
                    .map(|row| format!("s{} {} epoch={}", row.session, row.state, row.epoch))
                    .collect(),
            ),
            (
                "channels",
                sorted(
                    self.channels
                        .iter()
                        .enumerate()
                        .map(|(n, row)| {
                            format!(
                                "{} v{} {} until={} then={} accepted={} paused={} draining={} cursor={} versions={}",
                                CHANNELS[n],
                                row.version,
                                row.autonomy,
                                or_dash(row.expires),
                                or_dash(row.reverts),
                                row.baseline,
                                u8::from(row.paused),
                                u8::from(row.draining),
                                or_dash(row.cursor),
                                row.version
                            )
                        })
                        .collect(),
                ),
            ),
            (
                "take_overs",
                sorted(
                    self.holds
                        .iter()
                        .map(|(channel, chat, person)| {
                            format!("{} chat-{chat} operator:{person}", CHANNELS[*channel])
                        })
                        .collect(),
                ),
            ),
            (
                "on_call",
                self.on_call.iter().map(|who| format!("person {who}")).collect(),
            ),
            (
                "session_grants",
                sorted(
                    self.grants
                        .iter()
                        .map(|row| format!("s{} {} gate={}", row.session, row.arguments, row.gate))
                        .collect(),
                ),
            ),
            (
                "budget_grants",
                sorted(
                    self.added
                        .iter()
                        .map(|row| {
                            format!(
                                "gate={} {} s{} {} +{}",
                                row.gate,
                                row.budget.as_str(),
                                or_dash(row.session),
                                or_dash(row.channel.map(|channel| CHANNELS[channel])),
                                row.amount
                            )
                        })
                        .collect(),
                ),
            ),
            (
                "spend",
                sorted(
                    CHANNELS
                        .iter()
                        .enumerate()
                        .filter_map(|(n, channel)| {
                            let of = |row: &&crate::store_model::model::Try| {
                                self.sessions[self.turns[row.turn].session].channel == n
                            };
                            let settled: Vec<_> = self
                                .tries
                                .iter()
                                .filter(of)
                                .filter(|row| row.used.is_some())
                                .collect();
                            let failed = settled.iter().filter(|row| row.failed).count();
                            let tokens: u32 = settled.iter().filter_map(|row| row.used).sum();
                            (!settled.is_empty()).then(|| {
                                format!(
                                    "{channel} scripted/demo calls={} failed={failed} tokens={tokens}",
                                    settled.len()
                                )
                            })
                        })
                        .collect(),
                ),
            ),
            (
                "approval_snoozes",
                sorted(
                    self.snoozes
                        .iter()
                        .map(|(gate, person, until)| {
                            let who = crate::store_model::system::person(*person).id;
                            format!("gate={gate} {who} {until}")
                        })
                        .collect(),
                ),
            ),
            (
                "meta",
                vec![
                    format!("epoch={}", self.epoch),
                    format!("held={}", u8::from(self.held)),
                    format!("quarantine={}", u8::from(self.quarantine)),
                ],
            ),
            ("audit", self.audit.iter().map(ToString::to_string).collect()),
            (
                "paths",
                self.turns
                    .iter()
                    .map(|row| {
                        row.path
                            .iter()
                            .map(|state| state.as_str())
                            .collect::<Vec<_>>()
                            .join(" ")
                    })
                    .collect(),
            ),
        ]
    }
}

/// Ids of the rows in the order in which they were made, and where each stands.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ids {
    pub(crate) sessions: Vec<[u8; 16]>,
    pub(crate) turns: Vec<[u8; 16]>,
    pub(crate) calls: Vec<[u8; 16]>,
    pub(crate) gates: Vec<[u8; 16]>,
    pub(crate) parts: Vec<[u8; 16]>,
    pub(crate) tries: Vec<[u8; 16]>,
    places: HashMap<[u8; 16], usize>,
}

impl Ids {
    /// Reads them again; calls to models have no position and are remembered by the caller.
    pub(crate) fn read(conn: &Connection, tries: Vec<[u8; 16]>) -> rusqlite::Result<Self> {
        let all = |table: &str| -> rusqlite::Result<Vec<[u8; 16]>> {
            conn.prepare_cached(&format!("SELECT id FROM {table} ORDER BY position"))?
                .query_map([], |row| row.get(0))?
                .collect()
        };
        let mut ids = Self {
            sessions: all("sessions")?,
            turns: all("continuations")?,
            calls: all("tool_calls")?,
            gates: all("approvals")?,
            parts: all("outbox")?,
            tries,
            places: HashMap::new(),
        };
        for list in [
            &ids.sessions,
            &ids.turns,
            &ids.calls,
            &ids.gates,
            &ids.parts,
            &ids.tries,
        ] {
            ids.places
                .extend(list.iter().enumerate().map(|(n, id)| (*id, n)));
        }
        Ok(ids)
    }

    /// Where a row stands among its kind.
    pub(crate) fn place(&self, id: &[u8; 16]) -> usize {
        self.places.get(id).copied().unwrap_or(usize::MAX)
    }

    fn of(&self, row: &Row<'_>, index: usize) -> rusqlite::Result<String> {
        Ok(or_dash(
            row.get::<_, Option<[u8; 16]>>(index)?
                .map(|id| self.place(&id)),
        ))
    }
}

fn text(row: &Row<'_>, index: usize) -> rusqlite::Result<String> {
    Ok(match row.get_ref(index)? {
        ValueRef::Null => "-".to_owned(),
        ValueRef::Integer(number) => number.to_string(),
        ValueRef::Real(number) => number.to_string(),
        ValueRef::Text(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        ValueRef::Blob(_) => "blob".to_owned(),
    })
}

/// What the tables hold.
pub(crate) fn tables(conn: &Connection, ids: &Ids) -> rusqlite::Result<Picture> {
    let lines = |sql: &str, line: &dyn Fn(&Row<'_>) -> rusqlite::Result<String>| {
        conn.prepare_cached(sql)?
            .query_map([], |row| line(row))?
            .collect::<rusqlite::Result<Vec<String>>>()
    };
    let sorted = |mut lines: Vec<String>| {
        lines.sort_unstable();
        lines
    };
    // Each `%` of the pattern is replaced by a column: as it is, or as the place of the row it names when the
    // column is written `%i`.
    let form = |pattern: &'static str| {
        move |row: &Row<'_>| {
            let mut line = String::new();
            let mut column = 0;
            let mut rest = pattern;
            while let Some((before, after)) = rest.split_once('%') {
                line.push_str(before);
                if let Some(after) = after.strip_prefix('i') {
                    line.push_str(&ids.of(row, column)?);
                    rest = after;
                } else {
                    line.push_str(&text(row, column)?);
                    rest = after;
                }
                column += 1;
            }
            line.push_str(rest);
            Ok(line)
        }
    };
    Ok(vec![
        (
            "sessions",
            lines(
                "SELECT channel, conversation, state, temporary, paused, turns, input_tokens + output_tokens,
                    coalesce((SELECT version FROM summaries m WHERE m.session_id = s.id), 0)
                 FROM sessions s ORDER BY position",
                &form("%/% % temporary=% paused=% turns=% tokens=% summary=%"),
            )?,
        ),
        (
            "continuations",
            lines(
                "SELECT session_id, state, epoch, attempt, max_steps, max_tool_calls, max_active_ms, max_tokens,
                    used_steps, used_tool_calls, used_active_ms, input_tokens + output_tokens, gates_decided_at,
                    retry_of, ended_at IS NOT NULL, archived_at IS NOT NULL
                 FROM continuations ORDER BY position",
                &form(
                    "s%i % epoch=% attempt=% limits=[%, %, %, %] used=%/%/%/% decided=% retry=%i ended=% away=%",
                ),
            )?,
        ),
        (
            "steps",
            lines(
                "SELECT s.continuation_id, s.n, s.kind FROM steps s JOIN continuations c ON c.id = s.continuation_id
                 ORDER BY c.position, s.n",
                &form("t%i % %"),
            )?,
        ),
        (
            "tool_calls",
            lines(
                "SELECT continuation_id, step, idx, state, effect, substr(digest, 6), verdict, policy_version,
                    approval_id, attempts, result_step, finished_at
                 FROM tool_calls ORDER BY position",
                &form(
                    "t%i %.% % % plan=% % v% gate=%i attempts=% result=% finished=%",
                ),
            )?,
        ),
        (
            "tool_attempts",
            sorted(lines(
                "SELECT call_id, attempt, epoch, approval_id, key_until, outcome FROM tool_attempts",
                &form("c%i #% epoch=% gate=%i key=% %"),
            )?),
        ),
        (
            "approvals",
            lines(
                "SELECT a.kind, a.state, CASE WHEN a.tool_call_id IS NULL THEN NULL ELSE substr(a.digest, 6) END,
                    a.revision, a.channel, a.continuation_id, a.tool_call_id, a.outbox_id,
                    coalesce(a.budget, a.budget_kind), a.offered,
                    a.expires_at, a.decision, a.decided_at, a.notified,
                    (a.waiting_for ->> 'to') || '/' || (a.waiting_for ->> 'by')
                 FROM approvals a ORDER BY a.position",
                &form(
                    "% % plan=% r% % turn=%i call=%i part=%i budget=% offers=% expires=% said=% decided=% notified=% waits=%",
                ),
            )?,
        ),
        (
            "outbox",
            lines(
                "SELECT channel, conversation, class, state, part, parts, continuation_id, approval_id, attempts, epoch,
                    not_before, begun_at, (SELECT coalesce(group_concat(value), '') FROM json_each(external_refs)), target_ref
                 FROM outbox ORDER BY position",
                &form(
                    "%/% % % %/% turn=%i gate=%i attempts=% epoch=% after=% begun=% refs=% edits=%",
                ),
            )?,
        ),
        (
            "card_tokens",
            sorted(lines(
                "SELECT approval_id, outbox_id, revision, spent_at IS NOT NULL FROM card_tokens",
                &form("gate=%i part=%i r% spent=%"),
            )?),
        ),
        (
            "inbox",
            sorted(lines(
                "SELECT channel, principal, key, hex(substr(body_digest, 1, 1)), disposition, continuation_id FROM inbox",
                &|row| {
                    let body = u8::from_str_radix(&text(row, 3)?, 16).unwrap_or(u8::MAX);
                    Ok(format!(
                        "{} {} {} body={body} {} turn={}",
                        text(row, 0)?,
                        text(row, 1)?,
                        text(row, 2)?,
                        text(row, 4)?,
                        ids.of(row, 5)?
                    ))
                },
            )?),
        ),
        (
            "model_attempts",
            sorted(lines(
                "SELECT id, continuation_id, epoch, estimated_tokens,
                    CASE WHEN settled_at IS NULL THEN NULL ELSE input_tokens + output_tokens END
                 FROM model_attempts",
                &form("m%i t%i epoch=% estimate=% used=%"),
            )?),
        ),
        (
            "compactions",
            lines(
                "SELECT session_id, state, epoch FROM compactions ORDER BY position",
                &form("s%i % epoch=%"),
            )?,
        ),
        (
            "channels",
            lines(
                "SELECT c.name, p.version, p.autonomy, p.expires_at, p.reverts_to,
                    json_extract(c.baseline, '$.autonomy'), c.paused, c.draining_since IS NOT NULL, c.cursor,
                    (SELECT count(*) FROM policy_versions v WHERE v.channel = c.name)
                 FROM channel_accounts c JOIN policies p ON p.channel = c.name ORDER BY c.name",
                &form("% v% % until=% then=% accepted=% paused=% draining=% cursor=% versions=%"),
            )?,
        ),
        (
            "take_overs",
            sorted(lines(
                "SELECT channel, conversation, by_id FROM take_overs",
                &form("% % %"),
            )?),
        ),
        (
            "on_call",
            lines(
                "SELECT value ->> 'name' FROM meta WHERE key = 'on_call'",
                &form("%"),
            )?,
        ),
        (
            "session_grants",
            sorted(lines(
                "SELECT session_id, args_digest, approval_id FROM session_grants",
                &form("s%i % gate=%i"),
            )?),
        ),
        (
            "budget_grants",
            sorted(lines(
                "SELECT approval_id, budget, session_id, channel, CAST(amount AS INTEGER) FROM budget_grants",
                &form("gate=%i % s%i % +%"),
            )?),
        ),
        (
            "spend",
            sorted(lines(
                "SELECT channel, model, calls, failed, input_tokens + output_tokens FROM spend",
                &form("% % calls=% failed=% tokens=%"),
            )?),
        ),
        (
            "approval_snoozes",
            sorted(lines(
                "SELECT approval_id, person_id, until FROM approval_snoozes",
                &form("gate=%i % %"),
            )?),
        ),
        (
            "meta",
            lines(
                "SELECT 'epoch=' || (SELECT value FROM meta WHERE key = 'epoch')
                 UNION ALL SELECT 'held=' || (SELECT count(*) FROM meta WHERE key = 'held_reason')
                 UNION ALL SELECT 'quarantine=' || (SELECT count(*) FROM meta WHERE key = 'quarantine')",
                &form("%"),
            )?,
        ),
    ])
}

/// A number over every value of every table: equal when nothing changed.
pub(crate) fn digest(conn: &Connection) -> rusqlite::Result<u64> {
    let tables: Vec<String> = conn
        .prepare_cached("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name")?
        .query_map([], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    let mut hasher = ContentHasher::default();
    for table in tables {
        table.hash(&mut hasher);
        let mut statement = conn.prepare_cached(&format!("SELECT * FROM {table}"))?;
        let columns = statement.column_count();
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            for column in 0..columns {
                match row.get_ref(column)? {
                    ValueRef::Null => 0_u8.hash(&mut hasher),
                    ValueRef::Integer(number) => number.hash(&mut hasher),
                    ValueRef::Real(number) => number.to_bits().hash(&mut hasher),
                    ValueRef::Text(bytes) | ValueRef::Blob(bytes) => bytes.hash(&mut hasher),
                }
            }
        }
    }
    Ok(hasher.finish())
}
