//! kitty's protocol for pictures: sent once, shown by characters or at a place, deleted when nobody shows them any more.
//! No answer is wanted (`q=2`): it would come as keys.

use crate::tui::pictures::payload::Payload;

/// Most bytes of a picture in one sequence.
const CHUNK: usize = 4096;
/// The character in whose cell a part of a picture is shown. `text::untrusted` lets none of others through.
const PLACEHOLDER: char = '\u{10eeee}';
/// The marks on it that say row and column, from 0 (kitty's `rowcolumn-diacritics.txt`).
const MARKS: [char; 80] = [
    '\u{305}', '\u{30d}', '\u{30e}', '\u{310}', '\u{312}', '\u{33d}', '\u{33e}', '\u{33f}',
    '\u{346}', '\u{34a}', '\u{34b}', '\u{34c}', '\u{350}', '\u{351}', '\u{352}', '\u{357}',
    '\u{35b}', '\u{363}', '\u{364}', '\u{365}', '\u{366}', '\u{367}', '\u{368}', '\u{369}',
    '\u{36a}', '\u{36b}', '\u{36c}', '\u{36d}', '\u{36e}', '\u{36f}', '\u{483}', '\u{484}',
    '\u{485}', '\u{486}', '\u{487}', '\u{592}', '\u{593}', '\u{594}', '\u{595}', '\u{597}',
    '\u{598}', '\u{599}', '\u{59c}', '\u{59d}', '\u{59e}', '\u{59f}', '\u{5a0}', '\u{5a1}',
    '\u{5a8}', '\u{5a9}', '\u{5ab}', '\u{5ac}', '\u{5af}', '\u{5c4}', '\u{610}', '\u{611}',
    '\u{612}', '\u{613}', '\u{614}', '\u{615}', '\u{616}', '\u{617}', '\u{657}', '\u{658}',
    '\u{659}', '\u{65a}', '\u{65b}', '\u{65d}', '\u{65e}', '\u{6d6}', '\u{6d7}', '\u{6d8}',
    '\u{6d9}', '\u{6da}', '\u{6db}', '\u{6dc}', '\u{6df}', '\u{6e0}', '\u{6e1}', '\u{6e2}',
];

/// Sends a picture. Where characters show it, it is told how many cells it has.
pub fn transmit(id: u32, payload: &Payload, by_characters: bool) -> Vec<String> {
    let Payload { width, height, .. } = payload;
    let how = if by_characters {
        let (columns, rows) = (payload.columns, payload.rows);
        format!("a=T,U=1,c={columns},r={rows}")
    } else {
        "a=t".to_owned()
    };
    let mut head = format!("{how},f=24,o=z,s={width},v={height},i={id},");
    let mut left = payload.data.as_str();
    let mut sequences = Vec::new();
    loop {
        let (part, rest) = left.split_at_checked(CHUNK).unwrap_or((left, ""));
        let more = u8::from(!rest.is_empty());
        sequences.push(format!("\x1b_G{head}q=2,m={more};{part}\x1b\\"));
        if rest.is_empty() {
            return sequences;
        }
        left = rest;
        head.clear();
    }
}

/// Shows a picture where the cursor is. The cursor stays.
pub fn place(id: u32, place: u32, columns: u16, rows: u16) -> String {
    format!("\x1b_Ga=p,q=2,i={id},p={place},c={columns},r={rows},C=1\x1b\\")
}

/// Takes a picture away from a place.
pub fn take_away(id: u32, place: u32) -> String {
    format!("\x1b_Ga=d,d=i,q=2,i={id},p={place}\x1b\\")
}

pub fn delete(id: u32) -> String {
    format!("\x1b_Ga=d,d=I,q=2,i={id}\x1b\\")
}

/// What a cell shows of a picture; none = so many cells have no mark.
pub fn placeholder(row: u16, column: u16) -> Option<String> {
    let mark = |at: u16| MARKS.get(usize::from(at)).copied();
    Some([PLACEHOLDER, mark(row)?, mark(column)?].iter().collect())
}
