//! Which console a terminal gets.

use leverframe::cli::exit::Failure;
use leverframe::cli::plain::face::{ConsoleKind, TerminalFacts, choose};
use leverframe::config::environment::Environment;

#[test]
fn the_place_decides_how_it_looks() {
    let here = |plain, input, output| TerminalFacts {
        plain,
        input,
        output,
    };
    let with = |pairs: &[(&str, &str)]| pairs.iter().copied().collect::<Environment>();
    let none = with(&[("TERM", "xterm")]);
    let plain =
        |look: Result<ConsoleKind, Failure>| matches!(look, Ok(ConsoleKind::Plain(Some(_))));
    assert_eq!(
        choose(here(false, true, true), &none).ok(),
        Some(ConsoleKind::Full)
    );
    assert_eq!(
        choose(here(true, false, false), &none).ok(),
        Some(ConsoleKind::Plain(None))
    );
    assert!(choose(here(false, false, true), &none).is_err());
    assert!(choose(here(false, false, true), &with(&[("ACCESSIBLE", "1")])).is_err());
    assert!(plain(choose(here(false, true, false), &none)));
    assert!(plain(choose(
        here(false, true, true),
        &with(&[("TERM", "dumb")])
    )));
    assert!(plain(choose(
        here(false, true, true),
        &with(&[("ACCESSIBLE", "1")])
    )));
    let zero = with(&[("ACCESSIBLE", "0"), ("TERM", "xterm")]);
    assert_eq!(
        choose(here(false, true, true), &zero).ok(),
        Some(ConsoleKind::Full)
    );
}
