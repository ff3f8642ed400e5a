//! What `strace -f -yy -xx` wrote, as calls: exactly, or not at all. Every line that names something below the root, a
//! socket or a program is understood or refused; nothing is guessed.
//!
//! With `-xx` every string is hexadecimal, so quotes, commas and brackets in a line are the tracer's own.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Calls that are recorded. Reads and closes change nothing on a disk; mappings are written by no call at all, which is
/// why only the index of the log (rebuilt at every start) may be one.
pub const CALLS: &str = "open,openat,creat,lseek,write,pwrite64,writev,pwritev,pwritev2,sendto,sendmsg,sendfile,\
copy_file_range,ftruncate,truncate,fallocate,fsync,fdatasync,sync_file_range,sync,syncfs,rename,renameat,renameat2,link,\
linkat,symlink,symlinkat,unlink,unlinkat,rmdir,mkdir,mkdirat,bind,execve";

/// One thing a process did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Call {
    /// A file was opened in a way that may have made it, and perhaps emptied.
    Open {
        path: PathBuf,
        create: bool,
        empty: bool,
    },
    /// Bytes at an offset; none = at the end.
    Write {
        path: PathBuf,
        at: Option<u64>,
        data: Vec<u8>,
    },
    /// The file's length was set.
    Resize {
        path: PathBuf,
        length: u64,
    },
    /// Space was reserved; the file may have grown to this length.
    Grow {
        path: PathBuf,
        length: u64,
    },
    /// The file or directory was made durable.
    Sync {
        path: PathBuf,
    },
    /// Everything was.
    SyncAll,
    Rename {
        from: PathBuf,
        to: PathBuf,
    },
    Link {
        from: PathBuf,
        to: PathBuf,
    },
    Unlink {
        path: PathBuf,
    },
    MakeDirectory {
        path: PathBuf,
    },
    RemoveDirectory {
        path: PathBuf,
    },
    /// Bytes to a socket.
    Send {
        socket: String,
        data: Vec<u8>,
    },
    /// A program was started.
    Execute {
        arguments: Vec<String>,
    },
}

/// A call with its place in the trace, in lines from 0. Calls of several threads overlap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Line at which it began.
    pub began: usize,
    /// Line at which it ended; none = the process died in it.
    pub ended: Option<usize>,
    /// What it did. A call that failed is not recorded.
    pub call: Call,
}

/// What is recorded of all that a process does.
pub struct Scope<'a> {
    /// A directory that existed before.
    pub root: &'a Path,
    /// What the process makes in it: this and all below it is recorded.
    pub inside: &'a Path,
    /// Another file whose writes are recorded.
    pub journal: &'a Path,
}

impl Scope<'_> {
    fn holds(&self, path: &Path) -> bool {
        path == self.root || path.starts_with(self.inside) || path == self.journal
    }
}

/// Why a line was not understood.
#[derive(Debug, PartialEq, Eq)]
pub struct Unclear(pub String);

type Parsed<T> = Result<T, Unclear>;

fn unclear<T>(what: &str, text: &str) -> Parsed<T> {
    let short: String = text.chars().take(300).collect();
    Err(Unclear(format!("{what}: {short}")))
}

/// Bytes of a run of `\x..`.
fn hex(text: &str) -> Parsed<Vec<u8>> {
    let digit = |byte: u8| (byte as char).to_digit(16).map(|digit| digit as u8);
    let bytes = text.as_bytes();
    if !bytes.len().is_multiple_of(4) {
        return unclear("not hexadecimal", text);
    }
    let mut out = Vec::with_capacity(bytes.len() / 4);
    for group in bytes.chunks_exact(4) {
        match (group, digit(group[2]), digit(group[3])) {
            ([b'\\', b'x', ..], Some(high), Some(low)) => out.push(high << 4 | low),
            _ => return unclear("not hexadecimal", text),
        }
    }
    Ok(out)
}

/// A quoted string: whole, or the line is refused (the tracer cuts long ones and puts dots behind).
fn quoted(text: &str) -> Parsed<Vec<u8>> {
    match text
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'))
    {
        Some(inner) => hex(inner),
        None => unclear("not a whole string", text),
    }
}

fn path_of(bytes: Vec<u8>) -> Parsed<PathBuf> {
    match String::from_utf8(bytes) {
        Ok(text) => Ok(PathBuf::from(text)),
        Err(error) => unclear("not a UTF-8 path", &error.to_string()),
    }
}

/// Splits at commas that stand in no bracket.
fn split(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut depth, mut start) = (0_i32, 0);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'[' | b'{' | b'(' => depth += 1,
            b']' | b'}' | b')' => depth -= 1,
            b',' if depth == 0 => {
                parts.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    if !text[start..].trim().is_empty() {
        parts.push(text[start..].trim());
    }
    parts
}

/// What a descriptor stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Target {
    File(PathBuf),
    /// A file without a name.
    Deleted,
    Socket(String),
    Other,
}

/// `9<\x2f...>`, `AT_FDCWD<...>`, `4<TCP:[...]>`, `6<...>(deleted)`.
fn descriptor(text: &str) -> Parsed<(&str, Target)> {
    let Some((number, rest)) = text.split_once('<') else {
        return Ok((text, Target::Other));
    };
    if let Some(rest) = rest.strip_suffix(">(deleted)") {
        hex(rest)?;
        return Ok((number, Target::Deleted));
    }
    let Some(name) = rest.strip_suffix('>') else {
        return unclear("not a descriptor", text);
    };
    if name.starts_with("TCP") {
        return Ok((number, Target::Socket(name.to_owned())));
    }
    // A device is shown with its numbers behind its name.
    if !name.starts_with("\\x2f") || name.contains('<') {
        return Ok((number, Target::Other));
    }
    Ok((number, Target::File(path_of(hex(name)?)?)))
}

fn named(base: Target, text: &str) -> Parsed<PathBuf> {
    let path = path_of(quoted(text)?)?;
    if path.is_absolute() {
        return Ok(path);
    }
    match base {
        Target::File(base) => Ok(base.join(path)),
        // Without a directory to start from (a tool's); our own code names whole paths.
        Target::Deleted | Target::Socket(_) | Target::Other => Ok(path),
    }
}

/// Bytes of `[{iov_base="...", iov_len=3}, ...]`.
fn vector(text: &str) -> Parsed<Vec<u8>> {
    let Some(list) = text
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
    else {
        return unclear("not a vector", text);
    };
    let mut bytes = Vec::new();
    for part in split(list) {
        let inner = part
            .strip_prefix("{iov_base=")
            .and_then(|rest| rest.strip_suffix('}'));
        match inner.and_then(|inner| inner.rsplit_once(", iov_len=")) {
            Some((text, _)) => bytes.extend(quoted(text)?),
            None => return unclear("not a part of a vector", part),
        }
    }
    Ok(bytes)
}

fn number(text: &str) -> Parsed<u64> {
    text.parse()
        .or_else(|_| unclear("not a number from 0", text))
}

/// A line without its process, of a call that ended, or of one that did not.
struct Line<'a> {
    name: &'a str,
    arguments: Vec<&'a str>,
    /// What it answered; none = the process died in it.
    answer: Option<&'a str>,
}

impl<'a> Line<'a> {
    fn read(text: &'a str) -> Parsed<Self> {
        let Some((name, rest)) = text.split_once('(') else {
            return unclear("not a call", text);
        };
        // The answer stands behind the last `) = `, with spaces before the sign where the line is short.
        let end = rest
            .rmatch_indices(" = ")
            .find(|(at, _)| rest[..*at].trim_end().ends_with(')'));
        let (arguments, answer) = match end {
            Some((at, sign)) => {
                let arguments = rest[..at].trim_end();
                (
                    &arguments[..arguments.len() - 1],
                    Some(rest[at + sign.len()..].trim()),
                )
            }
            None => (rest, None),
        };
        Ok(Self {
            name,
            arguments: split(arguments),
            answer: answer.filter(|answer| *answer != "?"),
        })
    }

    fn argument(&self, index: usize) -> Parsed<&'a str> {
        match self.arguments.get(index) {
            Some(text) => Ok(text),
            None => unclear("an argument is missing", self.name),
        }
    }

    fn failed(&self) -> bool {
        self.answer.is_some_and(|answer| answer.starts_with('-'))
    }

    /// How many bytes were taken: all, when the process died before it was told.
    fn taken(&self, offered: usize) -> Parsed<usize> {
        match self.answer {
            None => Ok(offered),
            Some(answer) => {
                Ok(number(answer.split_whitespace().next().unwrap_or_default())? as usize)
            }
        }
    }
}

/// Reads traces of processes one after another.
#[derive(Default)]
pub struct Reader {
    /// The part of a line that was cut by another thread's, with the place where it began.
    cut: HashMap<String, (usize, String)>,
    /// Where the next plain write of a descriptor goes; none = at the end.
    positions: HashMap<(String, PathBuf), Option<u64>>,
    lines: usize,
    records: Vec<Record>,
}

impl Reader {
    /// The records, in the order in which the calls ended; those that never did are last.
    pub fn finish(mut self, scope: &Scope<'_>) -> Parsed<Vec<Record>> {
        self.settle_cut(scope)?;
        Ok(self.records)
    }

    /// Adds the whole trace of one process and its children.
    pub fn process(&mut self, text: &str, scope: &Scope<'_>) -> Parsed<()> {
        self.settle_cut(scope)?;
        self.positions.clear();
        for line in text.lines() {
            self.line(line, scope)?;
            self.lines += 1;
        }
        Ok(())
    }

    /// Calls in which a process died.
    fn settle_cut(&mut self, scope: &Scope<'_>) -> Parsed<()> {
        let mut cut: Vec<(usize, String)> = self.cut.drain().map(|(_, began)| began).collect();
        cut.sort();
        for (began, text) in cut {
            self.call(&text, began, None, scope)?;
        }
        Ok(())
    }

    fn line(&mut self, line: &str, scope: &Scope<'_>) -> Parsed<()> {
        let Some((process, text)) = line.split_once(' ') else {
            return unclear("not a line of a trace", line);
        };
        let text = text.trim_start();
        if text.starts_with("---") || text.starts_with("+++") {
            return Ok(());
        }
        if let Some(start) = text.strip_suffix("<unfinished ...>") {
            let start = start.trim_end().to_owned();
            self.cut.insert(process.to_owned(), (self.lines, start));
            return Ok(());
        }
        if let Some(rest) = text.strip_prefix("<... ") {
            let Some((_, rest)) = rest.split_once(" resumed>") else {
                return unclear("not a resumed call", line);
            };
            let Some((began, start)) = self.cut.remove(process) else {
                return unclear("a resumed call that never began", line);
            };
            let glue = if start.ends_with(',') { " " } else { "" };
            return self.call(
                &format!("{start}{glue}{}", rest.trim_start()),
                began,
                Some(self.lines),
                scope,
            );
        }
        self.call(text, self.lines, Some(self.lines), scope)
    }

    fn call(
        &mut self,
        text: &str,
        began: usize,
        ended: Option<usize>,
        scope: &Scope<'_>,
    ) -> Parsed<()> {
        let line = Line::read(text)?;
        if line.failed() {
            return Ok(());
        }
        let ended = ended.filter(|_| line.answer.is_some());
        if let Some(call) = self.understand(&line, scope)? {
            self.records.push(Record { began, ended, call });
        }
        Ok(())
    }

    fn opened(&mut self, line: &Line<'_>, path: PathBuf, flags: &str) -> Call {
        let has = |flag: &str| flags.split('|').any(|one| one == flag);
        if let Some(answer) = line.answer {
            let number = answer.split('<').next().unwrap_or_default().to_owned();
            let start = if has("O_APPEND") { None } else { Some(0) };
            self.positions.insert((number, path.clone()), start);
        }
        Call::Open {
            create: has("O_CREAT"),
            empty: has("O_TRUNC"),
            path,
        }
    }

    /// Where a plain write goes, and moves on.
    fn advance(&mut self, number: &str, path: &Path, by: u64) -> Parsed<Option<u64>> {
        match self
            .positions
            .get_mut(&(number.to_owned(), path.to_owned()))
        {
            Some(Some(at)) => {
                let here = *at;
                *at += by;
                Ok(Some(here))
            }
            Some(None) => Ok(None),
            None => unclear(
                "a write to a file that was not seen being opened",
                &path.display().to_string(),
            ),
        }
    }

    fn understand(&mut self, line: &Line<'_>, scope: &Scope<'_>) -> Parsed<Option<Call>> {
        let within = |path: &Path| scope.holds(path);
        let kept = |path: PathBuf, call: fn(PathBuf) -> Call| within(&path).then(|| call(path));
        match line.name {
            "openat" => {
                let (_, base) = descriptor(line.argument(0)?)?;
                let path = named(base, line.argument(1)?)?;
                if !within(&path) {
                    return Ok(None);
                }
                let flags = line.argument(2)?;
                Ok(Some(self.opened(line, path, flags)))
            }
            "open" | "creat" => {
                let path = named(Target::Other, line.argument(0)?);
                let Ok(path) = path else { return Ok(None) };
                if !within(&path) {
                    return Ok(None);
                }
                let flags = if line.name == "creat" {
                    "O_CREAT|O_TRUNC"
                } else {
                    line.argument(1)?
                };
                Ok(Some(self.opened(line, path, flags)))
            }
            "lseek" => {
                let (number_text, target) = descriptor(line.argument(0)?)?;
                if let (Target::File(path), Some(answer)) = (target, line.answer)
                    && within(&path)
                {
                    let key = (number_text.to_owned(), path);
                    if let Some(Some(at)) = self.positions.get_mut(&key) {
                        *at = number(answer)?;
                    }
                }
                Ok(None)
            }
            "write" | "writev" | "sendto" | "sendmsg" | "pwrite64" | "pwritev" | "pwritev2" => {
                self.written(line, scope)
            }
            "ftruncate" | "truncate" => {
                let path = if line.name == "truncate" {
                    Target::File(named(Target::Other, line.argument(0)?)?)
                } else {
                    descriptor(line.argument(0)?)?.1
                };
                match path {
                    Target::File(path) if within(&path) => Ok(Some(Call::Resize {
                        path,
                        length: number(line.argument(1)?)?,
                    })),
                    _ => Ok(None),
                }
            }
            "fallocate" => match descriptor(line.argument(0)?)?.1 {
                Target::File(path) if within(&path) => {
                    if line.argument(1)? != "0" {
                        return unclear(
                            "a way of reserving space that is not modelled",
                            line.argument(1)?,
                        );
                    }
                    let length = number(line.argument(2)?)? + number(line.argument(3)?)?;
                    Ok(Some(Call::Grow { path, length }))
                }
                _ => Ok(None),
            },
            "fsync" | "fdatasync" => match descriptor(line.argument(0)?)?.1 {
                Target::File(path) => Ok(kept(path, |path| Call::Sync { path })),
                Target::Deleted | Target::Socket(_) | Target::Other => Ok(None),
            },
            // Starts writing and promises nothing.
            "sync_file_range" => Ok(None),
            "sync" | "syncfs" => Ok(Some(Call::SyncAll)),
            "rename" | "link" | "renameat" | "renameat2" | "linkat" => {
                let (from, to) = if matches!(line.name, "rename" | "link") {
                    (
                        named(Target::Other, line.argument(0)?),
                        named(Target::Other, line.argument(1)?),
                    )
                } else {
                    let (_, first) = descriptor(line.argument(0)?)?;
                    let (_, second) = descriptor(line.argument(2)?)?;
                    (
                        named(first, line.argument(1)?),
                        named(second, line.argument(3)?),
                    )
                };
                let (from, to) = (from?, to?);
                match (within(&from), within(&to)) {
                    (false, false) => Ok(None),
                    (true, true) if line.name.starts_with("link") => {
                        Ok(Some(Call::Link { from, to }))
                    }
                    (true, true) => Ok(Some(Call::Rename { from, to })),
                    (true, false) | (false, true) => {
                        unclear("a name moved across the root", &to.display().to_string())
                    }
                }
            }
            "unlink" => Ok(kept(named(Target::Other, line.argument(0)?)?, |path| {
                Call::Unlink { path }
            })),
            "rmdir" => Ok(kept(named(Target::Other, line.argument(0)?)?, |path| {
                Call::RemoveDirectory { path }
            })),
            "unlinkat" => {
                let (_, base) = descriptor(line.argument(0)?)?;
                let path = named(base, line.argument(1)?)?;
                if line.argument(2)?.contains("AT_REMOVEDIR") {
                    return Ok(kept(path, |path| Call::RemoveDirectory { path }));
                }
                Ok(kept(path, |path| Call::Unlink { path }))
            }
            "mkdir" => Ok(kept(named(Target::Other, line.argument(0)?)?, |path| {
                Call::MakeDirectory { path }
            })),
            "mkdirat" => {
                let (_, base) = descriptor(line.argument(0)?)?;
                let path = named(base, line.argument(1)?)?;
                Ok(kept(path, |path| Call::MakeDirectory { path }))
            }
            // A socket is a name without content.
            "bind" => {
                let named_by = line
                    .argument(1)?
                    .split("sun_path=")
                    .nth(1)
                    .and_then(|rest| rest.split('"').nth(1));
                match named_by {
                    Some(hexadecimal) => Ok(kept(path_of(hex(hexadecimal)?)?, |path| Call::Open {
                        path,
                        create: true,
                        empty: false,
                    })),
                    None => Ok(None),
                }
            }
            "execve" => {
                let list = line.argument(1)?;
                let Some(list) = list
                    .strip_prefix('[')
                    .and_then(|rest| rest.strip_suffix(']'))
                else {
                    return unclear("not a list of arguments", list);
                };
                let mut arguments = Vec::new();
                for part in split(list) {
                    arguments.push(String::from_utf8_lossy(&quoted(part)?).into_owned());
                }
                Ok(Some(Call::Execute { arguments }))
            }
            // Nothing of ours does these to its data; if that changes, the model must learn it.
            "symlink" | "symlinkat" => {
                let (base, name) = if line.name == "symlink" {
                    (Target::Other, line.argument(1)?)
                } else {
                    (descriptor(line.argument(1)?)?.1, line.argument(2)?)
                };
                let path = named(base, name)?;
                if within(&path) {
                    return unclear("not modelled", line.name);
                }
                Ok(None)
            }
            "copy_file_range" | "sendfile" => {
                let target = line.argument(if line.name == "sendfile" { 0 } else { 2 })?;
                match descriptor(target)?.1 {
                    Target::File(path) if within(&path) => unclear("not modelled", line.name),
                    _ => Ok(None),
                }
            }
            other => unclear("a call that is not known", other),
        }
    }

    fn written(&mut self, line: &Line<'_>, scope: &Scope<'_>) -> Parsed<Option<Call>> {
        let (descriptor_number, target) = descriptor(line.argument(0)?)?;
        let wanted = match &target {
            // What a process says on its standard outputs, which somebody else opened, is none of its data.
            Target::File(path) => {
                scope.holds(path)
                    && (!matches!(descriptor_number, "1" | "2")
                        || self
                            .positions
                            .contains_key(&(descriptor_number.to_owned(), path.clone())))
            }
            Target::Socket(_) => true,
            Target::Deleted | Target::Other => false,
        };
        if !wanted {
            return Ok(None);
        }
        let mut data = match line.name {
            "write" | "pwrite64" | "sendto" => quoted(line.argument(1)?)?,
            "writev" | "pwritev" | "pwritev2" => vector(line.argument(1)?)?,
            _ => {
                let message = line.argument(1)?;
                let list = message
                    .strip_prefix('{')
                    .and_then(|rest| rest.strip_suffix('}'))
                    .map(split)
                    .unwrap_or_default();
                match list.iter().find_map(|part| part.strip_prefix("msg_iov=")) {
                    Some(list) => vector(list)?,
                    None => return unclear("a message without a vector", message),
                }
            }
        };
        data.truncate(line.taken(data.len())?);
        match target {
            Target::Socket(socket) => Ok(Some(Call::Send { socket, data })),
            Target::File(path) => {
                let at = match line.name {
                    "pwrite64" | "pwritev" | "pwritev2" => Some(number(line.argument(3)?)?),
                    _ => self.advance(descriptor_number, &path, data.len() as u64)?,
                };
                Ok(Some(Call::Write { path, at, data }))
            }
            Target::Deleted | Target::Other => Ok(None),
        }
    }
}
