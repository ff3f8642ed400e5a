//! Who may change the configuration, and who may read the files with keys.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use crate::config_files::Case;
use crate::support::daemon::Home;

fn mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

/// Runs the binary; exit status and everything it said.
fn run(home: &Home, arguments: &[&str]) -> (i32, String) {
    let output = home.command().args(arguments).output().unwrap();
    let said = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    (output.status.code().unwrap(), said)
}

#[test]
fn a_configuration_that_others_may_change_is_refused() {
    let home = Home::new("");
    let file = home.path().join("config/config.toml");
    for bad in [0o666, 0o664, 0o622, 0o602] {
        mode(&file, bad);
        let (status, said) = run(&home, &["--daemon"]);
        assert_eq!(status, 2, "{said}");
        assert!(said.contains(&format!("(mode {bad:04o})")), "{said}");
        assert!(
            said.contains(&format!("chmod go-w {}", file.display())),
            "{said}"
        );
        let (status, said) = run(&home, &["doctor"]);
        assert_ne!(status, 0, "{said}");
        assert!(said.contains("can be changed by others"), "{said}");
    }
    mode(&file, 0o644);
    let dir = home.path().join("config");
    mode(&dir, 0o777);
    let (status, said) = run(&home, &["--daemon"]);
    assert_eq!(status, 2, "{said}");
    assert!(
        said.contains(&format!("chmod o-w {}", dir.display())),
        "{said}"
    );
    // With the sticky bit nobody can exchange the file of another.
    mode(&dir, 0o1777);
    let (_, said) = run(&home, &["doctor"]);
    assert!(said.contains("which only you or root can change"), "{said}");
}

#[test]
fn a_configuration_of_another_user_is_refused() {
    // Only root can give files away.
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let home = Home::new("");
    let file = home.path().join("config/config.toml");
    std::os::unix::fs::chown(&file, Some(12_345), None).unwrap();
    let (status, said) = run(&home, &["--daemon"]);
    assert_eq!(status, 2, "{said}");
    assert!(said.contains("belongs to user id 12345"), "{said}");
}

#[tokio::test]
async fn doctor_of_a_running_daemon_sees_a_configuration_that_was_opened_to_others() {
    let home = Home::new("");
    let mut daemon = home.daemon();
    mode(&home.path().join("config/config.toml"), 0o666);
    let doctor = daemon.get("/v1/doctor").await.to_string();
    assert!(
        doctor.contains("can be changed by others (mode 0666)"),
        "{doctor}"
    );
    assert!(daemon.terminate().success());
}

const PROVIDER: &str = "[model]\ndefault = \"local/x\"\n[providers.local]\nkind = \"openai-chat\"\nbase_url = \"http://127.0.0.1:1\"\n";

#[test]
fn a_key_file_in_a_workspace_is_refused_by_name_and_by_link() {
    let case = Case::new(&format!(
        "{PROVIDER}api_key_file = \"~/key\"\n[channels.api]\nworkspace = \"~/work\"\n"
    ));
    let work = case.home().join("work");
    std::fs::create_dir_all(&work).unwrap();
    let (outside, inside) = (case.home().join("key"), work.join("key"));
    std::fs::write(&outside, "sk-outside").unwrap();
    mode(&outside, 0o600);
    assert_eq!(case.settings().key_files.len(), 1);
    std::fs::rename(&outside, &inside).unwrap();
    std::os::unix::fs::symlink(&inside, &outside).unwrap();
    let linked = case.error().to_string();
    let named = Case::new(&format!(
        "{PROVIDER}api_key_file = \"~/work/key\"\n[channels.api]\nworkspace = \"~/work\"\n"
    ));
    let its_work = named.home().join("work");
    std::fs::create_dir_all(&its_work).unwrap();
    std::fs::write(its_work.join("key"), "sk-inside").unwrap();
    mode(&its_work.join("key"), 0o600);
    let by_name = named.error().to_string();
    for error in [linked, by_name] {
        assert!(error.contains("providers.local.api_key_file"), "{error}");
        assert!(error.contains("lies in the workspace"), "{error}");
        assert!(error.contains("channel `api`"), "{error}");
        assert!(!error.contains("sk-"), "{error}");
    }
}

#[test]
fn no_file_with_a_secret_lies_in_a_workspace() {
    let bot = |kind: &str, keys: &str| format!("[channels.bot]\nkind = \"{kind}\"\n{keys}\n");
    for (key, table) in [
        (
            "channels.bot.token_file",
            bot("telegram", "token_file = \"~/work/key\""),
        ),
        (
            "channels.bot.app_token_file",
            bot("slack", "token_env = \"TOKEN\"\napp_token_file = \"~/work/key\""),
        ),
        (
            "channels.bot.secret_file",
            bot("webhook", "secret_file = \"~/work/key\""),
        ),
        (
            "channels.bot.environment_files",
            bot("process", "command = [\"/bin/true\"]\nenvironment_files = { KEY = \"~/work/key\" }"),
        ),
        (
            "telemetry.secret_file",
            "[telemetry]\nendpoint = \"http://127.0.0.1:4318\"\n\
             headers = { Authorization = \"Bearer {secret}\" }\nsecret_file = \"~/work/key\"\n"
                .to_owned(),
        ),
        (
            "escalation.night.steps",
            "[escalation.night]\nsteps = [{ after = \"5m\", to = \"ntfy:https://ntfy.example/topic\", \
             token_file = \"~/work/key\" }]\n"
                .to_owned(),
        ),
    ] {
        let workspace = "[model]\nallow_scripted_on_channels = true\n[channels.api]\nworkspace = \"~/work\"\n";
        let case = Case::new(&format!("{workspace}{table}")).env("TOKEN", "xoxb-1-2-3");
        let work = case.home().join("work");
        std::fs::create_dir_all(&work).unwrap();
        std::fs::write(work.join("key"), "a secret of forty-two characters, at least").unwrap();
        mode(&work.join("key"), 0o600);
        let error = case.error().to_string();
        assert!(error.contains(key), "{key}: {error}");
        assert!(error.contains("lies in the workspace"), "{key}: {error}");
    }
}
