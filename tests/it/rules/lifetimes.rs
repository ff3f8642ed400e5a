//! How long a rule lasts, and when it is told that nobody needs it.

use leverframe::clock::{Day, Timestamp};
use leverframe::protocol::enums::VerdictKind;
use leverframe::protocol::ids::RuleId;
use leverframe::protocol::rule::{Rule, RuleMatches};
use serde_json::json;

use crate::stories::bot::cli;
use crate::support::daemon::Home;

const DAY: i64 = 24 * 3600;
const NOW: Timestamp = Timestamp(1_800_000_000_000);

fn days_ago(days: i64) -> Timestamp {
    NOW.plus_seconds(-days * DAY)
}

fn rule(changed: Timestamp, used: Option<Timestamp>) -> Rule {
    let value = json!({
        "id": RuleId::generate(), "tool": "write_file", "field": "path", "matcher": "exact",
        "value": "a.txt", "scope": "global", "channel": null, "session_id": null,
        "verdict": "allow", "enabled": true, "expires_at": null, "max_uses": null, "uses": 0,
        "last_used_at": used, "note": null, "approval_id": null, "by": "", "version": 1,
        "created_at": changed, "updated_at": changed,
    });
    serde_json::from_value(value).unwrap()
}

#[test]
fn a_rule_that_lets_no_call_run_for_two_weeks_is_unused() {
    let words = |rule: &Rule| rule.unused(NOW);
    assert_eq!(words(&rule(days_ago(13), None)), None);
    assert_eq!(
        words(&rule(days_ago(14), None)).as_deref(),
        Some("unused for 14 days")
    );
    assert_eq!(
        words(&rule(days_ago(90), Some(days_ago(20)))).as_deref(),
        Some("unused for 20 days")
    );
    assert_eq!(words(&rule(days_ago(90), Some(days_ago(1)))), None);
    // Who changed it lately means to use it.
    assert_eq!(words(&rule(days_ago(2), Some(days_ago(20)))), None);
    let mut off = rule(days_ago(90), None);
    off.enabled = false;
    assert_eq!(words(&off), None, "it decides nothing anyway");
    let mut guard = rule(days_ago(90), None);
    guard.verdict = VerdictKind::Deny;
    assert_eq!(words(&guard), None, "a rule that forbids guards unused");
}

#[test]
fn a_preview_warns_of_a_rule_for_one_call() {
    let found = |rule: &str, matched| RuleMatches {
        rule: rule.to_owned(),
        coverage: None,
        since: NOW,
        considered: 9,
        more: false,
        matched,
        doubtful: 0,
        ran_unasked: 0,
        approved: 0,
        denied: 0,
        refused: 0,
        calls: Vec::new(),
    };
    let warning = |rule, matched| found(rule, matched).warning();
    assert!(warning("allow x", 1).is_some_and(|text| text.contains("one call only")));
    assert!(warning("allow x", 0).is_some_and(|text| text.contains("no call")));
    assert_eq!(warning("allow x", 2), None);
    assert_eq!(warning("deny x", 1), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_ends_at_the_end_of_a_day() {
    let home = Home::new("");
    let daemon = home.daemon();
    let add = ["rules", "add", "write_file", "--field", "path"];
    let until = |value: &str, path: &str| {
        let words = add
            .iter()
            .copied()
            .chain(["--exact", path, "--until", value]);
        words.map(str::to_owned).collect::<Vec<_>>()
    };
    for (value, problem) in [("2020-01-01", "that is over"), ("soon", "expected a day")] {
        let words = until(value, "a.txt");
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let mut command = home.command();
        let output = command.args(&words).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{value}");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains(problem), "{said}");
    }
    let today = Day::local(leverframe::clock::Clock::System.now());
    let in_a_week = Day(today.0 + 7);
    let words = until(&in_a_week.to_string(), "b.txt");
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (made, said) = cli(&home, &words).await;
    assert!(made, "{said}");
    let rules = daemon.get("/v1/rules").await;
    let ends: Timestamp = serde_json::from_value(rules["items"][0]["expires_at"].clone()).unwrap();
    let expected = Day(in_a_week.0 + 1).begins().unwrap();
    let off = (ends.as_millis() - expected.as_millis()).abs();
    assert!(off < 60_000, "{ends} for {expected}");
    let (_, unused) = cli(&home, &["rules", "list", "--unused"]).await;
    assert!(!unused.contains("write_file"), "it is new: {unused}");
    let preview = [&add[..], &["--exact", "b.txt", "--preview"]].concat();
    let (_, preview) = cli(&home, &preview).await;
    assert!(
        preview.contains("warning   it matched no call"),
        "{preview}"
    );
}
