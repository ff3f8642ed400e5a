//! `leverframe audit report`: what a month of the audit says, for a reader. Only counts and sentences of rows that are
//! there; nothing here judges.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use crate::cli::document::Block;
use crate::clock::{Clock, Day, Timestamp};
use crate::console::audit_sentence::sentence;
use crate::protocol::costs::CostItem;
use crate::protocol::doctor::{AuditReport, AuditRow};

/// Most sentences of one section.
const MOST_LINES: usize = 500;
/// In place of the tool of a call that a row does not name.
const UNNAMED: &str = "a call";

/// What a month of the audit says.
#[derive(Debug, Default, Serialize)]
pub struct MonthReport {
    /// `2026-01`.
    month: String,
    /// Rows of the month.
    rows: u64,
    /// Numbers of the first and the last of them.
    first_seq: Option<u64>,
    last_seq: Option<u64>,
    /// The whole audit, walked.
    chain: Option<AuditReport>,
    /// Decisions by person, then by word.
    decisions: BTreeMap<String, BTreeMap<String, u64>>,
    /// Allowed calls by tool, channel and person.
    allowed: BTreeMap<String, BTreeMap<String, BTreeMap<String, u64>>>,
    /// Calls that ran, by tool and channel.
    ran: BTreeMap<String, BTreeMap<String, u64>>,
    /// Calls that the engine refused, by tool and channel.
    refused: BTreeMap<String, BTreeMap<String, u64>>,
    /// Questions that nobody answered, by channel.
    expired: BTreeMap<String, u64>,
    /// Sentences of the other rows, by section.
    sections: BTreeMap<Section, Sentences>,
    /// Spend by model and by channel.
    spend_by_model: Vec<CostItem>,
    spend_by_channel: Vec<CostItem>,
}

/// Parts of the report that list rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
enum Section {
    EmergencyStops,
    Levels,
    Denials,
    Rules,
    PeopleAtWork,
    Administration,
}

impl Section {
    const ALL: &[Self] = &[
        Self::EmergencyStops,
        Self::Levels,
        Self::Denials,
        Self::Rules,
        Self::PeopleAtWork,
        Self::Administration,
    ];

    const fn heading(self) -> &'static str {
        match self {
            Self::EmergencyStops => "Emergency stops and quarantine",
            Self::Levels => "Policies and raised levels",
            Self::Denials => "Calls that people denied",
            Self::Rules => "Rules and session grants",
            Self::PeopleAtWork => "Conversations that people took over",
            Self::Administration => "Administration",
        }
    }

    /// Where a row is listed; none = it is counted only.
    fn of(row: &AuditRow) -> Option<Self> {
        let (subject, verb) = row.action.split_once('.').unwrap_or((&row.action, ""));
        match (subject, verb) {
            ("engine", "held" | "released") | ("quarantine", _) => Some(Self::EmergencyStops),
            ("policy", _) => Some(Self::Levels),
            ("rule" | "grant", _) | ("approval", "returned") => Some(Self::Rules),
            ("session", "taken_over" | "given_back" | "spoken")
            | ("shell" | "rehearsal", "started")
            | ("tool", "called")
            | ("file_change" | "continuation" | "delivery", _) => Some(Self::PeopleAtWork),
            ("shell" | "rehearsal", "ended")
            | ("tool", "started" | "finished" | "refused" | "asks_again")
            | ("approval" | "memory" | "outcome", _) => None,
            _ => Some(Self::Administration),
        }
    }
}

/// The first of many sentences, and how many more there are.
#[derive(Debug, Default, Serialize)]
struct Sentences {
    lines: Vec<String>,
    more: u64,
}

impl Sentences {
    fn add(&mut self, at: Timestamp, text: &str) {
        if self.lines.len() < MOST_LINES {
            self.lines.push(format!("{}: {text}", at.in_zone()));
        } else {
            self.more += 1;
        }
    }
}

impl MonthReport {
    /// The report of a month without rows.
    pub fn new(month: &str, chain: AuditReport, spend: [Vec<CostItem>; 2]) -> Self {
        let [spend_by_model, spend_by_channel] = spend;
        Self {
            month: month.to_owned(),
            chain: Some(chain),
            spend_by_model,
            spend_by_channel,
            ..Self::default()
        }
    }

    /// Takes a row in; the oldest comes first.
    pub fn take(&mut self, row: &AuditRow) {
        self.rows += 1;
        self.first_seq.get_or_insert(row.seq);
        self.last_seq = Some(row.seq);
        let detail: Value = serde_json::from_str(&row.detail).unwrap_or(Value::Null);
        let word = |name: &str| detail.get(name).and_then(Value::as_str);
        let tool = word("tool").unwrap_or(UNNAMED).to_owned();
        let channel = row.channel.clone().unwrap_or_else(|| "-".to_owned());
        match row.action.as_str() {
            "approval.decided" => {
                let decision = word("decision").unwrap_or("decided").to_owned();
                let denied = matches!(decision.as_str(), "deny" | "deny_and_stop");
                if decision == "approve" {
                    let places = self.allowed.entry(tool).or_default();
                    let people = places.entry(channel).or_default();
                    *people.entry(row.actor.clone()).or_default() += 1;
                }
                let of_person = self.decisions.entry(row.actor.clone()).or_default();
                *of_person.entry(decision).or_default() += 1;
                if denied {
                    self.list(Section::Denials, row);
                }
            }
            "approval.expired" => *self.expired.entry(channel).or_default() += 1,
            "tool.started" => count(&mut self.ran, tool, channel),
            "tool.refused" => count(&mut self.refused, tool, channel),
            _ => {}
        }
        if let Some(section) = Section::of(row) {
            self.list(section, row);
        }
    }

    fn list(&mut self, section: Section, row: &AuditRow) {
        let mut text = sentence(row, None);
        if section == Section::Levels {
            text += &level(row);
        }
        self.sections.entry(section).or_default().add(row.at, &text);
    }

    /// The heading of the report.
    pub fn title(&self) -> String {
        format!("Audit of {}", self.month)
    }

    /// The report as a document.
    pub fn blocks(&self) -> Vec<Block> {
        let mut blocks = vec![Block::Heading(1, self.title())];
        blocks.push(Block::Paragraph(self.rows_line()));
        blocks.extend(self.chain.as_ref().map(chain_line));
        let heads: &[&str] = &["person", "decision", "times"];
        let decisions = self.decisions.iter().flat_map(|(person, words)| {
            words.iter().map(|(word, times)| {
                vec![person.clone(), word.replace('_', " "), times.to_string()]
            })
        });
        table(&mut blocks, "Who decided", heads, decisions.collect());
        let heads: &[&str] = &["tool", "channel", "allowed by", "times"];
        let allowed = self.allowed.iter().flat_map(|(tool, places)| {
            places.iter().flat_map(move |(channel, people)| {
                people.iter().map(move |(person, times)| {
                    let words = [tool, channel, person].map(|word| (*word).clone());
                    words.into_iter().chain([times.to_string()]).collect()
                })
            })
        });
        table(&mut blocks, "What people allowed", heads, allowed.collect());
        let heads: &[&str] = &["tool", "channel", "times"];
        table(&mut blocks, "Calls that ran", heads, rows_of(&self.ran));
        table(
            &mut blocks,
            "Calls that the engine refused",
            heads,
            rows_of(&self.refused),
        );
        let expired = self.expired.iter();
        let expired = expired.map(|(channel, times)| vec![channel.clone(), times.to_string()]);
        let heads: &[&str] = &["channel", "times"];
        let unanswered = "Questions that expired";
        table(&mut blocks, unanswered, heads, expired.collect());
        for section in Section::ALL {
            blocks.push(Block::Heading(2, section.heading().to_owned()));
            match self.sections.get(section) {
                None => blocks.push(Block::Paragraph("None.".to_owned())),
                Some(sentences) => {
                    blocks.push(Block::List(sentences.lines.clone()));
                    if sentences.more > 0 {
                        let more = format!(
                            "{} more are not listed here; `leverframe audit list` has them.",
                            sentences.more
                        );
                        blocks.push(Block::Paragraph(more));
                    }
                }
            }
        }
        let heads: &[&str] = &[
            "model",
            "calls",
            "failed",
            "input tokens",
            "output tokens",
            "US dollars",
        ];
        table(
            &mut blocks,
            "Spend by model",
            heads,
            spend(&self.spend_by_model),
        );
        let heads: &[&str] = &[
            "channel",
            "calls",
            "failed",
            "input tokens",
            "output tokens",
            "US dollars",
        ];
        table(
            &mut blocks,
            "Spend by channel",
            heads,
            spend(&self.spend_by_channel),
        );
        blocks
    }

    fn rows_line(&self) -> String {
        match (self.first_seq, self.last_seq) {
            (Some(first), Some(last)) => {
                format!(
                    "{} rows, from {first} to {last}. Times are those of this machine.",
                    self.rows
                )
            }
            _ => "The audit has no row of this month.".to_owned(),
        }
    }
}

/// Which level a change of a policy set, and until when.
fn level(row: &AuditRow) -> String {
    let detail: Value = serde_json::from_str(&row.detail).unwrap_or(Value::Null);
    let policy = &detail["policy"];
    let Some(autonomy) = policy["autonomy"].as_str() else {
        return String::new();
    };
    let ends = policy["expires_at"].as_str();
    let ends = ends.and_then(crate::protocol::duration::time);
    let ends = ends.map_or_else(String::new, |at| format!(" until {}", at.in_zone()));
    let why = detail["why"].as_str();
    let why = why.map_or_else(String::new, |why| format!(" ({why})"));
    format!(": autonomy {}{ends}{why}", autonomy.replace('_', "-"))
}

fn chain_line(report: &AuditReport) -> Block {
    let head = format!("{}:{}", report.head_seq, report.head_hash);
    Block::Paragraph(match &report.broken {
        None if report.is_sound() => format!(
            "The chain of hashes is whole, and it contains all {} heads that were noted earlier. It ends at {head}.",
            report.anchors
        ),
        None => format!(
            "The chain of hashes is whole, and {} of the heads that were noted earlier are missing in it: rows were \
             rewritten or cut off. It ends at {head}.",
            report.anchors_missing.len()
        ),
        Some(broken) => format!(
            "The chain of hashes is broken at row {}: {}.",
            broken.seq, broken.reason
        ),
    })
}

fn count(table: &mut BTreeMap<String, BTreeMap<String, u64>>, tool: String, channel: String) {
    *table.entry(tool).or_default().entry(channel).or_default() += 1;
}

fn rows_of(table: &BTreeMap<String, BTreeMap<String, u64>>) -> Vec<Vec<String>> {
    let rows = table.iter().flat_map(|(tool, places)| {
        places
            .iter()
            .map(|(channel, times)| vec![tool.clone(), channel.clone(), times.to_string()])
    });
    rows.collect()
}

fn spend(items: &[CostItem]) -> Vec<Vec<String>> {
    let row = |item: &CostItem| {
        let cost = item.cost_usd.map(|cost| format!("{cost:.2}"));
        vec![
            item.name.clone(),
            item.calls.to_string(),
            item.failed.to_string(),
            item.input_tokens.to_string(),
            item.output_tokens.to_string(),
            cost.unwrap_or_else(|| "n/a".to_owned()),
        ]
    };
    items.iter().map(row).collect()
}

fn table(
    blocks: &mut Vec<Block>,
    heading: &str,
    heads: &'static [&'static str],
    rows: Vec<Vec<String>>,
) {
    blocks.push(Block::Heading(2, heading.to_owned()));
    blocks.push(if rows.is_empty() {
        Block::Paragraph("None.".to_owned())
    } else {
        Block::Table(heads, rows)
    });
}

/// The month to report on: the one that is named, or the last whole one.
pub fn month(named: Option<&str>, clock: &Clock) -> Result<(String, Day, Day), String> {
    let text = match named {
        Some(text) => text.to_owned(),
        None => {
            let today = Day::local(clock.now()).to_string();
            let begin = today.get(..7).and_then(Day::of_month);
            let last = begin.map(|(first, _)| Day(first.0 - 1).to_string());
            last.and_then(|day| day.get(..7).map(str::to_owned))
                .unwrap_or_default()
        }
    };
    match Day::of_month(&text) {
        Some((first, next)) => Ok((text, first, next)),
        None => Err("--month: expected a year and a month, like 2026-01".to_owned()),
    }
}
