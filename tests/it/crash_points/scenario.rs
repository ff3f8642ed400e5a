//! What happens in a world: who writes what, what the operator means to do about it, and what must be true of it in
//! the end, whatever died on the way.

use serde_json::{Value, json};

use crate::crash_points::world::{BEA, BEN};

/// The words a long answer is made of: enough for two parts.
const WORDS: usize = 620;
/// The end of Bea's turn.
const BEA_ANSWER: &str = "the command ran and the files are listed";
/// The end of a turn whose command was refused.
const REFUSED_ANSWER: &str = "I did not do it: execute_command was not allowed. denied by the operator. Do not repeat this call.\n\
                              Tell me if there is another way you would like.";
/// The conversation of the API's client.
pub const API_CONVERSATION: &str = "crash";
/// The script that one of Bea's calls runs, in her channel's workspace.
pub const SCRIPT: &str = "do.sh";
/// What it does until somebody changes it.
pub const SCRIPT_BEFORE: &str = "echo ran >> ledger.txt\n";
/// What it does afterwards.
pub const SCRIPT_AFTER: &str = "echo changed >> ledger.txt\n";

/// An answer of two parts.
fn long_answer() -> String {
    let words: Vec<String> = (0..WORDS).map(|n| format!("word{n:04}")).collect();
    words.join(" ")
}

/// A line of the scripted model that calls for a command which writes `label` into the tool's own ledger.
fn command(label: &str, then: &str) -> String {
    let script = format!("echo {label} >> ledger.txt{then}");
    format!(
        "TOOL:execute_command{}",
        json!({ "argv": ["sh", "-c", script] })
    )
}

/// Something a person writes.
#[derive(Debug, Clone)]
pub struct Message {
    /// The chat at the platform; none = the API's client.
    pub chat: Option<i64>,
    /// What is written: the scripted model's directions.
    pub text: String,
    /// How its turn must end.
    pub end: End,
}

/// How a turn must end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// With this answer, shown in this many parts.
    Answered(String, usize),
    /// With one of these answers, shown in one part.
    OneOf(&'static [&'static str]),
    /// On the operator's word.
    Cancelled,
    /// Because nobody decided.
    Expired,
}

/// A story that is played until its end, with deaths in between.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scenario {
    /// Three people write at once; one command is approved over HTTP.
    Approve,
    /// The same, approved with the button of a card.
    ApproveByButton,
    /// A command is refused, and the turn goes on without it.
    Deny,
    /// A command is refused, and the turn ends.
    DenyAndStop,
    /// The operator changes the command, then approves it.
    Edit,
    /// The operator cancels while the command waits for a decision.
    CancelWaiting,
    /// The operator cancels while the command runs.
    CancelRunning,
    /// Nobody decides.
    Expiry,
    /// A step of five calls: two need nobody, two are approved, one is refused.
    Parallel,
    /// One command; what nobody knows is answered as it was.
    Unknown,
    /// One command; what nobody knows is given up.
    GiveUp,
    /// An answer of two parts; what nobody knows is answered as it was, where it is asked.
    Reply,
    /// The same, answered in the list of deliveries.
    ReplyFromList,
    /// An answer of two parts; what nobody knows is dropped.
    Drop,
    /// Two messages of one conversation, the second behind the first.
    Queue,
    /// The script that was approved is changed while the daemon is away.
    Changed,
    /// Four messages of one conversation, of which the oldest become a summary.
    Compact,
}

/// What the operator does about a command that waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Word {
    /// Allows it, with a request.
    Approve,
    /// Allows it, with the button of the card.
    Press,
    /// Refuses it.
    Deny,
    /// Refuses it and ends the turn.
    DenyAndStop,
    /// Gives it other arguments first.
    Edit,
    /// Nothing.
    Wait,
}

impl Scenario {
    /// All of them.
    pub const ALL: &'static [Self] = &[
        Self::Approve,
        Self::ApproveByButton,
        Self::Deny,
        Self::DenyAndStop,
        Self::Edit,
        Self::CancelWaiting,
        Self::CancelRunning,
        Self::Expiry,
        Self::Parallel,
        Self::Unknown,
        Self::GiveUp,
        Self::Reply,
        Self::ReplyFromList,
        Self::Drop,
        Self::Queue,
        Self::Changed,
        Self::Compact,
    ];

    /// Its name in schedules and in the report.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Approve => "approve",
            Self::ApproveByButton => "approve by button",
            Self::Deny => "deny",
            Self::DenyAndStop => "deny and stop",
            Self::Edit => "edit, then approve",
            Self::CancelWaiting => "cancel while it waits",
            Self::CancelRunning => "cancel while it runs",
            Self::Expiry => "nobody decides",
            Self::Parallel => "five calls at once",
            Self::Unknown => "unknown outcome, answered truthfully",
            Self::GiveUp => "unknown outcome, given up",
            Self::Reply => "unknown reply, answered truthfully",
            Self::ReplyFromList => "unknown reply, settled in the list",
            Self::Drop => "unknown reply, dropped",
            Self::Queue => "two messages of one conversation",
            Self::Changed => "script changed while the daemon was away",
            Self::Compact => "a conversation that is compacted",
        }
    }

    /// Lines of the configuration beyond those that all have.
    pub const fn settings(self) -> &'static str {
        match self {
            Self::Expiry => "[approvals]\nlife_seconds = 1\nhigh_risk_life_seconds = 1\n",
            Self::Compact => {
                "[engine]\nhistory_exchanges = 1\nhistory_share = 0\n\n[memory]\ncompaction_exchanges = 2\n"
            }
            Self::Approve
            | Self::ApproveByButton
            | Self::Deny
            | Self::DenyAndStop
            | Self::Edit
            | Self::CancelWaiting
            | Self::CancelRunning
            | Self::Parallel
            | Self::Unknown
            | Self::GiveUp
            | Self::Reply
            | Self::ReplyFromList
            | Self::Drop
            | Self::Queue
            | Self::Changed => "",
        }
    }

    /// What is written, in order within each chat.
    pub fn messages(self) -> Vec<Message> {
        let bea = |text: String, end: End| Message {
            chat: Some(BEA),
            text,
            end,
        };
        let asks = |calls: String, answers: &'static [&'static str]| {
            vec![bea(
                format!("{calls}\nSAY:{BEA_ANSWER}"),
                End::OneOf(answers),
            )]
        };
        match self {
            Self::Approve | Self::ApproveByButton => {
                let ben = long_answer();
                vec![
                    Message {
                        chat: Some(BEN),
                        text: format!("SAY:{ben}"),
                        end: End::Answered(ben, 2),
                    },
                    bea(
                        format!(
                            "TOOL:list_files{{}}\n{}\nSAY:{BEA_ANSWER}",
                            command("ran", "")
                        ),
                        End::Answered(BEA_ANSWER.to_owned(), 1),
                    ),
                    Message {
                        chat: None,
                        text: "SAY:answered over HTTP".to_owned(),
                        end: End::Answered("answered over HTTP".to_owned(), 0),
                    },
                ]
            }
            Self::Deny => asks(command("ran", ""), &[REFUSED_ANSWER]),
            Self::Edit | Self::Unknown | Self::GiveUp => asks(command("ran", ""), &[BEA_ANSWER]),
            Self::DenyAndStop | Self::CancelWaiting => {
                vec![bea(command("ran", ""), End::Cancelled)]
            }
            Self::CancelRunning => vec![bea(command("ran", "; sleep 20"), End::Cancelled)],
            Self::Expiry => vec![bea(command("ran", ""), End::Expired)],
            Self::Parallel => asks(
                [
                    "TOOL:list_files{}",
                    &command("first", ""),
                    &command("second", ""),
                    "TOOL:list_files{\"path\":\".\"}",
                    &command("third", ""),
                ]
                .join("\n"),
                &[REFUSED_ANSWER],
            ),
            Self::Changed => asks(
                format!("TOOL:execute_command{{\"argv\":[\"sh\",\"{SCRIPT}\"]}}"),
                &[BEA_ANSWER, REFUSED_ANSWER],
            ),
            Self::Reply | Self::ReplyFromList | Self::Drop => {
                let answer = long_answer();
                vec![bea(format!("SAY:{answer}"), End::Answered(answer, 2))]
            }
            Self::Compact => ["first", "second", "third", "fourth"]
                .map(|which| {
                    let answer = format!("the {which} of four");
                    bea(format!("SAY:{answer}"), End::Answered(answer, 1))
                })
                .to_vec(),
            Self::Queue => ["first", "second"]
                .map(|which| {
                    let answer = format!("the {which} answer");
                    bea(
                        format!("TOOL:list_files{{}}\nSAY:{answer}"),
                        End::Answered(answer, 1),
                    )
                })
                .to_vec(),
        }
    }

    /// What the operator does about a call that asks to run.
    pub fn word(self, approval: &Value, script_changed: bool) -> Word {
        let args = approval["args"].to_string();
        match self {
            Self::Approve | Self::CancelRunning | Self::Unknown | Self::GiveUp => Word::Approve,
            Self::ApproveByButton => Word::Press,
            Self::Deny => Word::Deny,
            Self::DenyAndStop => Word::DenyAndStop,
            Self::Edit if args.contains("edited") => Word::Approve,
            Self::Edit => Word::Edit,
            Self::Parallel if args.contains("second") => Word::Deny,
            Self::Parallel => Word::Approve,
            Self::Changed if script_changed => Word::Deny,
            Self::Changed => Word::Approve,
            Self::CancelWaiting
            | Self::Expiry
            | Self::Reply
            | Self::ReplyFromList
            | Self::Drop
            | Self::Queue
            | Self::Compact => Word::Wait,
        }
    }

    /// Whether the operator cancels a turn that is in `state` while the tool's ledger holds `effects` lines.
    pub fn cancels(self, state: &str, effects: usize) -> bool {
        match self {
            Self::CancelWaiting => matches!(state, "awaiting_approval" | "interrupted"),
            Self::CancelRunning => state == "interrupted" || effects > 0,
            Self::Approve
            | Self::ApproveByButton
            | Self::Deny
            | Self::DenyAndStop
            | Self::Edit
            | Self::Expiry
            | Self::Parallel
            | Self::Unknown
            | Self::GiveUp
            | Self::Reply
            | Self::ReplyFromList
            | Self::Drop
            | Self::Queue
            | Self::Changed
            | Self::Compact => false,
        }
    }

    /// How often each line may stand in the tool's ledger in the end: label, least, most.
    pub const fn effects(self) -> &'static [(&'static str, usize, usize)] {
        match self {
            Self::Approve | Self::ApproveByButton | Self::Unknown => &[("ran", 1, 1)],
            Self::Edit => &[("edited", 1, 1)],
            Self::Parallel => &[("first", 1, 1), ("third", 1, 1)],
            // What was under way when everything died may not have come to its effect.
            Self::CancelRunning | Self::GiveUp | Self::Changed => &[("ran", 0, 1)],
            Self::Deny
            | Self::DenyAndStop
            | Self::CancelWaiting
            | Self::Expiry
            | Self::Reply
            | Self::ReplyFromList
            | Self::Drop
            | Self::Queue
            | Self::Compact => &[],
        }
    }

    /// Whether a call of a command may be in this state in the end.
    pub fn may_end(self, args: &str, state: &str) -> bool {
        let ran = matches!(state, "succeeded" | "succeeded_by_note");
        match self {
            Self::Approve | Self::ApproveByButton | Self::Edit | Self::Unknown => ran,
            Self::Deny | Self::DenyAndStop => state == "denied",
            Self::CancelWaiting => state == "cancelled",
            Self::CancelRunning => matches!(state, "cancelled" | "indeterminate"),
            Self::Expiry => state == "expired",
            Self::Parallel if args.contains("second") => state == "denied",
            Self::Parallel => ran,
            Self::GiveUp => ran || state == "abandoned",
            Self::Changed => ran || state == "denied",
            Self::Reply | Self::ReplyFromList | Self::Drop | Self::Queue | Self::Compact => false,
        }
    }

    /// The notice of ours that the chat must have been shown exactly once, where there is one.
    pub const fn notice(self) -> Option<&'static str> {
        match self {
            Self::CancelWaiting | Self::CancelRunning => {
                Some("The operator cancelled this request.")
            }
            Self::Expiry => {
                Some("This request expired: nobody decided. Ask again if it is still needed.")
            }
            Self::Approve
            | Self::ApproveByButton
            | Self::Deny
            | Self::DenyAndStop
            | Self::Edit
            | Self::Parallel
            | Self::Unknown
            | Self::GiveUp
            | Self::Reply
            | Self::ReplyFromList
            | Self::Drop
            | Self::Queue
            | Self::Changed
            | Self::Compact => None,
        }
    }
}
