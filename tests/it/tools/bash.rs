//! The shell of a session: what stays between commands, how commands end that do not want to, and what outlives nothing.

use std::sync::Arc;
use std::time::{Duration, Instant};

use leverframe::config::settings::BashSettings;
use leverframe::protocol::ids::{SessionId, ToolCallId};
use leverframe::tools::bash::Bash;
use leverframe::tools::sandbox::{Places, Sandbox};
use leverframe::tools::tool::{EffectDisposition, Tool as _, ToolContext, ToolHost, ToolOutcome};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::tools::harness::{Bench, eventually, places, sandbox};

/// A bench whose sessions have shells.
pub struct Shells {
    pub bench: Bench,
    tool: Bash,
    pub session: SessionId,
}

/// A person at the shell.
struct Person;

impl ToolHost for Person {
    fn progress(&self, _: &str) {}

    fn is_person(&self) -> bool {
        true
    }
}

impl Shells {
    pub fn with(sandbox: &Sandbox) -> Self {
        let bench = Bench::with(sandbox);
        let settings = BashSettings {
            idle_minutes: 10,
            max_shells: 8,
        };
        let tool = Bash::new(sandbox.clone(), settings, bench.hidden.join("shells"));
        Self {
            bench,
            tool,
            session: SessionId::generate(),
        }
    }

    fn new() -> Option<Self> {
        sandbox().map(|sandbox| Self::with(&sandbox))
    }

    fn context(&self, session: SessionId) -> ToolContext<'_> {
        ToolContext {
            session_id: session,
            call_id: ToolCallId::generate(),
            ..self.bench.context()
        }
    }

    pub async fn of(&self, session: SessionId, command: &str, seconds: u64) -> ToolOutcome {
        let args = json!({"command": command, "timeout_seconds": seconds});
        self.tool.execute(&self.context(session), &args).await
    }

    /// What a command says, which must end by itself.
    pub async fn say(&self, command: &str) -> String {
        self.of(self.session, command, 20).await.content
    }
}

/// How a case ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ends {
    /// By itself, with this status, and the shell stays.
    With(u8),
    /// By itself, and the shell with it.
    Shell,
    /// After its time; the shell stays.
    Late,
    /// After its time, and the shell with it.
    LateWithShell,
}

/// A command, what its result contains, and how it ends.
const CASES: [(&str, &str, Ends); 34] = [
    ("echo one", "one", Ends::With(0)),
    ("false", "[no output]", Ends::With(1)),
    ("echo a #", "a", Ends::With(0)),
    ("# nothing", "[no output]", Ends::With(0)),
    ("echo __DONE__; echo '$ '", "__DONE__", Ends::With(0)),
    ("if true; then echo half", "syntax error", Ends::With(2)),
    ("echo 'half", "unexpected EOF", Ends::With(2)),
    ("cat <<EOF\nhalf", "half", Ends::With(0)),
    ("cat <<EOF\nwhole\nEOF", "whole", Ends::With(0)),
    ("cat", "[no output]", Ends::With(0)),
    ("read word; echo got-$word", "got-", Ends::With(0)),
    ("bash -i </dev/null", "exit", Ends::With(0)),
    ("exec >/dev/null; echo hidden", "[no output]", Ends::With(0)),
    ("exec >/dev/tty 2>&1; echo back", "back", Ends::With(0)),
    (
        "printf() { :; }; echo() { builtin echo wrapped; }; echo",
        "wrapped",
        Ends::With(0),
    ),
    (
        "alias .=false; shopt -s expand_aliases; builtin echo set",
        "set",
        Ends::With(0),
    ),
    (
        "PS1='$ '; PROMPT_COMMAND='true'; builtin echo prompt",
        "prompt",
        Ends::With(0),
    ),
    (
        "IFS=0123456789; set -C; set -u; builtin echo odd",
        "odd",
        Ends::With(0),
    ),
    ("return 7", "exit status 7", Ends::With(7)),
    ("seq 1 400000", "bytes", Ends::With(0)),
    (
        "head -c 100000 /dev/zero; builtin echo nul",
        "nul",
        Ends::With(0),
    ),
    (
        "builtin printf '\\033[31mred\\033[0m \\033]0;title\\007x\\xff\\n'",
        "red x",
        Ends::With(0),
    ),
    (
        "stty echo 2>/dev/null; builtin echo quiet",
        "quiet",
        Ends::With(0),
    ),
    ("sleep 0.1 & builtin echo started", "started", Ends::With(0)),
    ("exit 3", "the shell ended", Ends::Shell),
    ("exec true", "the shell ended", Ends::Shell),
    ("set -e; false", "the shell ended", Ends::Shell),
    ("kill -9 $$", "the shell ended", Ends::Shell),
    ("sleep 99", "stopped after 1 s", Ends::Late),
    ("while :; do :; done", "stopped after 1 s", Ends::Late),
    ("(trap '' INT; sleep 99)", "stopped after 1 s", Ends::Late),
    (
        "(trap '' INT TERM; while :; do sleep 1; done)",
        "stopped after 1 s",
        Ends::Late,
    ),
    (
        "cat /dev/tty || cat /dev/tty",
        "stopped after 1 s",
        Ends::Late,
    ),
    (
        "trap '' INT; while :; do :; done",
        "stopped after 5 s",
        Ends::LateWithShell,
    ),
];

#[tokio::test]
async fn whatever_a_command_does_the_next_one_runs() {
    let Some(shells) = Shells::new() else { return };
    let mut problems = Vec::new();
    for (command, says, ends) in CASES {
        let seconds = match ends {
            Ends::Late => 1,
            // The shell ignores the first signal once it has come so far.
            Ends::LateWithShell => 5,
            Ends::With(_) | Ends::Shell => 20,
        };
        let began = Instant::now();
        let outcome = shells.of(shells.session, command, seconds).await;
        let content = outcome.content;
        let first = content
            .lines()
            .find(|line| !line.starts_with('['))
            .unwrap_or_default();
        let found = match first {
            _ if first.starts_with("exit status ") => {
                let word = first.split(' ').nth(2).unwrap_or_default();
                Ends::With(word.parse().unwrap())
            }
            _ if first.starts_with("the shell ended") => Ends::Shell,
            _ if first.contains("the shell is as it was left") => Ends::Late,
            _ => Ends::LateWithShell,
        };
        let short: String = content.chars().take(300).collect();
        if found != ends || !content.contains(says) {
            problems.push(format!("{command:?} ended {found:?}: {short:?}"));
        }
        if began.elapsed() > Duration::from_secs(15) {
            problems.push(format!("{command:?} took {:?}", began.elapsed()));
        }
        let next = shells.say("builtin echo \"next-$((6*7))\"").await;
        if !next.contains("next-42") && command != "exec >/dev/null; echo hidden" {
            problems.push(format!("after {command:?}: {next:?}"));
        }
        let lost = next.contains("the shell is new: it ended with its last command");
        if lost != matches!(ends, Ends::Shell | Ends::LateWithShell) {
            problems.push(format!("after {command:?} the shell is told so: {next:?}"));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[tokio::test]
async fn state_stays_in_a_session_and_is_seen_in_no_other() {
    let Some(shells) = Shells::new() else { return };
    std::fs::create_dir(shells.bench.workspace.join("sub")).unwrap();
    let said = shells
        .say("cd sub; export WORD=kept; greet() { echo hello $1; }")
        .await;
    assert!(
        said.contains("exit status 0") && said.contains("workspace/sub"),
        "{said}"
    );
    assert!(!said.contains("is new"), "{said}");
    let said = shells.say("greet $WORD; pwd").await;
    assert!(
        said.contains("hello kept") && said.contains("workspace/sub\n"),
        "{said}"
    );
    let plan = shells.tool.prepare(
        &shells.context(shells.session),
        &json!({"command": "rm -r x"}),
    );
    let plan = plan.unwrap();
    assert!(plan.facts.cwd.unwrap().ends_with("workspace/sub"));
    assert!(
        plan.facts
            .sandbox
            .unwrap()
            .contains("in the shell of this session")
    );
    let other = SessionId::generate();
    let said = shells
        .of(other, "echo [$WORD]; pwd; type greet", 20)
        .await
        .content;
    assert!(
        said.contains("[]\n") && said.contains("workspace\n"),
        "{said}"
    );
    assert!(said.contains("not found"), "{said}");
    let plan = shells.tool.prepare(
        &shells.context(SessionId::generate()),
        &json!({"command": "ls"}),
    );
    assert!(
        plan.unwrap()
            .facts
            .sandbox
            .unwrap()
            .contains("in a new shell")
    );
}

/// Whether a process with this word among its arguments lives.
pub fn lives(word: &str) -> bool {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes
        .filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok())
        .any(|line| {
            let mut words = line.split(|byte| *byte == 0);
            words.any(|found| found == word.as_bytes())
        })
}

#[tokio::test]
async fn background_jobs_are_told_and_end_with_the_session() {
    let Some(shells) = Shells::new() else { return };
    let said = shells
        .say("sleep 71717 & setsid sleep 71718 & disown -a; sleep 71719 &")
        .await;
    assert!(
        said.contains("processes run on in the background"),
        "{said}"
    );
    assert!(said.contains("sleep 71719"), "{said}");
    let words = ["71717", "71718", "71719"];
    eventually("they run", || words.iter().all(|word| lives(word))).await;
    let said = shells.say("(sleep 0.2; echo late) & true").await;
    assert!(said.contains("processes run on"), "{said}");
    eventually("the output of a job comes with the next command", || {
        words.iter().all(|word| lives(word))
    })
    .await;
    let said = shells.say("sleep 0.4").await;
    assert!(said.contains("late"), "{said}");
    let table = shells.tool.interpreters().unwrap();
    assert_eq!(table.list().len(), 1);
    assert!(table.end(shells.session, "a person ended it"));
    eventually("everything is dead", || {
        !words.iter().any(|word| lives(word))
    })
    .await;
    let said = shells.say("jobs; echo fresh").await;
    assert!(
        said.contains("is new: a person ended it") && said.contains("fresh"),
        "{said}"
    );
    assert_eq!(
        std::fs::read_dir(shells.bench.hidden.join("shells"))
            .unwrap()
            .count(),
        1
    );
}

#[tokio::test]
async fn a_command_is_cancelled_within_two_seconds() {
    let Some(mut shells) = Shells::new() else {
        return;
    };
    shells.say("true").await;
    for command in ["sleep 99", "trap '' INT TERM; while :; do sleep 1; done"] {
        let cancel = CancellationToken::new();
        shells.bench.cancel = cancel.clone();
        let began = Instant::now();
        let (outcome, ()) = tokio::join!(shells.of(shells.session, command, 60), async {
            eventually("it runs", || {
                let row = shells.tool.interpreters().unwrap().list().pop();
                row.is_some_and(|row| row.running_since.is_some())
            })
            .await;
            tokio::time::sleep(Duration::from_millis(100)).await;
            cancel.cancel();
        });
        assert!(
            outcome.content.contains("cancelled after"),
            "{}",
            outcome.content
        );
        assert_eq!(outcome.disposition, EffectDisposition::Unknown);
        assert!(
            began.elapsed() < Duration::from_secs(4),
            "{:?}",
            began.elapsed()
        );
    }
}

#[tokio::test]
async fn limits_hold_for_the_life_of_the_shell() {
    let Some(sandbox) = sandbox() else { return };
    let shells = Shells::with(&sandbox.with_max_growth(8 << 20));
    // In the background too.
    let fill = "(for n in 1 2 3 4 5 6 7 8 9; do head -c 4000000 /dev/zero >f$n; sleep 0.1; done; sleep 5) & true";
    let said = shells.say(fill).await;
    assert!(said.contains("in the background"), "{said}");
    tokio::time::sleep(Duration::from_millis(100)).await;
    let said = shells.of(shells.session, "sleep 15", 20).await.content;
    assert!(said.contains("MiB into the workspace"), "{said}");
    for file in std::fs::read_dir(&shells.bench.workspace)
        .unwrap()
        .flatten()
    {
        std::fs::remove_file(file.path()).unwrap();
    }
    let said = shells.say(":(){ :|:& };: ").await;
    let next = shells.say("echo alive").await;
    let next = if next.contains("alive") {
        next
    } else {
        shells.say("echo alive").await
    };
    assert!(next.contains("alive"), "{said}\n{next}");
}

#[tokio::test]
async fn nothing_outside_is_reached() {
    let Some(shells) = Shells::new() else { return };
    shells.bench.put("x", "");
    std::fs::write(shells.bench.hidden.join("secret"), "treasure").unwrap();
    let secret = shells.bench.hidden.join("secret");
    for command in [
        format!("cat {}", secret.display()),
        "echo x >/dev/tcp/127.0.0.1/1".to_owned(),
        "echo x >/dev/udp/192.0.2.1/9".to_owned(),
        "touch /etc/x".to_owned(),
        "kill -0 1 && kill -9 1 && sleep 0.2 && false".to_owned(),
    ] {
        let said = shells.of(shells.session, &command, 10).await.content;
        assert!(
            !said.contains("treasure") && !said.contains("exit status 0"),
            "{command}: {said}"
        );
        assert!(shells.say("echo on").await.contains("on"));
    }
}

#[tokio::test]
async fn what_makes_programs_run_is_protected_and_set_aside() {
    let Some(shells) = Shells::new() else { return };
    let said = shells
        .say("mkdir -p .vscode && echo '{}' >.vscode/tasks.json")
        .await;
    assert!(said.contains("set aside"), "{said}");
    // It appears after the start of the shell, by somebody else's hand: the old shell could write it.
    shells.bench.put(".git/config", "[core]\n");
    shells.bench.put(".git/hooks/pre-commit", "#!/bin/sh\n");
    let said = shells.say("echo evil >.git/hooks/pre-commit").await;
    assert!(
        said.contains("the shell is new: the workspace has other git"),
        "{said}"
    );
    assert!(said.contains("Read-only"), "{said}");
}

#[tokio::test]
async fn a_person_shares_the_shell_and_the_agent_hears_of_it() {
    let Some(shells) = Shells::new() else { return };
    shells.say("WORD=agent").await;
    let context = ToolContext {
        host: &Person,
        ..shells.context(shells.session)
    };
    let said = shells
        .tool
        .execute(&context, &json!({"command": "echo $WORD; WORD=person"}))
        .await;
    assert!(said.content.contains("agent"), "{}", said.content);
    let said = shells.say("echo $WORD").await;
    assert!(
        said.contains("a person ran a command in the shell") && said.contains("person\n"),
        "{said}"
    );
    let said = shells.say("echo $WORD").await;
    assert!(!said.contains("a person ran"), "{said}");
    // Two at once are refused to the person.
    let shells = Arc::new(shells);
    let (_, busy) = tokio::join!(shells.of(shells.session, "sleep 1", 20), async {
        eventually("it runs", || {
            let row = shells.tool.interpreters().unwrap().list().pop();
            row.is_some_and(|row| row.running_since.is_some())
        })
        .await;
        let context = ToolContext {
            host: &Person,
            ..shells.context(shells.session)
        };
        shells
            .tool
            .execute(&context, &json!({"command": "true"}))
            .await
    });
    assert!(
        busy.content.contains("another command runs"),
        "{}",
        busy.content
    );
    assert_eq!(busy.disposition, EffectDisposition::ConfirmedNoEffect);
}

#[tokio::test]
async fn without_a_sandbox_it_works_and_always_asks() {
    let shells = Shells::with(&Sandbox::none("test"));
    let plan = shells
        .tool
        .prepare(&shells.context(shells.session), &json!({"command": "ls"}))
        .unwrap();
    assert!(plan.always_asks.is_some());
    let said = shells.say("cd /; echo $((6*7))").await;
    assert!(said.contains("42") && said.contains("in /\n"), "{said}");
    let said = shells
        .of(shells.session, "sleep 71720 & sleep 71721", 1)
        .await
        .content;
    assert!(said.contains("the shell is as it was left"), "{said}");
    assert!(lives("71720") && !lives("71721"));
    drop(shells);
    eventually("everything is dead", || !lives("71720")).await;
}

/// Landlock without bubblewrap; `None`, said aloud, where the kernel is too old.
pub fn landlock() -> Option<Sandbox> {
    let sandbox = Sandbox::find(&Places {
        bubblewrap: Vec::new(),
        ..places()
    });
    let word = sandbox.level_word();
    if word.contains("nor does Landlock: ") && word.contains("Linux 6.12 or later") {
        eprintln!("SKIPPED, NOT PASSED: {word}");
        return None;
    }
    Some(sandbox)
}

#[tokio::test]
async fn landlock_holds_a_shell_too() {
    let Some(sandbox) = landlock() else { return };
    let shells = Shells::with(&sandbox);
    std::fs::write(shells.bench.hidden.join("secret"), "treasure").unwrap();
    let secret = shells.bench.hidden.join("secret").display().to_string();
    let said = shells.say("mkdir d; cd d; WORD=kept; echo x >f").await;
    assert!(
        said.contains("exit status 0") && said.contains("workspace/d"),
        "{said}"
    );
    let said = shells.say(&format!("echo $WORD; cat {secret}")).await;
    assert!(
        said.contains("kept") && !said.contains("treasure"),
        "{said}"
    );
    let said = shells.of(shells.session, "sleep 71722", 1).await.content;
    assert!(said.contains("the shell is as it was left"), "{said}");
    assert!(shells.say("pwd").await.contains("workspace/d\n"));
}
