//! Nothing that the program of a hook starts lives longer than its run.

use std::time::Duration;

use leverframe::engine::hooks::process::{RunError, run};

use crate::process_faults::world::{alive, eventually};

#[tokio::test]
async fn no_descendant_of_a_hook_outlives_its_run() {
    let directory = tempfile::tempdir().unwrap();
    for (name, rest, limit) in [
        (
            "ends",
            "until [ -e UP ]; do sleep 0.01; done; echo fine",
            10_000,
        ),
        ("hangs", "while :; do sleep 0.05; done", 1_000),
    ] {
        let up = directory.path().join(name);
        let tag = format!("tag-{}", up.display());
        let script = format!(
            "setsid sh -c 'touch UP; while :; do sleep 0.05; done' {tag} >/dev/null 2>&1 </dev/null & {rest}"
        )
        .replace("UP", up.to_str().unwrap());
        let command = ["/bin/sh", "-c", &script].map(str::to_owned);
        let ran = run(&command, &[], "{}", Duration::from_millis(limit)).await;
        assert!(up.exists(), "{name}: it did run");
        match ran {
            Ok(ran) => assert_eq!((name, &*ran.answer), ("ends", &b"fine\n"[..])),
            Err(RunError::TooSlow(_)) => assert_eq!(name, "hangs"),
            Err(error) => panic!("{name}: {error}"),
        }
        eventually("everything is dead", || !alive(&tag)).await;
    }
}
