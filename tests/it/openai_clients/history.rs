//! Whether a session is the conversation that a client sends.

use leverframe::api::openai::history::{AGAIN, Fit, NOTE, Standing, Turn, fit};
use leverframe::protocol::chat::{EarlierMessage, EarlierRole, with_earlier};
use leverframe::protocol::ids::ContinuationId;
use proptest::prelude::*;

fn turn(number: u8, request: &str, standing: Standing) -> Turn {
    Turn {
        id: ContinuationId::from_bytes([number; 16]),
        request: request.to_owned(),
        standing,
    }
}

fn answered(answer: &str) -> Standing {
    Standing::Answered {
        answer: answer.to_owned(),
        whole: answer.to_owned(),
    }
}

fn message(role: EarlierRole, text: &str) -> EarlierMessage {
    EarlierMessage {
        role,
        text: text.to_owned(),
    }
}

fn history(exchanges: &[(&str, &str)]) -> Vec<EarlierMessage> {
    exchanges
        .iter()
        .flat_map(|(user, assistant)| {
            [
                message(EarlierRole::User, user),
                message(EarlierRole::Assistant, assistant),
            ]
        })
        .collect()
}

/// A history, the message behind it, and what the session is to it.
type Case<'a> = (&'a [(&'a str, &'a str)], &'a str, &'a Fit);

const GOES_ON: Fit = Fit::GoesOn { unseen: Vec::new() };

#[test]
fn a_history_is_the_session_or_it_is_not() {
    let turns = [
        turn(1, "one", answered("1")),
        turn(2, "two", answered("2, with  spaces\n")),
    ];
    let second = Fit::Repeats {
        turn: turns[1].id,
        unseen: Vec::new(),
    };
    let note = format!("{NOTE}this waits.");
    let cases: &[Case<'_>] = &[
        (
            &[("one", "1"), ("two", "2, with spaces")],
            "three",
            &GOES_ON,
        ),
        (&[("one", "1")], "two", &second),
        (&[("one", "1")], "another", &Fit::Other),
        (&[("one", "1"), ("two", "2, with")], "three", &GOES_ON),
        (&[("one", "1"), ("two", "3")], "three", &Fit::Other),
        (
            &[("one", "1"), ("zwei", "2, with spaces")],
            "three",
            &Fit::Other,
        ),
        (
            &[("one", "1"), ("two", "2, with spaces"), ("x", "y")],
            "three",
            &Fit::Other,
        ),
        (&[("two", "2, with spaces")], "three", &Fit::Other),
        (&[], "one", &Fit::Other),
    ];
    for (exchanges, text, expected) in cases {
        assert_eq!(
            &fit(&turns, &history(exchanges), text),
            *expected,
            "{exchanges:?} {text}"
        );
    }
    let told = history(&[("one", "1"), ("two", &note)]);
    let unseen = vec![turns[1].id];
    assert_eq!(fit(&turns, &told, "three"), Fit::GoesOn { unseen });
    // An answer that began again, and one with the words beside its calls.
    let again = format!("2, wi\n\n{NOTE}{AGAIN}.\n\n2, with spaces");
    assert_eq!(
        fit(&turns, &history(&[("one", "1"), ("two", &again)]), "three"),
        GOES_ON
    );
}

#[test]
fn turns_without_an_answer_stand_in_nobodys_way() {
    let failed = || Standing::Unanswered;
    let turns = [
        turn(1, "one", failed()),
        turn(2, "one", answered("1")),
        turn(3, "two", failed()),
    ];
    assert_eq!(fit(&turns, &history(&[("one", "1")]), "two"), GOES_ON);
    assert_eq!(
        fit(&turns, &history(&[("one", "1")]), "two\n\nthree"),
        GOES_ON
    );
    assert_eq!(
        fit(
            &turns,
            &history(&[("one", "1"), ("two", "part of it")]),
            "x"
        ),
        GOES_ON
    );
}

#[test]
fn what_was_not_seen_may_be_in_the_next_answer() {
    let turns = [
        turn(
            1,
            "one",
            Standing::Answered {
                answer: "end".to_owned(),
                whole: "first\n\nend".to_owned(),
            },
        ),
        turn(2, "two", answered("2")),
    ];
    let note = format!("{NOTE}this waits.");
    for answer in ["end\n\n2", "first\n\nend\n\n2", "2"] {
        let sent = history(&[("one", &note), ("two", answer)]);
        assert_eq!(fit(&turns, &sent, "three"), GOES_ON, "{answer}");
    }
    let sent = history(&[("one", "end"), ("two", "end\n\n2")]);
    assert_eq!(fit(&turns, &sent, "three"), Fit::Other);
}

#[test]
fn earlier_messages_are_told_and_cut_at_their_oldest() {
    let earlier = history(&[("a", "b")]);
    let text = with_earlier("now", &earlier);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "now");
    assert_eq!(
        lines[3..],
        [
            r#"{"role":"user","text":"a"}"#,
            r#"{"role":"assistant","text":"b"}"#
        ]
    );
    assert_eq!(with_earlier("now", &[]), "now");
    let long = "x".repeat(40 * 1024);
    let earlier = history(&[("old", &long), ("new", &long)]);
    let text = with_earlier("now", &earlier);
    assert!(
        text.contains("[2 older messages are left out]"),
        "{}",
        &text[..300]
    );
    assert!(text.contains(r#"{"role":"user","text":"new"}"#));
    assert!(text.len() < 66 * 1024);
    // What is stored of such a message is known again.
    let turns = [turn(1, &text, answered("1"))];
    assert_eq!(fit(&turns, &history(&[("now", "1")]), "more"), GOES_ON);
}

proptest! {
    #[test]
    fn a_session_goes_on_with_its_own_history_alone(
        texts in proptest::collection::vec(("[a-z]{1,8}", "[a-z ]{0,12}[a-z]"), 1..6),
        at in any::<prop::sample::Index>(),
        other in "[A-Z]{1,5}",
    ) {
        let turns: Vec<Turn> = (1..).zip(&texts).map(|(n, (user, answer))| turn(n, user, answered(answer))).collect();
        let exchanges: Vec<(&str, &str)> = texts.iter().map(|(user, answer)| (user.as_str(), answer.as_str())).collect();
        prop_assert_eq!(fit(&turns, &history(&exchanges), "new"), GOES_ON);
        // One message or one answer is another: so is the conversation.
        let at = at.index(exchanges.len());
        let mut edited = exchanges.clone();
        edited[at].0 = &other;
        prop_assert_eq!(fit(&turns, &history(&edited), "new"), Fit::Other);
        let mut edited = exchanges.clone();
        edited[at].1 = &other;
        prop_assert_eq!(fit(&turns, &history(&edited), "new"), Fit::Other);
        // A turn more or less.
        prop_assert_eq!(fit(&turns, &history(&exchanges[..at]), "NEW"), Fit::Other);
    }
}
