//! Reading a folder: every hostile one is refused in words, and the digest follows every byte.

use std::path::{Path, PathBuf};

use leverframe::tools::guard::Guard;
use leverframe::tools::skill_folder::{find_skills, read_instructions, read_skill};
use proptest::prelude::*;

fn folder(root: &Path, name: &str, head: &str) -> PathBuf {
    let folder = root.join(name);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("SKILL.md"), head).unwrap();
    folder
}

fn fine(root: &Path, name: &str) -> PathBuf {
    folder(
        root,
        name,
        &format!("---\nname: {name}\ndescription: d\n---\nbody\n"),
    )
}

#[test]
fn a_folder_that_cannot_be_trusted_says_why() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let with = |name: &str, spoil: &dyn Fn(&Path)| {
        let folder = fine(root, name);
        spoil(&folder);
        read_skill(&folder).unwrap_err()
    };
    let large = "x".repeat(256 * 1024 + 1);
    for (why, said) in [
        (
            with("link", &|at| {
                std::os::unix::fs::symlink("/etc", at.join("x")).unwrap();
            }),
            "a link",
        ),
        (
            with("large", &|at| std::fs::write(at.join("x"), &large).unwrap()),
            "more than 256 KiB",
        ),
        (
            with("many", &|at| {
                for n in 0..201 {
                    std::fs::write(at.join(n.to_string()), "x").unwrap();
                }
            }),
            "more than 200 files",
        ),
        (
            with("whole", &|at| {
                for n in 0..5 {
                    std::fs::write(at.join(n.to_string()), &large[..250 * 1024]).unwrap();
                }
            }),
            "more than 1024 KiB",
        ),
        (
            with("pipe", &|at| {
                rustix::fs::mkfifoat(rustix::fs::CWD, at.join("x"), 0o600.into()).unwrap();
            }),
            "no file",
        ),
        (
            with("binary", &|at| {
                std::fs::write(at.join("SKILL.md"), [0xff, 0]).unwrap();
            }),
            "UTF-8",
        ),
        (
            with("renamed", &|at| {
                std::fs::write(at.join("SKILL.md"), "---\nname: x\ndescription: d\n---\n").unwrap();
            }),
            "the same name",
        ),
        (
            with("bomb", &|at| {
                let head = format!(
                    "---\nname: bomb\ndescription: d\na: &a [{}]\n---\n",
                    "x,".repeat(8000)
                );
                std::fs::write(at.join("SKILL.md"), head).unwrap();
            }),
            "more than 8 KiB",
        ),
        (read_skill(&root.join("none")).unwrap_err(), "No such file"),
    ] {
        assert!(why.contains(said), "{said}: {why}");
    }
    assert_eq!(read_skill(&fine(root, "good")).unwrap().files.len(), 1);
    let found = find_skills(root).unwrap();
    assert!(found.is_sorted() && found.contains(&root.join("good")));
}

#[test]
fn instructions_are_a_small_text_file_of_the_workspace() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path().canonicalize().unwrap();
    let guard = Guard::of(root.clone(), Vec::new());
    let file = root.join("AGENTS.md");
    assert_eq!(read_instructions(&guard), Ok(None));
    std::fs::write(&file, "Be brief.\n").unwrap();
    let read = read_instructions(&guard).unwrap().unwrap();
    assert_eq!(read.files[0].text.as_deref(), Some("Be brief.\n"));
    std::fs::write(&file, "x".repeat(32 * 1024 + 1)).unwrap();
    assert!(
        read_instructions(&guard)
            .unwrap_err()
            .contains("more than 32 KiB")
    );
    std::fs::write(&file, [0xff]).unwrap();
    assert!(read_instructions(&guard).unwrap_err().contains("UTF-8"));
    std::fs::remove_file(&file).unwrap();
    std::os::unix::fs::symlink("/etc/hosts", &file).unwrap();
    assert!(
        read_instructions(&guard).is_err(),
        "a link out of the workspace"
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn no_text_makes_the_reader_fail_otherwise_than_in_words(text in ".{0,400}") {
        let root = tempfile::tempdir().unwrap();
        let folder = folder(root.path(), "any", &format!("---\n{text}\n---\n"));
        if let Err(why) = read_skill(&folder) {
            prop_assert!(!why.is_empty());
        }
    }

    #[test]
    fn the_digest_follows_every_file(one in "[a-z]{1,8}", other in "[a-z]{1,8}", path in "[a-z]{1,8}") {
        let root = tempfile::tempdir().unwrap();
        let folder = fine(root.path(), "any");
        std::fs::write(folder.join(&path), &one).unwrap();
        let before = read_skill(&folder).unwrap();
        std::fs::write(folder.join(&path), &other).unwrap();
        let after = read_skill(&folder).unwrap();
        prop_assert_eq!(before.sha256 == after.sha256, one == other);
        std::fs::rename(folder.join(&path), folder.join("moved-away")).unwrap();
        prop_assert_ne!(read_skill(&folder).unwrap().sha256, after.sha256);
    }
}
