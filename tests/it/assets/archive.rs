//! The archive of `cargo package` has what its build needs, and not what only tests need. `tests/package.sh`
//! compiles what is in it, which takes minutes.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use regex::Regex;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The files of the archive, below the folder of the crate.
fn archive() -> BTreeSet<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["package", "--list", "--allow-dirty", "--offline"])
        .current_dir(root())
        .output()
        .expect("cargo runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let list = String::from_utf8(output.stdout).unwrap();
    list.lines().map(PathBuf::from).collect()
}

/// Every file of the code below a folder.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|end| end == "rs") {
            found.push(path);
        }
    }
}

/// A path without `..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            other => plain.push(other),
        }
    }
    plain
}

#[test]
fn the_archive_has_every_file_that_the_code_includes() {
    let archive = archive();
    let included = Regex::new(r#"include(?:_str|_bytes)?!\(\s*"([^"]+)""#).unwrap();
    let mut files = Vec::new();
    sources(&root().join("src"), &mut files);
    let mut count = 0;
    for file in files {
        let below = file.strip_prefix(root()).unwrap();
        assert!(archive.contains(below), "{} is left out", below.display());
        let text = std::fs::read_to_string(&file).unwrap();
        for found in included.captures_iter(&text) {
            let wanted = plain(&below.parent().unwrap().join(&found[1]));
            let names = (wanted.display(), below.display());
            assert!(
                archive.contains(&wanted),
                "{} of {} is left out",
                names.0,
                names.1
            );
            count += 1;
        }
    }
    assert!(count > 40, "only {count} included files were found");
    for needed in ["Cargo.lock", "Cargo.toml", "LICENSE", "README.md"] {
        assert!(archive.contains(Path::new(needed)), "{needed} is left out");
    }
}

#[test]
fn the_archive_has_nothing_that_only_tests_need() {
    let foreign = [".ci", "benches", "docs/src/images", "packaging", "tests"];
    for file in archive() {
        let of = foreign.iter().find(|folder| file.starts_with(folder));
        assert_eq!(of, None, "{} is in the archive", file.display());
    }
}
