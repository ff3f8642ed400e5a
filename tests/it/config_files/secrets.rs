//! Secrets from variables, files and commands.

use std::os::unix::fs::PermissionsExt as _;
use std::time::{Duration, Instant};

use leverframe::config::secrets::read_private_file;

use crate::config_files::Case;

const PROVIDER: &str = "[model]\ndefault = \"local/x\"\n[providers.local]\nkind = \"openai-chat\"\nbase_url = \"http://127.0.0.1:1\"\n";

fn with(line: &str) -> Case {
    Case::new(&format!("{PROVIDER}{line}\n"))
}

#[track_caller]
fn key_of(case: &Case) -> String {
    let settings = case.settings();
    settings.providers["local"]
        .api_key
        .as_ref()
        .unwrap()
        .expose()
        .to_owned()
}

fn write_secret(case: &Case, name: &str, text: &str, mode: u32) {
    let path = case.home().join(name);
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn from_a_file_beside_the_configuration() {
    let case = with("api_key_file = \"~/key\"");
    write_secret(&case, "key", "sk-file\r\n", 0o600);
    assert_eq!(key_of(&case), "sk-file");
    let relative = with("api_key_file = \"key\"");
    write_secret(&relative, ".config/leverframe/key", "sk-rel", 0o400);
    assert_eq!(key_of(&relative), "sk-rel");
}

#[test]
fn a_file_that_others_can_open_is_refused() {
    for mode in [0o644, 0o640, 0o604, 0o620] {
        let case = with("api_key_file = \"~/key\"");
        write_secret(&case, "key", "sk-file", mode);
        let error = case.error().to_string();
        let path = case.home().join("key");
        assert!(
            error.contains(&format!("Run: chmod 600 {}", path.display())),
            "{error}"
        );
        assert!(
            error.contains(&format!("mode {mode:04o}")) && !error.contains("sk-file"),
            "{error}"
        );
    }
}

#[test]
fn files_that_hold_no_secret() {
    for (text, part) in [
        ("", "is empty"),
        ("\n \n", "is empty"),
        ("a\nb", "line break"),
        ("a\0b", "control character"),
    ] {
        let case = with("api_key_file = \"~/key\"");
        write_secret(&case, "key", text, 0o600);
        assert!(case.error().to_string().contains(part), "{}", case.error());
    }
    let missing = with("api_key_file = \"~/key\"").error().to_string();
    assert!(missing.contains("/key: cannot be read"), "{missing}");
    let directory = tempfile::tempdir().unwrap();
    assert!(
        read_private_file(directory.path())
            .unwrap_err()
            .to_string()
            .contains("not a regular file")
    );
}

#[test]
fn a_file_of_somebody_else_is_refused() {
    let case = with("api_key_file = \"~/key\"");
    write_secret(&case, "key", "sk-file", 0o600);
    // Only root can give a file away; elsewhere there is nothing to test with.
    if std::os::unix::fs::chown(case.home().join("key"), Some(12345), None).is_ok() {
        let error = case.error().to_string();
        assert!(error.contains("belongs to user id 12345"), "{error}");
    }
}

#[test]
fn from_a_command() {
    assert_eq!(
        key_of(&with("api_key_command = \"printf 'sk-%s\\n' command\"")),
        "sk-command"
    );
    let failing = with("api_key_command = \"echo sk-x; exit 3\"")
        .error()
        .to_string();
    assert!(
        failing.contains("config.toml:6:") && failing.contains("exit status: 3"),
        "{failing}"
    );
    let silent = with("api_key_command = \"true\"").error().to_string();
    assert!(
        silent.contains("what the command printed is empty"),
        "{silent}"
    );
    let endless = with("api_key_command = \"yes\"").error().to_string();
    assert!(endless.contains("the command"), "{endless}");
}

#[test]
fn a_command_that_hangs_is_killed() {
    let started = Instant::now();
    let case = with("api_key_command = \"echo $$ > ~/pid; sleep 1000 & sleep 1000\"");
    let error = case.error().to_string();
    assert!(error.contains("did not end within 10 s"), "{error}");
    assert!(started.elapsed() < Duration::from_mins(1));
}

#[test]
#[cfg(target_os = "linux")]
fn nothing_of_a_command_lives_on() {
    let directory = tempfile::tempdir().unwrap();
    let pid = directory.path().join("pid");
    let script = "setsid sh -c 'echo $$ > PID; exec sleep 1000' >/dev/null 2>&1 & \
                  until [ -s PID ]; do sleep 0.01; done; echo sk-command"
        .replace("PID", pid.to_str().unwrap());
    let case = with(&format!("api_key_command = \"\"\"{script}\"\"\""));
    assert_eq!(key_of(&case), "sk-command");
    let id = std::fs::read_to_string(&pid).unwrap();
    assert!(
        !std::path::Path::new("/proc").join(id.trim()).exists(),
        "it outlived the command"
    );
}

#[test]
fn variables_that_hold_no_secret() {
    let unset = with("api_key_env = \"MY_KEY\"").error().to_string();
    assert!(
        unset.contains("config.toml:6:") && unset.contains("MY_KEY is not set"),
        "{unset}"
    );
    let empty = with("api_key_env = \"MY_KEY\"")
        .env("MY_KEY", "")
        .error()
        .to_string();
    assert!(empty.contains("MY_KEY is empty"), "{empty}");
    assert_eq!(
        key_of(&with("api_key_env = \"MY_KEY\"").env("MY_KEY", "sk-env\n")),
        "sk-env"
    );
}

#[test]
fn two_sources_are_one_too_many() {
    let error = with("api_key_env = \"A\"\napi_key_file = \"b\"")
        .error()
        .to_string();
    assert!(
        error.contains("config.toml:7:") && error.contains("more than one source"),
        "{error}"
    );
}
