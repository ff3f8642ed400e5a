//! Erasing a user from the event archive: lines about their turns and sessions go, and elsewhere another name stands
//! for their id.
//!
//! The archive itself tells whose a turn was, because its rows may have gone long ago.

use std::collections::HashSet;
use std::path::PathBuf;

use serde_json::Value;

use crate::protocol::ids::{ContinuationId, SessionId};
use crate::store::archive_files::{DayFile, Lines, days, remove_unfinished};
use crate::store::artifacts::blocking;
use crate::store::error::StoreError;
use crate::store::handle::Store;
use crate::store::queries::erase::{Direct, Traces};
use crate::store::queries::pseudonymize::renamed;

/// What becomes of a line.
enum Fate {
    Stays,
    Goes,
    Becomes(String),
}

/// A person, and what the archive says is theirs.
struct Theirs {
    person: String,
    other: String,
    direct: Direct,
    turns: HashSet<String>,
    /// Sessions they took part in.
    sessions: HashSet<String>,
    /// Sessions somebody else took part in.
    of_others: HashSet<String>,
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

impl Theirs {
    fn learn(&mut self, line: &Value) {
        let session = text(&line["session_id"]).to_owned();
        match text(&line["kind"]) {
            "message.received" => {
                let place = (text(&line["channel"]), text(&line["conversation"]));
                if text(&line["sender_id"]) == self.person || self.direct.holds(place.0, place.1) {
                    self.turns.insert(text(&line["continuation_id"]).to_owned());
                    self.sessions.insert(session);
                } else if !self.turns.contains(text(&line["continuation_id"])) {
                    self.of_others.insert(session);
                }
            }
            "session.started" | "session.updated" => {
                let about = &line["session"];
                if self
                    .direct
                    .holds(text(&about["channel"]), text(&about["conversation"]))
                {
                    self.sessions.insert(session);
                }
            }
            _ => {}
        }
    }

    fn fate(&self, line: &str) -> Result<Fate, serde_json::Error> {
        let mut value: Value = serde_json::from_str(line)?;
        let session = text(&value["session_id"]);
        let took_part = self.sessions.contains(session);
        if self.turns.contains(text(&value["continuation_id"]))
            || (took_part && !self.of_others.contains(session))
            || text(&value["approval"]["requester"]["id"]) == self.person
        {
            return Ok(Fate::Goes);
        }
        let mut changed = false;
        if took_part && let Some(about) = value["session"].as_object_mut() {
            for said in ["last_line", "last_sender"] {
                let before = about.insert(said.to_owned(), Value::Null);
                changed |= before.is_some_and(|before| !before.is_null());
            }
        }
        let now = if changed {
            value.to_string()
        } else {
            line.to_owned()
        };
        Ok(match renamed(&now, &self.person, &self.other) {
            Some(renamed) => Fate::Becomes(renamed),
            None if changed => Fate::Becomes(now),
            None => Fate::Stays,
        })
    }
}

/// A file whose lines do not all stay.
struct ChangedDay {
    path: PathBuf,
    lines: u64,
    /// Whether any line is left of it.
    is_left: bool,
}

/// Looks through the files of a data directory.
fn look_through(
    data_dir: &std::path::Path,
    theirs: &mut Theirs,
) -> Result<Vec<ChangedDay>, StoreError> {
    remove_unfinished(data_dir)?;
    let days = days(data_dir)?;
    for file in &days {
        let mut lines = Lines::open(&file.path)?;
        while let Some(line) = lines.next() {
            let line = serde_json::from_str(&line?).map_err(|error| lines.damaged(error))?;
            theirs.learn(&line);
        }
    }
    let mut found = Vec::new();
    for file in days {
        let mut lines = Lines::open(&file.path)?;
        let (mut concerned, mut is_left) = (0, false);
        while let Some(line) = lines.next() {
            match theirs.fate(&line?).map_err(|error| lines.damaged(error))? {
                Fate::Stays => is_left = true,
                Fate::Goes => concerned += 1,
                Fate::Becomes(_) => (concerned, is_left) = (concerned + 1, true),
            }
        }
        if concerned > 0 {
            found.push(ChangedDay {
                path: file.path,
                lines: concerned,
                is_left,
            });
        }
    }
    Ok(found)
}

impl Store {
    async fn theirs(
        &self,
        person: &str,
        other: &str,
        traces: &Traces,
    ) -> Result<(Theirs, Vec<ChangedDay>), StoreError> {
        let owned = person.to_owned();
        let direct = self
            .read(move |reader| Direct::of(reader.conn, &owned))
            .await?;
        let turns = traces.turns.iter();
        let sessions = traces.sessions.iter();
        let mut theirs = Theirs {
            person: person.to_owned(),
            other: other.to_owned(),
            direct,
            turns: turns
                .map(|turn| ContinuationId::from_bytes(turn.id).to_string())
                .collect(),
            sessions: sessions
                .map(|id| SessionId::from_bytes(*id).to_string())
                .collect(),
            of_others: HashSet::new(),
        };
        let dir = self.data_dir();
        blocking(move || {
            let found = look_through(&dir, &mut theirs)?;
            Ok((theirs, found))
        })
        .await
    }

    /// Lines of the event archive that are about a person or name them.
    pub async fn archived_of(
        &self,
        person: &str,
        other: &str,
        traces: &Traces,
    ) -> Result<u64, StoreError> {
        let (_, found) = self.theirs(person, other, traces).await?;
        Ok(found.iter().map(|file| file.lines).sum())
    }

    /// Removes what is about a person from the event archive, and puts another name where their id stands. Only one may
    /// change the archive at a time.
    pub async fn erase_archived(
        &self,
        person: &str,
        other: &str,
        traces: &Traces,
    ) -> Result<(), StoreError> {
        let (mut theirs, found) = self.theirs(person, other, traces).await?;
        for file in found {
            if !file.is_left {
                self.remove_archived(vec![file.path]).await?;
                continue;
            }
            let (back, sealed) = blocking(move || {
                let mut new = DayFile::begin(&file.path)?;
                let mut lines = Lines::open(&file.path)?;
                while let Some(line) = lines.next() {
                    let line = line?;
                    match theirs.fate(&line).map_err(|error| lines.damaged(error))? {
                        Fate::Stays => new.line(line.as_bytes())?,
                        Fate::Goes => {}
                        Fate::Becomes(line) => new.line(line.as_bytes())?,
                    }
                }
                Ok((theirs, new.seal()?))
            })
            .await?;
            theirs = back;
            self.place_archived(sealed).await?;
        }
        Ok(())
    }
}
