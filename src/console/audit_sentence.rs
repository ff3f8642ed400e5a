//! What a row of the audit says, as a sentence. Outside text: it is revealed where it is shown.

use serde_json::Value;

use crate::protocol::doctor::AuditRow;
use crate::protocol::duration;
use crate::protocol::escalation;

struct Facts(Value);

impl Facts {
    fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name)?.as_str().filter(|text| !text.is_empty())
    }

    /// `: REASON`, where one was given.
    fn because(&self, name: &str) -> String {
        self.text(name)
            .map_or_else(String::new, |why| format!(": {why}"))
    }

    fn is(&self, name: &str) -> bool {
        self.0.get(name).and_then(Value::as_bool).unwrap_or(false)
    }
}

/// The sentence: who did what to what, where. `tool` is the tool of the call that the row is about, where it is known.
pub fn sentence(row: &AuditRow, tool: Option<&str>) -> String {
    let facts = Facts(serde_json::from_str(&row.detail).unwrap_or(Value::Null));
    let who = row.actor.as_str();
    let tool = facts.text("tool").or(tool).unwrap_or("a call");
    let place = row.channel.as_deref();
    let place = place.map_or_else(String::new, |name| format!(" on {name}"));
    let conversation = facts.text("conversation").unwrap_or("a conversation");
    match row.action.as_str() {
        "approval.decided" => decided(row, &facts, tool, &place),
        "approval.first_allowed" => format!("{who} allowed {tool}{place}, as the first of two"),
        "approval.escalated" => escalated(&facts, tool, &place),
        "approval.escalation_failed" => {
            let to =
                escalation::in_words(facts.text("to").unwrap_or_default(), facts.text("person"));
            format!(
                "nobody was reached about {tool}{place}: {to}{}",
                facts.because("why")
            )
        }
        "escalation.drill_started" => format!("{who} began a drill of the escalation{place}"),
        "escalation.drilled" => match facts.text("why") {
            Some(why) => {
                format!("the drill of the escalation{place} did not reach everybody: {why}")
            }
            None => format!("every step of the drill{place} arrived"),
        },
        "approval.edited" => format!("{who} changed the arguments of {tool}{place}"),
        "approval.expired" => format!("the approval of {tool}{place} expired: nobody decided"),
        "approval.returned" => {
            let why = facts.because("why");
            format!("the approval of {tool}{place} was taken back{why}")
        }
        "approval.assigned" => match facts.text("to") {
            Some(to) => {
                let note = facts.because("note");
                format!("{who} assigned the question about {tool}{place} to {to}{note}")
            }
            None => format!("{who} assigned the question about {tool}{place} to nobody"),
        },
        "tool.called" => format!("{who} called {tool}{place}, without a model"),
        "tool.started" => format!("{tool} started{place}"),
        "tool.finished" => format!("{tool} finished{place}"),
        "tool.refused" => format!("{tool} was refused{place}{}", facts.because("why")),
        "tool.asks_again" => format!("{tool} asks again{place}{}", facts.because("why")),
        "policy.changed" => format!("{who} changed the policy{place}"),
        "session.taken_over" => format!("{who} took over {conversation}{place}"),
        "session.given_back" => format!("{who} gave {conversation}{place} back to the bot"),
        "session.spoken" => format!("{who} wrote as the bot in {conversation}{place}"),
        "session.resumed" => format!("{who} let a paused session go on{place}"),
        "session.updated" => format!("{who} changed a session{place}"),
        "channel.paused" if facts.is("paused") => format!("{who} paused {}", row.subject),
        "channel.paused" => format!("{who} let {} go on", row.subject),
        "channel.draining" if facts.is("draining") => format!("{who} drains {}", row.subject),
        "channel.draining" => format!("{who} ended the drain of {}", row.subject),
        "channel.tested" => format!("{who} sent a test{place}"),
        "engine.held" => format!("{who} STOPPED everything{}", facts.because("reason")),
        "engine.released" => format!("{who} released the emergency stop"),
        "engine.started" if facts.is("clean") => "the engine started".to_owned(),
        "engine.started" => "the engine started after an unclean end".to_owned(),
        "quarantine.released" => format!("{who} released the quarantine"),
        "grant.removed" if facts.text("ended_with").is_some() => {
            format!("the grant for {tool}{place} ended with its turn")
        }
        "grant.removed" => format!("{who} revoked a grant for {tool}{place}"),
        "shell.started" => {
            let command = facts.text("command").unwrap_or("");
            match facts.text("kind") {
                Some("python") => format!("{who} ran in the Python of a session{place}: {command}"),
                Some(_) | None => format!("{who} ran in the shell of a session{place}: {command}"),
            }
        }
        "shell.ended" => {
            let outcome = facts.text("outcome").unwrap_or("nobody knows");
            match facts.text("kind") {
                Some("python") => format!("the code of {who} in a Python{place} ended: {outcome}"),
                Some(_) | None => {
                    format!("the command of {who} in a shell{place} ended: {outcome}")
                }
            }
        }
        "interpreter.ended" => {
            let kind = facts.text("kind").unwrap_or("interpreter");
            format!("{who} ended the {kind} of a session{place}")
        }
        "rehearsal.started" => {
            format!("{who} rehearsed {tool}{place}, in a throw-away copy of the workspace")
        }
        "rehearsal.ended" => {
            let outcome = facts.text("outcome").unwrap_or("nobody knows");
            format!("the rehearsal of {tool}{place} by {who} ended: {outcome}")
        }
        "rule.added" => {
            let rule = facts.text("rule").unwrap_or("");
            let turn = match facts.text("turn") {
                Some(_) => ", until its turn ends",
                None => "",
            };
            let ends = facts.text("expires_at").and_then(duration::time);
            let ends = ends.map_or_else(String::new, |at| format!(", until {}", at.in_zone()));
            format!("{who} made a rule{place}: {rule}{turn}{ends}")
        }
        "continuation.resumed" => format!("{who} resumed a turn{place}"),
        "continuation.cancelled" => format!("{who} cancelled a turn{place}"),
        "delivery.resolved" => {
            let what = facts.text("decision").unwrap_or("settled");
            format!("{who} settled a delivery{place}: {what}")
        }
        "oncall.set" => match facts.text("to") {
            Some(to) => format!("{who} put {to} on call{}", facts.because("note")),
            None => format!("{who} took everybody off call"),
        },
        "memory.added" => format!("{who} wrote a memory{place}"),
        "memory.deleted" | "memory.forgotten" => format!("{who} deleted a memory{place}"),
        "user.erased" | "person.forgotten" => format!("{who} erased a user"),
        "hygiene.run" => format!("{who} ran hygiene"),
        "hygiene.undone" => format!("{who} undid a hygiene run"),
        "routine.run" => format!("{who} ran a routine{place}"),
        "routine.removed" => format!("{who} removed a routine{place}"),
        "file_change.undo" => format!("{who} began to undo what {tool} did to files"),
        "file_change.undo_refused" => {
            let why = facts.because("why");
            format!("{who} could not undo what {tool} did to files{why}")
        }
        "skill.trusted" => format!("{who} trusted {}", facts.text("name").unwrap_or("a skill")),
        "skill.distrusted" => {
            let name = facts.text("name").unwrap_or("a skill");
            format!("{who} does not trust {name} any more")
        }
        "token.created" => format!("{who} made the token {}", row.subject),
        "token.revoked" => format!("{who} revoked the token {}", row.subject),
        "token.login" => format!("{who} logged in with the token {}", row.subject),
        "mcp.trusted" => {
            let server = facts.text("server").unwrap_or("a tool server");
            format!("{who} trusted {server} as a tool server")
        }
        "mcp.distrusted" => {
            let server = facts.text("server").unwrap_or("a tool server");
            format!("{who} does not trust {server} as a tool server any more")
        }
        "mcp.refused" => {
            let server = facts.text("server").unwrap_or("a tool server");
            format!("{who} refused what {server} offers now")
        }
        "mcp.changed" => {
            let server = facts.text("server").unwrap_or("a tool server");
            format!("the tool server {server} offers something else than before")
        }
        "mcp.stopped" | "mcp.started" => {
            let done = if row.action == "mcp.stopped" {
                "stopped"
            } else {
                "started"
            };
            let server = facts.text("server").unwrap_or("a tool server");
            format!("{who} {done} {server}")
        }
        "dataset.added" => {
            let name = facts.text("name").unwrap_or("");
            format!("{who} sent the dataset {name}{place}")
        }
        "dataset.deleted" => {
            let name = facts.text("name").unwrap_or("");
            format!("{who} removed the dataset {name}{place}")
        }
        "dataset.exported" => {
            let name = facts.text("name").unwrap_or("");
            format!("{who} took a copy of the dataset {name}{place}")
        }
        "backup.written" => format!("{who} wrote a backup{}", facts.because("path")),
        "backup.removed" => format!("{who} removed old backups"),
        "configuration.reloaded" => format!("{who} reloaded the configuration"),
        other => {
            let (what, verb) = other.split_once('.').unwrap_or((other, "changed"));
            let verb = verb.replace('_', " ");
            format!("{who}: {} {verb}{place}", what.replace('_', " "))
        }
    }
}

fn decided(row: &AuditRow, facts: &Facts, tool: &str, place: &str) -> String {
    let who = row.actor.as_str();
    let why = facts.because("reason");
    let scope = match facts.text("scope") {
        None | Some("once") => String::new(),
        Some("turn") => format!(", until its turn ends{}", until(facts, " or at")),
        Some("session") => format!(", for its session{}", until(facts, ", until")),
        Some(scope) => format!(", scope {scope}"),
    };
    let rule = if facts.text("rule").is_some() {
        ", with a rule"
    } else {
        ""
    };
    let verb = match facts.text("decision") {
        Some("approve") => "allowed",
        Some("deny") => "denied",
        Some("edit") => "edited",
        Some("answer") => return format!("{who} answered in place of {tool}{place}"),
        Some("snooze") => return format!("{who} snoozed the question about {tool}{place}"),
        Some(other) => return format!("{who} decided {other} on {tool}{place}{scope}{why}"),
        None => "decided on",
    };
    format!("{who} {verb} {tool}{place}{scope}{rule}{why}")
}

/// A step of an escalation: who hears of it, or why nobody does.
fn escalated(facts: &Facts, tool: &str, place: &str) -> String {
    let to = escalation::in_words(facts.text("to").unwrap_or_default(), facts.text("person"));
    let to = to.trim_end_matches(',');
    let why = facts.because("why");
    match facts.text("outcome") {
        Some("skipped") => format!("the question about {tool}{place} skipped {to}{why}"),
        Some(_) | None => format!("the question about {tool}{place} escalated to {to}{why}"),
    }
}

/// `, until Thu 2026-12-24 18:00 +01:00`, where it has an end of its own.
fn until(facts: &Facts, word: &str) -> String {
    let at = facts.text("until").and_then(duration::time);
    at.map_or_else(String::new, |at| format!("{word} {}", at.in_zone()))
}
