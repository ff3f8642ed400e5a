//! Shipped themes and keymaps load; broken ones are refused with the line to blame.

mod archive;
mod contrast;
mod printed;

use leverframe::tui::action::{Action, ActionClass};
use leverframe::tui::assets::{AssetKind, KEYMAPS, Source, THEMES, names};
use leverframe::tui::keymap::context::Context;
use leverframe::tui::keymap::file as keymap_file;
use leverframe::tui::keymap::key::{Key, parse_sequence, print_sequence};
use leverframe::tui::theme::depth::{ColorDepth, reduce, reduce_style};
use leverframe::tui::theme::file as theme_file;
use leverframe::tui::theme::roles::Role;
use ratatui::style::{Color, Modifier, Style};

fn source(text: &str) -> Source {
    Source {
        file: "mine.toml".into(),
        text: text.into(),
    }
}

#[test]
fn every_shipped_keymap_loads_and_reaches_every_action() {
    for (name, _) in KEYMAPS {
        let keymap = keymap_file::load(name, None).unwrap_or_else(|error| panic!("{error}"));
        for action in Action::ALL {
            let reached = Context::ALL
                .iter()
                .any(|context| !keymap.keys_of(*context, *action).is_empty());
            assert!(reached, "{name}: nothing reaches {action}");
        }
        for key in ["ctrl-s", "ctrl-q", "ctrl-a", "ctrl-b", "ctrl-\\"] {
            let key = parse_sequence(key).unwrap();
            let bound = keymap
                .contexts
                .values()
                .flatten()
                .any(|b| b.keys.first() == key.first());
            assert!(
                !bound,
                "{name}: {key:?} belongs to the terminal or multiplexer"
            );
        }
    }
}

#[test]
fn decisions_are_bound_nowhere_but_on_the_card() {
    let keymap = keymap_file::default_keymap();
    for (context, bindings) in &keymap.contexts {
        for binding in bindings
            .iter()
            .filter(|b| b.action.class() == ActionClass::Decision)
        {
            assert_eq!(*context, Context::Queue, "{}", binding.action);
        }
    }
}

#[test]
fn every_shipped_theme_loads_at_every_depth() {
    for (name, _) in THEMES {
        for depth in [
            ColorDepth::None,
            ColorDepth::Sixteen,
            ColorDepth::Indexed,
            ColorDepth::True,
        ] {
            let theme =
                theme_file::load(name, None, depth).unwrap_or_else(|error| panic!("{error}"));
            for role in Role::ALL {
                let style = theme.style(*role);
                for color in [style.fg, style.bg].into_iter().flatten() {
                    assert_eq!(
                        color,
                        reduce(color, depth),
                        "{name} {} at {depth:?}",
                        role.name()
                    );
                    assert!(
                        depth != ColorDepth::None,
                        "{name} {} has a colour under NO_COLOR",
                        role.name()
                    );
                }
            }
            // The selection must be visible without colours too.
            assert_ne!(
                theme.style(Role::Selection),
                theme.style(Role::Text),
                "{name} at {depth:?}"
            );
        }
    }
}

#[test]
fn broken_keymaps_name_the_line() {
    let cases = [
        (
            "[global]\n\"j\" = \"move-dwon\"\n",
            2,
            "did you mean `move-down`?",
        ),
        (
            "[global]\n\"ctrl-ctrl-x\" = \"help\"\n",
            2,
            "modifier twice",
        ),
        (
            "[global]\n\"entre\" = \"open\"\n",
            2,
            "did you mean `enter`?",
        ),
        ("[globl]\n\"j\" = \"open\"\n", 1, "did you mean `[global]`?"),
        (
            "inherits = \"default\"\n\n[global]\n\"v\" = \"approve\"\n",
            4,
            "only be bound in [queue]",
        ),
        (
            "inherits = \"default\"\n[session]\n\"a\" = \"approve\"\n",
            3,
            "only be bound in [queue]",
        ),
        (
            "inherits = \"default\"\n[live]\n\"j\" = \"open\"\n",
            3,
            "is bound a second time",
        ),
        (
            "inherits = \"default\"\n[queue]\n\"g\" = \"deny\"\n",
            3,
            "hides the longer",
        ),
        (
            "inherits = \"default\"\n[text]\n\"ctrl-x\" = \"text-home\"\n",
            3,
            "hides the longer",
        ),
        ("[global]\n\"j\" = 3\n", 2, "must name an action in quotes"),
        ("inherits = \"defalt\"\n", 1, "did you mean `default`?"),
        ("[global]\n\"j\" = \"open\"\n\"j\" = \"help\"\n", 3, ""),
        ("[global\n", 1, ""),
    ];
    for (text, line, words) in cases {
        let error = keymap_file::parse("mine", &source(text), None, 0).expect_err(text);
        assert_eq!(error.line, Some(line), "{text}: {error}");
        assert!(error.to_string().contains(words), "{text}: {error}");
    }
}

#[test]
fn the_emergency_stop_cannot_be_lost() {
    for text in [
        "inherits = \"default\"\n[global]\n\"ctrl-x ctrl-x\" = \"none\"\n",
        "inherits = \"default\"\n[global]\n\"Q\" = \"emergency-stop\"\n",
    ] {
        let error = keymap_file::parse("mine", &source(text), None, 0).expect_err(text);
        assert!(error.to_string().contains("emergency-stop"), "{error}");
    }
}

#[test]
fn one_key_can_be_changed_and_unbound() {
    let text = "inherits = \"default\"\n[global]\n\"j\" = \"none\"\n\"J\" = \"move-down\"\n";
    let keymap = keymap_file::parse("mine", &source(text), None, 0).unwrap();
    assert_eq!(
        keymap.keys_of(Context::Queue, Action::MoveDown),
        ["down", "J"]
    );
}

#[test]
fn broken_themes_name_the_line() {
    let cases = [
        (
            "[roles]\n\"risk.hihg\" = \"red\"\n",
            2,
            "did you mean `risk.high`?",
        ),
        ("[roles]\n\"risk.high\" = \"rde\"\n", 2, "is not a colour"),
        ("[palette]\nsea = \"#12345\"\n", 2, "is not a colour"),
        (
            "[roles]\n\"text\" = { fg = \"red\", modifier = [\"bold\"] }\n",
            2,
            "fg, bg or modifiers",
        ),
        (
            "[roles]\n\"text\" = { modifiers = [\"blink\"] }\n",
            2,
            "bold, dim",
        ),
        ("[colors]\nx = 1\n", 1, "not part of a theme"),
        ("inherits = \"drak\"\n", 1, "did you mean `dark`?"),
        ("[roles]\n\"text\" = \n", 2, ""),
    ];
    for (text, line, words) in cases {
        let error =
            theme_file::parse("mine", &source(text), None, ColorDepth::True).expect_err(text);
        assert_eq!(error.line, Some(line), "{text}: {error}");
        assert!(error.to_string().contains(words), "{text}: {error}");
    }
}

#[test]
fn roles_fall_back_to_their_parent_and_themes_inherit() {
    let theme = theme_file::parse(
        "mine",
        &source("[roles]\n\"risk\" = \"blue\"\n\"risk.high\" = \"red\"\n"),
        None,
        ColorDepth::Sixteen,
    )
    .unwrap();
    assert_eq!(theme.style(Role::RiskLow).fg, Some(Color::Blue));
    assert_eq!(theme.style(Role::RiskHigh).fg, Some(Color::Red));
    let theme = theme_file::parse(
        "mine",
        &source(
            "inherits = \"dark\"\n[palette]\nextra = \"sky\"\n[roles]\n\"label\" = \"extra\"\n",
        ),
        None,
        ColorDepth::True,
    )
    .unwrap();
    assert_eq!(
        theme.style(Role::Label).fg,
        Some(Color::Rgb(0x7f, 0xb4, 0xe8))
    );
    assert_eq!(
        theme.style(Role::OutsideUser).fg,
        Some(Color::Rgb(0x7f, 0xb4, 0xe8))
    );
}

#[test]
fn another_palette_recolours_what_is_inherited() {
    let text = "inherits = \"dark\"\n[palette]\nsky = \"#010203\"\n";
    let theme = theme_file::parse("mine", &source(text), None, ColorDepth::True).unwrap();
    let dark = theme_file::load("dark", None, ColorDepth::True).unwrap();
    let mine = Some(Color::Rgb(1, 2, 3));
    assert_eq!(theme.style(Role::OutsideUser).fg, mine);
    assert_eq!(theme.style(Role::DialogChosen).bg, mine);
    assert_ne!(dark.style(Role::OutsideUser).fg, mine);
    assert_eq!(theme.style(Role::RiskLow), dark.style(Role::RiskLow));
}

#[test]
fn what_can_be_done_on_a_screen_can_be_bound_on_every_screen() {
    for context in Context::ALL.iter().filter(|c| c.sees_global()) {
        let text = format!(
            "inherits = \"default\"\n[{}]\n\"ctrl-y\" = \"kill-continuation\"\n",
            context.name()
        );
        let keymap = keymap_file::parse("mine", &source(&text), None, 0)
            .unwrap_or_else(|error| panic!("{error}"));
        let keys = keymap.keys_of(*context, Action::KillContinuation);
        assert!(keys.contains(&"ctrl-y".to_owned()), "{keys:?}");
    }
}

#[test]
fn vim_says_what_vim_says() {
    let keymap = keymap_file::load("vim", None).unwrap_or_else(|error| panic!("{error}"));
    for (keys, context, action) in [
        ("g g", Context::Live, Action::MoveTop),
        ("G", Context::Live, Action::MoveBottom),
        ("ctrl-d", Context::Session, Action::PageDown),
        ("ctrl-f", Context::Session, Action::PageDown),
        ("ctrl-o", Context::Queue, Action::LastScreen),
        ("ctrl-w w", Context::Queue, Action::NextPane),
        ("y y", Context::Channels, Action::CopyId),
        ("z a", Context::Session, Action::Fold),
        ("Z Z", Context::Session, Action::Quit),
        ("/", Context::Session, Action::Search),
        ("g m", Context::Doctor, Action::ScreenMemory),
    ] {
        let sequence = parse_sequence(keys).unwrap();
        assert_eq!(
            keymap.lookup(context, &sequence),
            leverframe::tui::keymap::lookup::Lookup::Found(action),
            "{keys}"
        );
    }
    assert!(
        keymap.key_of(Context::Queue, Action::Quit).unwrap() != "q",
        "q records a macro there"
    );
}

#[test]
fn what_can_follow_a_key_is_known() {
    let keymap = keymap_file::default_keymap();
    let after = |context, keys: &str| keymap.continuations(context, &parse_sequence(keys).unwrap());
    assert_eq!(
        after(Context::Queue, "ctrl-x"),
        [
            ("ctrl-x".to_owned(), Action::EmergencyStop),
            ("r".to_owned(), Action::ReleaseStop)
        ]
    );
    assert_eq!(
        after(Context::Text, "ctrl-x"),
        [("ctrl-x".to_owned(), Action::EmergencyStop)]
    );
    assert_eq!(
        after(Context::Queue, "g"),
        [
            ("b".to_owned(), Action::ScreenDatasets),
            ("v".to_owned(), Action::ScreenServers),
            ("u".to_owned(), Action::ScreenStats),
            ("g".to_owned(), Action::MoveTop)
        ]
    );
    assert!(after(Context::Queue, "j").is_empty());
}

#[test]
fn a_users_file_goes_first_and_lists() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("themes")).unwrap();
    std::fs::write(
        dir.path().join("themes/terminal.toml"),
        "inherits = \"terminal\"\n[roles]\n\"label\" = \"green\"\n",
    )
    .unwrap();
    std::fs::write(dir.path().join("themes/mine.toml"), "").unwrap();
    let theme = theme_file::load("terminal", Some(dir.path()), ColorDepth::Sixteen).unwrap();
    assert_eq!(theme.style(Role::Label).fg, Some(Color::Green));
    assert_eq!(theme.style(Role::RiskLow).fg, Some(Color::Green));
    let mut expected: Vec<&str> = THEMES.iter().map(|(name, _)| *name).collect();
    expected.push("mine");
    expected.sort_unstable();
    assert_eq!(names(AssetKind::Theme, Some(dir.path())), expected);
    let error =
        theme_file::load("../../etc/passwd", Some(dir.path()), ColorDepth::Sixteen).unwrap_err();
    assert!(error.to_string().contains("no such theme"), "{error}");
}

#[test]
fn colours_come_down_to_the_nearest() {
    assert_eq!(
        reduce(Color::Rgb(255, 0, 0), ColorDepth::Indexed),
        Color::Indexed(196)
    );
    assert_eq!(
        reduce(Color::Rgb(128, 128, 128), ColorDepth::Indexed),
        Color::Indexed(244)
    );
    assert_eq!(
        reduce(Color::Rgb(250, 250, 250), ColorDepth::Sixteen),
        Color::White
    );
    let style = reduce_style(
        Style::new().fg(Color::White).bg(Color::Red),
        ColorDepth::None,
    );
    assert_eq!(style, Style::new().add_modifier(Modifier::REVERSED));
}

#[test]
fn keys_print_as_they_parse() {
    for text in [
        "a",
        "G",
        "ctrl-x ctrl-x",
        "g g",
        "alt-enter",
        "shift-tab",
        "f12",
        "space",
        "pagedown",
        "ctrl-alt-x",
    ] {
        assert_eq!(print_sequence(&parse_sequence(text).unwrap()), text);
    }
    assert!(Key::parse("shift-a").unwrap_err().contains("write `A`"));
}
