//! Splits Markdown into parts that a platform accepts. Never loses or reorders visible text, and never
//! leaves a code fence open across two parts.
//!
//! A part ends at a paragraph where there is one, else at a line, a word, a grapheme cluster, in this
//! order. A fence that fits into one part is never cut; a longer one is closed at the end of a part and
//! opened again, with the same info string, at the start of the next. White space at a cut outside a
//! fence is dropped. What counts as a fence: CommonMark 0.31 § 4.5, at any indentation.

use unicode_segmentation::UnicodeSegmentation;

use crate::protocol::channel::LengthUnit;

/// The length of `text` as the platform counts it.
pub fn length(text: &str, unit: LengthUnit) -> usize {
    match unit {
        LengthUnit::Utf16 => text.encode_utf16().count(),
        LengthUnit::Chars => text.chars().count(),
        LengthUnit::Bytes => text.len(),
    }
}

/// The parts of `markdown`, each at most `max` long, none blank; blank text has no parts.
///
/// Meant for `max` of 64 and more. Below that fences are cut like other text, and below the length of a
/// single character a part is that one character.
pub fn chunk(markdown: &str, max: usize, unit: LengthUnit) -> Vec<String> {
    let splitter = Splitter {
        max,
        unit,
        longest_opener: max / 3,
    };
    let mut parts = Vec::new();
    let mut rest = markdown;
    let mut open: Option<Fence> = None;
    while rest.chars().any(|c| !c.is_whitespace()) {
        let prefix = open.as_ref().map(|fence| format!("{}\n", fence.opener));
        let prefix = prefix.unwrap_or_default();
        let budget = max.saturating_sub(length(&prefix, unit));
        let cut = splitter.cut(rest, budget, open);
        let (body, after) = rest.split_at(cut.at);
        let mut part = prefix;
        if let Some(fence) = &cut.inside {
            part.push_str(body);
            if !body.ends_with('\n') {
                part.push('\n');
            }
            part.push_str(&fence.marker);
            rest = after;
        } else {
            part.push_str(body.trim_end());
            rest = skip_blank(after, body.ends_with('\n'));
        }
        if !part.trim().is_empty() {
            parts.push(part);
        }
        open = cut.inside;
    }
    parts
}

/// Text after a cut: without blank lines, and within a line without the spaces of the cut.
fn skip_blank(after: &str, at_line_start: bool) -> &str {
    let mut rest = after;
    if !at_line_start {
        // By cluster: a space that carries a mark is not blank.
        let blank = |cluster: &&str| *cluster != "\n" && cluster.chars().all(char::is_whitespace);
        let spaces: usize = rest.graphemes(true).take_while(blank).map(str::len).sum();
        rest = rest.get(spaces..).unwrap_or_default();
    }
    while let Some((line, tail)) = rest.split_once('\n') {
        if !line.trim().is_empty() {
            break;
        }
        rest = tail;
    }
    rest
}

/// An open code fence.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Fence {
    /// The backticks or tildes.
    marker: String,
    /// Marker and info string, to open it again.
    opener: String,
}

impl Fence {
    /// The fence that `line` opens.
    fn opened_by(line: &str) -> Option<Self> {
        let line = line.trim();
        let first = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
        let info = line.trim_start_matches(first);
        let marker = line.get(..line.len() - info.len())?;
        if marker.len() < 3 || (first == '`' && info.contains('`')) {
            return None;
        }
        Some(Self {
            marker: marker.to_owned(),
            opener: line.to_owned(),
        })
    }

    /// Whether `line` closes this fence.
    fn closed_by(&self, line: &str) -> bool {
        let line = line.trim();
        line.len() >= self.marker.len()
            && self
                .marker
                .chars()
                .next()
                .is_some_and(|marker| line.chars().all(|c| c == marker))
    }
}

/// Where a part ends.
struct Cut {
    /// Byte offset.
    at: usize,
    /// The fence the cut lies in.
    inside: Option<Fence>,
}

/// A place where a part could end.
#[derive(Clone, Copy)]
struct BreakPoint {
    at: usize,
    used: usize,
}

/// Where a part could end, each the last of its kind so far.
#[derive(Default)]
struct Places {
    /// Start of the open fence, when it was opened in this part.
    fence_start: Option<BreakPoint>,
    paragraph: Option<BreakPoint>,
    outside: Option<BreakPoint>,
    inside: Option<BreakPoint>,
}

struct Splitter {
    max: usize,
    unit: LengthUnit,
    /// Longer opening lines are not taken for fences: opening them again would leave no room.
    longest_opener: usize,
}

impl Splitter {
    fn length(&self, text: &str) -> usize {
        length(text, self.unit)
    }

    /// More of `text` than fits into a part: what a cut can depend on. Looking no further keeps the whole
    /// linear.
    fn window<'a>(&self, text: &'a str) -> &'a str {
        // No unit is more than four bytes long.
        let bytes = self.max.saturating_mul(4).saturating_add(64);
        if bytes >= text.len() {
            return text;
        }
        text.get(..text.floor_char_boundary(bytes)).unwrap_or(text)
    }

    /// The state after `line`.
    fn after(&self, state: Option<Fence>, line: &str) -> Option<Fence> {
        match state {
            Some(fence) if fence.closed_by(line) => None,
            Some(fence) => Some(fence),
            None => {
                Fence::opened_by(line).filter(|f| self.length(&f.opener) <= self.longest_opener)
            }
        }
    }

    fn cut(&self, rest: &str, budget: usize, open: Option<Fence>) -> Cut {
        let mut state = open;
        let mut used = 0;
        let mut at = 0;
        let mut places = Places::default();
        for line in self.window(rest).split_inclusive('\n') {
            let bare = line.strip_suffix('\n').unwrap_or(line);
            let next = self.after(state.clone(), bare);
            // A line inside a fence needs room to close it, unless nothing follows.
            let closing = match &next {
                Some(fence) if at + line.len() < rest.len() => 1 + self.length(&fence.marker),
                Some(_) | None => 0,
            };
            if used + self.length(bare) + closing > budget {
                let broken = Broken {
                    rest,
                    line: bare,
                    place: BreakPoint { at, used },
                    state,
                    budget,
                };
                return self.choose(broken, &places);
            }
            let before = BreakPoint { at, used };
            used += self.length(line);
            at += line.len();
            let place = BreakPoint { at, used };
            match (&state, &next) {
                (_, None) => {
                    places.fence_start = None;
                    places.inside = None;
                    places.outside = Some(place);
                    if bare.trim().is_empty() {
                        places.paragraph = Some(place);
                    }
                }
                (None, Some(_)) => places.fence_start = Some(before),
                (Some(_), Some(_)) => places.inside = Some(place),
            }
            state = next;
        }
        // Everything fits. A fence the text itself leaves open stays as it is.
        Cut {
            at: rest.len(),
            inside: None,
        }
    }

    fn choose(&self, broken: Broken<'_>, places: &Places) -> Cut {
        let outside_cut = |place: BreakPoint| Cut {
            at: place.at,
            inside: None,
        };
        if let Some(fence) = &broken.state {
            if let Some(start) = places.fence_start
                && start.at > 0
                && (places.inside.is_none() || self.fits_whole(broken.rest, start.at))
            {
                return outside_cut(start);
            }
            if let Some(place) = places.inside {
                return Cut {
                    at: place.at,
                    inside: Some(fence.clone()),
                };
            }
            return self.cut_line(broken);
        }
        match (places.paragraph, places.outside) {
            (Some(place), _) if place.used >= broken.budget / 4 => outside_cut(place),
            (_, Some(place)) => outside_cut(place),
            (_, None) => self.cut_line(broken),
        }
    }

    /// Whether the fenced block that starts at `start` fits into one part.
    fn fits_whole(&self, rest: &str, start: usize) -> bool {
        let mut state = None;
        let mut used = 0;
        let block = rest.get(start..).unwrap_or_default();
        for line in self.window(block).split_inclusive('\n') {
            let bare = line.strip_suffix('\n').unwrap_or(line);
            if used + self.length(bare) > self.max {
                return false;
            }
            used += self.length(line);
            state = self.after(state, bare);
            if state.is_none() {
                return true;
            }
        }
        true
    }

    /// Cuts within a line that is too long: after a word, else after a cluster, else after a character.
    fn cut_line(&self, broken: Broken<'_>) -> Cut {
        let closing = broken
            .state
            .as_ref()
            .map_or(0, |fence| 1 + self.length(&fence.marker));
        let room = broken.budget.saturating_sub(broken.place.used + closing);
        let mut used = 0;
        let mut word = None;
        let mut cluster_end = 0;
        let mut any_end = 0;
        for (at, cluster) in broken.line.grapheme_indices(true) {
            used += self.length(cluster);
            if used > room {
                break;
            }
            any_end = at + cluster.len();
            // A line must not start with what was no fence in the middle of one.
            if Self::looks_like_fence(broken.line.get(any_end..).unwrap_or_default()) {
                continue;
            }
            cluster_end = any_end;
            if cluster.chars().all(char::is_whitespace) && at > 0 {
                word = Some(cluster_end);
            }
        }
        let within = match word {
            Some(end) if !broken.line.get(..end).unwrap_or_default().trim().is_empty() => end,
            _ if cluster_end > 0 => cluster_end,
            _ if any_end > 0 => any_end,
            _ => self.characters_that_fit(broken.line, room),
        };
        Cut {
            at: broken.place.at + within,
            inside: broken.state,
        }
    }

    /// Whether `text` would be read as a fence at the start of a part. Looks 64 characters far.
    fn looks_like_fence(text: &str) -> bool {
        let mut start = text.chars().take(64).skip_while(|c| c.is_whitespace());
        let first = start.next();
        matches!(first, Some('`' | '~')) && start.next() == first && start.next() == first
    }

    /// At least one character, for a single cluster longer than a part.
    fn characters_that_fit(&self, line: &str, room: usize) -> usize {
        let mut used = 0;
        let mut end = 0;
        for c in line.chars() {
            used += self.length(c.encode_utf8(&mut [0; 4]));
            if used > room && end > 0 {
                break;
            }
            end += c.len_utf8();
        }
        end
    }
}

/// The first line that does not fit.
struct Broken<'a> {
    rest: &'a str,
    line: &'a str,
    /// Where the line starts.
    place: BreakPoint,
    /// The fence the line lies in.
    state: Option<Fence>,
    budget: usize,
}
