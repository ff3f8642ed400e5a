//! A shift summary in words: the same on the command line and in the console. Outside text is revealed.

use crate::clock::Timestamp;
use crate::protocol::on_call::{Assignment, OnCall};
use crate::protocol::session::RefusedCalls;
use crate::protocol::summary::{ShiftSummary, SummaryAssignment, SummaryChannel, SummaryQuestion};
use crate::text::untrusted::limit_line;

/// The lines; a section that has nothing says so.
pub fn lines(summary: &ShiftSummary) -> Vec<String> {
    let mut lines = vec![format!("since {} until {}", summary.since, summary.until)];
    if let Some((at, reason)) = &summary.held {
        lines.push(format!(
            "EMERGENCY STOP since {at}: {}",
            limit_line(reason, 120)
        ));
    }
    lines.push(on_call(
        summary.on_call.as_ref(),
        summary.on_call_ended.as_ref(),
    ));
    let mut section = |title: &str, none: &str, items: Vec<String>| {
        lines.push(String::new());
        if items.is_empty() {
            lines.push(format!("{title}: {none}"));
        } else {
            lines.push(format!("{title}: {}", items.len()));
            lines.extend(items.into_iter().map(|item| format!("  {item}")));
        }
    };
    let mut waits: Vec<String> = summary.pending.iter().map(question).collect();
    if summary.more_pending > 0 {
        waits.push(format!("and {} more", summary.more_pending));
    }
    section("Waiting for a person", "nothing", waits);
    section(
        "Assigned",
        "nothing",
        summary.assignments.iter().map(assigned).collect(),
    );
    if !summary.refused_calls.is_empty() {
        let refused = summary.refused_calls.iter().map(|refused| {
            format!(
                "{}: {}, last {}",
                refused.channel,
                RefusedCalls::text(usize::try_from(refused.calls).unwrap_or(usize::MAX)),
                refused.last_at
            )
        });
        section("Too many approvals waited", "never", refused.collect());
    }
    let held = summary.taken_over.iter().map(|hold| {
        let place = limit_line(&hold.conversation, 40);
        format!(
            "{place} on {}: {} since {}",
            hold.channel, hold.held.by, hold.held.at
        )
    });
    section("Taken over", "no conversation", held.collect());
    section(
        "Channels not as configured",
        "none",
        summary.channels.iter().map(channel).collect(),
    );
    let grants = summary.grants.iter().map(|grant| {
        format!(
            "{} {} in {} on {}, by {}{}",
            limit_line(&grant.tool, 40),
            limit_line(&grant.preview, 40),
            limit_line(&grant.conversation, 40),
            grant.channel,
            grant.by,
            until(grant.expires_at)
        )
    });
    section("Permissions for shapes", "none", grants.collect());
    let rules = summary.rules.iter().map(|rule| {
        let uses = rule.max_uses.map_or_else(String::new, |most| {
            format!(", {} of {most} uses", rule.uses)
        });
        format!(
            "{} {} {}{uses}{}",
            rule.verdict,
            limit_line(&rule.tool, 40),
            limit_line(&rule.value, 40),
            until(rule.expires_at)
        )
    });
    section("Rules that end by themselves", "none", rules.collect());
    let deeds = summary.deeds.iter().map(|deed| {
        format!(
            "{} {} x{}, last {}",
            limit_line(&deed.actor, 40),
            deed.action,
            deed.count,
            deed.last_at
        )
    });
    section("Who did what", "nobody did anything", deeds.collect());
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
    section("Spent", "nothing", spent.collect());
    lines
}

/// Who is on call, or was last, in a line.
pub fn on_call(now: Option<&OnCall>, ended: Option<&OnCall>) -> String {
    match (now, ended) {
        (Some(one), _) => format!(
            "{} is on call since {}{}, said by {}{}",
            limit_line(&one.name, 40),
            one.since,
            until(one.until),
            limit_line(&one.by, 40),
            noted(one.note.as_deref())
        ),
        (None, Some(one)) => format!(
            "nobody is on call: the time of {} ended{}",
            limit_line(&one.name, 40),
            one.until.map_or_else(String::new, |at| format!(" at {at}"))
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

fn assigned(one: &SummaryAssignment) -> String {
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
        one.at,
        until(one.until),
        noted(one.note.as_deref())
    )
}

fn until(at: Option<Timestamp>) -> String {
    at.map_or_else(String::new, |at| format!(", until {at}"))
}

fn question(question: &SummaryQuestion) -> String {
    let what = question
        .tool
        .as_deref()
        .map_or_else(String::new, |tool| format!(" {}", limit_line(tool, 40)));
    let snoozed: Vec<String> = question
        .snoozed
        .iter()
        .map(|(who, until)| format!(", snoozed by {} until {until}", limit_line(who, 40)))
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
        question.requested_at,
        until(question.expires_at),
        snoozed.concat()
    )
}

fn channel(channel: &SummaryChannel) -> String {
    let mut words = vec![format!("{} is {}", channel.name, channel.autonomy)];
    if channel.autonomy != channel.configured {
        words.push(format!("configured as {}", channel.configured));
    }
    if let Some(at) = channel.expires_at {
        let then = channel
            .reverts_to
            .map_or_else(String::new, |level| format!(", then {level}"));
        words.push(format!("until {at}{then}"));
    }
    if channel.paused {
        words.push("paused".to_owned());
    }
    if let Some(at) = channel.draining_since {
        words.push(format!("draining since {at}"));
    }
    words.join(", ")
}
