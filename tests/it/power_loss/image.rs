//! Images: what a disk holds after one loss of power, out of all that it may hold. The same seed gives the same image.

use std::collections::BTreeMap;
use std::hash::{Hash as _, Hasher as _};
use std::path::{Path, PathBuf};

use crate::power_loss::disk::{Change, Disk, Entry, File, Moment, Node, SECTOR, apply};
use crate::support::content_hash::ContentHasher;

/// A small generator (splitmix64): the same numbers everywhere and for ever.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// From 0 to `bound`, not reaching it; 0 for 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        if bound == 0 { 0 } else { self.next() % bound }
    }

    /// Once in `n`.
    pub fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
}

/// Which names that are not certain are there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Names {
    None,
    All,
    /// In each directory the first few.
    Some,
}

/// Which content that is not certain is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Data {
    Nothing,
    Everything,
    /// Lengths, and zeros for content.
    Zeros,
    /// The write that was last, and none before it.
    LastOnly,
    /// Everything up to one write, which is torn.
    TornAt,
    /// Any writes, some torn.
    Subset,
    /// Any writes in any order.
    Reordered,
    /// For each sector any content that it ever had since the last sync.
    Sectors,
}

/// Kinds of images made of each moment.
pub const KINDS: &[(Names, Data)] = &[
    (Names::None, Data::Nothing),
    (Names::All, Data::Nothing),
    (Names::All, Data::Everything),
    (Names::None, Data::Everything),
    (Names::All, Data::Zeros),
    (Names::All, Data::LastOnly),
    (Names::Some, Data::TornAt),
    (Names::Some, Data::Subset),
    (Names::All, Data::Reordered),
    (Names::All, Data::Sectors),
];

/// What one loss of power left.
#[derive(Debug, Clone, Hash)]
pub struct Image(pub BTreeMap<PathBuf, Entry>);

/// A write of which only some sectors arrived.
fn torn(content: &mut Vec<u8>, change: &Change, random: &mut Random) {
    let Change::Write { at, data } = change else {
        if random.one_in(2) {
            apply(content, change);
        }
        return;
    };
    let (start, end) = (*at, at + data.len() as u64);
    let mut from = start;
    while from < end {
        let to = ((from / SECTOR + 1) * SECTOR).min(end);
        if random.one_in(2) {
            let part = data[(from - start) as usize..(to - start) as usize].into();
            apply(
                content,
                &Change::Write {
                    at: from,
                    data: part,
                },
            );
        }
        from = to;
    }
}

/// For each sector the content after some of the changes that touched it.
fn sectors(file: &File, random: &mut Random) -> Vec<u8> {
    let longest = file
        .pending
        .iter()
        .fold(file.durable.len() as u64, |longest, (_, change)| {
            longest.max(match change {
                Change::Write { at, data } => at + data.len() as u64,
                Change::Length(length) => *length,
            })
        });
    let last = file.pending.last().map_or(0, |(at, _)| *at);
    let first = file.pending.first().map_or(0, |(at, _)| *at);
    let mut cut = || first + random.below(last - first + 2);
    let cuts: Vec<Moment> = (0..=longest / SECTOR).map(|_| cut()).collect();
    let length_cut = cut();
    let mut content = file.durable.clone();
    content.resize(longest as usize, 0);
    let mut length = file.durable.len() as u64;
    for (n, (moment, change)) in file.pending.iter().enumerate() {
        let (from, to) = match change {
            Change::Write { at, data } => (*at, at + data.len() as u64),
            // A length is the file system's own record, there whole or not at all: what lies behind it is gone with
            // it, and reads as nothing only where the file grew again.
            Change::Length(shorter) => {
                let grown = file.pending[n + 1..].iter().any(|(_, later)| match later {
                    Change::Write { at, data } => at + data.len() as u64 > *shorter,
                    Change::Length(length) => length > shorter,
                });
                (*shorter, if grown { longest } else { *shorter })
            }
        };
        for at in from..to {
            if *moment < cuts[(at / SECTOR) as usize] {
                content[at as usize] = match change {
                    Change::Write { data, .. } => data[(at - from) as usize],
                    Change::Length(_) => 0,
                };
            }
        }
        if *moment < length_cut {
            length = match change {
                Change::Write { .. } => length.max(to),
                Change::Length(length) => *length,
            };
        }
    }
    content.truncate(length as usize);
    content
}

fn shuffled(file: &File, random: &mut Random) -> Vec<u8> {
    let mut order: Vec<&Change> = file.pending.iter().map(|(_, change)| change).collect();
    for at in (1..order.len()).rev() {
        order.swap(at, random.below(at as u64 + 1) as usize);
    }
    let mut content = file.durable.clone();
    for change in order {
        if !random.one_in(4) {
            apply(&mut content, change);
        }
    }
    content
}

fn content(file: &File, data: Data, last: Moment, cut: Moment, random: &mut Random) -> Vec<u8> {
    let mut content = file.durable.clone();
    if file.pending.is_empty() {
        return content;
    }
    match data {
        Data::Nothing => {}
        Data::Everything => {
            for (_, change) in &file.pending {
                apply(&mut content, change);
            }
        }
        Data::Zeros => {
            let mut whole = content.clone();
            for (_, change) in &file.pending {
                apply(&mut whole, change);
            }
            content.resize(whole.len(), 0);
        }
        Data::LastOnly => {
            for (moment, change) in &file.pending {
                if *moment == last {
                    apply(&mut content, change);
                }
            }
        }
        Data::TornAt => {
            for (moment, change) in &file.pending {
                if *moment < cut {
                    apply(&mut content, change);
                } else if *moment == cut {
                    torn(&mut content, change, random);
                }
            }
        }
        Data::Subset => {
            let few = 2 + random.below(3);
            for (_, change) in &file.pending {
                if random.one_in(4) {
                    torn(&mut content, change, random);
                } else if !random.one_in(few) {
                    apply(&mut content, change);
                }
            }
        }
        Data::Reordered => return shuffled(file, random),
        Data::Sectors => return sectors(file, random),
    }
    content
}

impl Image {
    /// One image of a disk.
    pub fn of(disk: &Disk, names: Names, data: Data, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let mut pending: Vec<Moment> = disk
            .nodes
            .iter()
            .filter_map(|node| match node {
                Node::File(file) => Some(file.pending.iter().map(|(at, _)| *at)),
                Node::Directory(_) => None,
            })
            .flatten()
            .collect();
        pending.sort_unstable();
        let last = pending.last().copied().unwrap_or(0);
        let cut = pending
            .get(random.below(pending.len() as u64) as usize)
            .copied()
            .unwrap_or(0);
        let mut choice = random.clone();
        let mut entries = disk.choose(
            |count| match names {
                Names::None => 0,
                Names::All => count,
                Names::Some => choice.below(count as u64 + 1) as usize,
            },
            |file| content(file, data, last, cut, &mut random),
        );
        for (path, entry) in &mut entries {
            // Written through memory, by no call: anything may be in it.
            if let Entry::File(content) = entry
                && path.to_string_lossy().ends_with("-shm")
            {
                content.fill(0xa5);
            }
        }
        Self(entries)
    }

    /// Tells images apart.
    pub fn digest(&self) -> u64 {
        let mut hasher = ContentHasher::default();
        self.0.hash(&mut hasher);
        hasher.finish()
    }

    /// Writes the part of it that lies below a directory.
    pub fn write(&self, below: &Path, to: &Path) -> std::io::Result<()> {
        std::fs::create_dir_all(to)?;
        for (path, entry) in &self.0 {
            let Ok(path) = path.strip_prefix(below) else {
                continue;
            };
            if path.as_os_str().is_empty() {
                continue;
            }
            match entry {
                Entry::File(content) => std::fs::write(to.join(path), content)?,
                Entry::Directory => std::fs::create_dir_all(to.join(path))?,
            }
        }
        Ok(())
    }
}
