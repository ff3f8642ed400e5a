//! The command line, the palette and begun sequences: what they offer, and what they say does not work.

use leverframe::console::access::Access;
use leverframe::protocol::enums::Risk;
use leverframe::tui::action::Action;
use leverframe::tui::fuzzy::score;
use leverframe::tui::message::{Effect, Message};
use leverframe::tui::state::app::WHICH_KEY_MS;
use leverframe::tui::state::disabled_reason::why_not;
use leverframe::tui::state::modal::{Help, Modal};
use leverframe::tui::state::screen::Screen;
use leverframe::tui::state::text_dialog::TextDialog;
use proptest::prelude::*;

use crate::console_frames::driver::Driver;
use crate::console_frames::fixture;

fn driver() -> Driver {
    let mut driver = Driver::with(120, 40, fixture::busy());
    driver.state.theme_names = vec!["dark".into(), "light".into(), "solarized-dark".into()];
    driver.state.keymap_names = vec!["default".into(), "vim".into()];
    driver
}

fn line(driver: &Driver) -> String {
    match driver.state.modals.last() {
        Some(Modal::Text(TextDialog { field, .. })) => field.text(),
        other => panic!("no line is open: {other:?}"),
    }
}

fn offered(driver: &Driver) -> Vec<String> {
    match driver.state.modals.last() {
        Some(Modal::Text(entry)) => entry.choices.iter().map(|c| c.line.clone()).collect(),
        other => panic!("no line is open: {other:?}"),
    }
}

fn listed(driver: &Driver) -> Vec<Action> {
    match driver.state.modals.last() {
        Some(Modal::Help(help)) => Help::matches(help, &driver.state.keymap),
        other => panic!("no list is open: {other:?}"),
    }
}

#[test]
fn help_ranks_by_use_and_puts_what_does_nothing_last() {
    let mut driver = driver();
    driver.press("V V V ? esc");
    driver.press("?");
    let all = listed(&driver);
    let at = |action: Action| all.iter().position(|one| *one == action).unwrap();
    assert_eq!(at(Action::GroupQueue), 0, "{all:?}");
    // No card is selected: decisions say why, behind what can be done, before the keys of every screen.
    assert!(at(Action::Filter) < at(Action::Approve), "{all:?}");
    assert!(at(Action::Approve) < at(Action::Lock), "{all:?}");
    // What was used once stands before what was not; moving about does not count.
    assert!(at(Action::Help) < at(Action::ScreenQueue), "{all:?}");
    assert!(at(Action::ScreenQueue) < at(Action::MoveDown), "{all:?}");
    driver.press("esc j k j k");
    driver.press("?");
    assert!(listed(&driver).first() == Some(&Action::GroupQueue));
}

fn toast(driver: &Driver) -> String {
    driver
        .state
        .toast
        .as_ref()
        .map_or_else(String::new, |f| f.text.clone())
}

fn run(driver: &mut Driver, text: &str) -> Vec<Effect> {
    driver.state.toast = None;
    driver.press(":");
    driver.type_text(text);
    driver.press("enter")
}

#[test]
fn earlier_lines_come_back_and_the_begun_one_is_kept() {
    let mut driver = driver();
    for text in ["live", "channels", "live", "queue"] {
        run(&mut driver, text);
    }
    driver.press(":");
    driver.type_text("chan");
    let mut seen = Vec::new();
    for _ in 0..4 {
        driver.press("up");
        seen.push(line(&driver));
    }
    assert_eq!(seen, ["queue", "live", "channels", "channels"]);
    driver.press("down");
    assert_eq!(line(&driver), "live");
    driver.press("down down");
    assert_eq!(line(&driver), "chan", "what was begun is gone");
    driver.press("down");
    assert_eq!(line(&driver), "chan");
    // What was recalled runs.
    driver.press("up up up enter");
    assert_eq!(driver.state.screen, Screen::Channels);
    // A line that is opened again begins empty, at the newest.
    driver.press(": up");
    assert_eq!(line(&driver), "channels");
}

#[test]
fn arguments_are_completed() {
    let mut driver = driver();
    driver.press(":");
    driver.type_text("them");
    driver.press("tab");
    assert_eq!(line(&driver), "theme ");
    assert_eq!(
        offered(&driver),
        ["theme dark", "theme light", "theme solarized-dark"]
    );
    driver.type_text("sol");
    driver.press("tab");
    assert_eq!(line(&driver), "theme solarized-dark");
    assert_eq!(
        driver.press("enter"),
        [Effect::LoadTheme("solarized-dark".into())]
    );

    driver.press(":");
    driver.type_text("keymap v");
    driver.press("tab enter");
    assert_eq!(
        driver.effects.last(),
        Some(&Effect::LoadKeymap("vim".into()))
    );

    driver.press(":");
    driver.type_text("channel tel");
    driver.press("tab");
    assert_eq!(line(&driver), "channel telegram");
    driver.press("enter");
    assert_eq!(driver.state.screen, Screen::Channels);
    assert_eq!(
        driver.state.screens.channels.selected.as_deref(),
        Some("telegram")
    );

    let id = fixture::session_id(2);
    driver.press(":");
    driver.type_text(&format!("session {id}"));
    driver.press("enter");
    assert_eq!(driver.state.screens.session.session_id, Some(id));
    assert_eq!(driver.state.screen, Screen::Session);

    // Words that begin no command are taken as letters of one.
    driver.press(":");
    driver.type_text("cont");
    assert!(offered(&driver).contains(&"continuations".to_owned()));
    driver.press("ctrl-u");
    driver.type_text("sc-mem");
    assert_eq!(
        offered(&driver).first().map(String::as_str),
        Some("screen-memory")
    );
    driver.press("tab enter");
    assert_eq!(driver.state.screen, Screen::Memory);
}

#[test]
fn tab_never_takes_away_what_was_typed() {
    let mut driver = driver();
    driver.press(":");
    driver.type_text("theme r");
    assert!(offered(&driver).len() > 1, "{:?}", offered(&driver));
    driver.press("tab");
    assert_eq!(line(&driver), "theme r");
    driver.press("ctrl-u");
    driver.type_text("re");
    driver.press("tab");
    assert_eq!(line(&driver), "re");
}

#[test]
fn mistakes_name_the_nearest_word() {
    for (text, words) in [
        ("chanels", "did you mean `channels`?"),
        ("channel telegrm", "did you mean `telegram`?"),
        ("pause-chanel", "did you mean `pause-channel`?"),
        ("live now", "`live` takes no argument"),
        ("xyzzy", "is not a command"),
        ("session nothing-fits-this", "no session fits"),
        ("keymap", "known: default, vim"),
    ] {
        let mut driver = driver();
        let effects = run(&mut driver, text);
        assert!(effects.is_empty(), "{text}: {effects:?}");
        assert!(toast(&driver).contains(words), "{text}: {}", toast(&driver));
    }
}

#[test]
fn an_action_runs_by_its_name_but_decides_nothing() {
    let mut driver = driver();
    run(&mut driver, "lock");
    assert!(driver.state.locked);
    run(&mut driver, "lock");
    driver.press("j");
    driver.wait(1_000);
    for name in ["approve", "deny", "deny-and-stop"] {
        let effects = run(&mut driver, name);
        assert!(effects.is_empty(), "{name}: {effects:?}");
        assert!(
            toast(&driver).contains("is not a command"),
            "{}",
            toast(&driver)
        );
    }
    let effects = run(&mut driver, "new-session");
    assert!(
        matches!(effects.as_slice(), [Effect::Submit(_)]),
        "{effects:?}"
    );
}

#[test]
fn the_palette_finds_by_letters_and_puts_the_best_first() {
    for (text, action) in [
        ("apr", Action::Approve),
        ("frz", Action::Freeze),
        ("lock", Action::Lock),
        ("scr mem", Action::ScreenMemory),
        // On the Queue, pausing a channel has a key and pausing a session has none.
        ("pau", Action::PauseChannel),
        ("emst", Action::EmergencyStop),
        ("autonomy", Action::Autonomy),
    ] {
        let mut driver = driver();
        driver.press("ctrl-k");
        driver.type_text(text);
        assert_eq!(
            listed(&driver).first(),
            Some(&action),
            "{text}: {:?}",
            listed(&driver)
        );
    }
    let mut driver = driver();
    driver.press("ctrl-k");
    driver.type_text("qqqq");
    assert!(listed(&driver).is_empty());
}

#[test]
fn what_does_not_work_now_says_why_and_does_nothing() {
    let mut driver = driver();
    let why = |driver: &Driver, action| why_not(&driver.state, action).unwrap_or_default();
    assert_eq!(why(&driver, Action::Compose), "no session is selected");
    assert!(why(&driver, Action::Search).starts_with("only on session"));
    assert_eq!(
        why(&driver, Action::ReleaseStop),
        "no emergency stop is in force"
    );
    assert_eq!(why(&driver, Action::Help), "");
    assert_eq!(why(&driver, Action::NewSession), "");
    driver.press("2 j");
    assert_eq!(why(&driver, Action::Compose), "");
    assert_eq!(why(&driver, Action::Approve), "only on a card of the Queue");
    driver.state.locked = true;
    assert_eq!(why(&driver, Action::PauseSession), "locked (L unlocks)");
    assert_eq!(why(&driver, Action::EmergencyStop), "");
    driver.state.model.access = Access::ReadOnly;
    assert!(why(&driver, Action::EmergencyStop).contains("--read-only"));
    driver.state.model.access = Access::Operate;

    driver.press("ctrl-k");
    driver.type_text("pause-session");
    let text = driver.text();
    assert!(text.contains("locked (L unlocks)"), "{text}");
    let effects = driver.press("enter");
    assert!(effects.is_empty(), "{effects:?}");
    assert_eq!(toast(&driver), "pause: locked (L unlocks)");
}

#[test]
fn what_can_follow_is_shown_after_a_moment_and_goes_by_itself() {
    let mut driver = driver();
    driver.press("g");
    assert!(!driver.text().contains("g …"), "it flashes up at once");
    let due = driver.state.next_deadline().unwrap().0;
    assert!(due <= driver.steady + WHICH_KEY_MS, "nobody wakes it");
    driver.wait(WHICH_KEY_MS);
    let text = driver.text();
    assert!(
        text.contains("g …") && text.contains("move to the first line"),
        "{text}"
    );
    driver.wait(1_500);
    assert!(!driver.text().contains("g …"));
    driver.press("g");
    driver.wait(WHICH_KEY_MS);
    driver.press("g");
    assert!(!driver.text().contains("g …"), "the key was pressed");
}

#[test]
fn a_card_under_the_box_is_not_being_looked_at() {
    let mut driver = driver();
    driver.press("j enter G");
    driver.wait(2_000);
    driver.draw();
    driver.press("g");
    driver.wait(1_400);
    driver.draw();
    // The sequence has run out, and the card is whole again only since now.
    driver.wait(200);
    driver.draw();
    let effects = driver.press("a");
    assert!(effects.is_empty(), "{effects:?}");
    assert!(toast(&driver).contains("not armed"), "{}", toast(&driver));
}

#[test]
fn another_keymap_holds_at_once() {
    let mut driver = driver();
    driver.state.keymap = leverframe::tui::keymap::file::load("vim", None).unwrap();
    driver.press("g l");
    assert_eq!(driver.state.screen, Screen::Live);
    driver.press("q");
    assert!(driver.state.modals.is_empty());
    driver.press("Z Z");
    assert!(matches!(
        driver.state.modals.last(),
        Some(Modal::Quit { .. })
    ));
}

#[test]
fn better_matches_score_higher() {
    let of = |query: &str, name: &str| score(query, name, "").unwrap();
    assert!(of("stop", "stop") > of("stop", "stopped"));
    assert!(of("es", "emergency-stop") > of("es", "cases"));
    assert!(of("sto", "emergency-stop") > of("sto", "session-too"));
    assert!(score("xyz", "release-stop", "release it").is_none());
    assert!(score("release hold", "release-stop", "lets what was on hold go").is_some());
}

proptest! {
    #[test]
    fn what_is_scored_holds_every_letter_in_order(query in "[a-z]{0,6}", name in "[a-zA-Z -]{0,24}") {
        let name_lower = name.to_lowercase();
        let mut rest = name_lower.chars();
        let holds = query.chars().all(|c| rest.any(|n| n == c));
        prop_assert_eq!(score(&query, &name, "").is_some(), holds);
    }

    #[test]
    fn any_line_runs_without_deciding(text in "\\PC{0,40}") {
        let mut driver = driver();
        driver.press(":");
        driver.send(Message::Paste(text));
        let effects = driver.press("tab up down tab enter");
        let decided = effects.iter().any(|effect| matches!(
            effect,
            Effect::Submit(leverframe::protocol::request::Command::Decide(_))
        ));
        prop_assert!(!decided);
    }
}

#[test]
fn a_queue_of_one_row_names_its_columns() {
    for rows in 1..=3 {
        let mut snapshot = fixture::busy();
        snapshot.continuations.clear();
        snapshot.deliveries.clear();
        snapshot.approvals = (1..=rows)
            .map(|n| fixture::approval(n, Risk::Low))
            .collect();
        let mut driver = Driver::with(80, 24, snapshot);
        driver.press("j");
        let text = driver.text();
        assert!(text.contains("left  risk"), "{rows} rows: {text}");
    }
}
