//! The card of a call of `python`: all of its code, coloured once the colours are there.

use leverframe::protocol::approval::{Approval, Preview};
use leverframe::protocol::enums::Risk;
use leverframe::protocol::snapshot::Snapshot;

use crate::console_frames::driver::Driver;
use crate::console_frames::fixture;

#[test]
fn the_card_shows_the_whole_code() {
    let code = "import subprocess\n\ndef f(n):\n    return n + 1\nf(1)";
    let approval = Approval {
        tool: "python".into(),
        args: serde_json::json!({"code": code}),
        preview: Preview::Text { text: code.into() },
        risk_reasons: vec![
            "runs Python code".into(),
            "can start programs: subprocess".into(),
        ],
        ..fixture::command_approval(1, Risk::High)
    };
    let snapshot = Snapshot {
        approvals: vec![approval],
        continuations: vec![],
        ..fixture::busy()
    };
    let mut driver = Driver::with(100, 60, snapshot);
    driver.press("j enter");
    let shown = driver.text();
    for says in [
        "Runs 5 lines of Python.",
        "Python",
        "import subprocess",
        "    return n + 1",
        "can start programs",
    ] {
        assert!(shown.contains(says), "{says}: {shown}");
    }
    assert!(
        !shown.contains("Text that would be sent") && !shown.contains("Other arguments"),
        "{shown}"
    );
}
