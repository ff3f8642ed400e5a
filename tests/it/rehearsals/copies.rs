//! Throw-away copies of workspaces: what they hold, what is told of them, and that they go.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use leverframe::protocol::file_change::FileFate;
use leverframe::tools::guard::Guard;
use leverframe::tools::scratch::{Scratch, ScratchError, remove_all};
use tokio_util::sync::CancellationToken;

struct Bench {
    _root: tempfile::TempDir,
    workspace: PathBuf,
    place: PathBuf,
}

impl Bench {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().canonicalize().unwrap();
        let workspace = path.join("workspace");
        std::fs::create_dir_all(workspace.join("d")).unwrap();
        std::fs::write(workspace.join("a"), "a\n").unwrap();
        std::fs::write(workspace.join("d/b"), "b\n").unwrap();
        std::fs::write(path.join("secret"), "secret").unwrap();
        std::os::unix::fs::symlink("../secret", workspace.join("out")).unwrap();
        Self {
            workspace,
            place: path.join("copies"),
            _root: root,
        }
    }

    fn guard(&self) -> Guard {
        Guard::of(self.workspace.clone(), Vec::new())
    }

    fn copy(&self) -> Result<Scratch, ScratchError> {
        Scratch::copy(&self.guard(), &self.place, "one", &CancellationToken::new())
    }
}

fn mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_copy_holds_the_files_follows_no_link_and_goes_with_all_its_directories() {
    let bench = Bench::new();
    mode(&bench.workspace.join("a"), 0o4755);
    let scratch = bench.copy().unwrap();
    let files = scratch.files().to_owned();
    assert_eq!(std::fs::read_to_string(files.join("d/b")).unwrap(), "b\n");
    assert!(
        std::fs::symlink_metadata(files.join("out"))
            .unwrap()
            .is_symlink()
    );
    let copied = std::fs::metadata(files.join("a"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(copied & 0o7777, 0o755, "no set-user-ID bit");
    assert_eq!(
        std::fs::metadata(bench.place.join("one"))
            .unwrap()
            .permissions()
            .mode()
            & 0o777,
        0o700
    );
    // A program took all rights from a directory.
    mode(&files.join("d"), 0);
    drop(scratch);
    assert!(!bench.place.join("one").exists());
}

#[test]
fn only_what_is_different_is_told() {
    let bench = Bench::new();
    let scratch = bench.copy().unwrap();
    let files = scratch.files().to_owned();
    let none = scratch.changes(&bench.guard(), &CancellationToken::new());
    assert_eq!((none.files.len(), none.more), (0, 0), "{none:?}");
    // Written anew with the same words, and a new time: nothing that anybody must look at.
    std::fs::write(files.join("a"), "a\n").unwrap();
    // Other words of the same length, with the old time.
    let modified = std::fs::metadata(files.join("d/b"))
        .unwrap()
        .modified()
        .unwrap();
    std::fs::write(files.join("d/b"), "B\n").unwrap();
    let file = std::fs::File::options()
        .write(true)
        .open(files.join("d/b"))
        .unwrap();
    file.set_modified(modified).unwrap();
    std::fs::remove_file(files.join("out")).unwrap();
    std::fs::create_dir(files.join("empty")).unwrap();
    std::fs::write(files.join("bytes"), [0, 1, 2]).unwrap();
    let told = scratch.changes(&bench.guard(), &CancellationToken::new());
    let words: Vec<(&str, FileFate, bool)> = told
        .files
        .iter()
        .map(|file| (file.path.as_str(), file.fate, file.diff.is_some()))
        .collect();
    assert_eq!(
        words,
        [
            ("bytes", FileFate::Created, false),
            ("d/b", FileFate::Changed, true),
            ("empty", FileFate::Created, false),
            ("out", FileFate::Deleted, false),
        ]
    );
}

#[test]
fn what_cannot_be_copied_is_refused_and_leaves_nothing() {
    let bench = Bench::new();
    let cancel = CancellationToken::new();
    cancel.cancel();
    let cancelled = Scratch::copy(&bench.guard(), &bench.place, "one", &cancel);
    assert_eq!(cancelled.err(), Some(ScratchError::Cancelled));
    let large = std::fs::File::create(bench.workspace.join("large")).unwrap();
    large.set_len(300 << 20).unwrap();
    assert_eq!(bench.copy().err(), Some(ScratchError::Bytes));
    std::fs::remove_file(bench.workspace.join("large")).unwrap();
    let left = bench.copy().unwrap();
    // A process that dies drops nothing.
    std::mem::forget(left);
    assert!(bench.place.join("one").exists());
    remove_all(&bench.place);
    assert!(!bench.place.exists());
}
