//! Which pictures a terminal is asked for and answers, and what is chosen of them.

use crossterm::event::{Event as InputEvent, KeyCode, KeyEvent, KeyModifiers};
use leverframe::config::settings::PictureDisplay;
use leverframe::tui::pictures::answers::{Answers, LateAnswer, question};
use leverframe::tui::pictures::cell_size::CellSize;
use leverframe::tui::pictures::graphics::{Graphics, Hints, Protocol, TmuxClient, choose};

const CELL: CellSize = CellSize {
    width: 10,
    height: 20,
};
const KITTY: &str = "\x1b_Gi=31;OK\x1b\\";
const SIZE: &str = "\x1b[6;20;10t";

fn read(text: &str) -> Answers {
    Answers::of(text.as_bytes()).0
}

fn graphics(protocol: Protocol) -> Graphics {
    Graphics {
        protocol,
        cell: CELL,
    }
}

#[test]
fn answers_are_read_among_keys_and_keys_are_kept() {
    let text = format!(
        "a{KITTY}\x1bP>|kitty(0.32.1)\x1b\\{SIZE}\x1b[A\x1b[?1;0;1024S\x1b[I\x1b[?62;4;22cü\r\x03\x1b"
    );
    let (answers, typed) = Answers::of(text.as_bytes());
    assert_eq!(
        answers,
        Answers {
            kitty: true,
            sixel: true,
            name: Some("kitty(0.32.1)".to_owned()),
            cell: Some(CELL),
            window: None,
            colors: Some(1024),
            complete: true,
        }
    );
    let key = |code: KeyCode| InputEvent::Key(code.into());
    let ctrl_c = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
    let expected = vec![
        key(KeyCode::Char('a')),
        key(KeyCode::Up),
        InputEvent::FocusGained,
        key(KeyCode::Char('ü')),
        key(KeyCode::Enter),
        InputEvent::Key(ctrl_c),
        key(KeyCode::Esc),
    ];
    assert_eq!(typed, expected);
    // Half of an answer is none, and is no key either.
    for half in ["\x1b_Gi=31;O", "\x1b[?62;4", "\x1bP>|kit"] {
        assert_eq!(Answers::of(half.as_bytes()), (Answers::default(), vec![]));
    }
    // A terminal that knows the protocol and cannot do it, and one without sixel.
    let weak = read("\x1b_Gi=31;ENOTSUPPORTED:no\x1b\\\x1b[?6;40c\x1b[6;0;0t");
    assert_eq!((weak.kitty, weak.sixel, weak.cell), (false, false, None));
}

#[test]
fn tmux_is_not_asked_for_kitty_which_it_takes_for_a_title() {
    assert!(question(false).contains("\x1b_G"));
    assert!(!question(true).contains("\x1b_"));
    for tmux in [true, false] {
        assert!(question(tmux).ends_with("\x1b[c"));
    }
}

#[test]
fn an_answer_that_comes_late_is_no_keys() {
    let alt = |c: char| InputEvent::Key(KeyEvent::new(KeyCode::Char(c), KeyModifiers::ALT));
    let key = |c: char| InputEvent::Key(KeyCode::Char(c).into());
    let mut late = LateAnswer::default();
    let typed: Vec<bool> = [key('a'), alt('_'), key('G'), key('a'), alt('\\'), key('a')]
        .iter()
        .map(|event| late.is_typed(event))
        .collect();
    assert_eq!(typed, [true, false, false, false, false, true]);
}

#[test]
fn what_the_terminal_answers_decides_how_pictures_are_drawn() {
    use PictureDisplay::{Auto, HalfBlocks, Iterm2, Kitty, Off, Sixel};
    let plain = Hints {
        true_color: true,
        ..Hints::default()
    };
    let program = |name: &str| Hints {
        program: name.to_owned(),
        ..plain.clone()
    };
    let named = |name: &str| format!("\x1bP>|{name}\x1b\\\x1b[?62c");
    let sixel = |colors| Protocol::Sixel { colors };
    let characters = Protocol::Placeholders { tmux: false };
    let nested = Hints {
        nested: true,
        ..program("iTerm.app")
    };
    let table = [
        // Nothing comes.
        (Auto, plain.clone(), String::new(), Protocol::HalfBlocks),
        (
            Auto,
            plain.clone(),
            format!("{SIZE}\x1b[?62c"),
            Protocol::HalfBlocks,
        ),
        (
            Auto,
            plain.clone(),
            format!("{KITTY}\x1b[?62c"),
            Protocol::Kitty,
        ),
        (
            Auto,
            plain.clone(),
            format!("{KITTY}{}", named("kitty(0.26.5)")),
            Protocol::Kitty,
        ),
        (
            Auto,
            plain.clone(),
            format!("{KITTY}{}", named("kitty(0.28.0)")),
            characters,
        ),
        (
            Auto,
            plain.clone(),
            format!("{KITTY}{}", named("ghostty 1.0.1")),
            characters,
        ),
        (
            Auto,
            plain.clone(),
            format!("{KITTY}{}", named("WezTerm 2024")),
            Protocol::Iterm2,
        ),
        (Auto, plain.clone(), named("iTerm2 3.5"), Protocol::Iterm2),
        (
            Auto,
            program("iTerm.app"),
            "\x1b[?62;4c".to_owned(),
            Protocol::Iterm2,
        ),
        (Auto, program("WezTerm"), String::new(), Protocol::Iterm2),
        // The environment is of the terminal around it.
        (Auto, nested, String::new(), Protocol::HalfBlocks),
        (
            Auto,
            program("iTerm.app"),
            named("foot(1.16)"),
            Protocol::HalfBlocks,
        ),
        (
            Auto,
            plain.clone(),
            format!("{SIZE}\x1b[?62;4c"),
            sixel(256),
        ),
        (
            Auto,
            plain.clone(),
            format!("{SIZE}\x1b[?1;0;16S\x1b[?62;4c"),
            sixel(16),
        ),
        (
            Auto,
            plain.clone(),
            format!("{SIZE}\x1b[?1;0;4S\x1b[?62;4c"),
            Protocol::HalfBlocks,
        ),
        // A picture of a wrong size would lie over other cells.
        (
            Auto,
            plain.clone(),
            "\x1b[?62;4c".to_owned(),
            Protocol::HalfBlocks,
        ),
        (
            Sixel,
            plain.clone(),
            "\x1b[?62;4c".to_owned(),
            Protocol::HalfBlocks,
        ),
        (Sixel, plain.clone(), SIZE.to_owned(), sixel(256)),
        (Kitty, plain.clone(), String::new(), Protocol::Kitty),
        (Iterm2, plain.clone(), String::new(), Protocol::Iterm2),
        (
            HalfBlocks,
            plain.clone(),
            format!("{KITTY}{SIZE}\x1b[?62;4c"),
            Protocol::HalfBlocks,
        ),
        (Off, plain.clone(), KITTY.to_owned(), Protocol::Off),
    ];
    for (display, hints, text, expected) in table {
        let chosen = choose(display, &hints, &read(&text), None, None);
        assert_eq!(chosen.protocol, expected, "{display:?} {hints:?} {text:?}");
    }
    // The terminal knows the pixels of a cell better than the line.
    let line = CellSize {
        width: 7,
        height: 15,
    };
    let cell = |text: &str| choose(Auto, &plain, &read(text), None, Some(line)).cell;
    assert_eq!((cell(SIZE), cell("")), (CELL, line));
    assert_eq!(CellSize::in_window((800, 480), (80, 24)), Some(CELL));
    // A border of two pixels; none may be a picture's.
    let smaller = CellSize {
        width: 9,
        height: 19,
    };
    assert_eq!(CellSize::in_window((804, 484), (80, 24)), Some(smaller));
    assert_eq!(CellSize::in_window((0, 0), (80, 24)), None);
}

#[test]
fn inside_tmux_pictures_need_what_lets_them_through() {
    use PictureDisplay::{Auto, Iterm2, Kitty};
    let hints = |true_color| Hints {
        tmux: true,
        true_color,
        program: "iTerm.app".to_owned(),
        nested: false,
    };
    let sixel = format!("{SIZE}\x1bP>|tmux 3.5\x1b\\\x1b[?1;2;4c");
    let characters = Protocol::Placeholders { tmux: true };
    let draws = Protocol::Sixel { colors: 256 };
    for (display, true_color, text, line, expected) in [
        (Auto, true, "", "1\txterm-kitty\t\t256", characters),
        (
            Auto,
            true,
            "",
            "on\txterm-256color\tkitty(0.35.2)\t256",
            characters,
        ),
        (
            Auto,
            true,
            "",
            "all\txterm-256color\tghostty 1.1\t256",
            characters,
        ),
        (
            Auto,
            true,
            "",
            "on\txterm-kitty\tkitty(0.26.5)\t256",
            Protocol::HalfBlocks,
        ),
        (
            Auto,
            true,
            "",
            "0\txterm-kitty\t\t256",
            Protocol::HalfBlocks,
        ),
        (
            Auto,
            true,
            "",
            "off\txterm-kitty\t\t256",
            Protocol::HalfBlocks,
        ),
        // The colour that names the picture would be another one.
        (
            Auto,
            false,
            "",
            "1\txterm-kitty\t\t256",
            Protocol::HalfBlocks,
        ),
        (
            Auto,
            true,
            "",
            "1\txterm-256color\tXTerm(379)\t256",
            Protocol::HalfBlocks,
        ),
        (
            Auto,
            true,
            sixel.as_str(),
            "0\tfoot\tfoot(1.16)\t256,sixel",
            draws,
        ),
        (
            Auto,
            true,
            sixel.as_str(),
            "0\txterm\tXTerm(379)\t256",
            Protocol::HalfBlocks,
        ),
        (Kitty, true, "", "1\txterm\t\t256", characters),
        (
            Kitty,
            true,
            "",
            "0\txterm-kitty\t\t256",
            Protocol::HalfBlocks,
        ),
        (
            Iterm2,
            true,
            "",
            "1\txterm\tiTerm2 3.5\t256",
            Protocol::HalfBlocks,
        ),
        (Auto, true, sixel.as_str(), "", Protocol::HalfBlocks),
    ] {
        let client = (!line.is_empty()).then(|| TmuxClient::of(&format!("{line}\n")));
        let chosen = choose(
            display,
            &hints(true_color),
            &read(text),
            client.as_ref(),
            None,
        );
        assert_eq!(chosen.protocol, expected, "{display:?} {text:?} {line:?}");
    }
}

#[test]
fn a_window_of_another_size_needs_the_size_of_a_cell_for_sixel() {
    let sixel = graphics(Protocol::Sixel { colors: 256 });
    let larger = CellSize {
        width: 12,
        height: 24,
    };
    assert_eq!(sixel.resized(Some(larger)).cell, larger);
    assert_eq!(sixel.resized(None).protocol, Protocol::HalfBlocks);
    let kitty = graphics(Protocol::Kitty);
    assert_eq!(kitty.resized(None), kitty);
}
