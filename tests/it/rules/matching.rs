//! What a rule matches: narrowly where it allows, widely where it forbids.

use leverframe::engine::call_shape::{CallShape, Location, fits, unwords, words};
use leverframe::engine::rules::matches;
use leverframe::protocol::approval::PlanFacts;
use leverframe::protocol::enums::{RuleMatcher, RuleScope, VerdictKind};
use leverframe::protocol::ids::RuleId;
use leverframe::protocol::rule::Rule;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::world::START;

fn rule(tool: &str, field: Option<&str>, matcher: RuleMatcher, value: &str) -> Rule {
    Rule {
        id: RuleId::from_bytes([1; 16]),
        tool: tool.to_owned(),
        field: field.map(str::to_owned),
        matcher,
        value: value.to_owned(),
        cwd: None,
        executable: None,
        scope: RuleScope::Global,
        channel: None,
        session_id: None,
        continuation_id: None,
        verdict: VerdictKind::Allow,
        enabled: true,
        expires_at: None,
        max_uses: None,
        uses: 0,
        last_used_at: None,
        note: None,
        approval_id: None,
        by: "anna".to_owned(),
        version: 1,
        created_at: START,
        updated_at: START,
        never_used: None,
    }
}

/// A call in a workspace without links.
fn hits(rule: &Rule, tool: &str, args: Value) -> bool {
    let place = |field: &str| {
        let asked = args.get(field).and_then(Value::as_str).unwrap_or(".");
        Location::of(asked, "/ws").to_string()
    };
    let command = tool == "execute_command";
    let plan = PlanFacts {
        path: (!command).then(|| place("path")),
        cwd: command.then(|| format!("/ws/{}", place("cwd"))),
        executable: command.then(|| "/usr/bin/program".to_owned()),
        ..PlanFacts::default()
    };
    leads(rule, tool, &args, &plan)
}

fn leads(rule: &Rule, tool: &str, args: &Value, plan: &PlanFacts) -> bool {
    let call = CallShape {
        tool,
        args,
        workspace: "/ws",
        plan,
    };
    matches(rule, &call)
}

#[test]
fn words_of_a_command_are_compared_whole() {
    let git = rule(
        "execute_command",
        Some("argv"),
        RuleMatcher::Prefix,
        "git status",
    );
    let argv = |words: &[&str]| json!({ "argv": words });
    assert!(hits(&git, "execute_command", argv(&["git", "status"])));
    assert!(hits(
        &git,
        "execute_command",
        argv(&["git", "status", "-s"])
    ));
    assert!(!hits(&git, "execute_command", argv(&["git", "statusx"])));
    assert!(!hits(&git, "execute_command", argv(&["git status"])));
    assert!(!hits(&git, "execute_command", argv(&["git"])));
    let script = |text: &str| json!({ "script": text });
    let both = "git status && git status -s 2>/dev/null";
    for (text, covered) in [
        ("git status", true),
        (both, true),
        ("git status; git log", false),
        ("git status | sh", false),
        ("git status $X", false),
        ("git status > out", false),
    ] {
        assert_eq!(
            hits(&git, "execute_command", script(text)),
            covered,
            "{text}"
        );
    }
    assert!(!hits(&git, "bash", argv(&["git", "status"])));
    let pattern = rule(
        "execute_command",
        Some("argv"),
        RuleMatcher::Pattern,
        "cargo t* **",
    );
    assert!(hits(&pattern, "execute_command", argv(&["cargo", "test"])));
    assert!(hits(
        &pattern,
        "execute_command",
        argv(&["cargo", "test", "a", "b"])
    ));
    assert!(!hits(
        &pattern,
        "execute_command",
        argv(&["cargo", "build", "test"])
    ));
    let exact = rule(
        "execute_command",
        Some("argv"),
        RuleMatcher::Pattern,
        "ls *",
    );
    assert!(!hits(&exact, "execute_command", argv(&["ls", "a", "b"])));
}

#[test]
fn what_decides_as_much_as_the_words_keeps_a_rule_from_allowing_not_from_forbidding() {
    let mut any = rule("execute_command", Some("argv"), RuleMatcher::Pattern, "**");
    let stdin = json!({ "argv": ["sh"], "stdin": "rm -r ." });
    let elsewhere = json!({ "argv": ["./run"], "cwd": "other" });
    assert!(!hits(&any, "execute_command", stdin.clone()));
    assert!(!hits(&any, "execute_command", elsewhere.clone()));
    assert!(hits(&any, "execute_command", json!({ "argv": ["ls"] })));
    let other = json!({ "argv": ["ls"], "cwd": "other" });
    assert!(!hits(&any, "execute_command", other.clone()));
    any.cwd = Some("other".to_owned());
    assert!(hits(&any, "execute_command", other));
    any.verdict = VerdictKind::Deny;
    assert!(hits(&any, "execute_command", stdin));
    assert!(hits(&any, "execute_command", elsewhere));
}

#[test]
fn a_place_is_where_it_leads() {
    let notes = rule("write_file", Some("path"), RuleMatcher::Prefix, "notes/");
    let path = |path: &str| json!({ "path": path, "content": "notes/" });
    for inside in [
        "notes/a",
        "./notes/a",
        "x/../notes/a",
        "/ws/notes/a",
        "notes//a",
    ] {
        assert!(hits(&notes, "write_file", path(inside)), "{inside}");
    }
    for outside in [
        "notes/../secret",
        "notes",
        "/notes/a",
        "../notes/a",
        "a/notes/b",
        "/ws2/notes/a",
    ] {
        assert!(!hits(&notes, "write_file", path(outside)), "{outside}");
    }
}

#[test]
fn a_prefix_is_compared_by_whole_names_where_it_allows() {
    let mut docs = rule("write_file", Some("path"), RuleMatcher::Prefix, "docs");
    let path = |path: &str| json!({ "path": path, "content": "" });
    for (place, fits) in [
        ("docs", true),
        ("docs/a", true),
        ("docs-private/a", false),
        ("docs.md", false),
        ("../docs/a", false),
    ] {
        assert_eq!(hits(&docs, "write_file", path(place)), fits, "{place}");
    }
    // What forbids loses nothing of what it forbade.
    docs.verdict = VerdictKind::Deny;
    assert!(hits(&docs, "write_file", path("docs-private/a")));
    docs.value = "docs/".to_owned();
    assert!(!hits(&docs, "write_file", path("docs-private/a")));
    assert!(hits(&docs, "write_file", path("docs")));
    for whole in ["", ".", "./"] {
        let all = rule("write_file", Some("path"), RuleMatcher::Prefix, whole);
        assert!(hits(&all, "write_file", path("a/b")), "{whole:?}");
        assert!(!hits(&all, "write_file", path("../a")), "{whole:?}");
        assert!(!hits(&all, "write_file", path("/etc/a")), "{whole:?}");
    }
}

#[test]
fn a_link_counts_on_both_sides() {
    let args = json!({ "path": "out/a", "content": "" });
    let to = |path: &str| PlanFacts {
        path: Some(path.to_owned()),
        ..PlanFacts::default()
    };
    let mut out = rule("write_file", Some("path"), RuleMatcher::Prefix, "out");
    assert!(leads(&out, "write_file", &args, &to("out/a")));
    assert!(!leads(&out, "write_file", &args, &to("src/a")));
    assert!(!leads(&out, "write_file", &args, &PlanFacts::default()));
    let mut src = rule("write_file", Some("path"), RuleMatcher::Prefix, "src");
    assert!(!leads(&src, "write_file", &args, &to("src/a")));
    for verdict in [VerdictKind::Deny, VerdictKind::Ask] {
        out.verdict = verdict;
        src.verdict = verdict;
        assert!(leads(&out, "write_file", &args, &to("src/a")));
        assert!(leads(&src, "write_file", &args, &to("src/a")));
    }
}

#[test]
fn a_call_of_several_files_is_allowed_by_all_and_forbidden_by_one() {
    let args = json!({ "patch": "" });
    let to = |paths: &[&str]| PlanFacts {
        paths: paths.iter().map(|path| (*path).to_owned()).collect(),
        ..PlanFacts::default()
    };
    let mut docs = rule("apply_patch", Some("path"), RuleMatcher::Prefix, "docs");
    assert!(leads(
        &docs,
        "apply_patch",
        &args,
        &to(&["docs/a", "docs/b"])
    ));
    assert!(!leads(
        &docs,
        "apply_patch",
        &args,
        &to(&["docs/a", "src/b"])
    ));
    docs.verdict = VerdictKind::Deny;
    assert!(leads(
        &docs,
        "apply_patch",
        &args,
        &to(&["docs/a", "src/b"])
    ));
    assert!(!leads(
        &docs,
        "apply_patch",
        &args,
        &to(&["src/a", "src/b"])
    ));
}

#[test]
fn without_a_field_all_arguments_are_compared() {
    let all = rule(
        "write*",
        None,
        RuleMatcher::Exact,
        r#"{"content":"x","path":"a"}"#,
    );
    assert!(hits(
        &all,
        "write_file",
        json!({ "path": "a", "content": "x" })
    ));
    assert!(!hits(
        &all,
        "write_file",
        json!({ "path": "a", "content": "x", "mode": "overwrite" })
    ));
    let field = rule("write_file", Some("mode"), RuleMatcher::Exact, "append");
    assert!(!hits(&field, "write_file", json!({ "path": "append" })));
}

/// `*` and `?` by trying everything.
fn oracle(pattern: &[char], text: &[char]) -> bool {
    match (pattern.first(), text.first()) {
        (None, None) => true,
        (Some('*'), _) => {
            oracle(&pattern[1..], text) || !text.is_empty() && oracle(pattern, &text[1..])
        }
        (Some('?'), Some(_)) => oracle(&pattern[1..], &text[1..]),
        (Some(p), Some(t)) if p == t => oracle(&pattern[1..], &text[1..]),
        _ => false,
    }
}

proptest! {
    #[test]
    fn patterns_fit_what_an_oracle_says(pattern in "[ab*?]{0,8}", text in "[ab*]{0,10}") {
        let chars = |text: &str| text.chars().collect::<Vec<_>>();
        prop_assert_eq!(fits(&pattern, &text), oracle(&chars(&pattern), &chars(&text)));
    }

    #[test]
    fn words_survive_being_written(list in proptest::collection::vec(any::<String>(), 0..6)) {
        prop_assert_eq!(words(&unwords(&list)), Some(list));
    }
}

/// A call of `http_fetch`, with the host that it leads to.
fn fetches(rule: &Rule, args: Value) -> bool {
    let url = args["url"].as_str().unwrap_or_default();
    let host = leverframe::tools::http::url::parse(url)
        .ok()
        .map(|url| leverframe::tools::http::url::host(&url));
    let plan = PlanFacts {
        host,
        ..PlanFacts::default()
    };
    leads(rule, "http_fetch", &args, &plan)
}

#[test]
fn a_rule_about_a_host_looks_at_where_an_address_leads() {
    let allow = |matcher, value| rule("http_fetch", Some("host"), matcher, value);
    let get = |rule: &Rule, url: &str| fetches(rule, json!({ "url": url }));
    let docs = allow(RuleMatcher::Exact, "docs.rs");
    assert!(get(&docs, "https://docs.rs/regex"));
    assert!(get(&docs, "HTTPS://DOCS.RS:443/regex"));
    for url in [
        "https://docs.rs.evil.test/",
        "https://evil.test/?docs.rs",
        "https://docs.rs@evil.test/",
        "https://a.docs.rs/",
        "no address",
    ] {
        assert!(!get(&docs, url), "{url}");
    }
    let below = allow(RuleMatcher::Pattern, "*.example.org");
    assert!(get(&below, "https://a.example.org/"));
    assert!(!get(&below, "https://example.org.evil.test/"));
    // What is sent decides as much as where it goes.
    let post = json!({"url": "https://docs.rs/", "method": "POST", "body": "x"});
    assert!(!fetches(&docs, post.clone()));
    let head = json!({"url": "https://docs.rs/", "method": "HEAD"});
    assert!(fetches(&docs, head));
    let deny = Rule {
        verdict: VerdictKind::Deny,
        ..docs
    };
    assert!(fetches(&deny, post));
}

#[test]
fn a_rule_about_an_address_looks_through_its_spelling() {
    let of = |matcher, value: &str, verdict| Rule {
        verdict,
        ..rule("http_fetch", Some("url"), matcher, value)
    };
    let allow = |matcher, value: &str| of(matcher, value, VerdictKind::Allow);
    let get = |rule: &Rule, url: &str| fetches(rule, json!({ "url": url }));
    let below = allow(RuleMatcher::Prefix, "https://docs.rs/regex");
    assert!(get(&below, "https://docs.rs/regex"));
    assert!(get(&below, "https://docs.rs:443/x/../regex/latest?a#b"));
    for url in [
        "https://docs.rs/regex-evil",
        "https://docs.rs/regex/../other",
        "https://docs.rs/regex/%2e%2e/other",
        "http://docs.rs/regex",
        "https://docs.rs:8443/regex",
    ] {
        assert!(!get(&below, url), "{url}");
    }
    let host = allow(RuleMatcher::Prefix, "https://docs.rs");
    assert!(get(&host, "https://docs.rs/regex"));
    assert!(!get(&host, "https://docs.rs.evil.test/"));
    assert!(!get(&host, "https://docs.rs@evil.test/"));
    let exact = allow(RuleMatcher::Exact, "https://docs.rs/a b");
    assert!(get(&exact, "https://docs.rs/a%20b"));
    // A star in the host of what allows stays there.
    let pattern = |verdict| of(RuleMatcher::Pattern, "https://*.rs/*", verdict);
    assert!(get(&pattern(VerdictKind::Allow), "https://docs.rs/regex"));
    assert!(!get(
        &pattern(VerdictKind::Allow),
        "https://evil.test/x.rs/y"
    ));
    assert!(get(&pattern(VerdictKind::Deny), "https://evil.test/x.rs/y"));
}
