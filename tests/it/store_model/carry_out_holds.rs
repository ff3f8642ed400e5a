//! Steps of people who hold conversations as the store's commands.

use leverframe::protocol::budget::TurnLimits;
use leverframe::protocol::ids::TakeOverId;
use leverframe::store::commands::assign::{Assign, SetOnCall};
use leverframe::store::commands::ingest_turn::{IngestTurn, TurnFiles};
use leverframe::store::commands::send_as_bot::SendBotMessage;
use leverframe::store::commands::set_channel_draining::SetChannelDraining;
use leverframe::store::commands::take_over::{GiveBack, Take};
use leverframe::store::input::{NewPart, SessionChoice, TurnBounds, TurnCache};

use crate::store_model::model::{CHANNELS, Model, Outcome};
use crate::store_model::rules_hold::item;
use crate::store_model::rules_turn::LIMITS;
use crate::store_model::step::Step;
use crate::store_model::system::{System, origin, person};

impl System {
    pub(crate) fn by_holders(&self, model: &Model, step: &Step) -> Result<Outcome, Outcome> {
        match step {
            Step::TakeOver {
                session,
                person: who,
                force,
            } => {
                let running = self.write(Take {
                    session_id: self.session(*session),
                    id: TakeOverId::generate(),
                    force: *force,
                    by: person(*who),
                })?;
                Ok(Outcome::Claimed(
                    running.map(|id| self.ids.place(&id.to_bytes())),
                ))
            }
            Step::Say {
                session,
                person: who,
                right_hold,
            } => {
                let row = &model.sessions[*session];
                let (channel, chat) = (row.channel, row.chat);
                let said = self.write(SendBotMessage {
                    session_id: self.session(*session),
                    take_over_id: self
                        .hold(channel, chat)
                        .filter(|_| *right_hold)
                        .unwrap_or_else(TakeOverId::generate),
                    epoch: self.world().epoch(),
                    turn: IngestTurn {
                        origin: origin(&item(channel, chat)),
                        session: SessionChoice::Conversation,
                        text: "by hand".to_owned(),
                        role: "user".to_owned(),
                        said_at: "Mon 2026-11-23 09:30 +01:00".to_owned(),
                        model: None,
                        limits: TurnLimits {
                            max_steps: u32::try_from(LIMITS[0]).unwrap(),
                            max_tool_calls: u32::try_from(LIMITS[1]).unwrap(),
                            max_active_ms: LIMITS[2],
                            max_tokens: LIMITS[3],
                            max_cost_usd: None,
                        },
                        max_queue: 0,
                        unlimited_queue: true,
                        retry_of: None,
                        queue_full_notice: None,
                        title: None,
                        cache: TurnCache::default(),
                        options: leverframe::protocol::options::TurnOptions::default(),
                        bounds: TurnBounds::default(),
                        files: TurnFiles::default(),
                    },
                    text: "by hand".to_owned(),
                    parts: vec![NewPart {
                        channel: CHANNELS[channel].to_owned(),
                        conversation: format!("chat-{chat}"),
                        text: "by hand".to_owned(),
                        reply_to: None,
                        file: None,
                    }],
                    by: person(*who),
                })?;
                let ids = self
                    .hook(|conn| crate::store_model::picture::Ids::read(conn, Vec::new()).unwrap());
                Ok(Outcome::Turns(vec![ids.place(&said.to_bytes())]))
            }
            Step::GiveBack {
                session,
                person: who,
                force,
            } => self
                .write(GiveBack {
                    session_id: self.session(*session),
                    force: *force,
                    by: person(*who),
                })
                .map(|_| Outcome::Done),
            Step::DrainChannel { channel, draining } => self
                .write(SetChannelDraining {
                    channel: CHANNELS[*channel].to_owned(),
                    draining: *draining,
                    by: person(1),
                })
                .map(|()| Outcome::Done),
            Step::Assignment {
                gate,
                shown,
                to,
                person: who,
            } => {
                let (digest, revision) = self.shown(*gate, *shown);
                let outcome = self.write(Assign {
                    approval_id: self.gate(*gate),
                    digest,
                    revision,
                    to: to.map(|to| person(to).label),
                    note: None,
                    cards: Vec::new(),
                    by: person(*who),
                })?;
                Ok(Self::told(outcome))
            }
            Step::OnCall { who } => self
                .write(SetOnCall {
                    name: who.map(|who| person(who).label),
                    until: None,
                    note: None,
                    by: person(1),
                })
                .map(|()| Outcome::Done),
            other => unreachable!("{other:?} is carried out elsewhere"),
        }
    }

    /// As a conversation is held now.
    fn hold(&self, channel: usize, chat: u8) -> Option<TakeOverId> {
        let wanted = (CHANNELS[channel], format!("chat-{chat}"));
        self.hook(move |conn| {
            let id: Option<[u8; 16]> = conn
                .query_row(
                    "SELECT id FROM take_overs WHERE channel = ?1 AND conversation = ?2",
                    wanted,
                    |row| row.get(0),
                )
                .ok();
            id.map(TakeOverId::from_bytes)
        })
    }
}
