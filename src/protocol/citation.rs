//! The sources of an answer: what the steps of its turn read. The engine takes them from the
//! record; no model writes them.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::protocol::enums::CitationKind;
use crate::protocol::schema;

/// Most sources in one list.
pub const MOST_CITED: usize = 20;

/// A source that a turn read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Citation {
    /// Kind of the source.
    pub kind: CitationKind,
    /// Path of a file, `artifact:` and its hash, or id of a memory: untrusted text.
    pub source: String,
}

/// The sources of an answer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Citations {
    /// The sources in the order of the first read; at most 20.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub items: Vec<Citation>,
    /// Number of further sources.
    #[serde(default, skip_serializing_if = "schema::is_default")]
    pub more: u32,
}

impl Citations {
    /// Whether there is no source.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The first of these sources, without repetitions.
    pub fn of(read: Vec<Citation>) -> Self {
        let mut known = BTreeSet::new();
        let mut items = Vec::new();
        let mut more = 0;
        for one in read {
            if known.insert((one.kind.as_str(), one.source.clone())) {
                if items.len() < MOST_CITED {
                    items.push(one);
                } else {
                    more += 1;
                }
            }
        }
        Self { items, more }
    }

    /// `file notes.md`, one line for each source, and how many more there are: untrusted text.
    pub fn lines(&self) -> Vec<String> {
        let items = self.items.iter();
        let mut lines: Vec<String> = items
            .map(|item| format!("{} {}", item.kind, item.source))
            .collect();
        if self.more > 0 {
            lines.push(format!("and {} more", self.more));
        }
        lines
    }
}
