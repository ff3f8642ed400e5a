//! What an answer cites: what the steps of its turn read. The engine finds it in what was recorded; no model makes it.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::protocol::enums::CitationKind;
use crate::protocol::schema;

/// Most sources that are named.
pub const MOST_CITED: usize = 20;

/// Something that a turn read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Citation {
    /// What it is.
    pub kind: CitationKind,
    /// Path of a file, `artifact:` and its hash, or id of a memory: outside text.
    pub source: String,
}

/// What an answer cites.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Citations {
    /// The sources, in the order in which they were first read; at most 20.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub items: Vec<Citation>,
    /// How many more there are.
    #[serde(default, skip_serializing_if = "schema::is_default")]
    pub more: u32,
}

impl Citations {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The first of these sources, each once.
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

    /// `file notes.md`, one line for each source, and how many more there are: outside text.
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
