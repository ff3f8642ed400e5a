//! A line in words, and what can be typed. Nothing here acts.

/// Parts a line into words as a shell does: blanks part, quotes and backslashes hold together. An error
/// says which quote stays open.
pub fn split(line: &str) -> Result<Vec<String>, &'static str> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match c {
            '\'' => {
                let held = word.get_or_insert_default();
                loop {
                    match chars.next() {
                        Some('\'') => break,
                        Some(c) => held.push(c),
                        None => return Err("a ' is never closed"),
                    }
                }
            }
            '"' => {
                let held = word.get_or_insert_default();
                loop {
                    match chars.next() {
                        Some('"') => break,
                        Some('\\') => held.push(match chars.next() {
                            Some(c) => c,
                            None => return Err("a \" is never closed"),
                        }),
                        Some(c) => held.push(c),
                        None => return Err("a \" is never closed"),
                    }
                }
            }
            '\\' => word.get_or_insert_default().extend(chars.next()),
            c if c.is_whitespace() => words.extend(word.take()),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    Ok(words)
}

/// The first word of a line and the rest, as it was typed.
pub fn first(line: &str) -> (&str, &str) {
    let line = line.trim();
    line.split_once(char::is_whitespace)
        .map_or((line, ""), |(word, rest)| (word, rest.trim()))
}

/// What `help` prints.
pub const HELP: &[&str] = &[
    "What needs you",
    "  queue              everything that waits for a person, numbered",
    "  3                  print number 3 of the queue in full, with its choices",
    "  3 1                take choice 1 of number 3; counts only when it was printed in full as it is now",
    "  allow 3            the same in words; also: deny, reason, edit, answer, stop, snooze, session, rehearse",
    "  revoke 3           take back what was allowed and has not run yet",
    "Sessions",
    "  sessions           every session, numbered, and what it does",
    "  open 2             print the end of its transcript, and go on printing what is said; `older` goes back",
    "  write TEXT         write into the open session; without TEXT several lines, ended by a single dot",
    "  new                open a session at the desk",
    "  pause · unpause    the open session: new turns wait",
    "Channels",
    "  channels           every channel and how it is",
    "  autonomy NAME      show its level and what each would have allowed, and set one",
    "  pause NAME · unpause NAME",
    "Turns",
    "  turns              every turn that is open or ended recently, numbered",
    "  turn 4             print it; then `resume 4`, `retry 4`, `kill 4`",
    "Everything",
    "  stop               emergency stop; `release` lets work go on",
    "  rules · costs · cache · memory · audit · doctor · models · hooks · routine · outbox · why · ask",
    "                     as on the command line: `rules list`, `memory search tides`, `audit list --since 2h`",
    "  approvals assign CODE NAME · on-call NAME --for 8h · summary",
    "                     assign a question, set who is on call, print the shift summary",
    "  sessions take-over ID, sessions say ID TEXT, sessions release ID",
    "                     write as the bot; `channels drain NAME`, `channels test NAME`, `channels pair CODE`",
    "  shell ID COMMAND   run a command in the shell of a session; `get interpreters` lists the shells",
    "  lock · unlock      look without acting",
    "  reconnect          try to reach the engine now",
    "  quiet · loud       whether news waits until you press enter",
    "  quit",
];
