//! Running a program under `strace`.

use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::OnceLock;

use crate::power_loss::trace::CALLS;

/// Whether programs can be traced here. If not, says so where nobody overlooks it.
pub fn available() -> bool {
    static ANSWER: OnceLock<bool> = OnceLock::new();
    let possible = *ANSWER.get_or_init(|| {
        Command::new("strace")
            .args([
                "-f",
                "--seccomp-bpf",
                "-e",
                "trace=fsync",
                "-o",
                "/dev/null",
                "true",
            ])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
    });
    if !possible {
        crate::support::requirement::missing(
            "strace",
            "the loss of power",
            "install strace and let it trace here",
        );
    }
    possible
}

/// The words that stand before a command to have it traced into `file`. `faults` are injected:
/// `fsync:error=EIO:when=3`.
pub fn words(file: &Path, faults: &[String]) -> Vec<String> {
    let mut words: Vec<String> = [
        "strace",
        "-f",
        "--seccomp-bpf",
        "-yy",
        "-xx",
        "-s",
        "16777216",
        "-e",
    ]
    .map(str::to_owned)
    .to_vec();
    words.push(format!("trace={CALLS}"));
    for fault in faults {
        words.extend(["-e".to_owned(), format!("inject={fault}")]);
    }
    words.extend(["-o".to_owned(), file.display().to_string(), "--".to_owned()]);
    words
}

/// Runs a test of this binary that is a program of its own, traced.
pub fn run_child(
    test: &str,
    environment: &[(&str, String)],
    file: &Path,
    faults: &[String],
) -> (ExitStatus, String) {
    let program = std::env::current_exe().unwrap();
    let words = words(file, faults);
    let output = Command::new(&words[0])
        .args(&words[1..])
        .arg(program)
        .args([
            "--exact",
            test,
            "--ignored",
            "--nocapture",
            "--test-threads=1",
        ])
        .envs(environment.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    (output.status, text)
}
