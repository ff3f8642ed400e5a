//! Which rules are suggested: they answer what people allowed, and nothing that anybody refused.

use leverframe::engine::handle::rule_suggestions::{CallHere, suggest};
use leverframe::protocol::approval::PlanFacts;
use leverframe::protocol::enums::{DecisionKind, Risk, RuleMatcher, ToolCallState, VerdictKind};
use leverframe::protocol::ids::{ContinuationId, SessionId, ToolCallId};
use leverframe::protocol::rule::{Rule, RuleMatch};
use leverframe::store::queries::rules::TriedCall;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::daemon::Home;

const WORKSPACE: &str = "/w";

fn call(
    tool: &str,
    args: Value,
    decision: Option<DecisionKind>,
    risk: Risk,
    tainted: bool,
) -> TriedCall {
    let of_command = tool == "execute_command";
    TriedCall {
        told: RuleMatch {
            call_id: ToolCallId::generate(),
            channel: "ops".to_owned(),
            tool: tool.to_owned(),
            preview: args.to_string(),
            risk,
            was: VerdictKind::Ask,
            decision,
            by: None,
            state: ToolCallState::Succeeded,
            kept_by: None,
            at: leverframe::clock::Timestamp(1_800_000_000_000),
        },
        session_id: SessionId::generate(),
        continuation_id: ContinuationId::generate(),
        plan: PlanFacts {
            cwd: of_command.then(|| WORKSPACE.to_owned()),
            executable: of_command.then(|| "/usr/bin/git".to_owned()),
            path: args.get("path").and_then(Value::as_str).map(str::to_owned),
            ..PlanFacts::default()
        },
        args,
        rule: "autonomy semi_auto: exec asks".to_owned(),
        tainted,
    }
}

fn here(calls: &[TriedCall]) -> Vec<CallHere<'_>> {
    calls.iter().map(|call| (call, WORKSPACE)).collect()
}

fn git(words: &[&str], decision: Option<DecisionKind>) -> TriedCall {
    let argv: Vec<&str> = std::iter::once("git")
        .chain(words.iter().copied())
        .collect();
    call(
        "execute_command",
        json!({ "argv": argv }),
        decision,
        Risk::High,
        false,
    )
}

#[test]
fn a_prefix_answers_what_differs_behind_it_and_says_what_else_it_lets_through() {
    let allowed = Some(DecisionKind::Approve);
    let mut calls: Vec<TriedCall> = ["a", "b", "c", "d"]
        .iter()
        .map(|file| git(&["add", file], allowed))
        .collect();
    calls.push(git(&["add", "e"], None));
    calls.push(git(&["push", "origin"], Some(DecisionKind::Deny)));
    let found = suggest(&here(&calls), &[]);
    assert_eq!((found.approved, found.answered), (4, 4));
    let [one] = found.rules.as_slice() else {
        panic!("{:#?}", found.rules)
    };
    assert_eq!(one.rule.matcher, Some(RuleMatcher::Prefix));
    assert_eq!(one.rule.value.as_deref(), Some("git add"));
    assert_eq!(one.rule.executable.as_deref(), Some("/usr/bin/git"));
    assert_eq!((one.answered, one.also_count), (4, 1));
    assert!(one.beside().contains("\"e\""), "{}", one.beside());
    // One refusal, and the prefix is out: nothing narrower answers three.
    calls.push(git(&["add", "-A"], Some(DecisionKind::Deny)));
    assert!(suggest(&here(&calls), &[]).rules.is_empty());
}

#[test]
fn the_commands_of_shells_and_the_places_of_other_agents_are_suggested_too() {
    let allowed = Some(DecisionKind::Approve);
    let shell = |command: &str| {
        let args = json!({"command": command, "description": command});
        call("claude__Bash", args, allowed, Risk::High, false)
    };
    let calls: Vec<TriedCall> = ["a", "b", "c"]
        .iter()
        .map(|file| shell(&format!("git add {file}")))
        .collect();
    let found = suggest(&here(&calls), &[]);
    assert_eq!(
        found.rules[0].text,
        "allow claude__Bash command prefix `git add`"
    );
    let calls: Vec<TriedCall> = ["a", "b", "c"]
        .iter()
        .map(|file| {
            let args = json!({"file_path": format!("/w/src/{file}"), "content": ""});
            let mut call = call("claude__Write", args, allowed, Risk::High, false);
            call.plan.paths = vec![format!("src/{file}")];
            call
        })
        .collect();
    let found = suggest(&here(&calls), &[]);
    assert_eq!(
        found.rules[0].text,
        "allow claude__Write path prefix `src/`"
    );
}

#[test]
fn what_a_rule_in_force_answers_is_not_suggested_again() {
    let calls: Vec<TriedCall> = (0..4)
        .map(|_| git(&["status"], Some(DecisionKind::Approve)))
        .collect();
    let first = suggest(&here(&calls), &[]);
    assert_eq!(first.rules.len(), 1);
    assert_eq!(first.rules[0].rule.matcher, Some(RuleMatcher::Exact));
    let rule = as_rule(&first.rules[0].rule);
    let again = suggest(&here(&calls), &[rule]);
    assert_eq!((again.approved, again.answered), (4, 0));
    assert!(again.rules.is_empty());
}

/// The rule that a suggestion would make.
fn as_rule(patch: &leverframe::protocol::rule::RulePatch) -> Rule {
    let value = json!({
        "id": leverframe::protocol::ids::RuleId::generate(),
        "tool": patch.tool, "field": patch.field.as_ref().filter(|field| !field.is_empty()),
        "matcher": patch.matcher, "value": patch.value, "cwd": patch.cwd,
        "executable": patch.executable, "scope": patch.scope, "channel": patch.channel,
        "session_id": null, "verdict": patch.verdict, "enabled": true, "expires_at": null,
        "max_uses": null, "uses": 0, "last_used_at": null, "note": null, "approval_id": null,
        "by": "", "version": 1, "created_at": "2026-01-01T00:00:00Z",
        "updated_at": "2026-01-01T00:00:00Z",
    });
    serde_json::from_value(value).unwrap()
}

fn any_call() -> impl Strategy<Value = TriedCall> {
    let decision = prop_oneof![
        4 => Just(Some(DecisionKind::Approve)),
        1 => Just(Some(DecisionKind::Deny)),
        1 => Just(None),
    ];
    let risk = prop_oneof![4 => Just(Risk::Medium), 1 => Just(Risk::Critical)];
    let args = prop_oneof![
        (0..3_u8, 0..3_u8).prop_map(|(verb, file)| {
            let argv = ["git".to_owned(), format!("v{verb}"), format!("f{file}")];
            ("execute_command", json!({ "argv": argv }))
        }),
        (0..2_u8, 0..3_u8).prop_map(|(directory, file)| {
            let path = format!("d{directory}/f{file}");
            ("write_file", json!({ "path": path, "content": "x" }))
        }),
        (0..2_u8).prop_map(|text| ("remember", json!({ "text": text.to_string() }))),
    ];
    (args, decision, risk, proptest::bool::weighted(0.1)).prop_map(
        |((tool, args), decision, risk, tainted)| call(tool, args, decision, risk, tainted),
    )
}

proptest! {
    #[test]
    fn no_suggestion_lets_through_what_somebody_refused(
        calls in proptest::collection::vec(any_call(), 0..60),
    ) {
        use leverframe::engine::call_shape::CallShape;
        use leverframe::engine::rules::matches;

        let found = suggest(&here(&calls), &[]);
        prop_assert!(found.answered <= found.approved);
        prop_assert_eq!(found.answered, found.rules.iter().map(|one| one.answered).sum::<u64>());
        for one in &found.rules {
            prop_assert!(one.answered >= 3);
            let rule = as_rule(&one.rule);
            let matched = calls.iter().filter(|call| {
                matches(&rule, &CallShape {
                    tool: &call.told.tool,
                    args: &call.args,
                    workspace: WORKSPACE,
                    plan: &call.plan,
                })
            });
            let (mut allowed, mut others) = (0, 0);
            for call in matched {
                prop_assert!(call.told.decision != Some(DecisionKind::Deny), "{}", one.text);
                allowed += u64::from(call.told.decision.is_some());
                others += u64::from(call.told.decision.is_none());
            }
            prop_assert!(allowed >= one.answered);
            prop_assert_eq!(others, one.also_count);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_prints_rules_that_can_be_made_as_printed() {
    let home = Home::new("");
    let daemon = home.daemon();
    let session = daemon.session().await;
    for file in ["a", "b", "c"] {
        let text =
            format!("TOOL:write_file{{\"path\":\"notes/{file}.txt\",\"content\":\"x\"}}\nSAY:done");
        let turn = daemon.send(&session, &text).await;
        let asked = daemon.wait_approval().await;
        assert_eq!(daemon.decide(&asked, "approve").await.0, 200);
        daemon.wait_state(&turn, "completed").await;
    }
    let found = daemon.get("/v1/rules/suggest?channel=api").await;
    assert_eq!(found["answered"], 3, "{found:#}");
    assert_eq!(found["rules"][0]["rule"]["value"], "notes/", "{found:#}");
    let (ok, text) = crate::stories::bot::cli(&home, &["rules", "suggest", "--days", "2"]).await;
    assert!(ok, "{text}");
    assert!(
        text.contains("1 rules would have answered 3 of 3")
            || text.contains("1 rule would have answered 3 of 3"),
        "{text}"
    );
    assert!(
        text.contains("answered 3 of 3; would also have let through: nothing else"),
        "{text}"
    );
    let line = text
        .lines()
        .find_map(|line| line.trim().strip_prefix("leverframe "))
        .expect("a command line");
    let words: Vec<&str> = line.split(' ').collect();
    let (made, said) = crate::stories::bot::cli(&home, &words).await;
    assert!(made, "{line}: {said}");
    let again = daemon.get("/v1/rules/suggest").await;
    assert_eq!(again["rules"], json!([]), "{again:#}");
    let (status, _) = daemon
        .request("GET", "/v1/rules/suggest?days=91", None)
        .await;
    assert_eq!(status, 400);
}
