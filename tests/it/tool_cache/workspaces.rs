//! When a workspace counts as changed.

use std::path::{Path, PathBuf};

use leverframe::engine::tool_cache::workspaces::Workspaces;

fn paths(names: &[&str]) -> Workspaces {
    Workspaces::new(names.iter().map(PathBuf::from))
}

#[test]
fn a_change_counts_when_it_begins_and_when_it_ends_and_hides_the_workspace_between() {
    let spaces = paths(&["/w/a", "/w/a"]);
    let a = Path::new("/w/a");
    let before = spaces.settled(a);
    assert!(before.is_some());
    assert_eq!(spaces.settled(a), before);
    let change = spaces.begin(a, false);
    assert_eq!(spaces.settled(a), None);
    let second = spaces.begin(a, false);
    change.end();
    assert_eq!(spaces.settled(a), None, "one is still under way");
    second.end();
    let after = spaces.settled(a);
    assert!(after.is_some() && after != before);
}

#[test]
fn a_change_reaches_what_is_inside_and_around_it_and_nothing_else() {
    let all = ["/w", "/w/a", "/w/a/deep", "/w/ab", "/x"];
    let reached = |begun: &str, everywhere: bool| {
        let spaces = paths(&all);
        let _change = spaces.begin(Path::new(begun), everywhere);
        let reached = |path: &&&str| spaces.settled(Path::new(**path)).is_none();
        all.iter().filter(reached).copied().collect::<Vec<_>>()
    };
    assert_eq!(reached("/w/a", false), ["/w", "/w/a", "/w/a/deep"]);
    assert_eq!(reached("/x", false), ["/x"]);
    assert_eq!(reached("/w", false), ["/w", "/w/a", "/w/a/deep", "/w/ab"]);
    assert_eq!(reached("/x", true), all);
}

#[test]
fn a_change_whose_end_nobody_saw_never_ends() {
    let spaces = paths(&["/w"]);
    drop(spaces.begin(Path::new("/w"), false));
    spaces.begin(Path::new("/w"), false).end();
    assert_eq!(spaces.settled(Path::new("/w")), None);
}

#[test]
fn a_directory_that_is_no_workspace_is_never_settled() {
    assert_eq!(paths(&["/w"]).settled(Path::new("/w/a")), None);
}
