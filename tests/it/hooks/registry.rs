//! The registry itself: real programs, a clock that is moved by hand.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use leverframe::clock::{Clock, Timestamp};
use leverframe::config::settings::{CommandHook, HookSettings, RateLimits, Secret};
use leverframe::engine::hooks::document::About;
use leverframe::engine::hooks::{Hooks, PointOutcome};
use leverframe::protocol::approval::Requester;
use leverframe::protocol::enums::HookPoint;
use leverframe::protocol::hook::{Hook, HookVerdict};
use leverframe::protocol::ids::ToolCallId;
use leverframe::text::redact::Redactor;
use serde_json::{Value, json};

use crate::hooks::scripts::{says, script};
use crate::support::daemon::DEADLINE;

const TOOL: HookPoint = HookPoint::BeforeToolCall;

fn hook(path: &Path, points: &[HookPoint]) -> CommandHook {
    CommandHook {
        command: vec![path.to_str().unwrap().to_owned()],
        points: points.to_vec(),
        priority: 100,
        timeout_ms: 10_000,
        channels: Vec::new(),
        tools: Vec::new(),
        environment: Vec::new(),
        dry_run: false,
    }
}

struct World {
    dir: tempfile::TempDir,
    clock: Clock,
    redactor: Redactor,
    settings: HookSettings,
}

impl World {
    fn new() -> Self {
        Self {
            dir: tempfile::tempdir().unwrap(),
            clock: Clock::manual(Timestamp(1_800_000_000_000)),
            redactor: Redactor::default(),
            settings: HookSettings::default(),
        }
    }

    fn add(&mut self, name: &str, hook: CommandHook) {
        self.settings.commands.insert(name.to_owned(), hook);
    }

    fn hooks(&self) -> Hooks {
        Hooks::new(
            &self.settings,
            Vec::new(),
            self.clock.clone(),
            self.redactor.clone(),
        )
    }

    fn file(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }
}

async fn ask(hooks: &Hooks, at_start: bool, args: Value) -> PointOutcome {
    let requester = Requester {
        id: "telegram:1".to_owned(),
        display: "Anna".to_owned(),
        person: Some("anna".to_owned()),
    };
    let about = About {
        channel: "team",
        conversation: "c",
        requester: &requester,
        session_id: None,
        continuation_id: None,
        call: Some((ToolCallId::generate(), "write_file")),
        model: None,
    };
    hooks.ask(TOOL, at_start, &about, args).await
}

fn of(hooks: &Hooks, name: &str) -> Hook {
    let found = hooks.list().into_iter().find(|hook| hook.name == name);
    found.unwrap()
}

fn stopped(asked: &PointOutcome) -> &str {
    &asked.stop.as_ref().expect("a stop").reason
}

#[tokio::test]
async fn they_are_asked_by_priority_then_name_and_each_sees_what_the_last_one_left() {
    let mut world = World::new();
    let log = world.file("log");
    for (name, priority) in [("zebra", 1), ("bee", 5), ("ant", 5), ("late", 900)] {
        let body = format!(
            "read doc; echo {name} >> {log}; case \"$doc\" in\n*'\"n\":3'*) echo '{{\"verdict\":\"pass\"}}';;\n\
             *'\"n\":2'*) echo '{{\"verdict\":\"change\",\"args\":{{\"n\":3}}}}';;\n\
             *'\"n\":1'*) echo '{{\"verdict\":\"change\",\"args\":{{\"n\":2}}}}';;\nesac",
            log = log.display()
        );
        let path = script(world.dir.path(), name, &body);
        let hook = CommandHook {
            priority,
            ..hook(&path, &[TOOL])
        };
        world.add(name, hook);
    }
    let hooks = world.hooks();
    let asked = ask(&hooks, false, json!({"n": 1})).await;
    assert_eq!(asked.value, json!({"n": 3}), "{asked:?}");
    assert_eq!(
        std::fs::read_to_string(&log).unwrap(),
        "zebra\nant\nbee\nlate\n"
    );
    let by: Vec<&str> = asked.notes.iter().map(|note| note.hook.as_str()).collect();
    assert_eq!(by, ["zebra", "ant"]);
    assert_eq!(asked.notes[0].before, Some(json!({"n": 1})));
    assert_eq!(asked.audited, [0, 1]);
    let listed: Vec<String> = hooks
        .list()
        .into_iter()
        .filter(|hook| hook.point == TOOL)
        .map(|hook| hook.name)
        .collect();
    assert_eq!(
        listed,
        [
            "redaction",
            "rate_limit",
            "zebra",
            "ant",
            "bee",
            "late",
            "audit"
        ]
    );
    for (name, changes) in [("zebra", 1), ("ant", 1), ("bee", 0), ("audit", 0)] {
        let counts = of(&hooks, name).counts;
        // `audit` is at two points; the first one listed was not called.
        let runs = hooks
            .list()
            .iter()
            .filter(|hook| hook.name == name)
            .map(|hook| hook.counts.runs)
            .sum::<u64>();
        assert_eq!((runs, counts.changes), (1, changes), "{name}");
    }
}

#[tokio::test]
async fn a_cancel_ends_the_asking_and_the_audit_still_hears_of_it() {
    let mut world = World::new();
    let no = says(
        world.dir.path(),
        "no",
        r#"{"verdict":"cancel","reason":"not on Sundays"}"#,
    );
    let after = world.file("after");
    let yes = script(
        world.dir.path(),
        "yes",
        &format!("touch {}\necho '{{\"verdict\":\"pass\"}}'", after.display()),
    );
    world.add("a_no", hook(&no, &[TOOL]));
    world.add("b_yes", hook(&yes, &[TOOL]));
    let hooks = world.hooks();
    let asked = ask(&hooks, false, json!({})).await;
    assert_eq!(stopped(&asked), "not on Sundays");
    assert!(asked.stop.unwrap().said);
    assert!(
        !after.exists(),
        "a hook was asked about a call that does not happen"
    );
    assert_eq!(asked.audited, [0]);
    assert_eq!(of(&hooks, "a_no").counts.cancels, 1);
    assert_eq!(of(&hooks, "b_yes").counts.runs, 0);
}

#[tokio::test]
async fn whatever_goes_wrong_fails_closed_and_says_what() {
    let mut world = World::new();
    let dir = world.dir.path().to_owned();
    let cases: Vec<(&str, PathBuf, &str)> = vec![
        (
            "exit",
            script(&dir, "exit", "echo '{\"verdict\":\"pass\"}'; exit 1"),
            "exit status: 1",
        ),
        (
            "garbage",
            script(&dir, "garbage", "echo hello"),
            "no verdict",
        ),
        (
            "nothing",
            script(&dir, "nothing", "exit 0"),
            "answered nothing",
        ),
        (
            "crash",
            script(&dir, "crash", "kill -SEGV $$"),
            "signal: 11",
        ),
        (
            "much",
            script(&dir, "much", "head -c 70000 /dev/zero"),
            "more than 65536 bytes",
        ),
        ("missing", dir.join("hooks/missing"), "No such file"),
        (
            "no_program",
            script(&dir, "no_program", "").with_file_name("exit/x"),
            "Not a directory",
        ),
    ];
    for (name, path, expected) in cases {
        world.settings.commands.clear();
        world.add(name, hook(&path, &[TOOL]));
        let hooks = world.hooks();
        let asked = ask(&hooks, false, json!({"a": 1})).await;
        assert!(stopped(&asked).contains(expected), "{name}: {asked:?}");
        assert!(!asked.stop.as_ref().unwrap().said);
        let shown = of(&hooks, name);
        assert_eq!(shown.counts.failures, 1, "{name}");
        assert!(shown.last_error.unwrap().contains(expected), "{name}");
    }
}

#[tokio::test]
async fn a_program_that_hangs_is_killed_with_its_whole_group() {
    let mut world = World::new();
    let pids = world.file("pids");
    // A child in the background and one in the foreground, both of the same group; TERM is ignored.
    let body = format!(
        "trap '' TERM\nsleep 600 &\necho $$ $! > {pids}.new\nmv {pids}.new {pids}\nsleep 600",
        pids = pids.display()
    );
    let path = script(world.dir.path(), "hang", &body);
    let hang = CommandHook {
        timeout_ms: 1_500,
        ..hook(&path, &[TOOL])
    };
    world.add("hang", hang);
    let hooks = world.hooks();
    let began = Instant::now();
    let asked = ask(&hooks, false, json!({})).await;
    assert!(
        stopped(&asked).contains("did not end within 1500 ms"),
        "{asked:?}"
    );
    assert!(began.elapsed() < DEADLINE);
    all_gone(&std::fs::read_to_string(&pids).unwrap());

    // Given up from outside, it is gone as well.
    std::fs::remove_file(&pids).unwrap();
    let hang = CommandHook {
        timeout_ms: 30_000,
        ..hook(&path, &[TOOL])
    };
    world.add("hang", hang);
    let hooks = world.hooks();
    tokio::select! {
        _ = ask(&hooks, false, json!({})) => panic!("it hangs"),
        () = async { while !pids.exists() { tokio::time::sleep(Duration::from_millis(5)).await } } => {}
    }
    all_gone(&std::fs::read_to_string(&pids).unwrap());
    // That was no failure of the hook.
    assert_eq!(of(&hooks, "hang").counts.failures, 0);
}

/// None of these processes runs any more.
fn all_gone(pids: &str) {
    let deadline = Instant::now() + DEADLINE;
    for pid in pids.split_whitespace() {
        let stat = PathBuf::from(format!("/proc/{pid}/stat"));
        // A zombie that nobody reaped yet does not run.
        while std::fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z ")) {
            assert!(Instant::now() < deadline, "{pid} still runs");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

#[tokio::test]
async fn the_breaker_opens_after_five_and_closes_after_a_good_call() {
    let mut world = World::new();
    let good = world.file("good");
    let body = format!(
        "cat > /dev/null\n[ -e {} ] || exit 3\necho '{{\"verdict\":\"pass\"}}'",
        good.display()
    );
    let path = script(world.dir.path(), "flaky", &body);
    world.add("flaky", hook(&path, &[TOOL]));
    let hooks = world.hooks();
    for _ in 0..5 {
        assert!(stopped(&ask(&hooks, false, json!({})).await).contains("exit status: 3"));
    }
    // Open: it is not run, and what it has to look at is refused.
    std::fs::write(&good, "").unwrap();
    assert!(stopped(&ask(&hooks, false, json!({})).await).contains("failed too often"));
    let shown = of(&hooks, "flaky");
    assert_eq!(
        (
            shown.counts.failures,
            shown.counts.skipped,
            shown.counts.runs
        ),
        (5, 1, 5)
    );
    assert!(shown.broken_until.is_some());
    // A minute later one call is tried, and it is good.
    world.clock.advance_millis(60_000);
    assert!(of(&hooks, "flaky").broken_until.is_none());
    assert!(ask(&hooks, false, json!({})).await.stop.is_none());
    std::fs::remove_file(&good).unwrap();
    for _ in 0..5 {
        ask(&hooks, false, json!({})).await;
    }
    assert!(of(&hooks, "flaky").broken_until.is_some());
    std::fs::write(&good, "").unwrap();
    hooks.reset("flaky").unwrap();
    assert!(ask(&hooks, false, json!({})).await.stop.is_none());
    assert_eq!(hooks.reset("flakey").unwrap_err().title, "no such hook");
}

#[test]
fn one_person_has_one_count_whichever_account_they_use() {
    let mut world = World::new();
    world.settings.rate_limit.messages = Some(1);
    let hooks = world.hooks();
    let from = |id: &str, person: Option<&str>| Requester {
        id: id.to_owned(),
        display: "Anna".to_owned(),
        person: person.map(str::to_owned),
    };
    let anna = Some("anna");
    hooks
        .limit_message("team", &from("telegram:1", anna))
        .unwrap();
    let over = hooks
        .limit_message("desk", &from("telegram:2", anna))
        .unwrap_err();
    assert!(over.reason.contains("from one person"), "{over:?}");
    // Nobody knows that these two are one: a name that is shown is no person.
    hooks
        .limit_message("team", &from("telegram:3", None))
        .unwrap();
    hooks
        .limit_message("team", &from("telegram:4", None))
        .unwrap();
}

#[tokio::test]
async fn a_trial_that_is_given_up_leaves_room_for_another() {
    let mut world = World::new();
    let (hangs, began) = (world.file("hangs"), world.file("began"));
    let body = format!(
        "cat > /dev/null\n[ -e {} ] || exit 3\n: > {}\nsleep 600",
        hangs.display(),
        began.display()
    );
    let path = script(world.dir.path(), "flaky", &body);
    world.add("flaky", hook(&path, &[TOOL]));
    let hooks = world.hooks();
    for _ in 0..5 {
        ask(&hooks, false, json!({})).await;
    }
    world.clock.advance_millis(60_000);
    // The one call that is let through hangs, and its turn is cancelled meanwhile.
    std::fs::write(&hangs, "").unwrap();
    let deadline = Instant::now() + Duration::from_secs(10);
    let started = async {
        while !began.exists() {
            assert!(Instant::now() < deadline, "it does not begin");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::select! {
        asked = ask(&hooks, false, json!({})) => panic!("{asked:?}"),
        () = started => {}
    }
    // That says nothing about the hook: the next call is asked.
    std::fs::remove_file(&hangs).unwrap();
    assert!(stopped(&ask(&hooks, false, json!({})).await).contains("exit status: 3"));
}

#[tokio::test]
async fn a_dry_run_is_counted_and_changes_nothing() {
    let mut world = World::new();
    let dir = world.dir.path().to_owned();
    for (name, verdict) in [
        ("a", r#"{"verdict":"change","args":{"n":2}}"#),
        ("b", r#"{"verdict":"cancel","reason":"no"}"#),
        ("c", "garbage"),
    ] {
        let dry = CommandHook {
            dry_run: true,
            ..hook(&says(&dir, name, verdict), &[TOOL])
        };
        world.add(name, dry);
    }
    let hooks = world.hooks();
    let asked = ask(&hooks, false, json!({"n": 1})).await;
    assert_eq!(asked.value, json!({"n": 1}));
    assert!(asked.stop.is_none());
    assert_eq!(asked.notes.len(), 3);
    assert!(asked.notes.iter().all(|note| note.dry_run));
    assert!(asked.audited.is_empty());
    assert_eq!(of(&hooks, "a").counts.changes, 1);
    assert_eq!(of(&hooks, "b").counts.cancels, 1);
    assert_eq!(of(&hooks, "c").counts.failures, 1);
}

#[tokio::test]
async fn at_the_start_it_may_only_veto() {
    let mut world = World::new();
    let path = says(
        world.dir.path(),
        "rewrite",
        r#"{"verdict":"change","args":{"n":2}}"#,
    );
    world.add("rewrite", hook(&path, &[TOOL]));
    let hooks = world.hooks();
    // What it wants is there already.
    assert!(ask(&hooks, true, json!({"n": 2})).await.stop.is_none());
    let asked = ask(&hooks, true, json!({"n": 1})).await;
    assert_eq!(asked.value, json!({"n": 1}));
    assert!(stopped(&asked).contains("wants other args"), "{asked:?}");
    // Limits were used up when it was proposed.
    assert_eq!(
        hooks
            .list()
            .iter()
            .filter(|hook| hook.name == "rate_limit")
            .map(|hook| hook.counts.runs)
            .sum::<u64>(),
        0
    );
}

#[tokio::test]
async fn it_is_called_only_where_it_was_asked_for() {
    let mut world = World::new();
    let no = says(
        world.dir.path(),
        "no",
        r#"{"verdict":"cancel","reason":"no"}"#,
    );
    for (name, channels, tools, concerned) in [
        ("others", vec!["ops"], vec![], false),
        ("reads", vec![], vec!["read_file"], false),
        ("writes", vec!["team"], vec!["write_file"], true),
    ] {
        let words = |list: Vec<&str>| list.into_iter().map(str::to_owned).collect();
        world.settings.commands.clear();
        let hook = CommandHook {
            channels: words(channels),
            tools: words(tools),
            ..hook(&no, &[TOOL])
        };
        world.add(name, hook);
        let hooks = world.hooks();
        let asked = ask(&hooks, false, json!({})).await;
        assert_eq!(asked.stop.is_some(), concerned, "{name}");
        assert_eq!(hooks.looks_at_start("team", "write_file"), concerned);
    }
}

#[tokio::test]
async fn secrets_go_neither_in_nor_out() {
    const KEY: &str = "hunter2-hunter2";
    let mut world = World::new();
    world.redactor.register(KEY);
    let seen = world.file("seen");
    let body = format!(
        "cat > {}\necho \"cannot $TOKEN\" >&2\necho \"{{\\\"verdict\\\":\\\"change\\\",\\\"args\\\":{{\\\"k\\\":\\\"$TOKEN\\\"}}}}\"",
        seen.display()
    );
    let path = script(world.dir.path(), "leaky", &body);
    let leaky = CommandHook {
        environment: vec![("TOKEN".to_owned(), Secret::new(KEY))],
        ..hook(&path, &[TOOL])
    };
    world.add("leaky", leaky);
    let hooks = world.hooks();
    let asked = ask(&hooks, false, json!({"text": format!("use {KEY}")})).await;
    let read = std::fs::read_to_string(&seen).unwrap();
    assert!(read.contains("use [redacted]"), "{read}");
    assert_eq!(asked.value, json!({"k": "[redacted]"}), "{asked:?}");
    // Nor does one come from a tool, whether a program looks at its result or not.
    let clean = hooks.clean_result(&format!("it is {KEY}"));
    assert_eq!(clean, ("it is [redacted]".to_owned(), true));
    assert_eq!(hooks.clean_result("plain"), ("plain".to_owned(), false));
    assert!(!format!("{asked:?}").contains(KEY));
    assert_eq!(asked.notes[0].hook, "redaction");
    assert_eq!(asked.notes[0].before, None);

    // Neither in what is wrong with an answer, nor in a reason.
    for (body, says) in [
        ("echo \"$TOKEN\"", "no verdict"),
        (
            "echo \"{\\\"verdict\\\":\\\"cancel\\\",\\\"reason\\\":\\\"not $TOKEN\\\"}\"",
            "not [redacted]",
        ),
    ] {
        let bad = script(world.dir.path(), "bad", body);
        let bad = CommandHook {
            environment: vec![("TOKEN".to_owned(), Secret::new(KEY))],
            ..hook(&bad, &[TOOL])
        };
        world.settings.commands.clear();
        world.add("bad", bad);
        let hooks = world.hooks();
        let asked = ask(&hooks, false, json!({})).await;
        assert!(stopped(&asked).contains(says), "{asked:?}");
        assert!(
            !format!("{asked:?}{:?}", hooks.list()).contains(KEY),
            "{asked:?}"
        );
    }
}

#[tokio::test]
async fn it_gets_a_clean_environment_and_the_whole_document() {
    let mut world = World::new();
    let seen = world.file("seen");
    let path = script(
        world.dir.path(),
        "look",
        &format!(
            "cat > {0}\nenv | sort > {0}.env\npwd >> {0}.env\necho '{{\"verdict\":\"pass\"}}'",
            seen.display()
        ),
    );
    world.add("look", hook(&path, &[TOOL]));
    let hooks = world.hooks();
    let large = "x".repeat(300_000);
    let asked = ask(&hooks, false, json!({ "content": large })).await;
    assert!(asked.stop.is_none(), "{asked:?}");
    let document: Value = serde_json::from_str(&std::fs::read_to_string(&seen).unwrap()).unwrap();
    assert_eq!(document["version"], 1);
    assert_eq!(document["point"], "before_tool_call");
    assert_eq!(document["phase"], "propose");
    assert_eq!(document["hook"], "look");
    assert_eq!(document["channel"], "team");
    assert_eq!(document["tool"], "write_file");
    assert_eq!(document["requester"]["person"], "anna");
    assert_eq!(document["args"]["content"].as_str().unwrap().len(), 300_000);
    let environment = std::fs::read_to_string(format!("{}.env", seen.display())).unwrap();
    let names: Vec<&str> = environment
        .lines()
        .filter_map(|line| line.split_once('='))
        .map(|(name, _)| name)
        .collect();
    assert!(
        names
            .iter()
            .all(|name| ["LANG", "PATH", "PWD", "OLDPWD", "_", "SHLVL"].contains(name)),
        "{environment}"
    );
    assert!(environment.ends_with("\n/\n"), "{environment}");
}

#[tokio::test]
async fn a_trial_counts_nothing() {
    let mut world = World::new();
    let no = says(
        world.dir.path(),
        "no",
        r#"{"verdict":"cancel","reason":"no"}"#,
    );
    world.add("no", hook(&no, &[TOOL, HookPoint::ReplySent]));
    world.settings.rate_limit = RateLimits {
        tool_calls: Some(1),
        ..RateLimits::default()
    };
    world.redactor.register("hunter2-hunter2");
    let hooks = world.hooks();
    let trial = hooks.try_out("no", None, None).await.unwrap();
    assert_eq!(
        trial.verdict,
        HookVerdict::Cancel {
            reason: "no".to_owned()
        }
    );
    assert!(trial.duration_us > 0);
    for _ in 0..2 {
        let trial = hooks.try_out("rate_limit", None, None).await.unwrap();
        assert_eq!(trial.verdict, HookVerdict::Pass);
    }
    let input = json!({"args": {"k": "hunter2-hunter2"}});
    let trial = hooks
        .try_out("redaction", Some(TOOL), Some(input))
        .await
        .unwrap();
    let clean = HookVerdict::Change {
        field: "args".to_owned(),
        value: json!({"k": "[redacted]"}),
    };
    assert_eq!(trial.verdict, clean);
    assert!(hooks.list().iter().all(|hook| hook.counts.runs == 0));
    let problem = hooks
        .try_out("no", Some(HookPoint::SessionEnd), None)
        .await
        .unwrap_err();
    assert!(
        problem.detail.contains("before_tool_call, reply_sent"),
        "{problem}"
    );
    let problem = hooks.try_out("nobody", None, None).await.unwrap_err();
    assert!(
        problem
            .hint
            .unwrap()
            .contains("audit, no, rate_limit, redaction")
    );
    assert!(hooks.try_out("no", None, Some(json!(3))).await.is_err());
}
