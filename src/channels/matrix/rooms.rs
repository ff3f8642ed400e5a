//! What is known of the rooms we are in: names, how many are there, encryption, successors.
//!
//! Read from syncs and from nothing else; a bridge that starts anew asks for it again. A room id is never taken apart.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard};

use serde_json::Value;

use crate::channels::sync::lock;

/// Display names that are kept of one room.
const MAX_NAMES: usize = 2_000;
/// Upgrades of upgrades that are followed.
const MAX_UPGRADES: usize = 10;

/// One room.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Room {
    /// Its name: outside text.
    name: Option<String>,
    /// Its address: outside text.
    alias: Option<String>,
    /// Some who are in it, where it has no name.
    heroes: Vec<String>,
    /// How many joined it, us among them; none = not said.
    joined: Option<u64>,
    /// How many are invited.
    invited: u64,
    /// What is sent in it is encrypted.
    pub encrypted: bool,
    /// The room that replaces it, and a server that knows that one.
    pub successor: Option<(String, Option<String>)>,
    /// Display names by user id: outside text.
    names: HashMap<String, String>,
}

impl Room {
    /// What it is called: outside text.
    pub fn title(&self) -> Option<String> {
        let hero = || {
            let hero = self.heroes.first()?;
            Some(self.names.get(hero).unwrap_or(hero).clone())
        };
        self.name
            .clone()
            .or_else(|| self.alias.clone())
            .or_else(hero)
    }

    /// Whether only one other person is in it.
    pub fn is_pair(&self) -> bool {
        self.joined == Some(2) && self.invited == 0
    }

    /// The display name of a user: outside text.
    pub fn name_of(&self, user: &str) -> Option<String> {
        self.names.get(user).cloned()
    }

    /// One state event.
    fn apply_state(&mut self, event: &Value) {
        let content = &event["content"];
        let text = |name: &str| {
            content[name]
                .as_str()
                .filter(|text| !text.is_empty())
                .map(str::to_owned)
        };
        match event["type"].as_str() {
            Some("m.room.name") => self.name = text("name"),
            Some("m.room.canonical_alias") => self.alias = text("alias"),
            // Nobody can end the encryption of a room.
            Some("m.room.encryption") => self.encrypted = true,
            Some("m.room.tombstone") => {
                let server = event["sender"]
                    .as_str()
                    .and_then(|user| user.split_once(':'));
                let server = server.map(|(_, server)| server.to_owned());
                self.successor = text("replacement_room").map(|room| (room, server));
            }
            Some("m.room.member") => {
                let Some(user) = event["state_key"].as_str() else {
                    return;
                };
                match text("displayname") {
                    Some(name) if self.names.len() < MAX_NAMES || self.names.contains_key(user) => {
                        self.names.insert(user.to_owned(), name);
                    }
                    Some(_) | None => {
                        self.names.remove(user);
                    }
                }
            }
            Some(_) | None => {}
        }
    }

    fn apply(&mut self, section: &Value) {
        let summary = &section["summary"];
        if let Some(heroes) = summary["m.heroes"].as_array() {
            self.heroes = heroes
                .iter()
                .filter_map(Value::as_str)
                .map(str::to_owned)
                .collect();
        }
        if let Some(joined) = summary["m.joined_member_count"].as_u64() {
            self.joined = Some(joined);
        }
        if let Some(invited) = summary["m.invited_member_count"].as_u64() {
            self.invited = invited;
        }
        for part in ["state", "timeline"] {
            let events = section[part]["events"].as_array();
            for event in events.into_iter().flatten() {
                if event.get("state_key").is_some() {
                    self.apply_state(event);
                }
            }
        }
    }
}

/// The user of whom an event says how they are in a room.
fn member(event: &Value) -> Option<&str> {
    event["state_key"]
        .as_str()
        .filter(|_| event["type"] == "m.room.member")
}

/// Users whose names a sync says: what was said before it is older.
pub fn named(section: &Value) -> HashSet<String> {
    let parts = ["state", "timeline"].map(|part| section[part]["events"].as_array());
    let events = parts.into_iter().flatten().flatten();
    events.filter_map(member).map(str::to_owned).collect()
}

#[derive(Debug, Default)]
struct Known {
    rooms: HashMap<String, Room>,
    /// Rooms that our account marks as direct, by user.
    direct: HashMap<String, Vec<String>>,
    /// Rooms that we made for direct messages, until a sync shows them.
    made: HashMap<String, String>,
}

/// All rooms of one account. Outlives a reconnect.
#[derive(Debug, Default)]
pub struct Rooms(Mutex<Known>);

impl Rooms {
    fn known(&self) -> MutexGuard<'_, Known> {
        lock(&self.0)
    }

    /// Takes over the `join` part of the answer to a sync that began anew: what it does not name is gone.
    pub fn replace(&self, joined: &Value) {
        let mut known = self.known();
        known.rooms.clear();
        for (id, section) in joined.as_object().into_iter().flatten() {
            known.rooms.entry(id.clone()).or_default().apply(section);
        }
    }

    /// Takes over what a sync says of a room that we are in. Whether it is a new one.
    pub fn apply(&self, room: &str, section: &Value) -> bool {
        let mut known = self.known();
        let is_new = !known.rooms.contains_key(room);
        known.made.retain(|_, made| made != room);
        known
            .rooms
            .entry(room.to_owned())
            .or_default()
            .apply(section);
        is_new
    }

    /// Takes over display names from a page of missed messages, newest first: those of people who took another name, and
    /// those that came with it. `named`: users whose names are known from newer events; those of this page join them.
    pub fn learn_names(&self, room: &str, page: &Value, named: &mut HashSet<String>) {
        let mut known = self.known();
        let Some(room) = known.rooms.get_mut(room) else {
            return;
        };
        let parts = ["chunk", "state"].map(|part| page[part].as_array());
        for event in parts.into_iter().flatten().flatten() {
            if let Some(user) = member(event)
                && named.insert(user.to_owned())
            {
                room.apply_state(event);
            }
        }
    }

    /// We are not in a room any more.
    pub fn remove(&self, room: &str) {
        self.known().rooms.remove(room);
    }

    /// What our account data says of direct rooms (`m.direct`).
    pub fn mark_direct(&self, data: &Value) {
        let rooms = |rooms: &Value| -> Vec<String> {
            let rooms = rooms.as_array().into_iter().flatten();
            rooms.filter_map(Value::as_str).map(str::to_owned).collect()
        };
        let users = data.as_object().into_iter().flatten();
        self.known().direct = users
            .map(|(user, all)| (user.clone(), rooms(all)))
            .collect();
    }

    /// Remembers a room that we made for a user.
    pub fn made(&self, user: &str, room: &str) {
        self.known().made.insert(user.to_owned(), room.to_owned());
    }

    /// What is known of a room.
    pub fn room(&self, room: &str) -> Option<Room> {
        self.known().rooms.get(room).cloned()
    }

    /// Whether what is written in a room is written to us alone.
    pub fn is_direct(&self, room: &str) -> bool {
        let known = self.known();
        known.rooms.get(room).is_some_and(Room::is_pair)
            || known.direct.values().flatten().any(|id| id == room)
    }

    /// The room in which a room lives on: itself, or what we joined of its successors.
    pub fn current(&self, room: &str) -> String {
        let known = self.known();
        let mut at = room;
        for _ in 0..MAX_UPGRADES {
            let next = known.rooms.get(at).and_then(|room| room.successor.as_ref());
            match next.filter(|(next, _)| known.rooms.contains_key(next)) {
                Some((next, _)) => at = next,
                None => break,
            }
        }
        at.to_owned()
    }

    /// Rooms that replace rooms we are in, and that we are not in ourselves, each with a server that knows it.
    pub fn awaited(&self) -> HashMap<String, Option<String>> {
        let known = self.known();
        let successors = known
            .rooms
            .values()
            .filter_map(|room| room.successor.clone());
        successors
            .filter(|(room, _)| !known.rooms.contains_key(room))
            .collect()
    }

    /// Rooms in which a user may read direct messages, likeliest first. Those that only have the right size need a
    /// look at who is in them.
    pub fn direct_candidates(&self, user: &str) -> Candidates {
        let known = self.known();
        let is_usable = |id: &str| {
            known
                .rooms
                .get(id)
                .is_some_and(|room| !room.encrypted && room.successor.is_none())
        };
        let mut marked = known.direct.get(user).into_iter().flatten();
        let marked = marked.find(|id| is_usable(id)).cloned();
        let of_two = |room: &Room| room.joined.unwrap_or(0) + room.invited == 2;
        let mut sized: Vec<(&String, &Room)> = known
            .rooms
            .iter()
            .filter(|(id, room)| is_usable(id) && of_two(room))
            .collect();
        sized.sort_by_key(|(id, _)| *id);
        let with_hero = sized
            .iter()
            .find(|(_, room)| room.heroes.len() == 1 && room.heroes[0] == user)
            .map(|(id, _)| (*id).clone());
        let made = known.made.get(user).cloned();
        Candidates {
            certain: marked.or(with_hero).or(made),
            possible: sized
                .iter()
                .filter(|(_, room)| room.heroes.is_empty())
                .map(|(id, _)| (*id).clone())
                .collect(),
        }
    }

    /// How many rooms there are, and how many of them are encrypted.
    pub fn count(&self) -> (usize, usize) {
        let known = self.known();
        let encrypted = known.rooms.values().filter(|room| room.encrypted).count();
        (known.rooms.len(), encrypted)
    }
}

/// Where a user may read direct messages.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Candidates {
    /// A room of which that is known.
    pub certain: Option<String>,
    /// Rooms of two of which the other is not known.
    pub possible: Vec<String>,
}
