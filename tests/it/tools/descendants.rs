//! Without a sandbox as with one: no descendant of a program outlives its call, and none has a terminal.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use leverframe::tools::tool::EffectDisposition;
use serde_json::json;

use crate::tools::harness::{Bench, confined, eventually};

/// Whether a process with this word among its arguments is alive.
pub fn alive(tag: &str) -> bool {
    std::fs::read_dir("/proc").unwrap().flatten().any(|entry| {
        std::fs::read(entry.path().join("cmdline")).is_ok_and(|line| {
            line.split(|byte| *byte == 0)
                .any(|word| word == tag.as_bytes())
        })
    })
}

/// A process that never ends and lets go of the output, started with `prefix`.
fn forever(prefix: &str, tag: &str) -> String {
    format!(
        "{prefix} sh -c 'trap \"\" TERM HUP; touch up; while :; do sleep 0.05; done' {tag} >/dev/null 2>&1 </dev/null &"
    )
}

async fn ends_with_its_call(bench: &Bench) {
    let up = bench.workspace.join("up");
    for (index, prefix) in ["", "setsid", "setsid setsid -f"].iter().enumerate() {
        let tag = format!("tag-{}-{index}", bench.root.display());
        let start = forever(prefix, &tag);
        // Ended by itself.
        let script = format!("{start} until [ -e up ]; do sleep 0.01; done; echo done");
        let outcome = bench
            .call("execute_command", json!({"script": script}))
            .await;
        assert!(
            outcome.content.starts_with("exit status 0"),
            "{}",
            outcome.content
        );
        assert!(!alive(&tag), "`{prefix}`: it outlived its call");
        // Timed out.
        std::fs::remove_file(&up).unwrap();
        let script = format!("{start} while :; do sleep 0.05; done");
        let outcome = bench
            .call(
                "execute_command",
                json!({"script": script, "timeout_seconds": 1}),
            )
            .await;
        assert_eq!(outcome.disposition, EffectDisposition::Unknown);
        assert!(
            up.exists() && !alive(&tag),
            "`{prefix}`: it outlived the timeout"
        );
        std::fs::remove_file(&up).unwrap();
    }
    // Cancelled, as by the emergency stop.
    let tag = format!("tag-{}-cancelled", bench.root.display());
    let script = format!("{} while :; do sleep 0.05; done", forever("setsid", &tag));
    let (outcome, began) = tokio::join!(
        bench.call("execute_command", json!({"script": script})),
        async {
            eventually("it runs", || up.exists()).await;
            bench.cancel.cancel();
            Instant::now()
        }
    );
    assert!(
        began.elapsed() < Duration::from_secs(2),
        "{:?}",
        began.elapsed()
    );
    assert_eq!(outcome.disposition, EffectDisposition::Unknown);
    assert!(!alive(&tag), "it outlived the cancellation");
}

#[tokio::test]
async fn no_descendant_outlives_an_unconfined_call() {
    ends_with_its_call(&Bench::new()).await;
}

#[tokio::test]
async fn no_descendant_outlives_a_confined_call() {
    let Some(bench) = confined() else { return };
    ends_with_its_call(&bench).await;
}

#[tokio::test]
async fn a_dropped_call_ends_even_a_session_of_its_own() {
    let bench = Bench::new();
    let tag = format!("tag-{}", bench.root.display());
    let script = format!("{} while :; do sleep 0.05; done", forever("setsid", &tag));
    let up = bench.workspace.join("up");
    tokio::select! {
        outcome = bench.call("execute_command", json!({"script": script})) => panic!("{outcome:?}"),
        () = eventually("it runs", || up.exists() && alive(&tag)) => {}
    }
    eventually("everything is dead", || !alive(&tag)).await;
}

#[tokio::test]
async fn an_unconfined_program_is_in_a_session_without_a_terminal() {
    let bench = Bench::new();
    let outcome = bench
        .call(
            "execute_command",
            json!({"argv": ["cat", "/proc/self/stat"]}),
        )
        .await;
    // After the name: state, parent, group, session, terminal. A session of outside this process's namespace is 0.
    let fields = |stat: &str| -> Vec<String> {
        let (_, after) = stat.rsplit_once(") ").unwrap();
        after.split(' ').map(str::to_owned).collect()
    };
    let own = fields(&std::fs::read_to_string("/proc/self/stat").unwrap());
    let fields = fields(&outcome.content);
    assert_ne!(fields[3], own[3], "{}", outcome.content);
    assert_eq!(fields[4], "0", "{}", outcome.content);
}

#[tokio::test]
async fn an_exit_status_and_a_signal_come_through() {
    let bench = Bench::new();
    for (script, first) in [
        ("exit 7", "exit status 7"),
        ("kill -9 $$", "killed by signal 9"),
        ("kill -15 $$", "killed by signal 15"),
    ] {
        let outcome = bench
            .call("execute_command", json!({"script": script}))
            .await;
        assert!(outcome.content.starts_with(first), "{}", outcome.content);
    }
}

#[tokio::test]
async fn the_death_of_the_starter_ends_everything() {
    let bench = Bench::new();
    let tag = format!("tag-{}", bench.root.display());
    let script = format!("{} while :; do sleep 0.05; done", forever("setsid", &tag));
    // A daemon in small: it starts the supervisor as a daemon does, and is killed.
    let mut starter = Command::new("/bin/sh")
        .arg("-c")
        .arg("\"$0\" __supervise $$ /bin/sh -c \"$1\" & wait")
        .arg(env!("CARGO_BIN_EXE_leverframe"))
        .arg(script)
        .current_dir(&bench.workspace)
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    let up = bench.workspace.join("up");
    eventually("it runs", || up.exists() && alive(&tag)).await;
    starter.kill().unwrap();
    starter.wait().unwrap();
    eventually("everything is dead", || !alive(&tag)).await;
}
