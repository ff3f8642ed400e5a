//! Where the real binary looks for its files: the platform's directories, with and without the variables that move them.

use std::path::Path;
use std::process::Command;

/// What the binary says and writes in an environment of nothing but these variables.
fn run(arguments: &[&str], variables: &[(&str, &Path)]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_leverframe"))
        .args(arguments)
        .env_clear()
        .envs(variables.iter().copied())
        .output()
        .unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[track_caller]
fn lie_in(variables: &[(&str, &Path)], config: &Path, data: &Path) {
    let said = run(&["init", "--yes"], variables);
    let file = config.join("leverframe/config.toml");
    assert!(
        said.contains(&format!("wrote {}", file.display())),
        "{said}"
    );
    assert!(file.is_file());
    std::fs::remove_file(file).unwrap();
    let said = run(&["doctor", "--check"], variables);
    let database = data.join("leverframe/leverframe.db");
    assert!(
        said.contains(&format!("no database `{}`", database.display())),
        "{said}"
    );
}

#[cfg(target_os = "linux")]
#[test]
fn files_lie_below_home_unless_a_variable_moves_them() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let (config, data) = (home.join(".config"), home.join(".local/share"));
    let (moved_config, moved_data) = (home.join("c"), home.join("d"));
    let relative = Path::new("relative");
    let at_home = ("HOME", home);
    lie_in(&[at_home], &config, &data);
    lie_in(
        &[at_home, ("XDG_CONFIG_HOME", &moved_config)],
        &moved_config,
        &data,
    );
    lie_in(
        &[at_home, ("XDG_DATA_HOME", &moved_data)],
        &config,
        &moved_data,
    );
    // As the specification demands, what is not absolute counts as not set.
    let ignored = [
        at_home,
        ("XDG_CONFIG_HOME", relative),
        ("XDG_DATA_HOME", relative),
    ];
    lie_in(&ignored, &config, &data);
}

#[test]
fn a_home_that_is_no_absolute_path_is_named() {
    let said = run(&["doctor", "--check"], &[("HOME", Path::new("relative"))]);
    assert!(said.contains("HOME"), "{said}");
    assert!(said.contains("is not an absolute path"), "{said}");
    assert!(said.contains("--config"), "{said}");
}
