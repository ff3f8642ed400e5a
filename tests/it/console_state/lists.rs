//! One list for all screens: the selection is an id, `/` filters as it is typed, `:sort` orders.

use leverframe::console::queue::Step;
use leverframe::tui::state::list::{Cell, List, ListDetail, Sort};
use proptest::prelude::*;

use crate::console_frames::driver::Driver;
use crate::console_frames::fixture;

fn cells(key: u8) -> Vec<Cell> {
    let parity = if key.is_multiple_of(2) { "even" } else { "odd" };
    vec![
        Cell::new(parity),
        Cell::ranked(format!("n{key}"), f64::from(key)),
    ]
}

fn arranged(list: &mut ListDetail<u8>, rows: &[u8]) {
    list.arrange(rows.to_vec(), |key| cells(*key));
}

proptest! {
    #[test]
    fn rows_that_come_and_go_move_neither_the_selection_nor_a_row(
        before in proptest::collection::btree_set(0u8..40, 1..20),
        after in proptest::collection::btree_set(0u8..40, 0..20),
        down in 1usize..20,
        filtered: bool,
    ) {
        let mut list = ListDetail::default();
        if filtered {
            list.filter = "even".into();
        }
        arranged(&mut list, &before.into_iter().collect::<Vec<_>>());
        for _ in 0..down {
            list.step(Step::Down);
        }
        let (order, selected) = (list.order.clone(), list.selected);
        let rows: Vec<u8> = after.iter().copied().collect();
        arranged(&mut list, &rows);
        prop_assert_eq!(list.total, rows.len());
        match selected {
            Some(key) if after.contains(&key) => {
                prop_assert_eq!(list.selected, selected);
                let kept: Vec<u8> = order.into_iter().filter(|key| after.contains(key)).collect();
                prop_assert_eq!(&list.order[..kept.len()], &kept[..]);
            }
            _ => {
                prop_assert_eq!(list.selected, None);
                prop_assert!(list.order.is_sorted());
            }
        }
        let wanted: Vec<u8> = rows.into_iter().filter(|key| !filtered || key % 2 == 0).collect();
        let mut listed = list.order.clone();
        listed.sort_unstable();
        prop_assert_eq!(listed, wanted);
    }

    #[test]
    fn movements_stay_in_the_list(steps in proptest::collection::vec(0u8..4, 1..30)) {
        let mut list = ListDetail::default();
        arranged(&mut list, &[1, 2, 3]);
        for step in steps {
            let step = [Step::Down, Step::Up, Step::Top, Step::Bottom][usize::from(step)];
            list.step(step);
            prop_assert!(list.position().is_some());
        }
    }
}

#[test]
fn the_detail_closes_before_the_selection() {
    let mut list = ListDetail::default();
    arranged(&mut list, &[1, 2]);
    assert!(!list.open(), "nothing is selected");
    list.step(Step::Down);
    assert!(list.open() && list.open(), "open opens, twice too");
    list.step(Step::Down);
    assert_eq!(
        (list.selected, list.scroll),
        (Some(1), 1),
        "the detail has the keys"
    );
    assert!(list.back());
    assert_eq!((list.selected, list.zoomed), (Some(1), false));
    assert!(list.back());
    assert_eq!(list.selected, None);
    assert!(!list.back());
}

#[test]
fn a_column_sorts_by_its_rank_and_both_ways() {
    let columns = ["parity", "number"];
    let mut list = ListDetail::default();
    for (text, wanted) in [
        ("number", [2, 3, 10]),
        ("-number", [10, 3, 2]),
        ("num", [2, 3, 10]),
        ("parity", [10, 2, 3]),
    ] {
        list.sort = Some(Sort::parse(text, &columns).unwrap());
        list.arrange_afresh(vec![10, 3, 2], |key| cells(*key));
        assert_eq!(list.order, wanted, "{text}");
    }
    for text in ["", "-", "size"] {
        let why = Sort::parse(text, &columns).unwrap_err();
        assert!(why.contains("parity, number"), "{why}");
    }
}

/// The line of the list's border, not the line that names the screens.
fn head(driver: &mut Driver, title: &str) -> String {
    let text = driver.text();
    let head = text
        .lines()
        .find(|line| line.contains('┌') && line.contains(title));
    head.unwrap_or_else(|| panic!("{title} is not shown: {text}"))
        .to_owned()
}

#[test]
fn a_list_shrinks_as_the_words_are_typed() {
    let mut driver = Driver::with(120, 40, fixture::busy());
    driver.press("4");
    let all = driver.state.screens.channels.order.len();
    driver.press("/");
    driver.type_text("tele");
    let wanted = format!("Channels  1 of {all}  filter: tele");
    assert!(
        head(&mut driver, "Channels  ").contains(&wanted),
        "{}",
        driver.text()
    );
    assert_eq!(driver.state.screens.channels.order, ["telegram"]);
    driver.press("enter j");
    assert_eq!(
        driver.state.screens.channels.selected.as_deref(),
        Some("telegram")
    );
    // The selection goes first, the filter last.
    driver.press("esc");
    assert_eq!(driver.state.screens.channels.order.len(), 1);
    driver.press("esc");
    assert_eq!(driver.state.screens.channels.order.len(), all);
    // esc in the line shows all.
    driver.press("/");
    driver.type_text("nothing-like-it");
    assert_eq!(driver.state.screens.channels.order.len(), 0);
    driver.press("esc");
    assert_eq!(driver.state.screens.channels.order.len(), all);
}

#[test]
fn every_list_filters_and_sorts() {
    for (key, title, column) in [
        ("2", "Live  ", "age"),
        ("4", "Channels  ", "unsent"),
        ("5", "Continuations  ", "cost"),
        ("6", "Rules  ", "uses"),
        ("7", "Cached responses", "given"),
        ("0", "Doctor", "about"),
    ] {
        let mut driver = Driver::with(140, 40, fixture::busy());
        driver.press(key);
        driver.press("/");
        driver.type_text("zzz");
        driver.press("enter");
        assert!(
            head(&mut driver, title).contains("filter: zzz"),
            "{title}: {}",
            driver.text()
        );
        driver.press("esc :");
        driver.type_text(&format!("sort -{column}"));
        driver.press("enter");
        let sorted = format!("sort: -{column}");
        assert!(
            head(&mut driver, title).contains(&sorted),
            "{title}: {}",
            driver.text()
        );
        driver.press(":");
        driver.type_text("sort nothing-like-it");
        driver.press("enter");
        assert!(
            driver.text().contains("sort: expected a column"),
            "{}",
            driver.text()
        );
    }
}

#[test]
fn sessions_that_wait_for_the_operator_stand_first() {
    let mut driver = Driver::with(120, 40, fixture::busy());
    driver.press("2");
    let world = driver.state.model.world();
    let waits: Vec<bool> = driver
        .state
        .screens
        .live
        .order
        .iter()
        .map(|id| world.session_status(&world.sessions[id]).as_str() == "waiting on you")
        .collect();
    assert!(waits[0], "{waits:?}");
    assert!(waits.is_sorted_by(|one, other| one >= other), "{waits:?}");
}
