//! Choosing a session's model: what a key press asks for, what a refusal leaves, and that nothing is looked for unasked.

use leverframe::console::access::Access;
use leverframe::protocol::problem::{Problem, ProblemKind};
use leverframe::protocol::request::{Command, DiscoverModels, Outcome, Query, UpdateSession};
use leverframe::tui::message::Effect;

use crate::console_frames::driver::Driver;
use crate::console_frames::fixture;
use crate::console_frames::models_dialog::{ended, found, known, opened};

fn sent(driver: &Driver) -> Vec<Command> {
    let submitted = driver.effects.iter().filter_map(|effect| match effect {
        Effect::Submit(command) => Some(command.clone()),
        _ => None,
    });
    submitted.collect()
}

#[test]
fn it_looks_for_servers_when_the_key_is_pressed_and_not_before() {
    let mut driver = Driver::with(120, 40, fixture::busy());
    opened(&mut driver, known());
    let queries = driver
        .effects
        .iter()
        .filter(|effect| matches!(effect, Effect::Query(Query::ListModels(_))));
    assert_eq!(queries.count(), 1);
    assert!(sent(&driver).is_empty());
    driver.press("d");
    assert_eq!(sent(&driver), [Command::DiscoverModels(DiscoverModels {})]);
    assert!(driver.text().contains("looking for model servers"));
    // One look at a time.
    driver.press("d d");
    assert_eq!(sent(&driver).len(), 1);
    ended(
        &mut driver,
        Command::DiscoverModels(DiscoverModels {}),
        Ok(Outcome::DiscoverModels(found())),
    );
    let text = driver.text();
    assert!(
        text.contains("Ollama at http://127.0.0.1:11434: 1 model, not configured"),
        "{text}"
    );
    assert!(text.contains("[providers.ollama]"), "{text}");
    // What was found is no choice.
    driver.press("j j j j enter");
    let last = sent(&driver).pop().unwrap();
    assert!(
        matches!(&last, Command::UpdateSession(UpdateSession { model: Some(model), .. }) if model == "local/small"),
        "{last:?}"
    );
    // Elsewhere the key means nothing.
    let mut driver = Driver::with(120, 40, fixture::busy());
    driver.press("q d esc 2 j A d");
    assert!(sent(&driver).is_empty());
}

#[test]
fn enter_asks_for_the_model_and_a_refusal_is_read_in_the_dialog() {
    let mut driver = Driver::with(80, 24, fixture::busy());
    opened(&mut driver, known());
    // The default is highlighted where the session has none of its own.
    driver.press("enter");
    let session_id = driver.state.screens.live.selected.unwrap();
    let command = Command::UpdateSession(UpdateSession {
        session_id,
        title: None,
        model: Some("local/qwen3:8b".to_owned()),
        paused: None,
        preferences: None,
    });
    assert_eq!(sent(&driver).as_slice(), std::slice::from_ref(&command));
    let refusal = Problem::new(
        ProblemKind::Forbidden,
        "the model is fixed",
        "channel `team` answers with one/m only, not with local/qwen3:8b",
    );
    ended(&mut driver, command.clone(), Err(refusal));
    let text = driver.text();
    assert!(text.contains("Model of "), "it closed: {text}");
    assert!(text.contains("answers with one/m only"), "{text}");
    let session = driver.state.model.world().sessions[&session_id].clone();
    ended(&mut driver, command, Ok(Outcome::UpdateSession(session)));
    let text = driver.text();
    assert!(!text.contains("Model of "), "it stays: {text}");
    assert!(text.contains("uses local/qwen3:8b from now on"), "{text}");
}

#[test]
fn a_console_that_may_not_act_sends_nothing() {
    let mut driver = Driver::with(120, 40, fixture::busy());
    driver.state.model.access = Access::ReadOnly;
    opened(&mut driver, known());
    driver.press("d enter");
    assert!(sent(&driver).is_empty());
    assert!(!driver.text().contains("looking for model servers"));
    // Without a session there is nothing to choose for.
    let mut driver = Driver::with(120, 40, fixture::busy());
    driver.press("2 M");
    assert!(driver.state.modals.is_empty());
}

#[test]
fn the_list_filters_as_it_is_typed_and_the_selection_is_a_model() {
    let mut driver = Driver::with(120, 40, fixture::busy());
    opened(&mut driver, known());
    let text = driver.text();
    assert!(
        text.contains("  3 ") && text.contains("(openai-chat)"),
        "{text}"
    );
    driver.press("/");
    driver.type_text("small");
    let text = driver.text();
    assert!(text.contains("1 of 3  filter: small"), "{text}");
    assert!(
        text.contains("local/small") && !text.contains("claude"),
        "{text}"
    );
    // enter keeps the words; the first press moves to what is left, the next takes it.
    driver.press("enter j enter");
    let last = sent(&driver).pop().unwrap();
    assert!(
        matches!(&last, Command::UpdateSession(UpdateSession { model: Some(model), .. }) if model == "local/small"),
        "{last:?}"
    );
    // esc shows all, then closes.
    driver.press("esc");
    assert!(driver.text().contains("claude"));
    driver.press("esc");
    assert!(driver.state.modals.is_empty());
    // What is not listed is never taken.
    opened(&mut driver, known());
    let before = sent(&driver).len();
    driver.press("/");
    driver.type_text("nothing-like-it");
    driver.press("enter enter");
    assert_eq!(sent(&driver).len(), before);
}
