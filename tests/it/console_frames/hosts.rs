//! Frames with several daemons: whose item is whose, and which of them is lost.

use leverframe::console::message::DaemonMessage;
use leverframe::protocol::enums::*;
use leverframe::tui::theme::roles::Role;
use proptest::prelude::*;

use crate::console_frames::any_size::{HOSTILE, assert_clean};
use crate::console_frames::driver::Driver;
use crate::console_frames::fixture;
use crate::console_frames::screens::check_at;
use crate::console_state::hosts::{ATLAS, LAB, asks, on, says, snapshot};

const SIZES: &[(u16, u16)] = &[(80, 24), (120, 40), (60, 15), (160, 45)];

/// Two that answer, and one that was lost with a question open.
fn one_lost(width: u16, height: u16) -> Driver {
    let mut driver = on(width, height, &["", "", "west"]);
    let mut there = fixture::command_approval(2, Risk::High);
    there.channel = "desk".into();
    let west = leverframe::console::ids::HostId(2);
    snapshot(
        &mut driver,
        ATLAS,
        asks("atlas", vec![fixture::approval(1, Risk::Medium)]),
    );
    snapshot(&mut driver, LAB, asks("lab", vec![]));
    snapshot(&mut driver, west, asks("other", vec![there]));
    let why = "different protocol versions: http://127.0.0.1:3 speaks protocol 2, this program 1; update this program";
    says(
        &mut driver,
        west,
        DaemonMessage::Disconnected { why: why.into() },
    );
    driver
}

#[test]
fn hosts_queue() {
    check_at("hosts_queue", SIZES, |width, height| {
        let mut driver = one_lost(width, height);
        driver.press("j");
        driver
    });
}

#[test]
fn only_what_is_of_the_lost_host_is_dimmed() {
    let mut driver = one_lost(120, 40);
    let dimmed = driver.theme.style(Role::Dimmed);
    let row_of = |driver: &mut Driver, words: &str| {
        let buffer = driver.draw();
        let y = crate::console_frames::styled::glyphs(&buffer)
            .lines()
            .position(|line| line.contains(words))
            .unwrap();
        let style = buffer[(10, u16::try_from(y).unwrap())].style();
        (style.fg == dimmed.fg || dimmed.fg.is_none())
            && style.add_modifier.contains(dimmed.add_modifier)
    };
    assert!(row_of(&mut driver, "git push"));
    assert!(!row_of(&mut driver, "notes/today.md"));
    assert!(driver.text().contains("west LOST") || driver.text().contains("west: LOST"));
    assert!(driver.text().contains("speaks protocol 2, this program 1"));
    // The host without trouble shows its screens as always; the lost one's are dimmed.
    driver.press("2");
    assert!(!row_of(&mut driver, "No session yet"));
    driver.press("ctrl-n ctrl-n");
    assert!(row_of(&mut driver, "No session yet"));
    // The Queue is everybody's, whoever has the focus: only the rows of the lost host are dimmed there.
    driver.press("1");
    assert!(!row_of(&mut driver, "notes/today.md"));
}

#[test]
fn a_card_names_its_host_and_cannot_be_decided_where_the_name_does_not_fit() {
    let mut driver = one_lost(120, 40);
    driver.press("j");
    assert!(driver.text().contains("write_file on atlas"));
    let mut narrow = one_lost(22, 40);
    narrow.press("j enter");
    narrow.draw();
    narrow.wait(700);
    narrow.draw();
    narrow.press("d");
    assert!(
        narrow
            .effects
            .iter()
            .all(|effect| { !format!("{effect:?}").contains("Decide") })
    );
}

#[test]
fn the_card_of_a_copy_is_the_copys() {
    // The same id, revision and digest on a daemon and its restored copy; somebody else asks.
    let mut driver = on(120, 60, &["atlas", "lab"]);
    let mut copy = fixture::approval(1, Risk::Medium);
    copy.requester.display = "Somebody Else".into();
    snapshot(
        &mut driver,
        ATLAS,
        asks("x", vec![fixture::approval(1, Risk::Medium)]),
    );
    snapshot(&mut driver, LAB, asks("y", vec![copy]));
    driver.press("j");
    assert!(driver.text().contains("Ana Duarte · telegram"));
    driver.press("j");
    assert!(driver.text().contains("Somebody Else · telegram"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn several_hosts_draw_at_any_size_and_nothing_of_them_reaches_a_cell_raw(
        width in 0..200_u16,
        height in 0..80_u16,
        n in 0..HOSTILE.len(),
    ) {
        for tour in ["", "j", "G", "G enter", "2", "4 j", "ctrl-n 2", ": h"] {
            let mut driver = one_lost(width, height);
            let mut odd = asks(HOSTILE[n], vec![fixture::approval(3, Risk::Low)]);
            odd.engine.held_since = Some(fixture::ago(10));
            odd.engine.held_reason = Some(HOSTILE[n].into());
            snapshot(&mut driver, LAB, odd);
            let why = HOSTILE.concat();
            says(&mut driver, ATLAS, DaemonMessage::Disconnected { why });
            driver.press(tour);
            assert_clean(&mut driver, tour);
        }
    }
}
