//! Which programs may be run: only what nobody but root and us, and no tool, could have written.

use std::os::unix::fs::{PermissionsExt as _, chown, symlink};
use std::path::Path;

use leverframe::engine::hooks::exec_permissions::check;

use crate::hooks::scripts::says;

fn mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

fn refused(command: &[String], workspaces: &[std::path::PathBuf], expected: &str) {
    let error = check(command, workspaces).expect_err(expected);
    assert!(error.contains(expected), "no `{expected}` in: {error}");
}

#[test]
fn what_others_could_have_written_is_not_run() {
    let home = tempfile::tempdir().unwrap();
    let script = says(home.path(), "hook", r#"{"verdict":"pass"}"#);
    let word = script.to_str().unwrap().to_owned();
    let command = vec![word.clone()];
    check(&command, &[]).unwrap();

    for open in [0o722, 0o702, 0o720, 0o777] {
        mode(&script, open);
        refused(&command, &[], "can be written by others");
    }
    mode(&script, 0o600);
    refused(&command, &[], "is not executable");
    mode(&script, 0o700);

    let dir = script.parent().unwrap();
    for open in [0o770, 0o707] {
        mode(dir, open);
        refused(&command, &[], "can be written by others");
    }
    mode(dir, 0o700);
    // Where everybody may write, a link can be turned elsewhere, however well its end is kept.
    let open = home.path().join("open");
    std::fs::create_dir(&open).unwrap();
    symlink(&script, open.join("link")).unwrap();
    let link = open.join("link").to_str().unwrap().to_owned();
    mode(&open, 0o700);
    check(std::slice::from_ref(&link), &[]).unwrap();
    mode(&open, 0o777);
    refused(&[link], &[], "can be written by others");

    refused(&["hook".to_owned()], &[], "is not an absolute path");
    refused(
        &[dir.to_str().unwrap().to_owned()],
        &[],
        "is not a regular file",
    );
    refused(&[format!("{word}.gone")], &[], "No such file");
    refused(&[], &[], "no program");
}

#[test]
fn nothing_of_it_lies_where_tools_write() {
    let home = tempfile::tempdir().unwrap();
    let root = home.path().canonicalize().unwrap();
    let script = says(&root, "hook", r#"{"verdict":"pass"}"#);
    let command = vec![script.to_str().unwrap().to_owned()];
    refused(
        &command,
        std::slice::from_ref(&root),
        "lies in the workspace",
    );
    let shell = vec!["/bin/sh".to_owned(), command[0].clone()];
    check(&shell, &[]).unwrap();
    refused(&shell, std::slice::from_ref(&root), "lies in the workspace");
    // A file that is handed to it is as good as the program.
    mode(&script, 0o666);
    refused(&shell, &[], "can be written by others");
    // A path that is no file is only a word.
    check(
        &["/bin/sh".to_owned(), "/nowhere/at/all".to_owned()],
        &[root],
    )
    .unwrap();
}

#[test]
fn what_belongs_to_somebody_else_is_not_run() {
    // Only root can give a file away; everybody else has nothing here that is neither root's nor theirs.
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let somebody = Some(54_321);
    let home = tempfile::tempdir().unwrap();
    let script = says(home.path(), "hook", r#"{"verdict":"pass"}"#);
    let command = vec![script.to_str().unwrap().to_owned()];
    check(&command, &[]).unwrap();
    chown(&script, somebody, None).unwrap();
    refused(&command, &[], "belongs to user id 54321");
    chown(&script, Some(0), None).unwrap();
    let dir = script.parent().unwrap();
    chown(dir, somebody, None).unwrap();
    refused(&command, &[], "belongs to user id 54321");
    // Whoever owns a directory moves everything in it, whatever its sticky bit says.
    mode(dir, 0o1777);
    refused(&command, &[], "belongs to user id 54321");
    chown(dir, Some(0), None).unwrap();
    check(&command, &[]).unwrap();
}
