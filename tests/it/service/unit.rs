//! The text of the units, in the eyes of systemd, of the book and of the sandbox.

use std::path::Path;
use std::process::Command;

use crate::backup::tools::{plain_home, run, said};
use crate::support::daemon::Home;
use crate::support::requirement::missing;

/// What the command prints for a program in this place.
fn printed(home: &Home, kind: &str, program: &str) -> String {
    let words = ["service", "install", kind, "--print", "--program", program];
    let mut command = Command::new(home.command().get_program());
    let output = command
        .args(words)
        .env("HOME", home.path())
        .output()
        .expect("the binary runs");
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    String::from_utf8(output.stdout).unwrap()
}

/// What systemd-analyze says of a unit: whether it is content, and its words. None where it is missing.
fn analyze(words: &[&str], unit: &str) -> Option<(bool, String)> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("leverframe.service");
    std::fs::write(&file, unit).unwrap();
    match Command::new("systemd-analyze")
        .args(words)
        .arg(&file)
        .env("XDG_RUNTIME_DIR", folder.path())
        .output()
    {
        Ok(output) => Some((output.status.success(), said(&output))),
        Err(_) => {
            missing(
                "systemd-analyze",
                "what systemd says of the unit",
                "install systemd",
            );
            None
        }
    }
}

#[test]
fn systemd_takes_both_units_and_finds_that_of_the_machine_closed() {
    let home = plain_home();
    for kind in ["--user", "--system"] {
        // A program that is there: systemd looks.
        let unit = printed(&home, kind, "/bin/true");
        let Some((good, text)) = analyze(&[kind, "verify", "--man=no"], &unit) else {
            return;
        };
        assert!(good && text.trim().is_empty(), "{kind}: {text}");
        // It refuses openat2, without which bubblewrap 0.12 makes no sandbox.
        assert!(!unit.contains("RestrictSUIDSGID=yes"), "{kind}: {unit}");
    }
    let unit = printed(&home, "--system", "/bin/true");
    // 30 = 3.0 of 10.
    let words = ["security", "--offline=true", "--threshold=30", "--no-pager"];
    let (good, text) = analyze(&words, &unit).unwrap();
    assert!(good, "{text}");
    // Without its own words it would not be.
    let lines = unit.lines();
    let bare: Vec<&str> = lines
        .filter(|line| !line.starts_with("Protect") && !line.starts_with("CapabilityBoundingSet"))
        .collect();
    let bare = bare.join("\n");
    let (good, _) = analyze(&words, &bare).unwrap();
    assert!(!good, "the threshold would let anything pass");
}

#[test]
fn the_book_shows_the_units_that_are_printed() {
    let home = plain_home();
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/src/operate/service.md");
    let page = std::fs::read_to_string(page).unwrap();
    for kind in ["--user", "--system"] {
        let unit = printed(&home, kind, "/usr/local/bin/leverframe");
        assert!(
            page.contains(&unit),
            "the page lacks the unit for {kind}:\n{unit}"
        );
    }
}

/// What the unit of the machine takes away, as far as it can be taken away here: root, capabilities, new privileges.
#[tokio::test(flavor = "multi_thread")]
async fn the_sandbox_works_without_capabilities_and_new_privileges() {
    if Command::new("setpriv").arg("--version").output().is_err() {
        missing(
            "setpriv",
            "the sandbox under the unit",
            "install util-linux",
        );
        return;
    }
    const NOBODY: u32 = 65_534;
    let home = plain_home();
    let mut words = vec!["setpriv", "--no-new-privs"];
    if rustix::process::geteuid().is_root() {
        words.extend([
            "--reuid=65534",
            "--regid=65534",
            "--clear-groups",
            "--inh-caps=-all",
            "--bounding-set=-all",
        ]);
        for path in ["", "config", "config/config.toml"] {
            let path = home.path().join(path);
            std::os::unix::fs::chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
        }
    }
    let daemon = home.daemon_through(&words, &[]);
    let sandbox = |doctor: &serde_json::Value| {
        let findings = doctor["findings"].as_array().unwrap().iter();
        let mut found = findings.filter(|one| one["about"] == "sandbox");
        found.next().unwrap()["detail"].as_str().unwrap().to_owned()
    };
    let doctor = daemon
        .wait("/v1/doctor", "the sandbox is tried", |doctor| {
            sandbox(doctor) != "being tried"
        })
        .await;
    assert!(sandbox(&doctor).starts_with("bubblewrap"), "{doctor:#}");
}

#[test]
fn places_that_were_named_stand_in_the_unit_of_a_person() {
    let home = plain_home();
    let output = run(
        &home,
        &[
            "service",
            "install",
            "--user",
            "--print",
            "--program",
            "/opt/a b/leverframe",
        ],
    );
    let text = said(&output);
    assert_eq!(output.status.code(), Some(0), "{text}");
    let config = home.path().join("config/config.toml");
    assert!(
        text.contains(&format!(
            "ExecStart=\"/opt/a b/leverframe\" --daemon --listen 127.0.0.1:8787 --config {} --data-dir {}\n",
            config.display(),
            home.data().display()
        )),
        "{text}"
    );
    let output = run(
        &home,
        &[
            "service",
            "install",
            "--system",
            "--print",
            "--program",
            "/usr/bin/leverframe",
        ],
    );
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    assert!(said(&output).contains("does not go with a service of the system"));
}
