//! Links of the terminal (OSC 8). The words of a link are its address, or the path of its file: no link leads where its
//! words do not say. A link changes no cell but by the number that its cells carry, so nothing moves.

use std::sync::{Arc, Mutex};

use ratatui::buffer::{Buffer, Cell};
use ratatui::style::Modifier;
use ratatui::text::Line;
use unicode_segmentation::UnicodeSegmentation as _;

use crate::text::width::cluster_width;

/// Most links of one text.
const MOST_LINKS: usize = 50;
/// Longest address, in bytes.
const MAX_ADDRESS: usize = 2_000;
/// Longest text that is searched, in bytes.
const MAX_TEXT: usize = 256 * 1024;
/// Bits of a cell's modifiers that no attribute uses: they hold the number of its link. 0 = none.
const NUMBER_SHIFT: u32 = 9;
/// Most links on the screen.
const MOST_NUMBERS: usize = 127;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LinkScope {
    #[default]
    None,
    /// Of the web.
    Web,
    /// Of the web, and files of a workspace on this machine.
    WebAndFiles,
}

/// A link: what is written, and where it leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// The words, as they stand in some text.
    pub text: String,
    /// The address.
    pub target: String,
}

/// A part of a link in one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkPart {
    pub line: usize,
    /// First column.
    pub column: usize,
    pub text: String,
    /// Where the whole link leads.
    pub target: Arc<str>,
}

/// A part of a link on the screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownLink {
    /// Column of the screen.
    pub x: u16,
    /// Row of the screen.
    pub y: u16,
    /// What stands there. Where something else does, a dialog for example, there is no link.
    pub text: String,
    /// Where the whole link leads.
    pub target: Arc<str>,
}

/// The web addresses in a text: printable ASCII, with a host and without a name of a user.
pub fn web_links(text: &str) -> Vec<Link> {
    let text = text
        .get(..text.floor_char_boundary(MAX_TEXT))
        .unwrap_or(text);
    let mut links: Vec<Link> = Vec::new();
    let mut from = 0;
    while links.len() < MOST_LINKS
        && let Some(found) = text.get(from..).and_then(|rest| rest.find("http"))
    {
        let start = from + found;
        let rest = text.get(start..).unwrap_or_default();
        let is_inside = |c: char| c.is_ascii_graphic() && !"\"'<>`\\^{}|".contains(c);
        let end = rest.find(|c| !is_inside(c)).unwrap_or(rest.len());
        from = start + end.max(1);
        // What is cut leads elsewhere.
        let is_cut = rest
            .get(end..)
            .is_some_and(|rest| rest.starts_with(|c: char| c == '…' || c.is_alphanumeric()));
        let address = rest.get(..end).map(trimmed).filter(|_| !is_cut);
        if let Some(address) = address.filter(|address| is_web(address))
            && !links.iter().any(|link| link.text == address)
        {
            links.push(Link {
                text: address.to_owned(),
                target: address.to_owned(),
            });
        }
    }
    links
}

/// Without what ends the sentence around it.
fn trimmed(address: &str) -> &str {
    let mut address = address;
    loop {
        let closes = |open: char, close: char| {
            address.ends_with(close)
                && address.matches(open).count() < address.matches(close).count()
        };
        let cut = address.ends_with(['.', ',', ';', ':', '!', '?', '*', '_'])
            || closes('(', ')')
            || closes('[', ']');
        match address.char_indices().next_back() {
            Some((at, _)) if cut => address = address.get(..at).unwrap_or_default(),
            Some(_) | None => return address,
        }
    }
}

fn is_web(address: &str) -> bool {
    let rest = address
        .strip_prefix("https://")
        .or_else(|| address.strip_prefix("http://"));
    let host = rest.and_then(|rest| rest.split(['/', '?', '#']).next());
    address.len() <= MAX_ADDRESS
        && host.is_some_and(|host| {
            let plain = |c: char| c.is_ascii_alphanumeric() || ".-:[]".contains(c);
            host.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '[')
                && host.chars().all(plain)
        })
}

/// A file below a workspace; none = the path leads out of it, or is a plain word.
pub fn file_link(workspace: &str, path: &str) -> Option<Link> {
    let is_below = !path.split('/').any(|part| part == "..") && !path.starts_with(['/', '~']);
    let is_path = path.contains(['/', '.']) && path.len() <= MAX_ADDRESS;
    if !is_below || !is_path || !workspace.starts_with('/') || path.contains(char::is_control) {
        return None;
    }
    let mut target = "file://".to_owned();
    for byte in format!("{}/{path}", workspace.trim_end_matches('/')).bytes() {
        if byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte) {
            target.push(char::from(byte));
        } else {
            target.push_str(&format!("%{byte:02X}"));
        }
    }
    let text = path.to_owned();
    Some(Link { text, target })
}

/// Where these links stand in lines. A link that is wrapped goes on behind the blanks and borders of the next line;
/// what does not stand there whole is no link.
pub fn find(lines: &[Line<'_>], links: &[Link]) -> Vec<LinkPart> {
    let mut links: Vec<&Link> = links.iter().collect();
    // Of two that begin alike the longer one counts.
    links.sort_by_key(|link| std::cmp::Reverse(link.text.len()));
    let texts: Vec<String> = lines.iter().map(ToString::to_string).collect();
    let mut taken = vec![Vec::new(); texts.len()];
    let mut parts = Vec::new();
    for link in links {
        let target: Arc<str> = Arc::from(link.target.as_str());
        for (index, text) in texts.iter().enumerate() {
            for at in starts(text, &link.text) {
                let Some(found) = match_from(&texts, index, at, &link.text) else {
                    continue;
                };
                let is_free = |(line, start, end): &(usize, usize, usize)| {
                    taken.get(*line).is_some_and(|known: &Vec<(usize, usize)>| {
                        known.iter().all(|(from, to)| end <= from || start >= to)
                    })
                };
                if !found.iter().all(is_free) {
                    continue;
                }
                for (line, start, end) in found {
                    if let Some(known) = taken.get_mut(line) {
                        known.push((start, end));
                    }
                    let text = texts.get(line).map_or("", String::as_str);
                    let columns = text.get(..start).unwrap_or_default();
                    parts.push(LinkPart {
                        line,
                        column: columns.graphemes(true).map(cluster_width).sum(),
                        text: text.get(start..end).unwrap_or_default().to_owned(),
                        target: Arc::clone(&target),
                    });
                }
            }
        }
    }
    parts
}

/// Whether a character goes on with a link.
fn goes_on(c: char) -> bool {
    c.is_alphanumeric() || "/-_%=&#~+@$".contains(c)
}

/// Bytes at which a link may begin in a line: all of it stands there, or its beginning ends the line.
fn starts(line: &str, link: &str) -> Vec<usize> {
    let first = link.chars().next().map_or(0, char::len_utf8);
    let Some(begin) = link.get(..first).filter(|begin| !begin.is_empty()) else {
        return Vec::new();
    };
    let before = |at: usize| line.get(..at).and_then(|text| text.chars().next_back());
    let trimmed = line.trim_end();
    (line.match_indices(begin))
        .map(|(at, _)| at)
        .filter(|at| !before(*at).is_some_and(goes_on))
        .filter(|at| {
            let rest = trimmed.get(*at..).unwrap_or_default();
            rest.starts_with(link) || (rest.len() >= LEAST_WRAPPED && link.starts_with(rest))
        })
        .collect()
}

/// Least bytes of a link before it is wrapped.
const LEAST_WRAPPED: usize = 8;

/// The parts of a link that begins there: line, first and last byte.
fn match_from(
    texts: &[String],
    index: usize,
    at: usize,
    link: &str,
) -> Option<Vec<(usize, usize, usize)>> {
    let mut parts = Vec::new();
    let (mut left, mut index, mut at) = (link, index, at);
    loop {
        let line = texts.get(index)?;
        let rest = line.get(at..)?;
        if rest.starts_with(left) {
            let end = at + left.len();
            let next = line.get(end..)?.chars().next();
            if next.is_some_and(|c| goes_on(c) || c == '…') {
                return None;
            }
            parts.push((index, at, end));
            return Some(parts);
        }
        let rest = rest.trim_end();
        left = left.strip_prefix(rest).filter(|_| !rest.is_empty())?;
        parts.push((index, at, at + rest.len()));
        index += 1;
        let next = texts.get(index)?;
        at = next.find(|c: char| c != ' ' && c != '│' && c != '>')?;
    }
}

/// The addresses by their numbers. Shared by who draws and who writes.
#[derive(Debug, Clone, Default)]
pub struct LinkTable {
    targets: Arc<Mutex<Vec<Arc<str>>>>,
}

impl LinkTable {
    fn number(&self, target: &Arc<str>) -> Option<u16> {
        let mut targets = self.targets.lock().ok()?;
        let known = targets.iter().position(|one| one == target);
        let index = match known {
            Some(index) => index,
            None if targets.len() < MOST_NUMBERS => {
                targets.push(Arc::clone(target));
                targets.len() - 1
            }
            None => return None,
        };
        u16::try_from(index + 1).ok()
    }

    /// Whether no number is left. Whoever forgets them draws everything anew.
    pub fn is_full(&self) -> bool {
        let targets = self.targets.lock();
        targets.is_ok_and(|targets| targets.len() >= MOST_NUMBERS)
    }

    pub fn clear(&self) {
        if let Ok(mut targets) = self.targets.lock() {
            targets.clear();
        }
    }

    /// What begins the link of a cell; none = it has none. The number keeps parts of one link together.
    pub fn begin(&self, cell: &Cell) -> Option<String> {
        let number = number_of(cell);
        let targets = self.targets.lock().ok()?;
        let target = targets.get(usize::from(number).checked_sub(1)?)?;
        Some(format!("\x1b]8;id=lf{number};{target}\x1b\\"))
    }

    /// Gives the cells of links their numbers, where the words of the link really stand.
    pub fn stamp(&self, buffer: &mut Buffer, shown: &[ShownLink]) {
        for link in shown {
            let mut cells = Vec::new();
            let mut x = link.x;
            let stands = link.text.graphemes(true).all(|cluster| {
                let found = buffer
                    .cell((x, link.y))
                    .is_some_and(|cell| cell.symbol() == cluster);
                cells.push(x);
                x = x.saturating_add(u16::try_from(cluster_width(cluster)).unwrap_or(1));
                found
            });
            let number = stands.then(|| self.number(&link.target)).flatten();
            for x in number.into_iter().flat_map(|_| cells.iter()) {
                if let (Some(cell), Some(number)) = (buffer.cell_mut((*x, link.y)), number) {
                    cell.modifier |= Modifier::from_bits_retain(number << NUMBER_SHIFT);
                }
            }
        }
    }
}

pub const END: &str = "\x1b]8;;\x1b\\";

/// The number of the link of a cell; 0 = none.
pub fn number_of(cell: &Cell) -> u16 {
    cell.modifier.bits() >> NUMBER_SHIFT
}
