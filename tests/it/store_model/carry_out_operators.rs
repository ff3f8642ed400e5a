//! Steps of operators, bridges and the engine itself as the store's commands.

use leverframe::clock::Timestamp;
use leverframe::protocol::command::Waiting;
use leverframe::protocol::enums::{HygieneReason, HygieneState, MemoryScope};
use leverframe::protocol::hygiene::HygieneReport;
use leverframe::protocol::ids::HygieneRunId;
use leverframe::store::commands::clean_up_memories::CleanUpMemories;
use leverframe::store::commands::drop_expired_notice::DropExpiredNotice;
use leverframe::store::commands::drop_waiting::DropWaiting;
use leverframe::store::commands::end_look_up::{EndLookUp, LookUpResult};
use leverframe::store::commands::expire_due::ExpireDue;
use leverframe::store::commands::probe::Probe;
use leverframe::store::commands::queue_cards::QueueCards;
use leverframe::store::commands::queue_notice::QueueNotice;
use leverframe::store::commands::record_unknown_call::RecordUnknownCall;
use leverframe::store::commands::release_quarantine::ReleaseQuarantine;
use leverframe::store::commands::resolve_delivery::ResolveDelivery;
use leverframe::store::commands::resume::Resume;
use leverframe::store::commands::run_hygiene::{BeginHygiene, EndHygiene, HygieneEnd};
use leverframe::store::commands::set_channel_paused::SetChannelPaused;
use leverframe::store::commands::set_emergency_stop::SetEmergencyStop;
use leverframe::store::commands::set_policy::SetPolicy;
use leverframe::store::commands::sweep_loose::SweepCompactions;
use leverframe::store::commands::undo_hygiene::{BeginUndo, EndUndo, RestoreMemories};
use leverframe::store::hygiene::{Cuts, HygieneRules};

use crate::hygiene::world::{DAY_MS, Row};
use crate::store_model::model::{CHANNELS, Model, Outcome};
use crate::store_model::rules_delivery::message_ref;
use crate::store_model::step::{Look, Step};
use crate::store_model::system::{System, ensure, person};
impl System {
    pub(crate) fn by_operators(&mut self, model: &Model, step: &Step) -> Result<Outcome, Outcome> {
        let by = person(1);
        match step {
            Step::Resume { turn } => self
                .write(Resume {
                    continuation_id: self.turn(*turn),
                    by,
                })
                .map(|()| Outcome::Done),
            Step::ExpireDue => {
                let due = self.write(ExpireDue {
                    now: self.now(),
                    notice: "late".to_owned(),
                })?;
                Ok(Outcome::Expired(
                    due.approvals
                        .iter()
                        .map(|row| self.ids.place(&row.approval_id.to_bytes()))
                        .collect(),
                    due.policies
                        .iter()
                        .filter_map(|(name, _)| CHANNELS.iter().position(|known| known == name))
                        .collect(),
                ))
            }
            Step::SetPolicy {
                channel,
                autonomy,
                lives,
                right_version,
            } => {
                let version = model.channels[*channel].version;
                self.write(SetPolicy {
                    channel: CHANNELS[*channel].to_owned(),
                    autonomy: *autonomy,
                    expires_at: lives.map(|seconds| self.now().plus_seconds(seconds)),
                    auto_approve: None,
                    block: None,
                    always_ask: None,
                    // The model is one version ahead of a change that is accepted.
                    if_version: right_version
                        .map(|right| if right { version - 1 } else { version + 7 }),
                    by,
                })
                .map(|_| Outcome::Done)
            }
            Step::EnsureChannel { channel, autonomy } => self
                .write(ensure(*channel, *autonomy))
                .map(|()| Outcome::Done),
            Step::TakeOver { .. }
            | Step::Say { .. }
            | Step::GiveBack { .. }
            | Step::Assignment { .. }
            | Step::OnCall { .. }
            | Step::DrainChannel { .. } => self.by_holders(model, step),
            Step::PauseChannel { channel, paused } => self
                .write(SetChannelPaused {
                    channel: CHANNELS[*channel].to_owned(),
                    paused: *paused,
                    by,
                })
                .map(|()| Outcome::Done),
            Step::Hold { drop_full } => self
                .write(SetEmergencyStop {
                    held: Some("stop".to_owned()),
                    by,
                    drop_full: *drop_full,
                })
                .map(|()| Outcome::Done),
            Step::Release => self
                .write(SetEmergencyStop {
                    held: None,
                    by,
                    drop_full: false,
                })
                .map(|()| Outcome::Done),
            Step::DropWaiting { keep_newest } => {
                let dropped = self.write(DropWaiting {
                    waiting: if *keep_newest {
                        Waiting::Newest
                    } else {
                        Waiting::Drop
                    },
                    conversations: Vec::new(),
                    by,
                    notice: "dropped".to_owned(),
                })?;
                Ok(Outcome::Turns(
                    dropped
                        .iter()
                        .map(|id| self.ids.place(&id.to_bytes()))
                        .collect(),
                ))
            }
            Step::RecordUnknownCall { gate } => {
                self.counter += 1;
                self.write(RecordUnknownCall {
                    approval_id: self.gate(*gate),
                    text: format!("Looked {} times.", self.counter),
                })
                .map(|()| Outcome::Done)
            }
            Step::Probe => self.write(Probe).map(|()| Outcome::Done),
            Step::Tidy => self.tidy(model),
            Step::TakeBack => self.take_back(model),
            Step::ReleaseQuarantine => self.write(ReleaseQuarantine { by }).map(|()| Outcome::Done),
            Step::QueueNotice {
                channel,
                chat,
                class,
            } => self
                .write(QueueNotice {
                    notice: Self::notice(*channel, *chat, *class, None),
                })
                .map(|_| Outcome::Done),
            Step::QueueCards { gate } => {
                let channel = model.gates[*gate].channel;
                let cards = self.cards(channel, 1);
                self.write(QueueCards {
                    approval_id: self.gate(*gate),
                    cards,
                })
                .map(|()| Outcome::Done)
            }
            Step::EndLookUp {
                part,
                last_attempt,
                look,
            } => {
                let attempts = model.parts[*part].attempts;
                self.write(EndLookUp {
                    outbox_id: self.part(*part),
                    attempt: attempts + u32::from(!last_attempt),
                    found: match look {
                        Look::Arrived(count) => LookUpResult::Sent {
                            refs: (0..*count)
                                .map(|n| message_ref(*part, attempts, n))
                                .collect(),
                        },
                        Look::Not => LookUpResult::NotSent,
                        Look::Unclear => LookUpResult::Unclear {
                            why: "nobody answers".to_owned(),
                        },
                    },
                })
                .map(|()| Outcome::Done)
            }
            Step::DropExpiredNotice { part } => self
                .write(DropExpiredNotice {
                    outbox_id: self.part(*part),
                })
                .map(Outcome::Dropped),
            Step::ResolveDelivery { part, settlement } => self
                .write(ResolveDelivery {
                    outbox_id: self.part(*part),
                    settlement: *settlement,
                    reason: None,
                    by,
                })
                .map(|()| Outcome::Done),
            Step::SweepCompactions => self
                .write(SweepCompactions {
                    before: Timestamp(i64::MAX),
                })
                .map(|_| Outcome::Done),
            other => unreachable!("{other:?} is carried out elsewhere"),
        }
    }

    /// Remembers what is old already and puts it aside.
    fn tidy(&mut self, model: &Model) -> Result<Outcome, Outcome> {
        let now = self.now();
        let since = now.plus_millis(-30 * DAY_MS);
        let position = self.hook(move |conn| {
            Row::old(now.as_millis(), 60).insert(conn);
            conn.last_insert_rowid()
        });
        let run = HygieneRunId::generate();
        self.write(BeginHygiene {
            id: run,
            by: person(1),
            undo_ms: 365 * DAY_MS,
            report: HygieneReport::default(),
        })?;
        self.write(CleanUpMemories {
            run,
            rules: HygieneRules {
                now,
                kept_since: MemoryScope::ALL
                    .iter()
                    .map(|scope| (*scope, since))
                    .collect(),
                max_memories: 1000,
                undo_ms: 365 * DAY_MS,
                embeddings: None,
            },
            cuts: Cuts::default(),
            memories: vec![(position, HygieneReason::Retention)],
        })?;
        let ended = self.write(EndHygiene {
            id: run,
            end: HygieneEnd::Whole,
            freed_bytes: 0,
            duration_ms: 1,
        })?;
        assert_eq!(
            (ended.state, ended.report.archived),
            (HygieneState::Done, 1)
        );
        self.put_aside(model);
        Ok(Outcome::Done)
    }

    fn take_back(&mut self, model: &Model) -> Result<Outcome, Outcome> {
        let newest: Option<[u8; 16]> = self.hook(|conn| {
            let newest = "SELECT id FROM hygiene_runs ORDER BY position DESC LIMIT 1";
            conn.query_row(newest, [], |row| row.get(0)).ok()
        });
        let Some(id) = newest.map(HygieneRunId::from_bytes) else {
            return Ok(Outcome::Done);
        };
        self.write(BeginUndo { id, by: person(1) })?;
        assert_eq!(self.write(RestoreMemories { id, at_most: 500 })?, 1);
        assert_eq!(self.write(EndUndo { id })?.restored, 1);
        self.put_aside(model);
        Ok(Outcome::Done)
    }

    /// As many are archived as the model says.
    fn put_aside(&self, model: &Model) {
        let count: usize = self.hook(|conn| {
            let archived = "SELECT count(*) FROM memories WHERE state = 'archived'";
            conn.query_row(archived, [], |row| row.get(0)).unwrap()
        });
        assert_eq!(count, model.tidied.iter().filter(|back| !**back).count());
    }
}
