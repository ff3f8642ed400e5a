//! The questions to a terminal about pictures, and its answers among the keys typed meanwhile. Pure.

use crossterm::event::{Event as InputEvent, KeyCode, KeyEvent, KeyModifiers};

use crate::tui::pictures::cell_size::CellSize;

/// The number by which the answer to our question is known.
const QUESTION: &str = "i=31";
/// Whether it knows kitty's protocol. A terminal that does not ignores it; tmux would take it for a title.
const ASKS_KITTY: &str = "\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\";
/// Its name, the pixels of a cell and of the window, its colours, and what it is. That comes last: every terminal
/// answers it, and then the others were answered too.
const ASKS_ALL: &str = "\x1b[>0q\x1b[16t\x1b[14t\x1b[?1;1;0S\x1b[c";

/// What the terminal is asked; inside a multiplexer nothing of kitty.
pub fn question(multiplexed: bool) -> String {
    let kitty = if multiplexed { "" } else { ASKS_KITTY };
    format!("{kitty}{ASKS_ALL}")
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answers {
    /// Whether it knows kitty's protocol.
    pub kitty: bool,
    pub sixel: bool,
    /// What it calls itself.
    pub name: Option<String>,
    /// Pixels of a cell.
    pub cell: Option<CellSize>,
    /// Pixels of the window.
    pub window: Option<(u32, u32)>,
    /// Colours of a picture in sixel.
    pub colors: Option<u16>,
    /// Whether the last answer is there.
    pub complete: bool,
}

/// A piece of what a terminal writes.
enum Piece<'a> {
    /// A control string: its introducer and what it holds.
    Text(u8, &'a [u8]),
    /// A control sequence: parameters and final byte.
    Sequence(&'a [u8], u8),
    Byte(u8),
}

/// The first piece, and what follows; none = it goes on beyond what is there.
fn split_piece(bytes: &[u8]) -> Option<(Piece<'_>, &[u8])> {
    match bytes {
        [0x1b, introducer @ (b'_' | b'P'), rest @ ..] => {
            let end = rest.windows(2).position(|two| two == b"\x1b\\")?;
            let piece = Piece::Text(*introducer, rest.get(..end)?);
            Some((piece, rest.get(end + 2..)?))
        }
        [0x1b, b'[', rest @ ..] => {
            let end = rest.iter().position(|byte| (0x40..=0x7e).contains(byte))?;
            let piece = Piece::Sequence(rest.get(..end)?, *rest.get(end)?);
            Some((piece, rest.get(end + 1..)?))
        }
        [byte, rest @ ..] => Some((Piece::Byte(*byte), rest)),
        [] => None,
    }
}

/// The numbers of a control sequence.
fn numbers(parameters: &[u8]) -> Vec<u32> {
    let text = String::from_utf8_lossy(parameters);
    let numbers = text.split(';').map(|number| number.parse().unwrap_or(0));
    numbers.collect()
}

impl Answers {
    /// Takes the answers out of what came. The rest was typed.
    pub fn of(bytes: &[u8]) -> (Self, Vec<InputEvent>) {
        let mut answers = Self::default();
        let mut typed = Vec::new();
        let mut left = bytes;
        while let Some((piece, rest)) = split_piece(left) {
            let byte = match piece {
                Piece::Text(introducer, text) => {
                    answers.take_text(introducer, &String::from_utf8_lossy(text));
                    None
                }
                Piece::Sequence(parameters, last) => {
                    if !answers.take_sequence(parameters, last) {
                        typed.extend(key_of_sequence(parameters, last));
                    }
                    None
                }
                Piece::Byte(byte) => Some(byte),
            };
            left = rest;
            if let Some(byte) = byte {
                let (event, rest) = key_of_byte(byte, rest);
                typed.extend(event);
                left = rest;
            }
        }
        (answers, typed)
    }

    fn take_text(&mut self, introducer: u8, text: &str) {
        match (introducer, text.strip_prefix(">|")) {
            (b'P', Some(name)) => self.name = Some(name.to_owned()),
            (b'_', _) if text.starts_with('G') && text.contains(QUESTION) => {
                self.kitty = text.ends_with(";OK");
            }
            _ => {}
        }
    }

    /// Whether it was an answer.
    fn take_sequence(&mut self, parameters: &[u8], last: u8) -> bool {
        let private = parameters.strip_prefix(b"?");
        match (private.map(numbers), last) {
            (Some(numbers), b'c') => {
                self.sixel = numbers.iter().skip(1).any(|number| *number == 4);
                self.complete = true;
            }
            (Some(numbers), b'S') => {
                if let [1, 0, colors, ..] = numbers.as_slice() {
                    self.colors = u16::try_from(*colors).ok();
                }
            }
            (None, b't') => match numbers(parameters).as_slice() {
                [6, height, width] => self.cell = CellSize::of(*width, *height),
                [4, height, width] => self.window = Some((*width, *height)),
                _ => {}
            },
            _ => return false,
        }
        true
    }
}

/// A key, or the focus, that a control sequence says. Of others nobody types one within this time.
fn key_of_sequence(parameters: &[u8], last: u8) -> Option<InputEvent> {
    let code = match (parameters, last) {
        ([], b'A') => KeyCode::Up,
        ([], b'B') => KeyCode::Down,
        ([], b'C') => KeyCode::Right,
        ([], b'D') => KeyCode::Left,
        ([], b'I') => return Some(InputEvent::FocusGained),
        ([], b'O') => return Some(InputEvent::FocusLost),
        _ => return None,
    };
    Some(InputEvent::Key(code.into()))
}

/// The key of a byte, or of the character that begins with it, and what follows.
fn key_of_byte(byte: u8, rest: &[u8]) -> (Option<InputEvent>, &[u8]) {
    let key = |code: KeyCode| Some(InputEvent::Key(code.into()));
    let event = match byte {
        b'\r' => key(KeyCode::Enter),
        b'\t' => key(KeyCode::Tab),
        0x1b => key(KeyCode::Esc),
        0x7f => key(KeyCode::Backspace),
        1..=26 => {
            let code = KeyCode::Char(char::from(byte - 1 + b'a'));
            let event = KeyEvent::new(code, KeyModifiers::CONTROL);
            Some(InputEvent::Key(event))
        }
        b' '..=b'~' => Some(key_of_char(char::from(byte))),
        0xc2..=0xf4 => {
            let length = match byte {
                ..=0xdf => 1,
                0xe0..=0xef => 2,
                _ => 3,
            };
            let mut text = vec![byte];
            text.extend(rest.iter().take(length));
            let text = String::from_utf8(text).unwrap_or_default();
            let event = text.chars().next().map(key_of_char);
            return (event, rest.get(length..).unwrap_or_default());
        }
        _ => None,
    };
    (event, rest)
}

fn key_of_char(character: char) -> InputEvent {
    let modifiers = if character.is_uppercase() {
        KeyModifiers::SHIFT
    } else {
        KeyModifiers::NONE
    };
    InputEvent::Key(KeyEvent::new(KeyCode::Char(character), modifiers))
}

/// Drops an answer that comes after nobody waits for it any more: the reader of keys takes it for keys.
#[derive(Debug, Default)]
pub struct LateAnswer {
    open: bool,
}

impl LateAnswer {
    /// Whether an event was typed. Control strings begin with alt and `_` or `P`, and end with alt and `\`.
    pub fn is_typed(&mut self, event: &InputEvent) -> bool {
        let InputEvent::Key(key) = event else {
            return true;
        };
        let alt = key.modifiers.contains(KeyModifiers::ALT);
        match key.code {
            KeyCode::Char('_' | 'P') if alt => {
                self.open = true;
                false
            }
            KeyCode::Char('\\') if alt && self.open => {
                self.open = false;
                false
            }
            _ => !self.open,
        }
    }
}
