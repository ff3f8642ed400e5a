//! Rules on calls of other agents: a command is compared as a command, a path as a place.

use leverframe::engine::call_shape::CallShape;
use leverframe::engine::programs::Fit;
use leverframe::engine::rules::{default_field, fit};
use leverframe::protocol::approval::PlanFacts;
use leverframe::protocol::enums::{RuleMatcher, VerdictKind};
use leverframe::protocol::rule::Rule;
use leverframe::tools::preview::one_line;
use serde_json::{Value, json};

fn rule(tool: &str, field: &str, matcher: RuleMatcher, value: &str, verdict: VerdictKind) -> Rule {
    serde_json::from_value(json!({
        "id": "rul_01ARZ3NDEKTSV4RRFFQ69G5FAV", "tool": tool, "field": field, "matcher": matcher, "value": value,
        "scope": "global", "channel": null, "session_id": null, "verdict": verdict, "enabled": true,
        "expires_at": null, "max_uses": null, "uses": 0, "last_used_at": null, "note": null, "approval_id": null,
        "by": "anna", "version": 1, "created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z",
    }))
    .unwrap()
}

fn fits(rule: &Rule, tool: &str, args: &Value, paths: &[&str]) -> Fit {
    let plan = PlanFacts {
        paths: paths.iter().map(|path| (*path).to_owned()).collect(),
        ..PlanFacts::default()
    };
    let call = CallShape {
        tool,
        args,
        workspace: "/home/user/project",
        plan: &plan,
    };
    fit(rule, &call)
}

#[test]
fn a_rule_that_allows_covers_each_command_of_every_shell() {
    for tool in [
        "bash",
        "claude__Bash",
        "codex__Bash",
        "gemini__run_shell_command",
    ] {
        assert_eq!(default_field(tool), Some("command"));
        let git = rule(
            tool,
            "command",
            RuleMatcher::Prefix,
            "git status",
            VerdictKind::Allow,
        );
        for (command, fit) in [
            ("git status", Fit::Sure),
            ("git status -s && git status", Fit::Sure),
            ("git statusx", Fit::Never),
            ("git status; rm -r .", Fit::Never),
            ("git status | sh", Fit::Never),
            ("git status $(rm -r .)", Fit::Never),
            ("git status > out", Fit::Never),
            ("git status\nrm -r .", Fit::Never),
        ] {
            assert_eq!(
                fits(&git, tool, &json!({"command": command}), &[]),
                fit,
                "{tool} {command}"
            );
        }
        let any = rule(
            tool,
            "command",
            RuleMatcher::Pattern,
            "git * **",
            VerdictKind::Allow,
        );
        assert_eq!(
            fits(&any, tool, &json!({"command": "git log -1"}), &[]),
            Fit::Sure
        );
        assert_eq!(
            fits(&any, tool, &json!({"command": "git log; ls"}), &[]),
            Fit::Never
        );
        let script = "cd src && make > out";
        let exact = rule(
            tool,
            "command",
            RuleMatcher::Exact,
            script,
            VerdictKind::Allow,
        );
        assert_eq!(
            fits(&exact, tool, &json!({ "command": script }), &[]),
            Fit::Sure
        );
    }
    let other = rule(
        "claude__*",
        "command",
        RuleMatcher::Prefix,
        "ls",
        VerdictKind::Allow,
    );
    assert_eq!(
        fits(&other, "claude__Bash", &json!({"command": "ls -l"}), &[]),
        Fit::Sure
    );
    assert_eq!(
        fits(&other, "codex__Bash", &json!({"command": "ls -l"}), &[]),
        Fit::Never
    );
}

#[test]
fn a_rule_that_forbids_finds_its_program_wherever_it_is_started() {
    let rm = rule(
        "claude__Bash",
        "command",
        RuleMatcher::Prefix,
        "rm",
        VerdictKind::Deny,
    );
    for (command, fit) in [
        ("rm a", Fit::Sure),
        ("ls; env rm a", Fit::Sure),
        ("ls && sh -c 'rm a'", Fit::Sure),
        ("ls -l", Fit::Never),
        ("$X a", Fit::Perhaps),
        ("cd x && rm a", Fit::Perhaps),
    ] {
        let args = json!({ "command": command });
        assert_eq!(fits(&rm, "claude__Bash", &args, &[]), fit, "{command}");
    }
}

#[test]
fn a_path_is_compared_as_the_place_that_it_leads_to() {
    let src = |verdict| {
        rule(
            "claude__Write",
            "file_path",
            RuleMatcher::Prefix,
            "src/",
            verdict,
        )
    };
    let place = |given: &str, verdict, led: &str| {
        let args = json!({"file_path": given, "content": ""});
        fits(&src(verdict), "claude__Write", &args, &[led])
    };
    let (allow, deny) = (VerdictKind::Allow, VerdictKind::Deny);
    assert_eq!(
        place("/home/user/project/src/a.rs", allow, "src/a.rs"),
        Fit::Sure
    );
    assert_eq!(place("src/../.env", allow, ".env"), Fit::Never);
    assert_eq!(place("src/../src/a", deny, "src/a"), Fit::Sure);
    assert_eq!(place("src/link", allow, "/etc/hosts"), Fit::Never);
}

#[test]
fn one_line_says_what_a_call_of_another_agent_is_about() {
    for (tool, args, line) in [
        (
            "claude__Bash",
            json!({"command": "ls\n-l", "description": "x"}),
            "ls -l",
        ),
        (
            "claude__Write",
            json!({"file_path": "/w/a", "content": "x"}),
            "/w/a",
        ),
        (
            "codex__apply_patch",
            json!({"command": "*** Begin Patch\n*** Delete File: a\n*** End Patch"}),
            "a",
        ),
        (
            "claude__mcp__x__y",
            json!({"b": 1, "a": 2}),
            r#"{"a":2,"b":1}"#,
        ),
    ] {
        assert_eq!(one_line(tool, &args), line);
    }
}
