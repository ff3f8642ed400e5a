//! Resources: what is asked, that the list is one like the others, and that an answer about something else changes nothing.

use std::sync::Arc;

use leverframe::console::message::DaemonMessage;
use leverframe::protocol::event::{Event, EventBody};
use leverframe::protocol::request::{Answer, ListPeople, ListTools, Query};
use leverframe::protocol::snapshot::Page;
use leverframe::protocol::tool::Tool;
use leverframe::tui::message::Effect;
use leverframe::tui::state::screen::Screen;

use crate::api_http::samples_traffic;
use crate::console_frames::driver::Driver;
use crate::console_frames::fixture;

fn tool(name: &str, calls: u64) -> Tool {
    Tool {
        name: name.to_owned(),
        calls,
        ..samples_traffic::tool()
    }
}

/// The tools on screen.
pub fn tools(width: u16, height: u16) -> Driver {
    let mut driver = Driver::with(width, height, fixture::busy());
    driver.press(":");
    driver.type_text("tools");
    let effects = driver.press("enter");
    assert_eq!(driver.state.screen, Screen::Resources);
    let asked = Effect::Query(Query::ListTools(ListTools {}));
    assert!(
        effects.contains(&asked) || driver.effects.contains(&asked),
        "{effects:?}"
    );
    driver.answer(
        Query::ListTools(ListTools {}),
        Answer::ListTools(Page::from(vec![
            tool("execute_command", 9),
            tool("read_file", 120),
            tool("write_file", 30),
        ])),
    );
    driver
}

fn order(driver: &Driver) -> Vec<&str> {
    let order = &driver.state.screens.resources.list.order;
    order.iter().map(String::as_str).collect()
}

#[test]
fn rows_are_sorted_as_numbers_filtered_opened_and_copied() {
    let mut driver = tools(120, 35);
    driver.press(":");
    driver.type_text("sort -calls");
    driver.press("enter");
    assert_eq!(
        order(&driver),
        ["read_file", "write_file", "execute_command"]
    );
    driver.press("j j");
    let text = driver.text();
    assert!(
        text.contains("description") && text.contains("Reads a file."),
        "{text}"
    );
    driver.press("/");
    driver.type_text("file");
    driver.press("enter");
    assert_eq!(order(&driver), ["read_file", "write_file"]);
    assert!(driver.text().contains("2 of 3"), "{}", driver.text());
}

#[test]
fn an_answer_about_another_resource_changes_nothing() {
    let mut driver = tools(120, 35);
    driver.press(":");
    driver.type_text("people");
    driver.press("enter");
    assert!(
        driver.text().contains("Resources: people"),
        "{}",
        driver.text()
    );
    driver.answer(
        Query::ListTools(ListTools {}),
        Answer::ListTools(Page::from(vec![tool("read_file", 1)])),
    );
    assert_eq!(order(&driver), [""; 0]);
    driver.answer(
        Query::ListPeople(ListPeople {}),
        Answer::ListPeople(Page::from(Vec::new())),
    );
    assert!(
        driver.text().contains("nobody stands under [people]"),
        "{}",
        driver.text()
    );
}

#[test]
fn it_asks_again_only_after_what_changes_a_row() {
    let mut driver = tools(120, 35);
    let ask = Effect::Query(Query::ListTools(ListTools {}));
    let mut again = |body: EventBody| {
        driver.effects.clear();
        driver.hear(DaemonMessage::Event(Arc::new(Event {
            seq: Some(900 + driver.steady),
            at: driver.now().wall,
            session_id: None,
            continuation_id: None,
            body,
        })));
        driver.wait(5_000);
        driver.effects.contains(&ask)
    };
    assert!(!again(EventBody::ModelWaiting {
        provider: "local".to_owned(),
        ahead: 1,
    }));
    assert!(again(EventBody::OnCallChanged { on_call: None }));
}
