//! How an installation stands, in a few words: for the title of a terminal and for status bars.
//!
//! Nothing here says what a question is about: others see titles and bars.

use schemars::JsonSchema;
use serde::Serialize;

use crate::clock::Timestamp;
use crate::console::format;
use crate::console::model::Model;
use crate::protocol::enums::ContinuationState;
use crate::protocol::session::RefusedCalls;

/// What matters most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StatusLevel {
    /// No engine answers.
    Off,
    /// An emergency stop, a quarantine or a database that cannot be written holds work.
    Held,
    /// Something waits for a person.
    Waiting,
    /// Nothing waits for a person.
    Quiet,
}

impl StatusLevel {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Held => "held",
            Self::Waiting => "waiting",
            Self::Quiet => "quiet",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Status {
    /// What matters most.
    pub level: StatusLevel,
    /// Name of the instance; none = no engine answers.
    pub instance: Option<String>,
    /// Queue items that need a person.
    pub waiting: usize,
    /// Since when the oldest of them waits.
    pub oldest_at: Option<Timestamp>,
    /// Turns that run.
    pub running: usize,
    /// Calls that were refused because too many waited, and that nobody dismissed.
    pub refused_calls: usize,
    /// What holds work, in words.
    pub held_by: Vec<String>,
}

impl Status {
    /// That of a console's model.
    pub fn of(model: &Model) -> Self {
        let (waiting, oldest_at) = model.needs();
        let engine = model.world().engine.as_ref();
        let held_by: Vec<String> = engine.map_or_else(Vec::new, |engine| {
            [
                (engine.quarantine, "quarantine"),
                (
                    engine.held_since.is_some() && !engine.quarantine,
                    "emergency stop",
                ),
                (engine.draining.is_some(), "draining"),
                (!engine.writable, "cannot save"),
            ]
            .into_iter()
            .filter(|(holds, _)| *holds)
            .map(|(_, word)| word.to_owned())
            .collect()
        });
        let running = model
            .hosts
            .worlds()
            .flat_map(|world| world.continuations.values());
        Self {
            level: match (engine, held_by.is_empty(), waiting) {
                (None, _, _) => StatusLevel::Off,
                (Some(_), false, _) => StatusLevel::Held,
                (Some(_), true, 1..) => StatusLevel::Waiting,
                (Some(_), true, 0) => StatusLevel::Quiet,
            },
            instance: engine.map(|engine| engine.instance.clone()),
            waiting,
            oldest_at,
            running: running
                .filter(|turn| {
                    matches!(
                        turn.state,
                        ContinuationState::Running | ContinuationState::Streaming
                    )
                })
                .count(),
            refused_calls: model.world().refused_calls(None),
            held_by,
        }
    }

    /// That of an engine that does not answer.
    pub const fn off() -> Self {
        Self {
            level: StatusLevel::Off,
            instance: None,
            waiting: 0,
            oldest_at: None,
            running: 0,
            refused_calls: 0,
            held_by: Vec::new(),
        }
    }

    /// In words, what matters most first.
    pub fn words(&self, now: Timestamp) -> Vec<String> {
        if self.level == StatusLevel::Off {
            return vec!["off".to_owned()];
        }
        let mut words: Vec<String> = self.held_by.clone();
        let age = self.oldest_at.map_or_else(String::new, |at| {
            format!(" (oldest {})", format::age(now, at))
        });
        words.push(match self.waiting {
            0 => "nothing needs you".to_owned(),
            1 => format!("1 needs you{age}"),
            waiting => format!("{waiting} need you{age}"),
        });
        if self.refused_calls > 0 {
            words.push(RefusedCalls::text(self.refused_calls));
        }
        match self.running {
            0 => {}
            1 => words.push("1 turn runs".to_owned()),
            running => words.push(format!("{running} turns run")),
        }
        words
    }

    /// For the title of a terminal: `(3) leverframe`.
    pub fn title(&self) -> String {
        let name = match self.instance.as_deref() {
            None | Some("leverframe") => "leverframe".to_owned(),
            Some(instance) => format!("leverframe {instance}"),
        };
        match (self.level, self.waiting) {
            (StatusLevel::Held, _) => format!("STOP {name}"),
            (StatusLevel::Off | StatusLevel::Waiting | StatusLevel::Quiet, 0) => name,
            (StatusLevel::Off | StatusLevel::Waiting | StatusLevel::Quiet, waiting) => {
                format!("({waiting}) {name}")
            }
        }
    }
}
