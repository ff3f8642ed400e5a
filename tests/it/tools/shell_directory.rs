//! The directory between the engine and a shell: whatever a command puts there, the engine reads nothing else, waits for
//! nothing, and keeps within the bounds of the disk.

use std::time::Duration;

use leverframe::tools::sandbox::Sandbox;
use leverframe::tools::tool::ToolOutcome;

use crate::tools::bash::{Shells, landlock};
use crate::tools::harness::{eventually, sandbox};

/// Names the files of this command, and the number of the next.
const NAMES: &str = "s=${BASH_SOURCE[0]}; s=${s%.sh}; d=${s%/*}; n=$((${s##*/} + 1)); ";

/// Sandboxes with the directory mounted, and in its place.
fn sandboxes() -> Vec<Sandbox> {
    [sandbox(), landlock()].into_iter().flatten().collect()
}

impl Shells {
    /// A command that must come back in time.
    async fn soon(&self, command: &str, seconds: u64) -> ToolOutcome {
        let command = format!("{NAMES}{command}");
        let run = self.of(self.session, &command, seconds);
        tokio::time::timeout(Duration::from_secs(10), run)
            .await
            .unwrap_or_else(|_| panic!("{command:?} holds the engine up"))
    }
}

#[tokio::test]
async fn a_link_there_leads_the_engine_nowhere() {
    for sandbox in sandboxes() {
        let shells = Shells::with(&sandbox);
        let secret = shells.bench.hidden.join("secret");
        std::fs::write(&secret, "/treasure\n/treasure\n").unwrap();
        let secret_path = secret.display();
        let home = shells.bench.workspace.display().to_string();
        for command in [
            format!("ln -s {secret_path} $s.state; sleep 71730 &"),
            format!("ln -sf {secret_path} $s.sh; ln -s {secret_path} $s.status.0; sleep 71730 &"),
            format!("for f in sh state done; do ln -s {secret_path} $d/$n.$f; done; sleep 71730 &"),
            // Somebody in the background does it when the next command has begun.
            format!(
                "(while [ ! -e $d/$n.sh ]; do :; done; ln -s {secret_path} $d/$n.state; sleep 71730) & true"
            ),
        ] {
            for command in [command.as_str(), "sleep 0.2"] {
                let said = shells.soon(command, 5).await.content;
                assert!(!said.contains("treasure"), "{command}: {said}");
                assert!(
                    said.contains(&format!("s, in {home}\n")),
                    "{command}: {said}"
                );
            }
        }
        assert_eq!(
            std::fs::read_to_string(&secret).unwrap(),
            "/treasure\n/treasure\n"
        );
    }
}

/// A link says nothing of whether there is something at its other end.
#[tokio::test]
async fn a_link_there_does_not_tell_what_exists() {
    for sandbox in sandboxes() {
        let shells = Shells::with(&sandbox);
        let secret = shells.bench.hidden.join("secret");
        std::fs::write(&secret, "treasure").unwrap();
        let link = format!("ln -s {} $s.done; while :; do :; done", secret.display());
        let said = shells.soon(&link, 1).await.content;
        assert!(said.contains("stopped after 1 s"), "{said}");
    }
}

#[tokio::test]
async fn a_pipe_or_a_device_there_holds_nothing_up() {
    for sandbox in sandboxes() {
        let shells = Shells::with(&sandbox);
        for (command, seconds) in [
            ("mkfifo $s.state; exit", 5),
            ("ln -s /dev/zero $s.state; exit", 5),
            ("mkfifo $s.state", 1),
            ("ln -s /dev/zero $s.state", 5),
            ("mkfifo $s.done", 1),
            ("for f in sh state done; do mkfifo $d/$n.$f; done", 5),
            ("for f in sh state done; do mkdir -p $d/$n.$f/x; done", 5),
        ] {
            shells.soon(command, seconds).await;
            let said = shells.soon("echo next-$((6*7))", 5).await.content;
            assert!(said.contains("next-42"), "after {command}: {said}");
        }
    }
}

#[tokio::test]
async fn what_is_written_there_counts_and_goes() {
    for sandbox in sandboxes() {
        let shells = Shells::with(&sandbox.with_max_growth(8 << 20));
        let place = shells.bench.hidden.join("shells");
        let held = || {
            let directories = std::fs::read_dir(&place).unwrap().flatten();
            let files =
                directories.flat_map(|one| std::fs::read_dir(one.path()).into_iter().flatten());
            files.flatten().count()
        };
        // A little is removed with the command.
        shells
            .soon("mkdir -p $d/x/y; echo x >$d/x/y/f; echo x >$d/left", 5)
            .await;
        assert_eq!(held(), 0);
        let fill =
            "for n in $(seq 9); do head -c 4000000 /dev/zero >$d/f$n; sleep 0.1; done; sleep 5";
        let said = shells.soon(fill, 9).await.content;
        assert!(said.contains("MiB into the workspace"), "{said}");
        eventually("nothing of it is left", || held() == 0).await;
    }
}
