//! No size panics; no cell ever holds a character that hides, moves or commands.

use leverframe::console::message::DaemonMessage;
use leverframe::protocol::enums::*;
use leverframe::protocol::session::{Session, StepBody, TranscriptBody};
use leverframe::tui::message::Message;
use proptest::prelude::*;

use crate::console_frames::driver::Driver;
use crate::console_frames::fixture;

/// Written down here, not taken from the code under test.
fn forbidden(c: char) -> bool {
    let n = u32::from(c);
    c.is_control()
        || matches!(
            n,
            0x00AD | 0x034F | 0x061C | 0x115F | 0x1160 | 0x17B4 | 0x17B5 | 0x3164 | 0xFEFF | 0xFFA0
        )
        || (0x180B..=0x180F).contains(&n)
        || (0x200B..=0x200F).contains(&n)
        || (0x2028..=0x202E).contains(&n)
        || (0x2060..=0x206F).contains(&n)
        || (0xFFF0..=0xFFFB).contains(&n)
        || (0xE0000..=0xE0FFF).contains(&n)
}

/// One joiner between two pictographs hides nothing: it is how 👩 and 💻 become one emoji.
fn joins_pictographs(chars: &[char], at: usize) -> bool {
    let pictograph = |at: Option<usize>| {
        at.and_then(|at| chars.get(at))
            .is_some_and(|c| (0x1F300..0x1FB00).contains(&u32::from(*c)))
    };
    chars[at] == '\u{200d}' && pictograph(at.checked_sub(1)) && pictograph(at.checked_add(1))
}

pub(crate) const HOSTILE: &[&str] = &[
    "\u{1b}[2J\u{1b}]0;owned\u{7}",
    "abc\u{202e}dcba\u{2066}x\u{2069}",
    "a\u{200b}b\u{2060}c\u{feff}d\u{ad}e",
    "tag\u{e0041}\u{e007f}",
    "tab\there\r\nCR\rover",
    "\u{9b}31m\u{85}\u{2028}\u{2029}",
    "filler\u{3164}\u{115f}\u{1160}\u{ffa0}",
    "wide 漢字 and e\u{301} and 👩\u{200d}💻",
    "",
    "\u{0}\u{8}\u{7f}",
];

fn hostile(n: usize) -> String {
    HOSTILE[n % HOSTILE.len()].repeat(1 + n % 3)
}

/// A world in which every outside string is hostile.
fn hostile_driver(n: usize, width: u16, height: u16) -> Driver {
    let h = |k: usize| hostile(n + k);
    let mut snapshot = fixture::busy();
    for (k, approval) in snapshot.approvals.iter_mut().enumerate() {
        approval.tool = h(k);
        approval.args = serde_json::json!({ h(1): h(2), "list": [h(3)] });
        approval.model_reason = Some(h(4));
        approval.requester.display = h(5);
        approval.requester.id = h(6);
        approval.conversation = h(7);
        approval.channel = h(8);
        approval.taint = vec![h(9)];
        approval.risk_reasons = vec![h(1)];
        approval.verdict.rule = h(2);
        approval.similar[0].preview = h(3);
        approval.plan.cwd = Some(h(4));
        approval.plan.env = vec![(h(5), h(6))];
        approval.question = Some(h(7));
        approval.preview = match k {
            0 => leverframe::protocol::approval::Preview::Diff {
                path: h(1),
                unified: format!("@@\n+{}\n-{}", h(2), h(3)),
            },
            _ => leverframe::protocol::approval::Preview::Exec {
                argv: vec![h(1), h(2), h(3)],
            },
        };
    }
    for session in &mut snapshot.sessions {
        *session = Session {
            title: Some(h(1)),
            last_line: Some(h(2)),
            last_sender: Some(h(3)),
            conversation: h(4),
            channel: h(5),
            ..session.clone()
        };
    }
    for continuation in &mut snapshot.continuations {
        continuation.request.text = h(1);
        continuation.requester.display = h(2);
    }
    for channel in &mut snapshot.channels {
        channel.account = Some(h(1));
        channel.health.detail = Some(h(2));
        channel.policy.block = vec![h(3)];
    }
    snapshot.streams[0].text = h(1);
    snapshot.streams[0].offset = snapshot.streams[0].text.len() as u64;
    snapshot.engine.instance = h(1);
    snapshot.engine.problems = vec![h(2)];
    snapshot.engine.held_reason = Some(h(3));
    Driver::with(width, height, snapshot)
}

/// Keys that bring up every screen and overlay.
const TOURS: &[&str] = &[
    "",
    "j",
    "j enter",
    "j j enter",
    "j j j",
    "j j j enter",
    "G",
    "G enter",
    "2",
    "2 j j",
    "2 j j enter",
    "2 j j enter k space",
    "2 j j enter Z",
    "2 j j enter v",
    "4",
    "4 j",
    "4 j A",
    "4 j A j enter",
    "?",
    "ctrl-k",
    ":",
    "q",
    "j X",
    "2 j i",
    "2 j j enter /",
    "ctrl-x",
    ": wait ctrl-x",
    "ctrl-x wait",
    "j g wait",
    "j G wait wait r",
    "j G wait wait r j j enter",
    "j space j space a tab",
    "v v j",
    "/",
];

fn tour(driver: &mut Driver, keys: &str) {
    for key in keys.split_whitespace() {
        if key == "wait" {
            driver.wait(400);
            continue;
        }
        driver.press(key);
        if driver.state.screens.session.session_id.is_some()
            && driver.state.screens.session.entries.is_empty()
        {
            let mut entries = fixture::transcript();
            for (n, entry) in entries.iter_mut().enumerate() {
                if let TranscriptBody::User { sender, text } = &mut entry.body {
                    *sender = hostile(n);
                    *text = HOSTILE.concat();
                }
                if let TranscriptBody::Step { step, tool_calls } = &mut entry.body {
                    if let StepBody::Model { text, .. } = &mut step.body {
                        let h = HOSTILE.join("*\n");
                        *text = format!(
                            "# {h}\n- *{h}\n```diff\n+{h}\n```\n> [{h}](http://x '{h}')\n\n|{h}|\n|-|\n&#8238;&#x200b;"
                        );
                    }
                    for call in tool_calls {
                        call.name = hostile(n + 1);
                        call.result = Some(HOSTILE.join("\n"));
                        call.args = serde_json::json!({ "x": HOSTILE });
                        call.verdict.rule = hostile(n + 2);
                    }
                }
            }
            driver.answer_transcript(entries);
        }
    }
}

pub(crate) fn assert_clean(driver: &mut Driver, what: &str) {
    let buffer = driver.draw();
    for (index, cell) in buffer.content.iter().enumerate() {
        let chars: Vec<char> = cell.symbol().chars().collect();
        let bad: Vec<char> = (0..chars.len())
            .filter(|at| forbidden(chars[*at]) && !joins_pictographs(&chars, *at))
            .map(|at| chars[at])
            .collect();
        assert!(bad.is_empty(), "{what}: cell {index} holds {bad:?}");
    }
}

#[test]
fn hostile_text_never_reaches_a_cell() {
    for (width, height) in [(80, 24), (160, 45), (48, 14), (30, 8)] {
        for n in 0..HOSTILE.len() {
            for keys in TOURS {
                let mut driver = hostile_driver(n, width, height);
                tour(&mut driver, keys);
                assert_clean(
                    &mut driver,
                    &format!("{keys:?} at {width}x{height}, corpus {n}"),
                );
            }
        }
    }
}

#[test]
fn pasted_and_typed_hostile_text_is_revealed_in_fields() {
    for keys in ["?", ":", "2 j i", "2 j j enter /"] {
        let mut driver = hostile_driver(1, 80, 24);
        tour(&mut driver, keys);
        driver.send(Message::Paste(HOSTILE.concat()));
        assert_clean(&mut driver, keys);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn any_state_draws_at_any_size(width in 0u16..=200, height in 0u16..=80, n in 0usize..30, which in 0usize..TOURS.len(), lost in any::<bool>()) {
        let mut driver = hostile_driver(n, width, height);
        tour(&mut driver, TOURS[which]);
        if lost {
            driver.hear(DaemonMessage::Disconnected { why: hostile(n) });
        }
        assert_clean(&mut driver, TOURS[which]);
    }
}

#[test]
fn a_critical_card_is_never_armed_where_its_identity_does_not_fit() {
    for (width, height) in [(20, 10), (10, 4), (33, 6)] {
        let mut snapshot = fixture::busy();
        snapshot.approvals = vec![fixture::approval(1, Risk::Low)];
        let mut driver = Driver::with(width, height, snapshot);
        driver.press("j enter G");
        driver.wait(1000);
        driver.press("a");
        assert!(
            !driver
                .effects
                .iter()
                .any(|e| matches!(e, leverframe::tui::message::Effect::Submit(_))),
            "{width}x{height}"
        );
    }
}

/// Help and the emergency stop are needed most where there is least room.
#[test]
fn the_footer_names_help_and_the_emergency_stop_at_every_width() {
    for width in [30, 48, 60, 80, 120] {
        let mut driver = Driver::with(width, 24, fixture::busy());
        for keys in ["", "j", "2", "4", "6", "7", "9", "0"] {
            driver.press(keys);
            let text = driver.text();
            let footer = text.lines().last().unwrap().to_owned();
            assert!(footer.contains("? help"), "{width} {keys:?}: {footer}");
            assert!(footer.contains("STOP"), "{width} {keys:?}: {footer}");
        }
    }
}

#[test]
fn a_line_names_the_screens_where_height_allows() {
    let mut driver = Driver::with(120, 30, fixture::busy());
    driver.press("2");
    let text = driver.text();
    let tabs = text.lines().nth(1).unwrap();
    for title in ["1 Queue", "2 Live", "7 Cache & cost", "0 Doctor"] {
        assert!(tabs.contains(title), "{tabs}");
    }
    let mut narrow = Driver::with(80, 30, fixture::busy());
    narrow.press("5");
    let text = narrow.text();
    let tabs = text.lines().nth(1).unwrap();
    assert!(tabs.contains("5 Continuations"), "{tabs}");
    assert!(tabs.trim_end().ends_with(" 0"), "{tabs}");
    let mut low = Driver::with(120, 29, fixture::busy());
    assert!(!low.text().lines().nth(1).unwrap().contains("0 Doctor"));
}
