//! `leverframe release`: what waited and what is uncertain, then the release with a word on each conversation.

use std::collections::HashSet;

use crate::cli::exit::{Failure, usage};
use crate::cli::terminal::{Attendance, Cli, Format, Terminal, cell};
use crate::cli::{emergency, find};
use crate::clock::Timestamp;
use crate::protocol::command::Waiting;
use crate::protocol::ids::SessionId;
use crate::protocol::request::{ListUncertain, ReleaseEmergencyStop};
use crate::protocol::uncertain::{ConversationChoice, Uncertain, WaitingConversation};
use crate::text::untrusted::limit_line;

/// Entries of each list that are shown; `--json` of `GET /v1/emergency-stop` has more.
const SHOWN: usize = 20;

/// Shows what waits, asks where a word is needed and somebody is there, and releases.
pub async fn run(
    cli: &mut Cli<'_>,
    waiting: Option<Waiting>,
    named: &[(String, Waiting)],
) -> Result<(), Failure> {
    let uncertain = cli.client.call(ListUncertain {}).await?;
    let mut conversations = choices(&uncertain, named)?;
    let said: HashSet<SessionId> = conversations.iter().map(|c| c.session_id).collect();
    let unsaid: Vec<&WaitingConversation> = uncertain
        .conversations
        .iter()
        .filter(|conversation| !said.contains(&conversation.session_id))
        .collect();
    let listed: usize = uncertain.conversations.iter().map(|c| c.turns.len()).sum();
    let all_listed = listed as u64 >= uncertain.totals.turns;
    let needs_a_word = waiting.is_none() && uncertain.asks() && !(unsaid.is_empty() && all_listed);
    match (cli.terminal.format, cli.terminal.attended) {
        (Format::Human, _) if uncertain.asks() || uncertain.quarantine => {
            let shown = show(&mut cli.terminal, &uncertain);
            shown.map_err(|failure| failure.before("nothing was released"))?;
        }
        (Format::Human | Format::Json, _) => {}
    }
    if needs_a_word {
        match (cli.terminal.format, cli.terminal.attended) {
            (Format::Human, Attendance::Person) => {
                for conversation in unsaid {
                    let Some(waiting) = ask(&mut cli.terminal, &uncertain, conversation)? else {
                        return stays(&mut cli.terminal);
                    };
                    conversations.push(ConversationChoice {
                        session_id: conversation.session_id,
                        waiting,
                    });
                }
            }
            (Format::Json, _) => {
                cli.terminal.json(&uncertain)?;
                return say_how(&mut cli.terminal);
            }
            (Format::Human, Attendance::Script) => return say_how(&mut cli.terminal),
        }
    }
    if (uncertain.quarantine || uncertain.asks()) && cli.terminal.is_attended() {
        let question = if uncertain.quarantine {
            "Lift the quarantine: channels connect, the turns that you choose run. Release? [y/N]"
        } else {
            "Release? [y/N]"
        };
        let answer = cli.terminal.ask(question)?;
        if !matches!(answer.to_ascii_lowercase().as_str(), "y" | "yes") {
            return stays(&mut cli.terminal);
        }
    }
    // What is not listed and was not named is kept to its newest turn once a word was needed.
    let otherwise = if needs_a_word {
        Waiting::Newest
    } else {
        Waiting::All
    };
    let command = ReleaseEmergencyStop {
        waiting: waiting.unwrap_or(otherwise),
        conversations,
    };
    emergency::run(cli, command).await
}

fn stays(terminal: &mut Terminal<'_>) -> Result<(), Failure> {
    terminal.note("Nothing was released.")?;
    Err(Failure::Waiting)
}

fn say_how(terminal: &mut Terminal<'_>) -> Result<(), Failure> {
    terminal.note(
        "Nothing was released: say what happens to what waited.\n\
         --waiting newest|all|drop        for every conversation\n\
         --conversation SESSION=drop      for one (repeat it); the rest follows --waiting",
    )?;
    Err(Failure::Waiting)
}

/// The choices named on the command line.
fn choices(
    uncertain: &Uncertain,
    named: &[(String, Waiting)],
) -> Result<Vec<ConversationChoice>, Failure> {
    named
        .iter()
        .map(|(text, waiting)| {
            let session_id = match text.parse::<SessionId>() {
                Ok(id) => id,
                Err(_) => by_prefix(uncertain, text)?,
            };
            Ok(ConversationChoice {
                session_id,
                waiting: *waiting,
            })
        })
        .collect()
}

fn by_prefix(uncertain: &Uncertain, text: &str) -> Result<SessionId, Failure> {
    let mut found = uncertain
        .conversations
        .iter()
        .map(|conversation| conversation.session_id)
        .filter(|id| find::starts(id, text));
    let shown = limit_line(text, 64);
    match (found.next(), found.next()) {
        (Some(id), None) => Ok(id),
        (Some(_), Some(_)) => Err(usage!(
            "`{shown}` fits more than one conversation that waits: use more of its id"
        )),
        (None, _) => Err(usage!(
            "nothing waits in a session `{shown}`; `leverframe sessions list` shows them"
        )),
    }
}

fn age(now: Timestamp, then: Timestamp) -> String {
    let minutes = now.millis_since(then) / 60_000;
    match minutes {
        0 => "now".to_owned(),
        1..=119 => format!("{minutes} min"),
        120..=2879 => format!("{} h", minutes / 60),
        _ => format!("{} d", minutes / 1440),
    }
}

fn name(conversation: &WaitingConversation) -> String {
    let title = conversation
        .title
        .as_deref()
        .unwrap_or(&conversation.conversation);
    format!("{}/{}", cell(&conversation.channel), limit_line(title, 40))
}

/// Everything that waits or is uncertain.
fn show(terminal: &mut Terminal<'_>, uncertain: &Uncertain) -> Result<(), Failure> {
    if uncertain.quarantine {
        terminal.line(
            "QUARANTINE: this database is a restored copy. No channel is connected, nothing is sent, nothing runs.\n\
             What was open when the copy was made may have gone on elsewhere since.",
        )?;
    }
    let totals = uncertain.totals;
    terminal.line(&format!("{} turns wait", totals.turns))?;
    for conversation in uncertain.conversations.iter().take(SHOWN) {
        let oldest = conversation.turns.first();
        terminal.line(&format!(
            "  {}  {}  {} waiting, oldest {}",
            conversation.session_id,
            name(conversation),
            conversation.turns.len(),
            oldest.map_or_else(String::new, |turn| age(uncertain.at, turn.created_at))
        ))?;
        for turn in conversation.turns.iter().rev().take(3) {
            terminal.line(&format!(
                "      {}  {}",
                turn.state,
                limit_line(&turn.text, 60)
            ))?;
        }
    }
    terminal.line(&format!("{} calls with an unknown outcome", totals.calls))?;
    for call in uncertain.calls.iter().take(SHOWN) {
        terminal.line(&format!(
            "  {}  {}  {}",
            call.id,
            cell(&call.name),
            limit_line(&call.preview, 60)
        ))?;
    }
    terminal.line(&format!(
        "{} messages whose delivery is unknown",
        totals.deliveries
    ))?;
    for item in uncertain.deliveries.iter().take(SHOWN) {
        terminal.line(&format!(
            "  {}  {}/{}  {}",
            item.id,
            cell(&item.channel),
            limit_line(&item.conversation, 20),
            limit_line(&item.preview, 60)
        ))?;
    }
    terminal.line(&format!("{} questions wait for a person", totals.questions))
}

/// One conversation's choice; none = stop.
fn ask(
    terminal: &mut Terminal<'_>,
    uncertain: &Uncertain,
    conversation: &WaitingConversation,
) -> Result<Option<Waiting>, Failure> {
    let oldest = conversation
        .turns
        .first()
        .map_or_else(String::new, |turn| age(uncertain.at, turn.created_at));
    let question = format!(
        "{}: {} waiting, oldest {oldest}. newest, all, drop, or quit? [newest]",
        name(conversation),
        conversation.turns.len()
    );
    for _ in 0..5 {
        match terminal.ask(&question)?.to_ascii_lowercase().as_str() {
            "" | "n" | "newest" => return Ok(Some(Waiting::Newest)),
            "a" | "all" => return Ok(Some(Waiting::All)),
            "d" | "drop" => return Ok(Some(Waiting::Drop)),
            "q" | "quit" => return Ok(None),
            _ => terminal.note("newest, all, drop or quit")?,
        }
    }
    Ok(None)
}
