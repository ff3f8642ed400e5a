//! From the engine to the program: parts, typing, progress messages and files that are fetched.
//!
//! A part that was handed to the program and has no answer is unknown; nothing is handed over twice here.

use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use crate::channels::card::{self, Card, CardLimit, Line};
use crate::channels::health::HealthLog;
use crate::channels::http::CallError;
use crate::channels::pacing::Pacing;
use crate::channels::parts;
use crate::channels::platform::Platform;
use crate::channels::process::greeting::said;
use crate::channels::process::session::{AskError, Session};
use crate::channels::process::wire::{
    BridgeMessage, Idempotency, MAX_FILE, ProgramMessage, TextFormat,
};
use crate::client::channel_port::ChannelPort;
use crate::protocol::artifact::SentFile;
use crate::protocol::bridge::{
    Delivery, FileRequest, Outbound, OutboundBody, SendOutcome, unescape_conversation,
};
use crate::text::chunk::{chunk, length};
use crate::text::markdown::to_plain;
use crate::text::untrusted::limit_line;

/// Cells of a program's words in an outcome.
const SAID: usize = 300;
/// Rest before a part is handed over again that was not handed over.
const REST: Duration = Duration::from_secs(1);
/// Longest rest that a program can ask for.
const LONGEST_REST: Duration = Duration::from_hours(24);

/// The platform behind one run of a program.
pub struct ProcessPlatform {
    /// The run.
    pub session: Arc<Session>,
    /// Engine side.
    pub port: Arc<dyn ChannelPort>,
    /// Where exchanges are noted.
    pub health: Arc<HealthLog>,
    /// Rates.
    pub pacing: Arc<Pacing>,
}

/// How the program answered a request that changes something at the platform.
type Answer = Result<ProgramMessage, AskError>;

impl ProcessPlatform {
    fn interval(&self) -> Duration {
        Duration::from_millis(self.session.capabilities.interval_ms)
    }

    /// Asks the program whether a send arrived.
    pub async fn look_up(&self, part: &Outbound) -> Delivery {
        if self.session.capabilities.idempotency != Idempotency::Reconcile {
            return Delivery::Unclear {
                detail: "its program cannot look".to_owned(),
            };
        }
        let answer = self.session.ask(|id| BridgeMessage::LookUp {
            id,
            key: part.idempotency_key.clone(),
            conversation: unescape_conversation(&part.conversation),
        });
        match answer.await {
            Ok(ProgramMessage::Sent { refs, .. }) => Delivery::Sent {
                external_refs: refs,
            },
            Ok(ProgramMessage::NotSent { .. }) => Delivery::NotSent,
            Ok(ProgramMessage::Unknown { detail, .. }) => Delivery::Unclear {
                detail: said(&detail, "its program cannot tell"),
            },
            Ok(other) => Delivery::Unclear {
                detail: format!("its program answered with `{}`", other.kind()),
            },
            Err(AskError::NotHanded(why) | AskError::Lost(why)) => {
                Delivery::Unclear { detail: why }
            }
        }
    }

    async fn send(&self, part: &Outbound, key: String, text: String, format: TextFormat) -> Answer {
        let conversation = unescape_conversation(&part.conversation);
        let reply_to = part.reply_to.clone();
        let asked = self.session.ask(|id| BridgeMessage::Send {
            id,
            key,
            conversation,
            text,
            format,
            reply_to,
        });
        asked.await
    }

    /// A text in what the program takes. One that grew beyond the limit as plain text goes in pieces.
    async fn send_markdown(&self, part: &Outbound, text: &str) -> SendOutcome {
        let said = &self.session.capabilities;
        let key = &part.idempotency_key;
        let text = match said.format {
            TextFormat::Markdown => text.to_owned(),
            TextFormat::Plain => to_plain(text),
        };
        let pieces = if length(&text, said.unit) <= said.max_length {
            vec![text]
        } else {
            chunk(&text, said.max_length, said.unit)
        };
        let count = pieces.len();
        let mut external_refs = Vec::new();
        for (at, piece) in pieces.into_iter().enumerate() {
            let key = if at == 0 {
                key.clone()
            } else {
                format!("{key}-{at}")
            };
            let outcome = self.send(part, key, piece, said.format).await;
            let why = match self.outcome(&part.conversation, outcome) {
                SendOutcome::Sent {
                    external_refs: refs,
                }
                | SendOutcome::Shortened {
                    external_refs: refs,
                } => {
                    external_refs.extend(refs);
                    continue;
                }
                outcome if at == 0 => return outcome,
                SendOutcome::Retry { error: why, .. }
                | SendOutcome::Failed { error: why }
                | SendOutcome::Unknown { detail: why } => why,
            };
            // Where the program keeps keys, all pieces are handed over again.
            return parts::partly_sent(at, count, &why);
        }
        SendOutcome::Sent { external_refs }
    }

    async fn send_file(&self, part: &Outbound, file: &SentFile) -> SendOutcome {
        let key = part.idempotency_key.clone();
        if !self.session.capabilities.files {
            let text = format!("A file that this chat cannot show: {}", file.line());
            let answer = self.send(part, key, text, TextFormat::Plain).await;
            return self.outcome(&part.conversation, answer);
        }
        if file.artifact.size > MAX_FILE {
            return parts::never(format!(
                "{} has more than the {} MiB that a bridge's program can be handed",
                limit_line(&file.name, SAID),
                MAX_FILE >> 20
            ));
        }
        let content = match parts::file_content(self.port.as_ref(), file).await {
            Ok(content) => content,
            Err(outcome) => return outcome,
        };
        let asked = self.session.ask(|id| BridgeMessage::File {
            id,
            key,
            conversation: unescape_conversation(&part.conversation),
            name: file.name.clone(),
            media_type: file.artifact.media_type.clone(),
            data: BASE64.encode(&content),
            reply_to: part.reply_to.clone(),
        });
        self.outcome(&part.conversation, asked.await)
    }

    async fn send_card(&self, part: &Outbound, card: Card) -> SendOutcome {
        let shows_buttons = self.session.capabilities.buttons;
        let buttons = if shows_buttons {
            card.buttons
        } else {
            Vec::new()
        };
        let asked = self.session.ask(|id| BridgeMessage::Card {
            id,
            key: part.idempotency_key.clone(),
            conversation: unescape_conversation(&part.conversation),
            text: card::plain_text(&card.lines),
            buttons,
        });
        match self.outcome(&part.conversation, asked.await) {
            SendOutcome::Sent { external_refs } if !card.whole => {
                SendOutcome::Shortened { external_refs }
            }
            outcome => outcome,
        }
    }

    /// A settled question: its message is changed, or told of where messages cannot be changed.
    async fn settle_card(&self, part: &Outbound, lines: &[Line], message_ref: &str) -> SendOutcome {
        let text = card::plain_text(lines);
        if !self.session.capabilities.edits {
            let key = part.idempotency_key.clone();
            let answer = self.send(part, key, text, TextFormat::Plain).await;
            return self.outcome(&part.conversation, answer);
        }
        let asked = self.session.ask(|id| BridgeMessage::CardUpdate {
            id,
            conversation: unescape_conversation(&part.conversation),
            message_ref: message_ref.to_owned(),
            text,
        });
        self.outcome(&part.conversation, asked.await)
    }

    /// What is known of a send, from how the program answered.
    fn outcome(&self, conversation: &str, answer: Answer) -> SendOutcome {
        match answer {
            Ok(ProgramMessage::Sent {
                refs, shortened, ..
            }) => parts::accepted(&self.health, refs, !shortened),
            Ok(ProgramMessage::Failed { error, .. }) => {
                self.health.refused();
                SendOutcome::Failed {
                    error: said(&error, "its program gives no reason"),
                }
            }
            Ok(ProgramMessage::Retry {
                after_ms, error, ..
            }) => {
                let rest = Duration::from_millis(after_ms).min(LONGEST_REST);
                self.pacing.freeze(conversation, rest, Instant::now());
                SendOutcome::Retry {
                    not_before: self.health.limited(rest),
                    error: said(&error, "the platform asks to wait"),
                }
            }
            Ok(ProgramMessage::NotSent { .. }) => self.again("its program did not send it"),
            Ok(ProgramMessage::Unknown { detail, .. }) => {
                let detail = said(&detail, "its program does not know");
                self.health.send_failing(detail.clone());
                SendOutcome::Unknown { detail }
            }
            Ok(other) => SendOutcome::Unknown {
                detail: format!("its program answered with `{}`", other.kind()),
            },
            Err(AskError::NotHanded(why)) => self.again(&why),
            Err(AskError::Lost(detail)) => {
                self.health.send_failing(detail.clone());
                SendOutcome::Unknown { detail }
            }
        }
    }

    fn again(&self, why: &str) -> SendOutcome {
        let rest = i64::try_from(REST.as_millis()).unwrap_or(i64::MAX);
        SendOutcome::Retry {
            not_before: self.health.now().plus_millis(rest),
            error: why.to_owned(),
        }
    }

    fn limit(&self) -> CardLimit {
        let said = &self.session.capabilities;
        CardLimit {
            max: said.max_length,
            unit: said.unit,
        }
    }
}

#[async_trait]
impl Platform for ProcessPlatform {
    fn may_send(&self, conversation: &str) -> Result<(), Duration> {
        (self.pacing).take(conversation, self.interval(), Instant::now())
    }

    async fn deliver(&self, part: &Outbound) -> SendOutcome {
        match &part.body {
            OutboundBody::Markdown { text } => self.send_markdown(part, text).await,
            OutboundBody::File(file) => self.send_file(part, file).await,
            OutboundBody::Card { approval, buttons } => {
                let card = card::question(approval, buttons, self.limit());
                self.send_card(part, card).await
            }
            OutboundBody::CardUpdate {
                approval,
                external_ref,
            } => {
                let lines = card::outcome(approval);
                self.settle_card(part, &lines, external_ref).await
            }
        }
    }

    async fn typing(&self, conversation: &str) {
        if self.session.capabilities.typing && self.pacing.take_typing(conversation, Instant::now())
        {
            let conversation = unescape_conversation(conversation);
            self.session
                .tell(&BridgeMessage::Typing { conversation })
                .await;
        }
    }

    fn may_show_progress(&self, conversation: &str) -> bool {
        let now = Instant::now();
        self.session.capabilities.edits
            && (self.pacing).take_progress(conversation, self.interval(), now)
    }

    async fn show_progress(
        &self,
        conversation: &str,
        shown: Option<&str>,
        text: &str,
    ) -> Option<String> {
        let said = &self.session.capabilities;
        let (conversation, format) = (unescape_conversation(conversation), said.format);
        let text = match format {
            TextFormat::Markdown => text.to_owned(),
            TextFormat::Plain => to_plain(text),
        };
        // The newest is at the end.
        let text = chunk(&text, said.max_length, said.unit).pop()?;
        let answer = match shown {
            Some(message_ref) => {
                let message_ref = message_ref.to_owned();
                let asked = self.session.ask(|id| BridgeMessage::Edit {
                    id,
                    conversation,
                    message_ref,
                    text,
                    format,
                });
                asked.await
            }
            None => {
                let asked = self.session.ask(|id| BridgeMessage::Send {
                    id,
                    // Nobody sends it again.
                    key: format!("progress-{}-{id}", self.health.now()),
                    conversation,
                    text,
                    format,
                    reply_to: None,
                });
                asked.await
            }
        };
        match (answer, shown) {
            (Ok(ProgramMessage::Sent { refs, .. }), None) => refs.into_iter().next(),
            (_, shown) => shown.map(str::to_owned),
        }
    }

    async fn remove_progress(&self, conversation: &str, message_ref: &str) {
        let asked = self.session.ask(|id| BridgeMessage::Delete {
            id,
            conversation: unescape_conversation(conversation),
            message_ref: message_ref.to_owned(),
        });
        // Decoration: what stays does not matter.
        let _ = asked.await;
    }

    async fn fetch(&self, request: &FileRequest) -> Result<Vec<u8>, CallError> {
        let max_bytes = request.max_bytes.min(MAX_FILE);
        let asked = self.session.ask(|id| BridgeMessage::Fetch {
            id,
            reference: request.reference.clone(),
            max_bytes,
        });
        match asked.await {
            Ok(ProgramMessage::Fetched { data, .. }) => {
                let content = BASE64.decode(data).map_err(|error| {
                    CallError::refused(400, format!("its program's `data` is no base64: {error}"))
                })?;
                if content.len() as u64 > max_bytes {
                    return Err(CallError::too_large(max_bytes));
                }
                Ok(content)
            }
            Ok(ProgramMessage::Failed { error, .. }) => Err(CallError::refused(
                404,
                said(&error, "its program does not have it"),
            )),
            Ok(ProgramMessage::Retry { after_ms, .. }) => Err(CallError::Limited {
                retry_after: Duration::from_millis(after_ms).min(LONGEST_REST),
                everything: false,
            }),
            Ok(other) => Err(CallError::refused(
                400,
                format!("its program answered with `{}`", other.kind()),
            )),
            Err(AskError::NotHanded(detail)) => Err(CallError::NotSent { detail }),
            Err(AskError::Lost(detail)) => Err(CallError::Lost { detail }),
        }
    }
}
