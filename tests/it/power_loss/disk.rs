//! What a disk may hold when power is lost, as a pure model of files and names.
//!
//! Only what was synced is certain. The content of a file is certain from the end of an `fsync` that began after it was
//! written; a name (made, moved, removed) from the end of an `fsync` of its directory. Everything else may be there or
//! not: writes in any subset and any order, torn between sectors; a length before its content (zeros); names in their
//! order within a directory, as file systems with a journal keep them. An `fsync` of a file says nothing of its name.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::rc::Rc;

/// What a disk writes at once: less is never seen.
pub const SECTOR: u64 = 512;

/// A place in the history of changes.
pub type Moment = u64;

#[derive(Debug, Clone)]
pub enum Change {
    Write { at: u64, data: Rc<[u8]> },
    Length(u64),
}

/// Content and what is not certain of it.
#[derive(Debug, Clone, Default)]
pub struct File {
    pub durable: Vec<u8>,
    pub pending: Vec<(Moment, Change)>,
    /// As the process sees it.
    length: u64,
}

#[derive(Debug, Clone)]
pub enum NameChange {
    Set {
        name: String,
        node: usize,
    },
    Remove {
        name: String,
    },
    /// Within one directory.
    Move {
        from: String,
        to: String,
        node: usize,
    },
    /// The source of a move into another directory: gone only where the target is there.
    MovedAway {
        name: String,
        with: Moment,
    },
}

/// Names and what is not certain of them.
#[derive(Debug, Clone, Default)]
pub struct Directory {
    pub durable: BTreeMap<String, usize>,
    pub pending: Vec<(Moment, NameChange)>,
    now: BTreeMap<String, usize>,
}

#[derive(Debug, Clone)]
pub enum Node {
    File(File),
    Directory(Directory),
}

/// One directory with everything below it; itself it is certain.
#[derive(Debug, Clone)]
pub struct Disk {
    root: PathBuf,
    pub nodes: Vec<Node>,
    moment: Moment,
}

/// A sync that began and has not ended.
#[derive(Debug, Clone, Copy)]
pub struct Sync {
    node: usize,
    before: Moment,
}

/// Changes one content.
pub fn apply(content: &mut Vec<u8>, change: &Change) {
    match change {
        Change::Write { at, data } => {
            let end = *at as usize + data.len();
            if content.len() < end {
                content.resize(end, 0);
            }
            content[*at as usize..end].copy_from_slice(data);
        }
        Change::Length(length) => content.resize(*length as usize, 0),
    }
}

fn apply_name(names: &mut BTreeMap<String, usize>, change: &NameChange) {
    match change {
        NameChange::Set { name, node } => {
            names.insert(name.clone(), *node);
        }
        NameChange::Remove { name } | NameChange::MovedAway { name, .. } => {
            names.remove(name);
        }
        NameChange::Move { from, to, node } => {
            names.remove(from);
            names.insert(to.clone(), *node);
        }
    }
}

impl Disk {
    /// An empty directory.
    pub fn new(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
            nodes: vec![Node::Directory(Directory::default())],
            moment: 0,
        }
    }

    fn next(&mut self) -> Moment {
        self.moment += 1;
        self.moment
    }

    fn directory(&self, node: usize) -> &Directory {
        match &self.nodes[node] {
            Node::Directory(directory) => directory,
            Node::File(_) => panic!("a file where a directory is needed"),
        }
    }

    fn find(&self, path: &Path) -> Option<usize> {
        let below = path.strip_prefix(&self.root).ok()?;
        let mut node = 0;
        for part in below.components() {
            let Component::Normal(name) = part else {
                return None;
            };
            let Node::Directory(directory) = &self.nodes[node] else {
                return None;
            };
            node = *directory.now.get(name.to_str()?)?;
        }
        Some(node)
    }

    fn place(&self, path: &Path) -> (usize, String) {
        let parent = path.parent().and_then(|parent| self.find(parent));
        let name = path.file_name().and_then(|name| name.to_str());
        match (parent, name) {
            (Some(parent), Some(name)) => (parent, name.to_owned()),
            _ => panic!("{} has no directory", path.display()),
        }
    }

    fn rename_in(&mut self, directory: usize, change: NameChange) -> Moment {
        let moment = self.next();
        match &mut self.nodes[directory] {
            Node::Directory(directory) => {
                apply_name(&mut directory.now, &change);
                directory.pending.push((moment, change));
            }
            Node::File(_) => panic!("a file where a directory is needed"),
        }
        moment
    }

    fn file(&mut self, path: &Path) -> Option<&mut File> {
        let node = self.find(path)?;
        match &mut self.nodes[node] {
            Node::File(file) => Some(file),
            Node::Directory(_) => None,
        }
    }

    fn change(&mut self, path: &Path, change: Change) {
        let moment = self.next();
        let Some(file) = self.file(path) else {
            panic!("{} is not a file of this disk", path.display());
        };
        file.length = match &change {
            Change::Write { at, data } => file.length.max(at + data.len() as u64),
            Change::Length(length) => *length,
        };
        file.pending.push((moment, change));
    }

    /// A file is opened: made or emptied where that was asked for.
    pub fn open(&mut self, path: &Path, create: bool, empty: bool) {
        match self.find(path) {
            Some(_) if empty => self.change(path, Change::Length(0)),
            Some(_) => {}
            None if create => {
                let (directory, name) = self.place(path);
                self.nodes.push(Node::File(File::default()));
                let node = self.nodes.len() - 1;
                self.rename_in(directory, NameChange::Set { name, node });
            }
            // Read only, and older than the trace.
            None => {}
        }
    }

    /// Bytes at an offset, or at the end.
    pub fn write(&mut self, path: &Path, at: Option<u64>, data: &[u8]) {
        if data.is_empty() {
            return;
        }
        let end = self.file(path).map_or(0, |file| file.length);
        let at = at.unwrap_or(end);
        self.change(
            path,
            Change::Write {
                at,
                data: data.into(),
            },
        );
    }

    /// The length is set.
    pub fn resize(&mut self, path: &Path, length: u64) {
        self.change(path, Change::Length(length));
    }

    /// The length is at least this.
    pub fn grow(&mut self, path: &Path, length: u64) {
        if self.file(path).is_some_and(|file| file.length < length) {
            self.change(path, Change::Length(length));
        }
    }

    pub fn make_directory(&mut self, path: &Path) {
        let (directory, name) = self.place(path);
        self.nodes.push(Node::Directory(Directory::default()));
        let node = self.nodes.len() - 1;
        self.rename_in(directory, NameChange::Set { name, node });
    }

    pub fn unlink(&mut self, path: &Path) {
        let (directory, name) = self.place(path);
        self.rename_in(directory, NameChange::Remove { name });
    }

    pub fn link(&mut self, from: &Path, to: &Path) {
        let (directory, name) = self.place(to);
        match self.find(from) {
            Some(node) => {
                self.rename_in(directory, NameChange::Set { name, node });
            }
            None => panic!("{} is not there", from.display()),
        }
    }

    pub fn rename(&mut self, from: &Path, to: &Path) {
        let Some(node) = self.find(from) else {
            panic!("{} is not there", from.display());
        };
        let (source, old) = self.place(from);
        let (target, new) = self.place(to);
        if source == target {
            self.rename_in(
                source,
                NameChange::Move {
                    from: old,
                    to: new,
                    node,
                },
            );
        } else {
            let with = self.rename_in(target, NameChange::Set { name: new, node });
            self.rename_in(source, NameChange::MovedAway { name: old, with });
        }
    }

    /// A sync begins: what comes later is not its business. None = of a file that has no name any more.
    pub fn begin_sync(&self, path: &Path) -> Option<Sync> {
        self.find(path).map(|node| Sync {
            node,
            before: self.moment,
        })
    }

    /// It ended well.
    pub fn end_sync(&mut self, sync: Sync) {
        match &mut self.nodes[sync.node] {
            Node::File(file) => {
                let later = file.pending.partition_point(|(at, _)| *at <= sync.before);
                for (_, change) in file.pending.drain(..later) {
                    apply(&mut file.durable, &change);
                }
            }
            Node::Directory(directory) => {
                let later = directory
                    .pending
                    .partition_point(|(at, _)| *at <= sync.before);
                for (_, change) in directory.pending.drain(..later) {
                    apply_name(&mut directory.durable, &change);
                }
            }
        }
    }

    /// Everything becomes certain.
    pub fn sync_all(&mut self) {
        for node in 0..self.nodes.len() {
            self.end_sync(Sync {
                node,
                before: self.moment,
            });
        }
    }

    /// Whether something is not certain.
    pub fn uncertain(&self) -> bool {
        self.nodes.iter().any(|node| match node {
            Node::File(file) => !file.pending.is_empty(),
            Node::Directory(directory) => !directory.pending.is_empty(),
        })
    }

    /// Names and contents after a choice for each directory (how many of its pending changes hold) and each file.
    pub fn choose(
        &self,
        mut names: impl FnMut(usize) -> usize,
        mut content: impl FnMut(&File) -> Vec<u8>,
    ) -> BTreeMap<PathBuf, Entry> {
        let mut held = Vec::new();
        let mut tables = BTreeMap::new();
        for (index, node) in self.nodes.iter().enumerate() {
            if let Node::Directory(directory) = node {
                let count = names(directory.pending.len()).min(directory.pending.len());
                held.extend(directory.pending[..count].iter().map(|(at, _)| *at));
                tables.insert(index, count);
            }
        }
        // A target that is certain is not pending any more.
        let is_held = |with: &Moment, disk: &Self| {
            held.contains(with)
                || !disk.nodes.iter().any(|node| match node {
                    Node::Directory(directory) => {
                        directory.pending.iter().any(|(at, _)| at == with)
                    }
                    Node::File(_) => false,
                })
        };
        let mut entries = BTreeMap::new();
        let mut open = vec![(0, PathBuf::new())];
        while let Some((node, path)) = open.pop() {
            let directory = self.directory(node);
            let mut table = directory.durable.clone();
            for (_, change) in &directory.pending[..tables[&node]] {
                match change {
                    NameChange::MovedAway { with, .. } if !is_held(with, self) => {}
                    change => apply_name(&mut table, change),
                }
            }
            for (name, node) in table {
                let path = path.join(name);
                match &self.nodes[node] {
                    Node::File(file) => {
                        entries.insert(path, Entry::File(content(file)));
                    }
                    Node::Directory(_) => {
                        entries.insert(path.clone(), Entry::Directory);
                        open.push((node, path));
                    }
                }
            }
        }
        entries
    }
}

/// What stands at a path of an image.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Entry {
    File(Vec<u8>),
    Directory,
}
