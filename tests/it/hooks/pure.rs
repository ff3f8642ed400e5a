//! The parts that decide: breaker, limits, percentile, verdicts. No program runs.

use std::collections::BTreeMap;
use std::time::Duration;

use leverframe::clock::Timestamp;
use leverframe::config::settings::RateLimits;
use leverframe::engine::hooks::breaker::{Breaker, BreakerVerdict, FAILURES, REST_SECONDS};
use leverframe::engine::hooks::document::verdict;
use leverframe::engine::hooks::limiter::{Limiter, of_call, of_message};
use leverframe::engine::hooks::stats::HookStats;
use leverframe::protocol::enums::HookPoint;
use leverframe::protocol::hook::HookVerdict;
use proptest::prelude::*;
use serde_json::json;

const START: Timestamp = Timestamp(1_000_000);

#[test]
fn five_failures_open_it_for_a_minute_and_one_success_closes_it() {
    let mut breaker = Breaker::default();
    for n in 1..=FAILURES {
        assert_eq!(breaker.enter(START), BreakerVerdict::Go, "call {n}");
        breaker.failed(START);
    }
    let until = START.plus_seconds(REST_SECONDS);
    assert_eq!(breaker.enter(START), BreakerVerdict::Wait(until));
    assert_eq!(
        breaker.enter(until.plus_millis(-1)),
        BreakerVerdict::Wait(until)
    );
    // Half open: one call, the others wait for it.
    assert_eq!(breaker.enter(until), BreakerVerdict::Go);
    assert_eq!(breaker.enter(until), BreakerVerdict::Wait(until));
    breaker.failed(until);
    let again = until.plus_seconds(REST_SECONDS);
    assert_eq!(breaker.enter(until), BreakerVerdict::Wait(again));
    assert_eq!(breaker.enter(again), BreakerVerdict::Go);
    // A call that was given up says nothing, and the next one is let through.
    breaker.given_up();
    assert_eq!(breaker.enter(again), BreakerVerdict::Go);
    breaker.succeeded();
    assert_eq!(breaker.open_until(), None);
    for _ in 1..FAILURES {
        breaker.failed(again);
    }
    assert_eq!(breaker.enter(again), BreakerVerdict::Go);
    breaker.succeeded();
    // Only failures in a row count.
    breaker.failed(again);
    assert_eq!(breaker.enter(again), BreakerVerdict::Go);
}

fn limits() -> RateLimits {
    RateLimits {
        messages: Some(2),
        channel_messages: Some(3),
        tool_calls: Some(2),
        channel_tool_calls: None,
        per_tool: BTreeMap::from([("bash".to_owned(), 1)]),
    }
}

#[test]
fn each_person_channel_and_tool_has_its_own_minute() {
    let mut limiter = Limiter::default();
    let limits = limits();
    let say = |limiter: &mut Limiter, at: Timestamp, person: &str| {
        limiter.take(at, &of_message(&limits, "team", person))
    };
    say(&mut limiter, START, "anna").unwrap();
    say(&mut limiter, START.plus_seconds(10), "anna").unwrap();
    let over = say(&mut limiter, START.plus_seconds(20), "anna").unwrap_err();
    assert!(over.first);
    assert_eq!(
        over.reason,
        "more than 2 messages a minute from one person; again in 40 s"
    );
    // What was refused used nothing of the channel's three.
    say(&mut limiter, START.plus_seconds(20), "bob").unwrap();
    let over = say(&mut limiter, START.plus_seconds(20), "carl").unwrap_err();
    assert!(over.reason.contains("on this channel"), "{over:?}");
    limiter.told(START.plus_seconds(20), &of_message(&limits, "team", "anna"));
    let over = say(&mut limiter, START.plus_seconds(21), "anna").unwrap_err();
    assert!(!over.first, "told within the minute");
    say(&mut limiter, START.plus_seconds(60), "anna").unwrap();

    let call = |limiter: &mut Limiter, person: &str, tool: &str| {
        limiter.take(START, &of_call(&limits, "team", person, tool))
    };
    call(&mut limiter, "anna", "bash").unwrap();
    let over = call(&mut limiter, "bob", "bash").unwrap_err();
    assert!(over.reason.contains("calls of bash a minute"), "{over:?}");
    call(&mut limiter, "anna", "read_file").unwrap();
    assert!(call(&mut limiter, "anna", "read_file").is_err());
    limiter.clear();
    call(&mut limiter, "anna", "bash").unwrap();
}

#[test]
fn nobody_is_limited_by_what_others_do() {
    let mut limits = limits();
    limits.channel_tool_calls = Some(3);
    let mut limiter = Limiter::default();
    let message = |limiter: &mut Limiter, channel: &str, person: &str| {
        limiter
            .take(START, &of_message(&limits, channel, person))
            .is_ok()
    };
    for person in ["anna", "anna", "bob"] {
        assert!(message(&mut limiter, "team", person));
    }
    // The channel is full, and bob is not: elsewhere he speaks.
    assert!(!message(&mut limiter, "team", "bob"));
    assert!(message(&mut limiter, "desk", "bob"));
    let call = |limiter: &mut Limiter, channel: &str, person: &str, tool: &str| {
        limiter
            .take(START, &of_call(&limits, channel, person, tool))
            .is_ok()
    };
    for tool in ["bash", "list_files"] {
        assert!(call(&mut limiter, "team", "anna", tool));
    }
    assert!(!call(&mut limiter, "team", "anna", "list_files"));
    // Neither her calls nor those of the one tool count for another person and another tool.
    assert!(!call(&mut limiter, "team", "bob", "bash"));
    assert!(call(&mut limiter, "team", "bob", "list_files"));
    assert!(!call(&mut limiter, "team", "carl", "list_files"));
    assert!(call(&mut limiter, "desk", "carl", "list_files"));
}

#[test]
fn each_tool_has_a_limit_of_its_own() {
    let limits = RateLimits {
        per_tool: BTreeMap::from([("bash".to_owned(), 1), ("grep".to_owned(), 1)]),
        ..RateLimits::default()
    };
    let mut limiter = Limiter::default();
    let mut call = |tool: &str| limiter.take(START, &of_call(&limits, "team", "anna", tool));
    call("bash").unwrap();
    call("grep").unwrap();
    assert!(call("bash").is_err() && call("grep").is_err());
}

proptest! {
    /// Whatever comes when: within any minute no more is let through than the limit says.
    #[test]
    fn no_minute_holds_more_than_the_limit(gaps in prop::collection::vec(0_i64..20_000, 1..80), most in 1_u32..6) {
        let limits = RateLimits { messages: Some(most), ..RateLimits::default() };
        let mut limiter = Limiter::default();
        let mut now = START;
        let mut taken: Vec<i64> = Vec::new();
        for gap in gaps {
            now = now.plus_millis(gap);
            let before = taken.iter().filter(|at| **at + 60_000 > now.as_millis()).count();
            let went = limiter.take(now, &of_message(&limits, "team", "anna")).is_ok();
            prop_assert_eq!(went, before < most as usize);
            if went {
                taken.push(now.as_millis());
            }
        }
    }

    /// Nothing that a program prints is a panic, and only what the contract lists is a verdict.
    #[test]
    fn any_answer_is_a_verdict_or_an_error(answer in prop::collection::vec(any::<u8>(), 0..200)) {
        for point in HookPoint::ALL {
            if let Ok(said) = verdict(*point, &answer) {
                prop_assert!(serde_json::from_slice::<serde_json::Value>(&answer).is_ok(), "{said:?}");
            }
        }
    }
}

#[test]
fn answers_and_what_they_mean() {
    let tool = HookPoint::BeforeToolCall;
    let model = HookPoint::BeforeLlmCall;
    let said = |point, text: &str| verdict(point, text.as_bytes());
    assert_eq!(said(tool, r#"{"verdict":"pass"}"#), Ok(HookVerdict::Pass));
    assert_eq!(
        said(tool, r#"{"verdict":"change","args":{"path":"b"}}"#),
        Ok(HookVerdict::Change {
            field: "args".to_owned(),
            value: json!({"path": "b"})
        })
    );
    assert_eq!(
        said(model, "{\"verdict\":\"change\",\"text\":\"hello\"}\n"),
        Ok(HookVerdict::Change {
            field: "text".to_owned(),
            value: json!("hello")
        })
    );
    assert_eq!(
        said(model, r#"{"verdict":"cancel","reason":" not today "}"#),
        Ok(HookVerdict::Cancel {
            reason: "not today".to_owned()
        })
    );
    for (point, text, expected) in [
        (tool, "", "answered nothing"),
        (tool, "ok", "no verdict"),
        (tool, "{\"verdict\":\"pass\"} trailing", "no verdict"),
        (tool, r#"{"verdict":"maybe"}"#, "no verdict"),
        (
            tool,
            r#"{"verdict":"pass","note":"x"}"#,
            "unknown field `note`",
        ),
        (tool, r#"{"verdict":"change"}"#, "`change` needs `args`"),
        (tool, r#"{"verdict":"change","args":[1]}"#, "no verdict"),
        (
            tool,
            r#"{"verdict":"change","text":"x"}"#,
            "only `args` can be changed",
        ),
        (
            model,
            r#"{"verdict":"change","args":{}}"#,
            "only `text` can be changed",
        ),
        (
            model,
            r#"{"verdict":"change","text":"  "}"#,
            "changed the text to nothing",
        ),
        (
            tool,
            r#"{"verdict":"pass","args":{}}"#,
            "only `change` comes with",
        ),
        (
            tool,
            r#"{"verdict":"change","args":{},"reason":"x"}"#,
            "`reason` belongs to",
        ),
        (
            HookPoint::ReplySent,
            r#"{"verdict":"change","text":"x"}"#,
            "nothing can be changed",
        ),
    ] {
        let error = said(point, text).unwrap_err();
        assert!(error.contains(expected), "{text}: {error}");
    }
    assert!(verdict(tool, b"\xff").unwrap_err().contains("UTF-8"));
}

#[test]
fn the_percentile_is_of_the_last_256_calls() {
    let mut stats = HookStats::default();
    assert_eq!(stats.counts().p95_us, 0);
    for n in 1..=100 {
        stats.ran(&HookVerdict::Pass, Duration::from_micros(n));
    }
    assert_eq!(stats.counts().p95_us, 95);
    for _ in 0..256 {
        stats.ran(&HookVerdict::Pass, Duration::from_micros(7));
    }
    assert_eq!(stats.counts().p95_us, 7);
    assert_eq!(stats.counts().runs, 356);
}
