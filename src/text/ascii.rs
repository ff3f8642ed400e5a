//! Terminals that take ASCII only. Chosen once, when a console opens, for the whole process: outside text
//! is then revealed letter by letter (`text::untrusted`), and our own signs are written as ASCII.

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, Ordering};

/// The sign that we put between facts. Facts are revealed together with it, so outside text may hold it too.
pub const BETWEEN: char = '·';

static ONLY: AtomicBool = AtomicBool::new(false);

/// From now on this process writes ASCII only to the terminal.
pub fn choose() {
    ONLY.store(true, Ordering::SeqCst);
}

/// Whether it does.
pub fn only() -> bool {
    ONLY.load(Ordering::Relaxed)
}

/// Our own sign in ASCII, in as many columns; what is none of ours becomes `?`.
pub const fn sign(sign: char) -> char {
    match sign {
        '─' | '━' | '═' | '–' | '—' | '╌' | '┄' => '-',
        '│' | '┃' | '║' | '▏' | '▕' | BETWEEN | '␊' => '|',
        '┌' | '┐' | '└' | '┘' | '├' | '┤' | '┬' | '┴' | '┼' | '╭' | '╮' | '╯' | '╰' | '╞' | '╡' => {
            '+'
        }
        '…' => '~',
        '•' | '∙' | '×' | '●' => '*',
        '▶' | '▸' | '→' | '»' => '>',
        '◀' | '←' | '«' => '<',
        '▲' | '↑' => '^',
        '▼' | '↓' => 'v',
        '“' | '”' => '"',
        '‘' | '’' => '\'',
        '✓' => 'y',
        '✗' => 'x',
        '▁' | '▂' => '_',
        '▃' | '▄' | '▅' => '=',
        '▆' | '▇' | '█' | '▌' | '▐' | '▉' | '▊' | '▋' => '#',
        '░' | '▒' | '▓' => ':',
        ascii if ascii.is_ascii() => ascii,
        _ => '?',
    }
}

/// The text as the terminal can take it.
pub fn fitting(text: &str) -> Cow<'_, str> {
    if text.is_ascii() || !only() {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().map(sign).collect())
}
