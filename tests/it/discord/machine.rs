//! The machine of the gateway's connection: what came in says what to do next.

use std::time::Duration;

use leverframe::channels::discord::session::{
    self, End, Machine, Payload, RESUME_TRIES, Session, Signal, Step, signal,
};
use serde_json::Value;

fn session(seq: u64) -> Session {
    Session {
        id: "s1".to_owned(),
        resume_url: "wss://resume".to_owned(),
        seq,
    }
}

fn hello() -> Signal {
    signal(r#"{"op":10,"d":{"heartbeat_interval":41250},"s":null,"t":null}"#)
}

fn opened(machine: &mut Machine) -> Payload {
    match machine.on(hello()) {
        Step::Open(interval, payload) => {
            assert_eq!(interval, Duration::from_millis(41_250));
            payload
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_first_connection_identifies_and_a_later_one_resumes_after_what_was_handled() {
    let mut machine = Machine::new(None, 0);
    assert_eq!(opened(&mut machine), Payload::Identify);
    machine.began(session(1));
    machine.handled(Some(7));
    machine.handled(None);
    assert_eq!(machine.beat(), Step::Send(Payload::Heartbeat(Some(7))));
    let mut next = Machine::new(machine.session().cloned(), machine.failed_resumes());
    assert_eq!(opened(&mut next), Payload::Resume(session(7)));
}

#[test]
fn an_event_that_is_not_handled_is_never_counted() {
    let mut machine = Machine::new(Some(session(3)), 0);
    opened(&mut machine);
    let event = signal(r#"{"op":0,"s":9,"t":"MESSAGE_CREATE","d":{}}"#);
    assert!(matches!(
        machine.on(event),
        Step::Handle { seq: Some(9), .. }
    ));
    assert_eq!(machine.beat(), Step::Send(Payload::Heartbeat(Some(3))));
    assert_eq!(machine.session().map(|session| session.seq), Some(3));
}

#[test]
fn a_heartbeat_without_an_answer_ends_the_connection_and_keeps_the_session() {
    let mut machine = Machine::new(Some(session(3)), 0);
    opened(&mut machine);
    machine.resumed();
    machine.beat();
    assert_eq!(machine.on(Signal::HeartbeatAck), Step::Alive);
    assert!(matches!(machine.beat(), Step::Send(_)));
    assert!(matches!(
        machine.beat(),
        Step::Leave(End::Again { rest: false, .. })
    ));
    assert_eq!(machine.session(), Some(&session(3)));
}

#[test]
fn what_gives_a_session_up_is_never_resumed() {
    for signal in [
        r#"{"op":9,"d":false}"#,
        r#"{"op":9}"#,
        r#"{"op":9,"d":null}"#,
    ] {
        let mut machine = Machine::new(Some(session(3)), 0);
        opened(&mut machine);
        assert!(matches!(
            machine.on(session::signal(signal)),
            Step::Leave(End::Again { rest: true, .. })
        ));
        assert_eq!(machine.session(), None);
    }
    for code in [1000, 1001, 4003, 4007, 4009] {
        let mut machine = Machine::new(Some(session(3)), 0);
        assert!(matches!(machine.closed(Some(code)), End::Again { .. }));
        assert_eq!(machine.session(), None, "{code}");
    }
    for code in [
        None,
        Some(1006),
        Some(4000),
        Some(4001),
        Some(4002),
        Some(4005),
        Some(4008),
        Some(4999),
    ] {
        let mut machine = Machine::new(Some(session(3)), 0);
        assert!(matches!(machine.closed(code), End::Again { .. }));
        assert!(machine.session().is_some(), "{code:?}");
    }
    let mut machine = Machine::new(Some(session(3)), 0);
    machine.on(session::signal(r#"{"op":9,"d":true}"#));
    machine.on(session::signal(r#"{"op":7}"#));
    assert!(machine.session().is_some());
}

#[test]
fn what_only_a_person_can_mend_says_how() {
    for (code, words) in [
        (4004, "Reset Token"),
        (4010, "update"),
        (4011, "remove the bot"),
        (4012, "update"),
        (4013, "update"),
        (4014, "Message Content intent in the Developer Portal"),
    ] {
        match Machine::new(None, 0).closed(Some(code)) {
            End::Fatal { fix, .. } => assert!(fix.contains(words), "{code}: {fix}"),
            End::Again { detail, .. } => panic!("{code}: {detail}"),
        }
    }
}

#[test]
fn a_session_that_cannot_be_resumed_is_given_up_after_some_connections() {
    let mut held = Some(session(3));
    let mut failed = 0;
    for _ in 0..RESUME_TRIES {
        let mut machine = Machine::new(held.clone(), failed);
        assert!(matches!(opened(&mut machine), Payload::Resume(_)));
        machine.closed(None);
        (held, failed) = (machine.session().cloned(), machine.failed_resumes());
    }
    let mut machine = Machine::new(held, failed);
    assert_eq!(opened(&mut machine), Payload::Identify);
    assert_eq!(machine.failed_resumes(), 0);
}

#[test]
fn no_text_is_too_strange() {
    for text in [
        "",
        "null",
        "[]",
        "{}",
        r#"{"op":"0"}"#,
        r#"{"op":10}"#,
        r#"{"op":99,"d":{}}"#,
        r#"{"op":10,"d":{"heartbeat_interval":-1}}"#,
    ] {
        assert_eq!(signal(text), Signal::Unknown, "{text}");
    }
    assert_eq!(
        signal(r#"{"op":10,"d":{"heartbeat_interval":0}}"#),
        Signal::Hello(Duration::from_millis(100))
    );
    let odd = signal(r#"{"op":0,"s":-4,"t":7}"#);
    assert_eq!(
        odd,
        Signal::Dispatch {
            seq: None,
            name: String::new(),
            data: Value::Null
        }
    );
}
