//! The mouse selects and scrolls, and decides nothing.

use leverframe::console::item::{ItemKey, QueueKey};
use leverframe::protocol::enums::Risk;
use leverframe::tui::message::{Effect, HitRegion, Message, Mouse, MouseKind};
use leverframe::tui::state::screen::Screen;

use crate::console_frames::driver::Driver;
use crate::console_frames::fixture;

fn ready() -> Driver {
    let mut driver = Driver::with(160, 45, fixture::busy());
    driver.wait(1_000);
    driver
}

fn at(driver: &Driver, region: &HitRegion) -> (u16, u16) {
    let (area, _) = driver
        .state
        .hit_regions
        .iter()
        .find(|(_, known)| known == region)
        .unwrap_or_else(|| panic!("{region:?} was not drawn: {:?}", driver.state.hit_regions));
    (area.x + area.width / 2, area.y)
}

fn mouse(driver: &mut Driver, kind: MouseKind, place: (u16, u16)) -> Vec<Effect> {
    let (column, row) = place;
    let effects = driver.send(Message::Mouse(Mouse { kind, column, row }));
    driver.draw();
    effects
}

fn hit_regions(driver: &Driver) -> Vec<HitRegion> {
    driver
        .state
        .hit_regions
        .iter()
        .map(|(_, region)| region.clone())
        .collect()
}

#[test]
fn the_mouse_is_the_terminals_until_it_is_taken() {
    let mut driver = ready();
    assert!(driver.state.hit_regions.is_empty());
    let nothing = driver.state.model.queue.selected.clone();
    mouse(&mut driver, MouseKind::Click, (5, 5));
    assert_eq!(driver.state.model.queue.selected, nothing);
    let effects = driver.press("m");
    assert!(effects.contains(&Effect::Mouse(true)), "{effects:?}");
    assert!(!driver.state.hit_regions.is_empty());
    let effects = driver.press("m");
    assert!(effects.contains(&Effect::Mouse(false)), "{effects:?}");
    assert!(driver.state.hit_regions.is_empty());
}

#[test]
fn a_click_selects_what_was_drawn_there_on_every_list() {
    let mut driver = ready();
    driver.press("m");
    let all = hit_regions(&driver);
    let items: Vec<QueueKey> = all
        .iter()
        .filter_map(|region| match region {
            HitRegion::Item(key) => Some(key.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(items, driver.state.model.queue.order);
    for key in items.iter().rev() {
        let place = at(&driver, &HitRegion::Item(key.clone()));
        mouse(&mut driver, MouseKind::Click, place);
        assert_eq!(driver.state.model.queue.selected.as_ref(), Some(key));
    }
    for (key, screen) in [("2", Screen::Live), ("4", Screen::Channels)] {
        driver.press(key);
        assert_eq!(driver.state.screen, screen);
        let last = hit_regions(&driver)
            .into_iter()
            .rev()
            .find(|region| *region != HitRegion::Card)
            .unwrap();
        let place = at(&driver, &last);
        mouse(&mut driver, MouseKind::Click, place);
        match last {
            HitRegion::Session(id) => assert_eq!(driver.state.screens.live.selected, Some(id)),
            HitRegion::Channel(name) => {
                assert_eq!(driver.state.screens.channels.selected, Some(name));
            }
            other => panic!("{other:?} on {screen:?}"),
        }
    }
    // Beside everything nothing is selected, and nothing is lost.
    let before = driver.state.screens.channels.selected.clone();
    mouse(&mut driver, MouseKind::Click, (159, 44));
    assert_eq!(driver.state.screens.channels.selected, before);
}

#[test]
fn neither_the_click_that_brought_the_focus_nor_any_other_decides() {
    let mut driver = ready();
    driver.press("m");
    let key = fixture::key(ItemKey::Approval(fixture::approval(1, Risk::Medium).id));
    let place = at(&driver, &HitRegion::Item(key.clone()));
    driver.send(Message::FocusLost);
    mouse(&mut driver, MouseKind::Click, place);
    assert_eq!(driver.state.model.queue.selected, None, "without the focus");
    driver.send(Message::FocusGained);
    mouse(&mut driver, MouseKind::Click, place);
    assert_eq!(driver.state.model.queue.selected, None, "with it, just now");
    driver.wait(400);
    driver.effects.clear();
    mouse(&mut driver, MouseKind::Click, place);
    assert_eq!(driver.state.model.queue.selected, Some(key));
    driver.wait(2_000);
    for _ in 0..5 {
        mouse(&mut driver, MouseKind::Click, place);
        mouse(&mut driver, MouseKind::Click, (120, 20));
        driver.wait(900);
    }
    let submitted = driver
        .effects
        .iter()
        .any(|effect| matches!(effect, Effect::Submit(_)));
    assert!(!submitted, "{:?}", driver.effects);
    // A dialog is answered with keys.
    driver.press("?");
    let modals = driver.state.modals.len();
    assert!(driver.state.hit_regions.is_empty());
    mouse(&mut driver, MouseKind::Click, (80, 22));
    mouse(&mut driver, MouseKind::WheelDown, (80, 22));
    assert_eq!(driver.state.modals.len(), modals);
}

#[test]
fn the_wheel_scrolls_what_is_under_it() {
    let mut driver = Driver::with(150, 16, fixture::busy());
    driver.wait(1_000);
    driver.press("m");
    let first = driver.state.model.queue.order[0].clone();
    let place = at(&driver, &HitRegion::Item(first.clone()));
    mouse(&mut driver, MouseKind::WheelDown, place);
    assert_eq!(driver.state.model.queue.selected, Some(first));
    driver.press("g g");
    let card = at(&driver, &HitRegion::Card);
    mouse(&mut driver, MouseKind::WheelDown, card);
    assert_eq!(driver.state.model.queue.card_scroll, 3);
    mouse(&mut driver, MouseKind::WheelUp, card);
    assert_eq!(driver.state.model.queue.card_scroll, 0);
}
