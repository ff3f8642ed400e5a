//! `gate install`, `uninstall` and `status`: nothing is written that was not shown, or over what somebody else wrote.

use std::io::{BufRead, Read};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use leverframe::cli::exit::Failure;
use leverframe::cli::gate::{GateCommands, run};
use leverframe::cli::gate_install::{InstallArguments, UninstallArguments};
use leverframe::cli::terminal::{Attendance, Format, Terminal};
use leverframe::config::environment::Environment;
use leverframe::protocol::enums::ExternalAgent;

use crate::gate::stub::program;

const BEFORE: &str = "{\n  // mine\n  \"model\": \"opus\"\n}\n";

struct Place {
    dir: tempfile::TempDir,
}

/// What a command said, and how it ended.
#[derive(Debug)]
struct Said {
    result: Result<(), Failure>,
    out: String,
    err: String,
}

impl Said {
    #[track_caller]
    fn fails(&self, why: &str) {
        let text = self.result.as_ref().unwrap_err().to_string();
        assert!(text.contains(why), "not `{why}`: {text}");
    }
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        Self { dir }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let file = self.path(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, text).unwrap();
        file
    }

    fn run(&self, command: GateCommands, attended: Attendance, input: &mut dyn BufRead) -> Said {
        let home = self.dir.path().to_str().unwrap();
        let environment: Environment = [("HOME", home), ("PATH", "/usr/bin:/bin")]
            .into_iter()
            .collect();
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let mut terminal = Terminal {
            out: &mut out,
            err: &mut err,
            input,
            attended,
            format: Format::Human,
        };
        let result = run(&mut terminal, &environment, None, command);
        Said {
            result,
            out: String::from_utf8(out).unwrap(),
            err: String::from_utf8(err).unwrap(),
        }
    }

    fn install(&self, agent: ExternalAgent) -> Said {
        let said = self.run(installs(agent, true), Attendance::Script, &mut &b""[..]);
        assert!(said.result.is_ok(), "{said:?}");
        said
    }

    fn uninstall(&self, agent: ExternalAgent) -> Said {
        let given = UninstallArguments {
            agent,
            project: None,
            yes: true,
        };
        let said = self.run(
            GateCommands::Uninstall(given),
            Attendance::Script,
            &mut &b""[..],
        );
        assert!(said.result.is_ok(), "{said:?}");
        said
    }

    fn status(&self) -> String {
        let command = GateCommands::Status { project: None };
        let said = self.run(command, Attendance::Script, &mut &b""[..]);
        assert!(said.result.is_ok(), "{said:?}");
        said.out
    }
}

fn installs(agent: ExternalAgent, yes: bool) -> GateCommands {
    GateCommands::Install(InstallArguments {
        agent,
        project: None,
        print: false,
        yes,
    })
}

fn text(file: &Path) -> String {
    std::fs::read_to_string(file).unwrap()
}

#[test]
fn hooks_come_and_go_with_the_file_as_it_was() {
    let files = [
        (ExternalAgent::Claude, ".claude/settings.json"),
        (ExternalAgent::Codex, ".codex/hooks.json"),
        (ExternalAgent::Gemini, ".gemini/settings.json"),
    ];
    for (agent, name) in files {
        let place = Place::new();
        let file = place.write(name, BEFORE);
        std::fs::set_permissions(&file, PermissionsExt::from_mode(0o640)).unwrap();
        let said = place.install(agent);
        assert!(
            said.err.contains('+') && said.err.contains(&format!("gate {agent}")),
            "{said:?}"
        );
        let with = text(&file);
        assert!(
            with.contains("// mine") && with.contains(" gate "),
            "{with}"
        );
        assert_eq!(
            std::fs::metadata(&file).unwrap().permissions().mode() & 0o777,
            0o640
        );
        let again = place.install(agent);
        assert!(again.out.contains("nothing changed"), "{again:?}");
        assert_eq!(text(&file), with);
        assert!(place.status().contains("installed  "), "{}", place.status());
        place.uninstall(agent);
        assert_eq!(text(&file), BEFORE);
        assert!(place.uninstall(agent).out.contains("no hooks"));
        // A file that was not there is not left behind.
        std::fs::remove_file(&file).unwrap();
        place.install(agent);
        assert_eq!(
            std::fs::metadata(&file).unwrap().permissions().mode() & 0o777,
            0o600
        );
        place.uninstall(agent);
        assert!(!file.exists());
        // Nothing else is left either.
        assert_eq!(
            std::fs::read_dir(file.parent().unwrap()).unwrap().count(),
            0
        );
    }
}

#[test]
fn a_link_stays_one() {
    let place = Place::new();
    let real = place.write("dotfiles/claude.json", BEFORE);
    std::fs::create_dir(place.path(".claude")).unwrap();
    let link = place.path(".claude/settings.json");
    symlink(&real, &link).unwrap();
    place.install(ExternalAgent::Claude);
    assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(text(&real).contains("gate claude"));
    place.uninstall(ExternalAgent::Claude);
    assert_eq!(text(&real), BEFORE);
}

#[test]
fn nobody_there_means_nothing_written() {
    let place = Place::new();
    let file = place.write(".claude/settings.json", BEFORE);
    let agent = ExternalAgent::Claude;
    place
        .run(installs(agent, false), Attendance::Script, &mut &b"y\n"[..])
        .fails("--yes");
    for answer in ["n\n", "\n", "", "maybe\n"] {
        let said = place.run(
            installs(agent, false),
            Attendance::Person,
            &mut answer.as_bytes(),
        );
        said.fails("nothing is written");
        assert!(
            said.err.contains("+  \"hooks\": {"),
            "the difference comes first: {said:?}"
        );
    }
    assert_eq!(text(&file), BEFORE);
    let said = place.run(installs(agent, false), Attendance::Person, &mut &b"y\n"[..]);
    assert!(said.result.is_ok(), "{said:?}");
    assert!(text(&file).contains("gate claude"));
}

/// A person who thinks while another program writes the file.
struct Slow(PathBuf, &'static [u8]);

impl Read for Slow {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.1.read(buffer)
    }
}

impl BufRead for Slow {
    fn fill_buf(&mut self) -> std::io::Result<&[u8]> {
        std::fs::write(&self.0, "{\"new\": 1}")?;
        Ok(self.1)
    }

    fn consume(&mut self, count: usize) {
        self.1 = &self.1[count..];
    }
}

#[test]
fn a_file_that_changed_meanwhile_is_left_alone() {
    for before in [Some(BEFORE), None] {
        let place = Place::new();
        let file = place.write(".gemini/settings.json", BEFORE);
        if before.is_none() {
            std::fs::remove_file(&file).unwrap();
        }
        let mut input = Slow(file.clone(), b"y\n");
        let command = installs(ExternalAgent::Gemini, false);
        place
            .run(command, Attendance::Person, &mut input)
            .fails("changed meanwhile");
        assert_eq!(text(&file), "{\"new\": 1}");
        assert_eq!(
            std::fs::read_dir(file.parent().unwrap()).unwrap().count(),
            1
        );
    }
}

#[test]
fn a_broken_file_is_named_with_its_line() {
    let place = Place::new();
    let file = place.write(".claude/settings.json", "{\n  \"a\": 1,\n  oops\n}\n");
    let said = place.run(
        installs(ExternalAgent::Claude, true),
        Attendance::Script,
        &mut &b""[..],
    );
    said.fails(&format!("{}:3: is no JSON", file.display()));
    assert!(
        place.status().contains("settings.json:3:"),
        "{}",
        place.status()
    );
}

#[test]
fn status_says_what_keeps_hooks_from_running() {
    let place = Place::new();
    let out = place.status();
    assert_eq!(out.matches("not installed").count(), 3, "{out}");
    place.write(".claude/settings.json", "{\n\"disableAllHooks\": true }");
    place.write(
        ".gemini/settings.json",
        "{ \"hooksConfig\": { \"enabled\": false } }",
    );
    place.write(
        ".codex/config.toml",
        "[features]\nhooks = false\n[[hooks.Stop]]\n",
    );
    for agent in ExternalAgent::ALL {
        let said = place.install(*agent);
        assert!(said.err.contains("no hook runs"), "{said:?}");
    }
    let out = place.status();
    assert!(
        out.contains("settings.json:2: `disableAllHooks` is true"),
        "{out}"
    );
    assert!(
        out.contains("settings.json:1: `hooksConfig.enabled` is false"),
        "{out}"
    );
    assert!(out.contains("`features.hooks` is false"), "{out}");
    assert!(out.contains("has hooks too"), "{out}");
    // A program that went away denies everything.
    let file = place.path(".codex/hooks.json");
    let here = std::env::current_exe().unwrap();
    let moved = text(&file).replace(here.to_str().unwrap(), "/nonexistent/leverframe");
    std::fs::write(&file, moved).unwrap();
    assert!(
        place
            .status()
            .contains("/nonexistent/leverframe is not there"),
        "{}",
        place.status()
    );
}

#[test]
fn a_project_and_a_data_directory_are_in_the_lines() {
    let home = tempfile::tempdir().unwrap();
    let gate = |words: &[&str]| {
        let output = std::process::Command::new(program())
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", home.path())
            .arg("gate")
            .args(words)
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let project = home.path().join("pro ject");
    std::fs::create_dir(&project).unwrap();
    let project = project.to_str().unwrap();
    let data = home.path().join("my data");
    let data = data.to_str().unwrap();
    gate(&[
        "install",
        "claude",
        "--project",
        project,
        "--data-dir",
        data,
        "--yes",
    ]);
    let with = text(&Path::new(project).join(".claude/settings.local.json"));
    assert!(
        with.contains(&format!("gate claude --data-dir '{data}' || ")),
        "{with}"
    );
    let out = gate(&["status", "--project", project, "--json"]);
    let states: Vec<serde_json::Value> = out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(states.len(), 6);
    assert_eq!(states[1]["state"], "installed");
    assert_eq!(states[1]["programs"][0], program().to_str().unwrap());
    gate(&["uninstall", "claude", "--project", project, "--yes"]);
    assert!(
        !Path::new(project)
            .join(".claude/settings.local.json")
            .exists()
    );
}
