//! `leverframe routine …` against a running daemon.

use serde_json::Value;

use crate::support::daemon::Home;

/// Exit status, standard output and standard error.
fn cli(home: &Home, words: &[&str]) -> (Option<i32>, String, String) {
    let output = home
        .command()
        .args(words)
        .output()
        .expect("the binary runs");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (
        output.status.code(),
        text(output.stdout),
        text(output.stderr),
    )
}

fn ok(home: &Home, words: &[&str]) -> String {
    let (status, out, err) = cli(home, words);
    assert_eq!(status, Some(0), "{words:?}: {out}{err}");
    out
}

#[tokio::test(flavor = "multi_thread")]
async fn a_routine_from_its_first_word_to_its_last() {
    let home = Home::new("");
    let daemon = home.daemon();
    assert!(cli(&home, &["routine", "list"]).2.contains("no routines"));
    let made = ok(
        &home,
        &[
            "routine",
            "add",
            "morning",
            "--schedule",
            "0 9 * * MON-FRI",
            "--time-zone",
            "Europe/Berlin",
            "--prompt",
            "SAY:good morning",
            "--max-cost-usd",
            "0.5",
            "--ceiling",
            "semi_auto",
            "--missed",
            "run_once",
            "--jitter",
            "60",
        ],
    );
    assert!(made.starts_with("morning  next 2"), "{made}");
    let list = ok(&home, &["routine", "list"]);
    assert!(list.contains("0 9 * * MON-FRI (Europe/Berlin)"), "{list}");
    let shown: Value =
        serde_json::from_str(&ok(&home, &["--json", "routine", "show", "morning"])).unwrap();
    assert_eq!(shown, daemon.get("/v1/routines/morning").await);
    assert_eq!(shown["autonomy_ceiling"], "semi_auto");
    assert_eq!(shown["budgets"]["max_cost_usd"], 0.5);

    // A limit that is added leaves the others alone.
    ok(
        &home,
        &["routine", "edit", "morning", "--max-steps", "3", "--park"],
    );
    let edited = daemon.get("/v1/routines/morning").await;
    assert_eq!(
        edited["budgets"],
        serde_json::json!({ "max_steps": 3, "max_cost_usd": 0.5 })
    );
    assert_eq!(
        (&edited["park"], &edited["due_at"]),
        (&Value::Bool(true), &shown["due_at"])
    );
    let show = ok(&home, &["routine", "show", "morning"]);
    for part in [
        "calls that ask wait for a person",
        "3 steps, $0.5",
        "missed    run_once, jitter 60 s",
        "SAY:good morning",
    ] {
        assert!(show.contains(part), "{part}: {show}");
    }
    assert_eq!(cli(&home, &["routine", "edit", "morning"]).0, Some(2));

    let ran = ok(&home, &["routine", "run", "morning"]);
    assert!(
        ran.contains("started") && ran.contains("asked for by"),
        "{ran}"
    );
    daemon
        .wait("/v1/routines/morning", "the run ended", |routine| {
            routine["last_run"]["continuation_state"] == "completed"
        })
        .await;
    let history = ok(&home, &["routine", "history", "morning"]);
    assert!(history.contains("completed"), "{history}");

    assert_eq!(
        ok(&home, &["routine", "disable", "morning"]),
        "morning  disabled\n"
    );
    assert!(ok(&home, &["routine", "enable", "morning"]).starts_with("morning  next 2"));
    let times = ok(&home, &["routine", "upcoming", "morning", "--limit", "2"]);
    assert_eq!(times.lines().count(), 2, "{times}");
    let times = ok(&home, &["routine", "upcoming", "--schedule", "every 90m"]);
    assert_eq!(times.lines().count(), 5, "{times}");

    let (status, _, err) = cli(&home, &["routine", "upcoming", "--schedule", "0 24 * * *"]);
    assert!(
        status == Some(2)
            && err.contains("field 2 (hour) at character 3")
            && err.contains("every 90m"),
        "{err}"
    );
    let (status, _, err) = cli(&home, &["routine", "show", "mornin"]);
    assert!(
        status == Some(1) && err.contains("did you mean `morning`?"),
        "{err}"
    );
    let again = [
        "routine",
        "add",
        "morning",
        "--schedule",
        "@daily",
        "--prompt",
        "x",
    ];
    let (status, _, err) = cli(&home, &again);
    assert!(
        status == Some(5) && err.contains("there is a routine `morning` already"),
        "{err}"
    );
    assert!(ok(&home, &["routine", "remove", "morning"]).contains("removed"));
    assert!(cli(&home, &["routine", "list"]).2.contains("no routines"));
}
