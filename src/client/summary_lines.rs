//! A shift summary in words: the same on the command line and in the console. Outside text is revealed.

use crate::clock::Timestamp;
use crate::protocol::on_call::{Assignment, OnCall};
use crate::protocol::session::RefusedCalls;
use crate::protocol::summary::{ShiftSummary, SummaryAssignment, SummaryChannel, SummaryQuestion};
use crate::text::untrusted::limit_line;

/// The section of what waits; it says so when it has nothing.
const WAITING: &str = "Waiting for a person";
/// Items of a section where there is no limit.
const ALL: usize = usize::MAX;

/// Every line.
pub fn lines(summary: &ShiftSummary) -> Vec<String> {
    limited(summary, ALL)
}

/// What fits into so many rows of so many columns, where that can be: long sections say how many more they have.
pub fn screenful(summary: &ShiftSummary, rows: usize, columns: usize) -> Vec<String> {
    let taken = |line: &String| line.chars().count().div_ceil(columns.max(1)).max(1);
    let fits = |most: &usize| limited(summary, *most).iter().map(taken).sum::<usize>() <= rows;
    limited(summary, (1..=50).rev().find(fits).unwrap_or(1))
}

/// What is out of the ordinary first, then what waits, then what was done. A section has so many items at most.
fn limited(summary: &ShiftSummary, most: usize) -> Vec<String> {
    let now = summary.until;
    let mut lines = vec![format!(
        "{} to {}",
        summary.since.in_zone(),
        summary.until.near(summary.since)
    )];
    if let Some((at, reason)) = &summary.held {
        lines.push(format!(
            "EMERGENCY STOP since {}: {}",
            at.near(now),
            limit_line(reason, 120)
        ));
    }
    lines.push(on_call(
        summary.on_call.as_ref(),
        summary.on_call_ended.as_ref(),
        now,
    ));
    let mut nothing = Vec::new();
    let mut section = |title: &'static str, items: Vec<String>| {
        if items.is_empty() && title == WAITING {
            lines.push(format!("{WAITING}: nothing"));
            return;
        }
        if items.is_empty() {
            nothing.push(title);
            return;
        }
        lines.push(format!("{title}: {}", items.len()));
        let more = items.len().saturating_sub(most);
        let shown = items.into_iter().take(most);
        lines.extend(shown.map(|item| format!("  {item}")));
        if more > 0 {
            lines.push(format!("  and {more} more: `leverframe summary` has all"));
        }
    };
    section(
        "Channels not as configured",
        summary
            .channels
            .iter()
            .map(|one| channel(one, now))
            .collect(),
    );
    let refused = summary.refused_calls.iter().map(|refused| {
        format!(
            "{}: {}, last {}",
            refused.channel,
            RefusedCalls::text(usize::try_from(refused.calls).unwrap_or(usize::MAX)),
            refused.last_at.near(now)
        )
    });
    section("Too many approvals waited", refused.collect());
    let held = summary.taken_over.iter().map(|hold| {
        let place = limit_line(&hold.conversation, 40);
        format!(
            "{place} on {}: {} since {}",
            hold.channel,
            hold.held.by,
            hold.held.at.near(now)
        )
    });
    section("Taken over", held.collect());
    let mut waits: Vec<String> = summary
        .pending
        .iter()
        .map(|one| question(one, now))
        .collect();
    if summary.more_pending > 0 {
        waits.push(format!("and {} more", summary.more_pending));
    }
    section(WAITING, waits);
    section(
        "Assigned",
        summary
            .assignments
            .iter()
            .map(|one| assigned(one, now))
            .collect(),
    );
    let grants = summary.grants.iter().map(|grant| {
        format!(
            "{} {} in {} on {}, by {}{}",
            limit_line(&grant.tool, 40),
            limit_line(&grant.preview, 40),
            limit_line(&grant.conversation, 40),
            grant.channel,
            grant.by,
            until(grant.expires_at, now)
        )
    });
    section("Session grants", grants.collect());
    let rules = summary.rules.iter().map(|rule| {
        let uses = rule.max_uses.map_or_else(String::new, |most| {
            format!(", {} of {most} uses", rule.uses)
        });
        format!(
            "{} {} {}{uses}{}",
            rule.verdict,
            limit_line(&rule.tool, 40),
            limit_line(&rule.value, 40),
            until(rule.expires_at, now)
        )
    });
    section("Rules that expire", rules.collect());
    let deeds = summary.deeds.iter().map(|deed| {
        format!(
            "{} {} x{}, last {}",
            limit_line(&deed.actor, 40),
            deed.action,
            deed.count,
            deed.last_at.near(now)
        )
    });
    section("Who did what", deeds.collect());
    let spent = summary.spent.iter().map(|spent| {
        let unpriced = match spent.unpriced_tokens {
            0 => String::new(),
            tokens => format!(", {tokens} tokens of unknown price"),
        };
        format!(
            "{}: {} calls, {} tokens, ${:.2}{unpriced}",
            spent.channel, spent.calls, spent.tokens, spent.cost_usd
        )
    });
    section("Spent", spent.collect());
    if !nothing.is_empty() {
        lines.push(format!("Nothing: {}", nothing.join(", ")));
    }
    lines
}

/// Who is on call, or was last, in a line.
pub fn on_call(of: Option<&OnCall>, ended: Option<&OnCall>, now: Timestamp) -> String {
    match (of, ended) {
        (Some(one), _) => format!(
            "{} is on call since {}{}, said by {}{}",
            limit_line(&one.name, 40),
            one.since.near(now),
            until(one.until, now),
            limit_line(&one.by, 40),
            noted(one.note.as_deref())
        ),
        (None, Some(one)) => format!(
            "nobody is on call: the time of {} ended{}",
            limit_line(&one.name, 40),
            one.until
                .map_or_else(String::new, |at| format!(" at {}", at.near(now)))
        ),
        (None, None) => "nobody is on call".to_owned(),
    }
}

/// Whom a question waits for, by whom, and the note.
pub fn waiting_for(one: &Assignment) -> String {
    format!(
        "waiting for {}, assigned by {}{}",
        limit_line(&one.to, 40),
        limit_line(&one.by, 40),
        noted(one.note.as_deref())
    )
}

fn noted(note: Option<&str>) -> String {
    note.map_or_else(String::new, |note| format!(": {}", limit_line(note, 500)))
}

fn assigned(one: &SummaryAssignment, now: Timestamp) -> String {
    let who = |name: &Option<String>| {
        name.as_deref()
            .map_or_else(|| "nobody".to_owned(), |name| limit_line(name, 40))
    };
    let what = one.short_code.as_deref().unwrap_or("on call");
    let from = one
        .from
        .as_ref()
        .map_or_else(String::new, |_| format!(" from {}", who(&one.from)));
    format!(
        "{what}{from} to {} by {} at {}{}{}",
        who(&one.to),
        limit_line(&one.by, 40),
        one.at.near(now),
        until(one.until, now),
        noted(one.note.as_deref())
    )
}

fn until(at: Option<Timestamp>, now: Timestamp) -> String {
    at.map_or_else(String::new, |at| format!(", until {}", at.near(now)))
}

fn question(question: &SummaryQuestion, now: Timestamp) -> String {
    let what = question
        .tool
        .as_deref()
        .map_or_else(String::new, |tool| format!(" {}", limit_line(tool, 40)));
    let snoozed: Vec<String> = question
        .snoozed
        .iter()
        .map(|(who, until)| {
            let who = limit_line(who, 40);
            format!(", snoozed by {who} until {}", until.near(now))
        })
        .collect();
    let waits = question
        .assignment
        .as_ref()
        .map_or_else(String::new, |one| format!(", {}", waiting_for(one)));
    format!(
        "{} {}{what} on {} for {}, since {}{}{}{waits}",
        question.short_code,
        question.kind,
        question.channel,
        limit_line(&question.requester, 40),
        question.requested_at.near(now),
        until(question.expires_at, now),
        snoozed.concat()
    )
}

fn channel(channel: &SummaryChannel, now: Timestamp) -> String {
    let mut words = vec![format!("{} is {}", channel.name, channel.autonomy)];
    if channel.autonomy != channel.configured {
        words.push(format!("configured as {}", channel.configured));
    }
    if let Some(at) = channel.expires_at {
        let then = channel
            .reverts_to
            .map_or_else(String::new, |level| format!(", then {level}"));
        words.push(format!("until {}{then}", at.near(now)));
    }
    if channel.paused {
        words.push("paused".to_owned());
    }
    if let Some(at) = channel.draining_since {
        words.push(format!("draining since {}", at.near(now)));
    }
    words.join(", ")
}
