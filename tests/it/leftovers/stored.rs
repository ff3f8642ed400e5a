//! What one process stored of a workspace tells another one what is new.

use std::os::unix::fs::symlink;
use std::path::Path;

use leverframe::tools::executable_places::ExecutablePlaces;
use leverframe::tools::guard::Guard;
use leverframe::tools::place::PlacesBefore;

fn put(workspace: &Path, path: &str) {
    let path = workspace.join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, "x").unwrap();
}

/// Through the text that is stored.
fn stored(guard: &Guard) -> PlacesBefore {
    let places = ExecutablePlaces::scan(guard).unwrap();
    let text = serde_json::to_string(&places.to_store(guard).unwrap()).unwrap();
    assert!(!text.contains("envrc"), "no name stands there: {text}");
    serde_json::from_str(&text).unwrap()
}

#[test]
fn what_was_there_stays_and_what_is_new_goes() {
    let root = tempfile::tempdir().unwrap();
    let workspace = root.path().canonicalize().unwrap().join("w");
    std::fs::create_dir(&workspace).unwrap();
    for path in [
        ".envrc",
        "a/.git/hooks/x",
        "bare/HEAD",
        "bare/objects/x",
        "bare/refs/x",
        "bare/config",
    ] {
        put(&workspace, path);
    }
    symlink("a", workspace.join(".idea")).unwrap();
    let guard = Guard::of(workspace.clone(), Vec::new());
    let before = stored(&guard);
    for path in [
        "a/.git/index",
        "b/.envrc",
        "a/.git/commondir",
        "new/HEAD",
        "new/objects/x",
        "new/refs/x",
    ] {
        put(&workspace, path);
    }
    std::fs::remove_file(workspace.join(".idea")).unwrap();
    symlink("bare", workspace.join(".idea")).unwrap();
    // The process before died between the new name and the word about it.
    put(&workspace, "c/.vscode.set-aside-tag/tasks.json");
    put(&workspace, "c/.vscode.set-aside-other/tasks.json");
    let places = ExecutablePlaces::restored(&before, &guard).unwrap();
    let left = places.set_aside_new(&guard, "tag").new;
    let mut paths: Vec<&str> = left.set_aside.iter().map(|one| one.path.as_str()).collect();
    paths.sort_unstable();
    assert_eq!(
        paths,
        [
            ".idea",
            "a/.git/commondir",
            "b/.envrc",
            "c/.vscode",
            "new/HEAD"
        ],
        "{left:#?}"
    );
    assert!(left.in_place.is_empty() && left.incomplete.is_none());
    for kept in [
        ".envrc",
        "a/.git/hooks",
        "a/.git/index",
        "bare/HEAD",
        "bare/config",
    ] {
        assert!(workspace.join(kept).exists(), "{kept}");
    }
}

#[test]
fn another_directory_in_its_place_is_left_alone() {
    let root = tempfile::tempdir().unwrap();
    let workspace = root.path().canonicalize().unwrap().join("w");
    std::fs::create_dir(&workspace).unwrap();
    let guard = Guard::of(workspace.clone(), Vec::new());
    let before = stored(&guard);
    std::fs::rename(&workspace, root.path().join("old")).unwrap();
    let gone = ExecutablePlaces::restored(&before, &guard).unwrap_err();
    assert!(gone.contains("cannot be looked at"), "{gone}");
    put(&workspace, ".envrc");
    let other = ExecutablePlaces::restored(&before, &guard).unwrap_err();
    assert!(other.contains("another directory"), "{other}");
}
