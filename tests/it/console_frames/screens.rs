//! Snapshots of every screen. `INSTA_UPDATE=always` accepts changes; look at each before committing.

use std::sync::Arc;

use leverframe::console::message::DaemonMessage;
use leverframe::protocol::enums::*;
use leverframe::protocol::policy::{ToolListing, WhatIf, WhatIfCall};
use leverframe::protocol::request::{Answer, GetTranscript, GetWhatIf, Query};
use leverframe::protocol::session::{TranscriptBody, TranscriptEntry};
use leverframe::protocol::snapshot::Page;
use leverframe::tui::message::Effect as UiEffect;

use crate::console_frames::driver::Driver;
use crate::console_frames::fixture::{self, busy};
use crate::console_frames::styled::styled;
use crate::console_state::taking_over;

const SIZES: &[(u16, u16)] = &[(80, 24), (120, 40), (48, 14)];

/// Brings the console to a state at each size and compares the frame.
pub(crate) fn check(name: &str, prepare: impl Fn(u16, u16) -> Driver) {
    let mut sizes = SIZES.to_vec();
    sizes.extend((name == "queue_card").then_some((160, 45)));
    check_at(name, &sizes, prepare);
}

/// The same at sizes of its own.
pub(crate) fn check_at(name: &str, sizes: &[(u16, u16)], prepare: impl Fn(u16, u16) -> Driver) {
    for (width, height) in sizes.iter().copied() {
        let mut driver = prepare(width, height);
        let buffer = driver.draw();
        let mut settings = insta::Settings::clone_current();
        settings.set_snapshot_path("snapshots");
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        settings
            .bind(|| insta::assert_snapshot!(format!("{name}_{width}x{height}"), styled(&buffer)));
        if let Some(dir) = option_env!("LEVERFRAME_FRAMES") {
            std::fs::write(
                format!("{dir}/{name}_{width}x{height}.json"),
                cells(&buffer),
            )
            .unwrap();
        }
    }
}

/// The buffer as JSON, for turning frames into pictures.
fn cells(buffer: &ratatui::buffer::Buffer) -> String {
    let rows: Vec<Vec<(String, String, String, u16)>> = (0..buffer.area.height)
        .map(|y| {
            (0..buffer.area.width)
                .map(|x| &buffer[(x, y)])
                .map(|c| {
                    (
                        c.symbol().to_owned(),
                        c.fg.to_string(),
                        c.bg.to_string(),
                        c.modifier.bits(),
                    )
                })
                .collect()
        })
        .collect();
    serde_json::to_string(&rows).unwrap()
}

#[test]
fn queue_empty() {
    check("queue_empty", |w, h| {
        Driver::with(w, h, fixture::snapshot())
    });
}

#[test]
fn live_counts_down_to_the_next_try() {
    use leverframe::protocol::event::{Event, EventBody};
    let mut driver = Driver::with(120, 40, busy());
    driver.press("2");
    let started = |driver: &mut Driver, not_before| {
        let event = Event {
            seq: None,
            at: driver.now().wall,
            session_id: Some(fixture::session_id(2)),
            continuation_id: Some(fixture::continuation_id(2)),
            body: EventBody::ModelStarted {
                model: "one/m".to_owned(),
                attempt: 2,
                not_before,
            },
        };
        driver.hear(DaemonMessage::Event(Arc::new(event)));
    };
    let at = driver.now().wall.plus_seconds(12);
    started(&mut driver, Some(at));
    let text = driver.text();
    assert!(text.contains("retry in 12 s"), "{text}");
    driver.wait(5_000);
    let text = driver.text();
    assert!(text.contains("retry in 7 s"), "{text}");
    started(&mut driver, None);
    let text = driver.text();
    assert!(!text.contains("retry in"), "{text}");
}

#[test]
fn queue_three_items() {
    check("queue_three", |w, h| Driver::with(w, h, busy()));
}

#[test]
fn queue_card() {
    check("queue_card", |w, h| {
        let mut driver = Driver::with(w, h, busy());
        driver.press("j");
        driver.wait(600);
        driver
    });
}

#[test]
fn queue_card_zoomed() {
    check("queue_zoomed", |w, h| {
        let mut driver = Driver::with(w, h, busy());
        driver.press("j j enter");
        driver
    });
}

/// Scrolls a card to its end, none of it skipped.
fn read_through(driver: &mut Driver) {
    for _ in 0..20 {
        driver.press("ctrl-d");
    }
}

#[test]
fn high_risk_confirm() {
    check("high_confirm", |w, h| {
        let mut driver = Driver::with(w, h, busy());
        driver.press("j j enter");
        read_through(&mut driver);
        driver.wait(600);
        driver.press("a");
        driver.wait(800);
        driver
    });
}

#[test]
fn critical_code() {
    check("critical", |w, h| {
        let mut snapshot = busy();
        snapshot.approvals = vec![fixture::command_approval(1, Risk::Critical)];
        let mut driver = Driver::with(w, h, snapshot);
        driver.press("j enter");
        read_through(&mut driver);
        driver.wait(600);
        driver.press("a");
        driver.type_text("K7");
        driver
    });
}

#[test]
fn live() {
    check("live", |w, h| {
        let mut driver = Driver::with(w, h, busy());
        driver.press("2 j j");
        driver
    });
}

#[test]
fn live_says_how_many_files_a_turn_waits_for() {
    use leverframe::protocol::event::{Event, EventBody};
    let mut world = busy();
    let session = world.sessions[0].id;
    let open = world.sessions[0].open_continuation.as_mut().unwrap();
    open.state = ContinuationState::Pending;
    let turn = open.id;
    world.sessions[0].pending_approvals = 0;
    world.sessions[0].paused = false;
    let mut driver = Driver::with(120, 40, world);
    driver.press("2");
    for (files, words) in [(2, "2 files to come"), (1, "1 file to come")] {
        let event = Event {
            seq: None,
            at: driver.now().wall,
            session_id: Some(session),
            continuation_id: Some(turn),
            body: EventBody::ContinuationWaitingForFiles { files },
        };
        driver.hear(DaemonMessage::Event(Arc::new(event)));
        let text = driver.text();
        assert!(text.contains("waiting for files"), "{text}");
        assert!(text.contains(words), "{words}: {text}");
    }
}

/// What the peek of Live asks, answered.
fn peek(driver: &mut Driver, n: u8, items: Vec<TranscriptEntry>) {
    let query = Query::GetTranscript(GetTranscript {
        session_id: fixture::session_id(n),
        before: None,
        limit: Some(12),
    });
    let asked = UiEffect::Query(query.clone());
    assert!(driver.effects.contains(&asked), "{:?}", driver.effects);
    let page = Page {
        items,
        next_cursor: None,
    };
    driver.answer(query, Answer::GetTranscript(page));
}

#[test]
fn live_peek() {
    check("live_peek", |w, h| {
        let mut driver = Driver::with(w, h, busy());
        driver.press("2 j j");
        peek(&mut driver, 2, fixture::transcript());
        driver
    });
    // What waits for the operator stands first, and its question in the peek.
    let mut driver = Driver::with(80, 24, busy());
    driver.press("2 j");
    peek(&mut driver, 1, fixture::transcript());
    let text = driver.text();
    assert!(
        text.contains("> waiting on you") && text.contains("asks you"),
        "{text}"
    );
    // However much was said, the newest is in sight; with the keys all of it can be read.
    let many = (1..=40).map(|n| fixture::user(n, &format!("message {n}.")));
    let mut driver = Driver::with(80, 24, busy());
    driver.press("2 j");
    peek(&mut driver, 1, many.collect());
    let text = driver.text();
    assert!(
        text.contains("message 40.") && !text.contains("message 1."),
        "{text}"
    );
    driver.press("tab");
    driver.draw();
    driver.press("g g");
    assert!(driver.text().contains("message 1."), "{}", driver.text());
    // enter leads to the session itself.
    driver.press("enter");
    assert_eq!(
        driver.state.screens.session.session_id,
        Some(fixture::session_id(1))
    );
}

#[test]
fn a_transcript_says_where_the_reader_is_and_which_match_it_is() {
    let entries = (1..=30).map(|n| {
        let word = if n % 10 == 0 { "needle" } else { "hay" };
        fixture::user(n, word)
    });
    let mut driver = Driver::with(80, 24, busy());
    driver.press("2 j j enter");
    driver.answer_transcript(entries.collect());
    assert!(driver.text().contains("following"));
    driver.press("g g");
    driver.draw();
    assert!(driver.text().contains("entry 1/30"), "{}", driver.text());
    driver.press("/");
    driver.type_text("needle");
    driver.press("enter");
    driver.press("n");
    driver.draw();
    let text = driver.text();
    assert!(text.contains("/3, n N"), "{text}");
    driver.press("N");
    driver.draw();
    let text = driver.text();
    assert!(
        text.contains("match 1/3") || text.contains("match 2/3"),
        "{text}"
    );
}

#[test]
fn a_wide_terminal_cuts_names_less() {
    let mut world = busy();
    world.sessions[0].channel = "support-north-america".to_owned();
    let text = Driver::with(120, 40, world.clone()).press_text("2");
    assert!(!text.contains("support-north-america"), "{text}");
    let text = Driver::with(200, 60, world).press_text("2");
    assert!(text.contains("support-north-america"), "{text}");
}

#[test]
fn session() {
    check("session", |w, h| {
        let mut driver = Driver::with(w, h, busy());
        driver.press("2 j j enter");
        driver.answer_transcript(fixture::transcript());
        driver
    });
}

#[test]
fn a_compaction_is_one_line_of_its_session() {
    let compacted = |after| {
        let mut entries = fixture::transcript();
        let body = TranscriptBody::Compacted {
            turns: 34,
            facts: 3,
            tokens_before: 9_412,
            tokens_after: after,
        };
        entries.push(fixture::entry(3, body));
        entries
    };
    for (after, words) in [
        (Some(612), "compacted 34 exchanges, 9.4k → 612 tokens"),
        (None, "compacted 34 exchanges, 9.4k → ? tokens"),
    ] {
        let mut driver = Driver::with(80, 24, busy());
        driver.press("2 j j enter");
        driver.answer_transcript(compacted(after));
        let text = driver.text();
        let line = text.lines().find(|line| line.contains(words));
        assert!(
            line.is_some_and(|line| line.contains("3 facts found")),
            "{text}"
        );
        // It can be looked for.
        driver.press("/");
        driver.type_text("compacted");
        assert!(driver.text().contains("1 of 3"), "{}", driver.text());
    }
}

#[test]
fn session_search() {
    check("session_search", |w, h| {
        let mut driver = Driver::with(w, h, busy());
        driver.press("2 j j enter");
        driver.answer_transcript(fixture::transcript());
        driver.press("/");
        driver.type_text("restarted");
        driver
    });
}

#[test]
fn live_taken_over() {
    check("live_taken_over", |w, h| {
        let mut driver = Driver::with(
            w,
            h,
            taking_over::world(Some(taking_over::held(9, "ben", 600))),
        );
        driver.press("2 j T");
        driver
    });
}

#[test]
fn channels_draining() {
    check("channels_draining", |w, h| {
        let mut driver = Driver::with(w, h, taking_over::draining());
        driver.press("4 j j");
        driver
    });
}

#[test]
fn channels_dial() {
    check("channels_dial", |w, h| {
        let mut driver = Driver::with(w, h, busy());
        driver.press("4 j j A j");
        let calls = (0..6u8)
            .map(|n| WhatIfCall {
                tool: if n % 2 == 0 {
                    "write_file".into()
                } else {
                    "read_file".into()
                },
                preview: format!("notes/day-{n}.md"),
                access: Access::Write,
                risk: if n % 2 == 0 { Risk::Medium } else { Risk::Low },
                was: if n % 2 == 0 {
                    VerdictKind::Ask
                } else {
                    VerdictKind::Allow
                },
                would_be: leverframe::protocol::policy::Verdict {
                    decision: VerdictKind::Allow,
                    rule: "autonomy full".into(),
                    policy_version: 3,
                },
                at: fixture::ago(600 * i64::from(n)),
            })
            .collect();
        let what_if = WhatIf {
            channel: "telegram".into(),
            autonomy: Autonomy::Full,
            considered: 50,
            would_run: 44,
            newly_unattended: 12,
            calls,
        };
        driver.answer(
            Query::GetWhatIf(GetWhatIf {
                channel: "telegram".into(),
                patch: leverframe::protocol::policy::PolicyPatch::level(Autonomy::Full),
                limit: Some(50),
            }),
            Answer::GetWhatIf(what_if),
        );
        driver.press("enter");
        driver
    });
}

#[test]
fn channels_tools() {
    check("channels_tools", |w, h| {
        let mut driver = Driver::with(w, h, busy());
        driver.press("4 j j T + +");
        let policy = &driver.state.model.world().channels["telegram"].policy;
        let patch = policy.placing(&["execute_command".to_owned()], ToolListing::Level);
        let call = |minutes: i64, was, to| WhatIfCall {
            tool: "execute_command".into(),
            preview: "make test".into(),
            access: Access::Exec,
            risk: Risk::High,
            was,
            would_be: leverframe::protocol::policy::Verdict {
                decision: to,
                rule: "autonomy semi_auto".into(),
                policy_version: 3,
            },
            at: fixture::ago(60 * minutes),
        };
        let what_if = WhatIf {
            channel: "telegram".into(),
            autonomy: Autonomy::SemiAuto,
            considered: 20,
            would_run: 9,
            newly_unattended: 0,
            calls: vec![
                call(3, VerdictKind::Deny, VerdictKind::Ask),
                call(9, VerdictKind::Allow, VerdictKind::Allow),
                call(14, VerdictKind::Deny, VerdictKind::Ask),
            ],
        };
        let query = Query::GetWhatIf(GetWhatIf {
            channel: "telegram".into(),
            patch,
            limit: Some(20),
        });
        driver.answer(query, Answer::GetWhatIf(what_if));
        driver.press("enter");
        driver
    });
}

#[test]
fn channels() {
    check("channels", |w, h| {
        let mut driver = Driver::with(w, h, busy());
        driver.press("4 j j");
        driver
    });
}

#[test]
fn help() {
    check("help", |w, h| {
        let mut driver = Driver::with(w, h, busy());
        driver.press("?");
        driver
    });
}

#[test]
fn quit_menu() {
    check("quit", |w, h| {
        let mut driver = Driver::with(w, h, busy());
        driver.press("q");
        driver
    });
}

#[test]
fn disconnected() {
    check("disconnected", |w, h| {
        let mut driver = Driver::with(w, h, busy());
        driver.press("j");
        driver.hear(DaemonMessage::Disconnected {
            why: "connection refused".into(),
        });
        driver
    });
}

/// A stop that is older than a quarter of an hour, and a restored copy: both ask about each conversation that waited.
#[test]
fn release_of_what_waited() {
    let prepare = |quarantine: bool| {
        move |w, h| {
            let mut snapshot = busy();
            snapshot.engine.held_since = Some(fixture::ago(3600));
            snapshot.engine.held_reason = Some("anna: runs amok".to_owned());
            snapshot.engine.quarantine = quarantine;
            let mut second = fixture::continuation(4, ContinuationState::Pending);
            second.created_at = fixture::ago(7200);
            snapshot.continuations.push(second);
            let mut driver = Driver::with(w, h, snapshot);
            driver.press("ctrl-x r");
            driver.press("down down enter enter");
            driver
        }
    };
    check("release", prepare(false));
    check("release_quarantine", prepare(true));
}

#[test]
fn a_result_that_was_given_again_says_how_old_it_is() {
    use leverframe::protocol::session::CachedResult;
    let mut call = fixture::tool_call(9, ToolCallState::Succeeded, Some("logs/relay.log:17: x"));
    call.cached = Some(CachedResult {
        stored_at: fixture::ago(72),
        age_ms: 12_345,
        ran_ms: 84,
    });
    let mut driver = Driver::with(120, 40, busy());
    driver.press("2 j j enter");
    driver.answer_transcript(vec![fixture::model(1, "I look.", vec![call])]);
    let text = driver.text();
    assert!(text.contains("cached 12 s ago"), "{text}");
    assert!(!text.contains("12.3s"), "{text}");
}

#[test]
fn fleet_board() {
    check("fleet_board", |width, height| {
        let mut driver = crate::console_state::fleet_board::fleet(width, height);
        driver.press("j");
        driver
    });
    check_at("fleet_board", &[(160, 30)], |width, height| {
        let mut driver = crate::console_state::fleet_board::fleet(width, height);
        driver.press("j j j");
        driver
    });
}

#[test]
fn log_lines() {
    check("log", |width, height| {
        let mut driver = crate::console_state::audit_and_log::log(width, height);
        driver.press("j");
        driver
    });
}

#[test]
fn resources() {
    check("resources", |width, height| {
        let mut driver = crate::console_state::resources::tools(width, height);
        driver.press("j");
        driver
    });
}

#[test]
fn the_shell_of_a_session() {
    check("shell", |width, height| {
        let mut driver = crate::console_state::shell::shell(width, height);
        let row = crate::console_state::shell::row(&driver);
        driver.answer(
            Query::ListInterpreters(leverframe::protocol::request::ListInterpreters {}),
            Answer::ListInterpreters(Page::from(vec![row])),
        );
        driver.type_text("git status");
        driver
    });
}
