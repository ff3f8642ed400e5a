//! `:preferences` on a session: what the field holds, what it sends, and where it opens.

use leverframe::protocol::request::{Command, UpdateSession};
use leverframe::tui::message::Effect;

use crate::console_frames::driver::Driver;
use crate::console_frames::fixture;

fn line(driver: &mut Driver, text: &str) {
    driver.press(":");
    driver.type_text(text);
    driver.press("enter");
}

#[test]
fn the_field_holds_what_is_set_and_sends_what_is_written() {
    let mut snapshot = fixture::busy();
    snapshot.sessions[0].preferences = Some("Answer in Welsh.".to_owned());
    let session_id = snapshot.sessions[0].id;
    let mut driver = Driver::with(120, 40, snapshot);
    line(&mut driver, &format!("session {session_id}"));
    assert!(driver.text().contains("· with preferences"));
    line(&mut driver, "preferences");
    let text = driver.text();
    assert!(text.contains("Answer in Welsh."), "{text}");
    assert!(text.contains("16 of 2048 bytes"), "{text}");
    driver.type_text(" Briefly.");
    let effects = driver.press("alt-enter");
    let wanted = Command::UpdateSession(UpdateSession {
        session_id,
        title: None,
        model: None,
        paused: None,
        preferences: Some("Answer in Welsh. Briefly.".to_owned()),
    });
    assert!(
        effects
            .iter()
            .any(|effect| matches!(effect, Effect::Submit(sent) if *sent == wanted)),
        "{effects:?}"
    );
}

#[test]
fn without_a_session_nothing_opens() {
    let mut driver = Driver::with(120, 40, fixture::busy());
    driver.press("3");
    line(&mut driver, "preferences");
    assert!(driver.state.modals.is_empty());
    assert!(driver.text().contains("no session is selected"));
}
