//! Patches of several files: reading them and applying them to texts. Pure.
//!
//! The format is the one that models know from coding agents: `*** Begin Patch`, a section for each file, `*** End
//! Patch`. The lines that a part takes away or keeps must be in the file exactly and in this order; line ends and the
//! end of the file stay as they are.

use crate::tools::nearest_lines::nearest;
use crate::tools::text_edits::{LineEnds, MAX_TEXT, line_ends};

const BEGIN: &str = "*** Begin Patch";
const END: &str = "*** End Patch";
const ADD: &str = "*** Add File: ";
const UPDATE: &str = "*** Update File: ";
const DELETE: &str = "*** Delete File: ";
const MOVE: &str = "*** Move to: ";
const END_OF_FILE: &str = "*** End of File";
/// What some editors put before the first letter of a file.
const BOM: char = '\u{feff}';

/// What a patch does to one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FilePatch<'a> {
    /// Makes a file that is not there yet.
    Add {
        /// Where.
        path: &'a str,
        /// The text, complete.
        text: String,
    },
    /// Takes a file away.
    Delete {
        /// Which.
        path: &'a str,
    },
    /// Changes a file, moves it, or both.
    Update {
        /// Which.
        path: &'a str,
        /// Where it goes; none = it stays.
        to: Option<&'a str>,
        /// The changes, from top to bottom.
        hunks: Vec<Hunk<'a>>,
    },
}

/// One change of a file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Hunk<'a> {
    /// Line of the patch where it begins, from 1.
    line: usize,
    /// Lines above the change, each below the one before, as `@@ line` says them.
    anchors: Vec<&'a str>,
    lines: Vec<HunkLine<'a>>,
    /// Whether it ends at the end of the file.
    at_end: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HunkLine<'a> {
    Kept(&'a str),
    Removed(&'a str),
    Added(&'a str),
}

impl<'a> Hunk<'a> {
    /// The lines that must be in the file.
    fn old(&self) -> Vec<&'a str> {
        let old = self.lines.iter().filter_map(|line| match line {
            HunkLine::Kept(text) | HunkLine::Removed(text) => Some(*text),
            HunkLine::Added(_) => None,
        });
        old.collect()
    }

    /// The lines that it is about, as they are and as they would be.
    pub fn sides(&self) -> (String, String) {
        let (mut old, mut new) = (String::new(), String::new());
        for line in &self.lines {
            let (text, is_old, is_new) = match line {
                HunkLine::Kept(text) => (text, true, true),
                HunkLine::Removed(text) => (text, true, false),
                HunkLine::Added(text) => (text, false, true),
            };
            for (side, is_there) in [(&mut old, is_old), (&mut new, is_new)] {
                if is_there {
                    side.push_str(text);
                    side.push('\n');
                }
            }
        }
        (old, new)
    }
}

/// Reads a patch. The error is for the model: it names the line of the patch.
pub fn parse(patch: &str) -> Result<Vec<FilePatch<'_>>, String> {
    let mut lines = patch.lines().enumerate().peekable();
    while lines.next_if(|(_, line)| line.trim().is_empty()).is_some() {}
    if lines
        .next()
        .is_none_or(|(_, line)| line.trim_end() != BEGIN)
    {
        return Err(format!("the patch must begin with the line `{BEGIN}`"));
    }
    let mut files = Vec::new();
    loop {
        let Some((at, line)) = lines.next() else {
            return Err(format!("the patch must end with the line `{END}`"));
        };
        let at = at + 1;
        let line = line.trim_end();
        let section = |name: &'static str| {
            let path = line.strip_prefix(name)?.trim();
            Some(if path.is_empty() {
                Err(format!("line {at} of the patch names no file"))
            } else {
                Ok(path)
            })
        };
        if line == END {
            break;
        } else if line.is_empty() {
            // Between two sections it means nothing.
        } else if let Some(path) = section(ADD) {
            let mut text = String::new();
            while let Some((_, line)) = lines.next_if(|(_, line)| line.starts_with('+')) {
                text.push_str(&line[1..]);
                text.push('\n');
            }
            files.push(FilePatch::Add { path: path?, text });
        } else if let Some(path) = section(DELETE) {
            files.push(FilePatch::Delete { path: path? });
        } else if let Some(path) = section(UPDATE) {
            let path = path?;
            let to = lines.next_if(|(_, line)| line.starts_with(MOVE));
            let to = to.map(|(_, line)| line[MOVE.len()..].trim());
            let mut hunks: Vec<Hunk<'_>> = Vec::new();
            while let Some((at, line)) = lines.next_if(|(_, line)| !is_section(line)) {
                add_line(&mut hunks, at + 1, line)?;
            }
            while hunks
                .last()
                .is_some_and(|hunk| hunk.lines.is_empty() && hunk.anchors.is_empty())
            {
                hunks.pop();
            }
            if let Some(empty) = hunks.iter().find(|hunk| !changes(hunk)) {
                return Err(format!(
                    "the part at line {} of the patch changes nothing: lines to take away begin with `-`, new ones with `+`",
                    empty.line
                ));
            }
            if hunks.is_empty() && to.is_none() {
                return Err(format!(
                    "the section of `{path}` at line {at} of the patch is empty"
                ));
            }
            files.push(FilePatch::Update { path, to, hunks });
        } else {
            return Err(format!(
                "line {at} of the patch is no section: `{}`, `{}` or `{}` and the path of a file",
                ADD.trim_end(),
                UPDATE.trim_end(),
                DELETE.trim_end()
            ));
        }
    }
    if lines.any(|(_, line)| !line.trim().is_empty()) {
        return Err(format!("nothing can follow the line `{END}`"));
    }
    if files.is_empty() {
        return Err("the patch changes no file".to_owned());
    }
    Ok(files)
}

fn is_section(line: &str) -> bool {
    [ADD, UPDATE, DELETE]
        .iter()
        .any(|name| line.starts_with(name))
        || line.trim_end() == END
}

fn changes(hunk: &Hunk<'_>) -> bool {
    let changed = |line: &HunkLine<'_>| !matches!(line, HunkLine::Kept(_));
    hunk.lines.iter().any(changed)
}

/// Takes one line of the section of a changed file.
fn add_line<'a>(hunks: &mut Vec<Hunk<'a>>, at: usize, line: &'a str) -> Result<(), String> {
    if let Some(anchor) = line.strip_prefix("@@") {
        let anchor = Some(anchor.trim()).filter(|anchor| !anchor.is_empty());
        // `@@ -1,2 +1,3 @@` of a unified diff counts lines; the lines themselves say where.
        let anchor = anchor.filter(|anchor| !(anchor.starts_with('-') && anchor.contains("@@")));
        match hunks.last_mut() {
            Some(hunk) if hunk.lines.is_empty() => hunk.anchors.extend(anchor),
            Some(_) | None => hunks.push(Hunk {
                line: at,
                anchors: anchor.into_iter().collect(),
                ..Hunk::default()
            }),
        }
        return Ok(());
    }
    let begun = hunks.last().is_some_and(|hunk| !hunk.at_end);
    if !begun {
        hunks.push(Hunk {
            line: at,
            ..Hunk::default()
        });
    }
    let Some(hunk) = hunks.last_mut() else {
        return Ok(());
    };
    if line.trim_end() == END_OF_FILE {
        hunk.at_end = true;
        return Ok(());
    }
    hunk.lines.push(match line.split_at_checked(1) {
        Some(("+", text)) => HunkLine::Added(text),
        Some(("-", text)) => HunkLine::Removed(text),
        Some((" ", text)) => HunkLine::Kept(text),
        // Many leave out the space of an empty line.
        None if line.is_empty() => HunkLine::Kept(""),
        Some(_) | None => {
            return Err(format!(
                "line {at} of the patch begins with none of ` `, `-`, `+`: every line of a changed file does"
            ));
        }
    });
    Ok(())
}

/// A line and how it ends.
type Line<'a> = (&'a str, &'a str);

fn lines_of(text: &str) -> Vec<Line<'_>> {
    text.split_inclusive('\n')
        .map(|line| {
            let end = if line.ends_with("\r\n") {
                2
            } else {
                usize::from(line.ends_with('\n'))
            };
            line.split_at(line.len() - end)
        })
        .collect()
}

/// The text with all hunks applied. The error is for the model: it names the line of the patch and the nearest lines of
/// the file.
pub fn apply(text: &str, hunks: &[Hunk<'_>]) -> Result<String, String> {
    let (bom, body) = match text.strip_prefix(BOM) {
        Some(body) => (Some(BOM), body),
        None => (None, text),
    };
    let lines = lines_of(body);
    let usual = match line_ends(body) {
        LineEnds::CrLf => "\r\n",
        LineEnds::Lf | LineEnds::Mixed => "\n",
    };
    let ends_open = lines.last().is_some_and(|(_, end)| end.is_empty());
    let mut out: Vec<Line<'_>> = Vec::with_capacity(lines.len());
    let mut done = 0;
    for hunk in hunks {
        let at = place(body, &lines, done, hunk)?;
        out.extend_from_slice(&lines[done..at]);
        done = at;
        for line in &hunk.lines {
            match line {
                HunkLine::Kept(_) => {
                    out.extend(lines.get(done));
                    done += 1;
                }
                HunkLine::Removed(_) => done += 1,
                HunkLine::Added(added) => {
                    let added = added.strip_suffix('\r').unwrap_or(added);
                    // In a text of both, a line ends as the one that it follows.
                    let end = out.last().map_or(usual, |(_, end)| *end);
                    out.push((added, if end.is_empty() { usual } else { end }));
                }
            }
        }
    }
    out.extend_from_slice(lines.get(done..).unwrap_or_default());
    let last = out.len().saturating_sub(1);
    let mut text: String = bom.into_iter().collect();
    for (at, (line, end)) in out.into_iter().enumerate() {
        text.push_str(line);
        match (at == last, end) {
            (true, _) if ends_open => {}
            (_, "") => text.push_str(usual),
            (_, end) => text.push_str(end),
        }
        if text.len() > MAX_TEXT {
            return Err(format!(
                "the file would have more than {} MiB",
                MAX_TEXT >> 20
            ));
        }
    }
    Ok(text)
}

/// Where a hunk belongs, at or behind `from`.
fn place(text: &str, lines: &[Line<'_>], from: usize, hunk: &Hunk<'_>) -> Result<usize, String> {
    let fail = |what: &str, missed: &[&str]| {
        Err(format!(
            "the part at line {} of the patch {what}. Nothing is changed. {}",
            hunk.line,
            nearest(text, missed)
        ))
    };
    let is_anchored = !hunk.anchors.is_empty();
    let mut start = from;
    for anchor in &hunk.anchors {
        let found = |line: &Line<'_>| line.0.trim() == anchor.trim();
        match lines.iter().skip(start).position(found) {
            Some(at) => start += at + 1,
            None => return fail("is behind an `@@` line that is not in the file", &[anchor]),
        }
    }
    let old = hunk.old();
    if old.is_empty() {
        return Ok(if is_anchored && !hunk.at_end {
            start
        } else {
            lines.len()
        });
    }
    let fits = |at: usize| {
        lines.len() >= at + old.len()
            && (lines[at..].iter().zip(&old))
                .all(|((line, _), old)| *line == old.strip_suffix('\r').unwrap_or(old))
    };
    if hunk.at_end {
        let at = lines.len().saturating_sub(old.len());
        return if at >= start && fits(at) {
            Ok(at)
        } else {
            fail("is not at the end of the file exactly so", &old)
        };
    }
    let mut places = (start..lines.len()).filter(|at| fits(*at));
    match (places.next(), places.next()) {
        (None, _) => {
            // The anchor itself may be the first line that is kept.
            if is_anchored && start > from && fits(start - 1) {
                return Ok(start - 1);
            }
            fail("is not in the file exactly so", &old)
        }
        (Some(at), Some(again)) if !is_anchored => Err(format!(
            "the part at line {} of the patch fits more than once (lines {} and {}). Nothing is changed: keep more \
             lines around it, or name a line above it with `@@ line`",
            hunk.line,
            at + 1,
            again + 1
        )),
        (Some(at), _) => Ok(at),
    }
}
