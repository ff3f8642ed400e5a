//! Questions with everything that may happen to them, in random order, at a real daemon: no call is allowed that no rule
//! allows and nobody approved.
//!
//! `tests/gate_schedules.py` has the schedules and its own ledger. `LEVERFRAME_GATE_SCHEDULES` says how many run here.

use std::process::Command;

use crate::support::daemon::Home;

#[test]
fn no_schedule_allows_what_nobody_allowed() {
    let count = std::env::var("LEVERFRAME_GATE_SCHEDULES").unwrap_or_else(|_| "60".to_owned());
    let home = Home::new("");
    let binary = home.command().get_program().to_owned();
    let ran = Command::new("python3")
        .arg(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/tests/gate_schedules.py"
        ))
        .args(["--schedules", &count])
        .arg(binary)
        .output()
        .expect("python3");
    let said = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success(), "{said}");
    assert!(said.contains(&format!("\"schedules\": {count}")), "{said}");
}
