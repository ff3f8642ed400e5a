//! What a rule is. A rule reads; its queries are fixed text and take time in proportion to the rows they look at,
//! never to their square.

use crate::protocol::doctor::RuleResult;
use crate::protocol::ids::{
    ApprovalId, ContinuationId, HygieneRunId, MemoryId, ModelAttemptId, OutboxId, SessionId,
    ToolCallId,
};
use crate::store::error::StoreError;
use crate::store::reader::Reader;
use crate::store::sql::{Row, Statements};

/// A broken invariant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// Its name in DESIGN.md: `I4`; `file` for the database file itself.
    pub invariant: &'static str,
    /// What is wrong, with ids.
    pub detail: String,
}

/// Violations of one rule that are named; further ones are counted.
const NAMED: usize = 100;

/// What the first column of a rule's answer is.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Subject {
    /// Text that names it.
    Text,
    /// Id of a session.
    Session,
    /// Id of a continuation.
    Continuation,
    /// Id of a tool call.
    Call,
    /// Id of an approval.
    Approval,
    /// Id of an outbound part.
    Outbox,
    /// Id of a model attempt.
    ModelAttempt,
    /// Id of a memory.
    Memory,
    /// Id of a run of hygiene.
    HygieneRun,
}

impl Subject {
    fn name(self, row: &Row<'_>) -> Result<String, StoreError> {
        let id = |make: fn([u8; 16]) -> String| row.first().map(make);
        match self {
            Self::Text => Ok(row.first::<Option<String>>()?.unwrap_or_default()),
            Self::Session => id(|bytes| SessionId::from_bytes(bytes).to_string()),
            Self::Continuation => id(|bytes| ContinuationId::from_bytes(bytes).to_string()),
            Self::Call => id(|bytes| ToolCallId::from_bytes(bytes).to_string()),
            Self::Approval => id(|bytes| ApprovalId::from_bytes(bytes).to_string()),
            Self::Outbox => id(|bytes| OutboxId::from_bytes(bytes).to_string()),
            Self::ModelAttempt => id(|bytes| ModelAttemptId::from_bytes(bytes).to_string()),
            Self::Memory => id(|bytes| MemoryId::from_bytes(bytes).to_string()),
            Self::HygieneRun => id(|bytes| HygieneRunId::from_bytes(bytes).to_string()),
        }
    }
}

/// How a rule finds its violations.
#[derive(Clone, Copy)]
pub(crate) enum Find {
    /// A query that answers them: what they are about, and optionally, as `note`, a word more about each.
    Query(Subject, &'static str),
    /// What no query can say.
    Code(fn(&Reader<'_>, &mut Findings) -> Result<(), StoreError>),
}

/// One rule.
#[derive(Clone, Copy)]
pub(crate) struct Rule {
    /// Name in DESIGN.md, or `file`.
    pub(crate) invariant: &'static str,
    /// What a violation is.
    pub(crate) broken: &'static str,
    /// The rows it looks at: what stands behind FROM when they are counted. Empty where the code counts.
    pub(crate) examined: &'static str,
    pub(crate) find: Find,
}

/// A rule that is a query.
pub(crate) const fn query(
    invariant: &'static str,
    broken: &'static str,
    examined: &'static str,
    subject: Subject,
    query: &'static str,
) -> Rule {
    Rule {
        invariant,
        broken,
        examined,
        find: Find::Query(subject, query),
    }
}

/// A rule that is code.
pub(crate) const fn code(
    invariant: &'static str,
    broken: &'static str,
    find: fn(&Reader<'_>, &mut Findings) -> Result<(), StoreError>,
) -> Rule {
    Rule {
        invariant,
        broken,
        examined: "",
        find: Find::Code(find),
    }
}

/// What a rule has found so far.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    pub(crate) rows: u64,
    violations: u64,
    named: Vec<String>,
}

impl Findings {
    /// Notes a violation.
    pub(crate) fn add(&mut self, what: impl FnOnce() -> String) {
        self.violations += 1;
        if self.named.len() < NAMED {
            self.named.push(what());
        }
    }
}

impl Rule {
    /// Runs the rule in the reader's transaction.
    pub(crate) fn run(&self, reader: &Reader<'_>) -> Result<RuleResult, StoreError> {
        let mut found = Findings::default();
        if !self.examined.is_empty() {
            let count = format!("SELECT count(*) FROM {}", self.examined);
            found.rows = reader.conn.value(&count, [])?;
        }
        match self.find {
            Find::Query(subject, query) => {
                reader.conn.each(query, [], |row| {
                    let name = subject.name(row)?;
                    let note: Option<String> = if row.has("note") {
                        row.get("note")?
                    } else {
                        None
                    };
                    found.add(|| match note {
                        Some(note) => format!("{name} {note}"),
                        None => name,
                    });
                    Ok(())
                })?;
            }
            Find::Code(find) => find(reader, &mut found)?,
        }
        Ok(RuleResult {
            invariant: self.invariant.to_owned(),
            broken: self.broken.to_owned(),
            rows: found.rows,
            violations: found.violations,
            found: found.named,
        })
    }
}
