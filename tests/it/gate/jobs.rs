//! Jobs of Claude Code: the program ends while a call waits, and goes on with the decision, whoever was killed meanwhile.
//!
//! The program is a script of ours that behaves as the real one was recorded to; `tests/agents.sh` has the real one.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::people::{token, with};
use crate::support::daemon::{DEADLINE, Daemon, Home};

const CLAUDE: &str = include_str!("fake_claude.py");

/// A home with the program on its PATH, and a file that counts what ran.
struct World {
    home: Home,
    path: String,
    /// One line for each time that the call ran.
    effect: PathBuf,
}

impl World {
    fn new() -> Self {
        let home = Home::new("");
        let bin = home.path().join("bin");
        std::fs::create_dir(&bin).expect("a directory");
        let claude = bin.join("claude");
        std::fs::write(&claude, CLAUDE).expect("the program");
        std::fs::set_permissions(&claude, PermissionsExt::from_mode(0o755)).expect("the mode");
        std::fs::create_dir(home.path().join("shop")).expect("a directory");
        Self {
            path: format!("{}:/usr/local/bin:/usr/bin:/bin", bin.display()),
            effect: home.path().join("effect"),
            home,
        }
    }

    fn daemon(&self) -> Daemon {
        self.home.daemon_with(&[("PATH", &self.path)])
    }

    /// An order that leaves a line each time it runs.
    fn run(&self) -> String {
        format!("RUN echo x >> {}", self.effect.display())
    }

    fn ran(&self) -> usize {
        let text = std::fs::read_to_string(&self.effect).unwrap_or_default();
        text.lines().count()
    }

    fn directory(&self) -> String {
        let shop = self.home.path().join("shop");
        let real = shop.canonicalize().expect("a directory");
        real.to_str().expect("UTF-8").to_owned()
    }

    async fn start(&self, daemon: &Daemon, task: &str) -> String {
        let body = json!({"agent": "claude", "directory": self.directory(), "task": task});
        let job = daemon.post("/v1/agent-jobs", body).await;
        job["id"].as_str().expect("an id").to_owned()
    }

    /// Whether the program runs.
    fn is_running(&self) -> bool {
        let pid = std::fs::read_to_string(self.home.path().join("fake-claude/pid"));
        pid.is_ok_and(|pid| {
            let status = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            // One that was killed and that nobody waited for is none.
            !status.is_empty() && !status.contains(") Z ")
        })
    }

    fn check(&self) {
        let check = self.home.command().args(["doctor", "--check"]).output();
        let check = check.expect("the doctor runs");
        let said = String::from_utf8_lossy(&check.stdout);
        assert!(check.status.success(), "{said}");
    }
}

async fn becomes(daemon: &Daemon, job: &str, state: &str) -> Value {
    let path = format!("/v1/agent-jobs/{job}");
    daemon.wait(&path, state, |job| job["state"] == state).await
}

#[tokio::test]
async fn no_program_waits_while_a_person_is_asked() {
    let world = World::new();
    let daemon = world.daemon();
    let mut command = world.home.command();
    let started = command
        .args([
            "agents",
            "run",
            "claude",
            "--dir",
            &world.directory(),
            &world.run(),
        ])
        .output()
        .expect("the command runs");
    assert!(started.status.success(), "{started:?}");
    let job = String::from_utf8(started.stdout).expect("an id");
    let job = job.trim();
    let waiting = becomes(&daemon, job, "waiting").await;
    assert!(!world.is_running(), "{waiting}");
    assert_eq!(world.ran(), 0);
    let approval = daemon.wait_approval().await;
    assert_eq!(waiting["approval_id"], approval["id"]);
    let external = &approval["plan"]["external"];
    assert_eq!(external["deferred"], true, "{approval}");
    assert_eq!(external["session"], waiting["session"]);
    daemon.decide(&approval, "approve").await;
    let done = becomes(&daemon, job, "completed").await;
    assert_eq!(
        (done["answer"].as_str(), &done["runs"]),
        (Some("Done."), &json!(2))
    );
    assert_eq!(world.ran(), 1);
    let approval = format!("/v1/approvals/{}", approval["id"].as_str().expect("an id"));
    assert_eq!(daemon.get(&approval).await["state"], "consumed");
    let mut command = world.home.command();
    let listed = command.args(["agents", "list"]).output().expect("a list");
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    assert!(
        listed.contains(job) && listed.contains("completed"),
        "{listed}"
    );
    let mut command = world.home.command();
    let shown = command.args(["agents", "show", job, "--wait"]).output();
    let shown = shown.expect("the job");
    assert_eq!(
        String::from_utf8_lossy(&shown.stdout),
        "Done.\n",
        "{shown:?}"
    );
}

#[tokio::test]
async fn a_no_reaches_the_program_that_goes_on() {
    let world = World::new();
    let daemon = world.daemon();
    let job = world.start(&daemon, &world.run()).await;
    let approval = daemon.wait_approval().await;
    becomes(&daemon, &job, "waiting").await;
    let path = format!(
        "/v1/approvals/{}/decision",
        approval["id"].as_str().expect("an id")
    );
    let body =
        json!({"decision": "deny", "digest": approval["digest"], "reason": "not on a Friday"});
    daemon.post(&path, body).await;
    let done = becomes(&daemon, &job, "completed").await;
    let answer = done["answer"].as_str().expect("an answer");
    assert!(answer.contains("not on a Friday"), "{answer}");
    assert_eq!(world.ran(), 0);
}

#[tokio::test]
async fn a_question_outlives_the_daemon() {
    let world = World::new();
    let mut daemon = world.daemon();
    let job = world.start(&daemon, &world.run()).await;
    becomes(&daemon, &job, "waiting").await;
    let first = daemon.wait_approval().await;
    daemon.kill();
    let mut daemon = world.daemon();
    assert_eq!(becomes(&daemon, &job, "waiting").await["runs"], 2);
    let second = daemon.wait_approval().await;
    assert_eq!(first["id"], second["id"]);
    assert_eq!(world.ran(), 0);
    daemon.decide(&second, "approve").await;
    becomes(&daemon, &job, "completed").await;
    assert_eq!(world.ran(), 1);
    daemon.kill();
    world.check();
}

/// Answers whatever a job asks, until it is over.
async fn see_through(daemon: &Daemon, job: &str) -> Option<Value> {
    let end = Instant::now() + DEADLINE;
    while Instant::now() < end {
        let (status, now) = daemon
            .try_request("GET", &format!("/v1/agent-jobs/{job}"), None)
            .await
            .ok()?;
        assert_eq!(status, 200, "{now}");
        let state = now["state"].as_str().expect("a state");
        if ["completed", "failed", "cancelled"].contains(&state) {
            return Some(now);
        }
        if state == "interrupted" {
            let turn = now["continuation_id"].as_str().expect("a turn");
            let path = format!("/v1/continuations/{turn}/resume");
            daemon.try_request("POST", &path, None).await.ok()?;
        }
        let list = daemon.try_request("GET", "/v1/approvals?state=pending", None);
        let (_, list) = list.await.ok()?;
        for approval in list["items"].as_array().into_iter().flatten() {
            let decision = match approval["kind"].as_str() {
                Some("resolve_unknown") => "run_again",
                _ => "approve",
            };
            let id = approval["id"].as_str().expect("an id");
            let body = json!({"decision": decision, "digest": approval["digest"]});
            let path = format!("/v1/approvals/{id}/decision");
            daemon.try_request("POST", &path, Some(body)).await.ok()?;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("the job is not over in time");
}

#[tokio::test]
async fn a_kill_at_any_point_runs_no_call_twice() {
    for point in [
        "ingest.post_commit",
        "tool.started",
        "propose.post",
        "agent_run.deferred",
        "tool.effect_done",
        "result.pre_commit",
        "final.post",
        "decide.pre_commit",
        "decide.post",
    ] {
        let world = World::new();
        let crash = format!("{point}:1");
        let environment = [("PATH", world.path.as_str()), ("LEVERFRAME_CRASH", &crash)];
        let mut daemon = world.home.daemon_with(&environment);
        let body = json!({"agent": "claude", "directory": world.directory(), "task": world.run()});
        // The daemon may go away in the midst of it.
        let _ = daemon
            .try_request("POST", "/v1/agent-jobs", Some(body))
            .await;
        let mut died = false;
        let jobs = daemon.try_request("GET", "/v1/agent-jobs", None).await;
        if let Ok((200, jobs)) = jobs
            && let Some(job) = jobs["items"][0]["id"].as_str()
        {
            died = see_through(&daemon, job).await.is_none();
        }
        assert!(
            died || daemon.wait_exit().is_some(),
            "{point} was never reached"
        );
        daemon.wait_exit();
        let mut daemon = world.daemon();
        let jobs = daemon.get("/v1/agent-jobs").await;
        let job = jobs["items"][0]["id"].as_str().expect("a job");
        let over = see_through(&daemon, job).await.expect("a daemon");
        assert_eq!(
            over["state"],
            "completed",
            "{point}: {over}\n{}",
            world.home.log()
        );
        assert_eq!(world.ran(), 1, "{point}");
        assert!(!world.is_running(), "{point}");
        daemon.kill();
        world.check();
    }
}

#[tokio::test]
async fn a_program_that_is_killed_goes_on_only_when_a_person_says_so() {
    let world = World::new();
    let daemon = world.daemon();
    let task = format!("{}\nDIE\n{}", world.run(), world.run());
    let job = world.start(&daemon, &task).await;
    let approval = daemon.wait_approval().await;
    daemon.decide(&approval, "approve").await;
    let asking = becomes(&daemon, &job, "asking").await;
    assert_eq!(world.ran(), 1);
    let question = daemon.wait_approval().await;
    assert_eq!(question["id"], asking["approval_id"]);
    assert_eq!(question["kind"], "resolve_unknown");
    let words = question["question"].as_str().expect("words");
    assert!(words.contains("run again"), "{words}");
    daemon.decide(&question, "run_again").await;
    let second = daemon.wait_approval().await;
    assert_eq!(second["kind"], "execute", "{second}");
    daemon.decide(&second, "approve").await;
    becomes(&daemon, &job, "completed").await;
    assert_eq!(world.ran(), 2);
}

#[tokio::test]
async fn of_several_calls_one_waits_and_none_is_lost_in_silence() {
    let world = World::new();
    let daemon = world.daemon();
    let order = world.run();
    let call = order.strip_prefix("RUN ").expect("an order");
    let job = world
        .start(&daemon, &format!("BOTH {call} ;; {call}"))
        .await;
    let waiting = becomes(&daemon, &job, "waiting").await;
    let pending = daemon.pending_approvals().await;
    assert_eq!(pending.len(), 1, "{pending:?}");
    assert_eq!(pending[0]["id"], waiting["approval_id"]);
    daemon.decide(&pending[0], "approve").await;
    let done = becomes(&daemon, &job, "completed").await;
    let answer = done["answer"].as_str().expect("an answer");
    assert!(
        answer.contains("another call of this job waits"),
        "{answer}"
    );
    assert_eq!(world.ran(), 1);
}

#[tokio::test]
async fn a_read_asks_nobody() {
    let world = World::new();
    let daemon = world.daemon();
    let task = format!("READ {}/a.rs", world.directory());
    let job = world.start(&daemon, &task).await;
    let done = becomes(&daemon, &job, "completed").await;
    assert_eq!(done["runs"], 1);
    let approvals = daemon.get("/v1/approvals").await;
    assert_eq!(approvals["items"].as_array().map(Vec::len), Some(0));
}

#[tokio::test]
async fn a_job_is_ended_while_it_waits_and_while_it_runs() {
    let world = World::new();
    let daemon = world.daemon();
    let job = world.start(&daemon, &world.run()).await;
    becomes(&daemon, &job, "waiting").await;
    let (status, ended) = daemon
        .request("POST", &format!("/v1/agent-jobs/{job}/cancel"), None)
        .await;
    assert_eq!((status, &ended["state"]), (200, &json!("cancelled")));
    assert_eq!(daemon.pending_approvals().await.len(), 0);
    let (status, _) = daemon
        .request("POST", &format!("/v1/agent-jobs/{job}/cancel"), None)
        .await;
    assert_eq!(status, 422);
    let gate = world.home.path().join("gate");
    let job = world
        .start(
            &daemon,
            &format!("WAIT {}\n{}", gate.display(), world.run()),
        )
        .await;
    becomes(&daemon, &job, "running").await;
    wait(|| world.is_running());
    daemon
        .request("POST", &format!("/v1/agent-jobs/{job}/cancel"), None)
        .await;
    becomes(&daemon, &job, "cancelled").await;
    wait(|| !world.is_running());
    std::fs::write(&gate, "").expect("a file");
    assert_eq!(world.ran(), 0);
}

fn wait(condition: impl Fn() -> bool) {
    let end = Instant::now() + DEADLINE;
    while !condition() {
        assert!(Instant::now() < end, "not in time");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[tokio::test]
async fn what_cannot_be_a_job_is_none() {
    let world = World::new();
    let daemon = world.home.daemon();
    let here = world.directory();
    let missing = world.home.path().join("missing");
    for (agent, directory, task, field) in [
        ("codex", here.as_str(), "task", "agent"),
        ("claude", "shop", "task", "directory"),
        (
            "claude",
            missing.to_str().expect("UTF-8"),
            "task",
            "directory",
        ),
        ("claude", &here, " ", "task"),
    ] {
        let body = json!({"agent": agent, "directory": directory, "task": task});
        let (status, problem) = daemon.request("POST", "/v1/agent-jobs", Some(body)).await;
        assert_eq!(status, 400, "{problem}");
        let detail = problem["detail"].as_str().expect("a detail");
        assert!(detail.contains(field), "{detail}");
    }
    // The program is not on the PATH of this daemon.
    let job = world.start(&daemon, "task").await;
    let failed = becomes(&daemon, &job, "failed").await;
    let detail = failed["detail"].as_str().expect("a detail");
    assert!(detail.contains("not on the PATH"), "{detail}");
}

/// A run whose program nobody started as a job.
const FORGED: &str = "11111111-1111-4111-8111-111111111111";

#[tokio::test(flavor = "multi_thread")]
async fn nothing_but_a_job_starts_a_program() {
    let world = World::new();
    let daemon = world.daemon();
    let operator = token(&world.home, "worker", &["--scope", "read,operate"]);
    let run = json!({"agent": "claude", "session": FORGED, "directory": world.directory(), "task": world.run()});
    let call = json!({"tool": "run_agent", "arguments": run});
    let key = format!("job/claude/{FORGED}");
    let ask = async |path: &str, body: &Value| {
        let body = Some(body.clone());
        let as_owner = daemon.request("POST", path, body.clone()).await;
        let (status, said) = with(&daemon, &operator, "POST", path, body).await;
        assert_eq!(as_owner.0, status, "{path}: {as_owner:?} {said}");
        (status, said)
    };
    let session = daemon.session().await;
    let calls = format!("/v1/sessions/{session}/calls");
    let (status, refused) = ask(&calls, &call).await;
    assert_eq!(status, 400, "{refused}");
    let place = json!({"channel": "gate", "conversation": key});
    let (status, refused) = ask("/v1/sessions", &place).await;
    assert_eq!(status, 422, "{refused}");
    let text = format!("TOOL:run_agent{run}");
    let command = json!({"command": "ask", "channel": "gate", "conversation": key, "text": text});
    let command = json!({"command": command, "surface": "cli"});
    let (status, refused) = ask("/v1/submit", &command).await;
    assert_eq!(status, 422, "{refused}");
    // A model is refused what it proposes.
    let turn = daemon.send(&session, &text).await;
    let ended = daemon.wait_state(&turn, "completed").await;
    assert_eq!(ended["tool_calls"][0]["state"], "blocked", "{ended}");
    assert!(!Path::new(&world.home.path().join("fake-claude")).exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn only_who_may_start_a_job_starts_one_again() {
    let world = World::new();
    let daemon = world.daemon();
    let operator = token(&world.home, "worker", &["--scope", "read,operate"]);
    let task = format!("READ {}/a.rs", world.directory());
    let body = json!({"agent": "claude", "directory": world.directory(), "task": task});
    let (status, _) = with(&daemon, &operator, "POST", "/v1/agent-jobs", Some(body)).await;
    assert_eq!(status, 403);
    let job = world.start(&daemon, &task).await;
    let done = becomes(&daemon, &job, "completed").await;
    let run = json!({"agent": "claude", "session": done["session"], "directory": done["directory"],
        "task": world.run()});
    let turn = done["continuation_id"].as_str().expect("a turn");
    for (path, body, expected) in [
        (format!("/v1/continuations/{turn}/retry"), json!({}), 403),
        (
            format!("/v1/sessions/{job}/messages"),
            json!({"text": format!("TOOL:run_agent{run}")}),
            422,
        ),
        (
            format!("/v1/sessions/{job}/calls"),
            json!({"tool": "run_agent", "arguments": run}),
            400,
        ),
        (
            format!("/v1/sessions/{job}/calls"),
            json!({"tool": "list_files", "arguments": {"path": "."}}),
            422,
        ),
    ] {
        let (status, refused) = with(&daemon, &operator, "POST", &path, Some(body)).await;
        assert_eq!(status, expected, "{path}: {refused}");
    }
    let now = daemon.get(&format!("/v1/agent-jobs/{job}")).await;
    assert_eq!(
        (&now["state"], &now["runs"]),
        (&json!("completed"), &json!(1))
    );
    let retry = format!("/v1/continuations/{turn}/retry");
    daemon.post(&retry, json!({})).await;
    let again = format!("/v1/agent-jobs/{job}");
    daemon
        .wait(&again, "it ran again", |job| job["runs"] == 2)
        .await;
}
