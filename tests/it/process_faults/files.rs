//! Damaged, cut, exchanged and unwritable files: a clear refusal or a safe start, never silence (I26).

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::process_faults::world::{sound, tool};
use crate::support::daemon::{DEADLINE, Home};
use crate::support::record;
use crate::support::requirement::missing;

/// A home that was served, with a turn in it.
async fn served() -> Home {
    let home = Home::new("");
    let mut daemon = home.daemon();
    let session = daemon.session().await;
    let continuation = daemon.send(&session, "SAY:something to lose").await;
    daemon.wait_state(&continuation, "completed").await;
    assert!(daemon.terminate().success());
    home
}

fn db(home: &Home) -> PathBuf {
    home.data().join("leverframe.db")
}

fn wal(home: &Home) -> PathBuf {
    home.data().join("leverframe.db-wal")
}

/// Starts a daemon and waits for its end: whether it was a success, and what it said. None: it goes on, so it is ended.
fn ended(mut command: Command) -> Option<(bool, String)> {
    let mut child = command
        .args(["--daemon", "--listen", "127.0.0.1:0"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let deadline = Instant::now() + DEADLINE;
    while Instant::now() < deadline {
        if child.try_wait().expect("a child").is_some() {
            let output = child.wait_with_output().expect("its words");
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            return Some((output.status.success(), said));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let _ = child.kill();
    let _ = child.wait();
    None
}

/// Starts a daemon that must refuse; what it says. The database must be as it was.
fn refused(home: &Home) -> String {
    let before = std::fs::read(db(home)).ok();
    let said = match ended(home.command()) {
        Some((false, said)) => said,
        Some((true, said)) => panic!("it ended well: {said}"),
        None => panic!("it started"),
    };
    assert_eq!(
        std::fs::read(db(home)).ok(),
        before,
        "it was changed: {said}"
    );
    assert!(said.contains("leverframe.db"), "names the file: {said}");
    said
}

/// First byte of the page where a table begins.
fn page_of(path: &Path, table: &str) -> u64 {
    let conn =
        rusqlite::Connection::open_with_flags(path, rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY)
            .expect("the database");
    let (page, size): (u64, u64) = conn
        .query_row(
            "SELECT rootpage, (SELECT page_size FROM pragma_page_size) FROM sqlite_schema WHERE name = ?1",
            [table],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .expect("the table");
    (page - 1) * size
}

#[tokio::test]
async fn a_flipped_bit_is_found_after_a_crash() {
    let home = served().await;
    let mut daemon = home.daemon();
    daemon.kill();
    // In a page that the log does not replace: a page of a table that nothing was written to since.
    let at = usize::try_from(page_of(&db(&home), "steps")).expect("a position");
    let mut bytes = std::fs::read(db(&home)).expect("the database");
    bytes[at] ^= 0x04;
    std::fs::write(db(&home), &bytes).expect("the database");
    let said = refused(&home);
    assert!(
        said.contains("leverframe restore"),
        "says what to do: {said}"
    );
    bytes[at] ^= 0x04;
    std::fs::write(db(&home), &bytes).expect("the database");
    sound(&home).await;
    record::fault(
        "bit-flip",
        "one bit of a page flipped, start after kill -9",
        "refused with the file's name and what to do; the database untouched",
    );
}

#[tokio::test]
async fn a_file_that_was_cut_or_is_gone_is_refused() {
    let home = served().await;
    let whole = std::fs::read(db(&home)).expect("the database");
    for (length, word) in [
        (whole.len() / 2, "was cut"),
        (whole.len() - 1, "was cut"),
        (0, "missing or empty"),
    ] {
        std::fs::write(db(&home), &whole[..length]).expect("the database");
        let said = refused(&home);
        assert!(
            said.contains(word) && said.contains("leverframe restore"),
            "{length}: {said}"
        );
    }
    std::fs::remove_file(db(&home)).expect("the database");
    let said = refused(&home);
    assert!(said.contains("missing or empty"), "{said}");
    assert!(!db(&home).exists(), "an empty one was put in its place");
    std::fs::write(db(&home), &whole).expect("the database");
    sound(&home).await;
    record::fault(
        "truncated",
        "database cut in the middle, by one byte, to nothing, and removed",
        "each refused with what to do; nothing put in its place; the whole file works again",
    );
}

#[tokio::test]
async fn without_its_shared_memory_file_it_starts_safely() {
    let home = served().await;
    let mut daemon = home.daemon();
    let session = daemon.session().await;
    let continuation = daemon.send(&session, "SAY:in the log only").await;
    daemon.wait_state(&continuation, "completed").await;
    daemon.kill();
    assert!(std::fs::metadata(wal(&home)).expect("the log").len() > 0);
    std::fs::remove_file(home.data().join("leverframe.db-shm")).expect("the index");
    let mut daemon = home.daemon();
    let seen = daemon
        .get(&format!("/v1/continuations/{continuation}"))
        .await;
    assert_eq!(seen["state"], "completed");
    assert!(daemon.terminate().success());
    sound(&home).await;
    record::fault(
        "missing-shm",
        "kill -9, then the -shm file removed",
        "the daemon starts with all rows of the log",
    );
}

#[tokio::test]
async fn the_log_of_another_database_is_refused() {
    let (home, other) = (served().await, served().await);
    let mut daemon = other.daemon();
    let session = daemon.session().await;
    let continuation = daemon.send(&session, "SAY:of another database").await;
    daemon.wait_state(&continuation, "completed").await;
    daemon.kill();
    std::fs::copy(wal(&other), wal(&home)).expect("the log");
    let said = refused(&home);
    assert!(said.contains("the log of another database"), "{said}");
    // Where it belongs it is welcome.
    let mut daemon = other.daemon();
    let seen = daemon
        .get(&format!("/v1/continuations/{continuation}"))
        .await;
    assert_eq!(seen["state"], "completed");
    assert!(daemon.terminate().success());
    std::fs::remove_file(wal(&home)).expect("the log");
    let _ = std::fs::remove_file(home.data().join("leverframe.db-shm"));
    sound(&home).await;
    record::fault(
        "foreign-wal",
        "the write-ahead log of another database beside this one",
        "refused, nothing changed; starts again without it",
    );
}

/// As a user that is not root, for whom modes mean nothing; skipped where there is no way to be another.
#[tokio::test]
async fn a_directory_that_cannot_be_written_is_refused() {
    let home = served().await;
    let is_root = rustix::process::getuid().is_root();
    let as_nobody = ["--reuid=65534", "--regid=65534", "--clear-groups"];
    let config = home.path().join("config/config.toml");
    let binary = Path::new(env!("CARGO_BIN_EXE_leverframe"));
    let mode = |path: &Path, bits: u32| {
        std::fs::set_permissions(path, PermissionsExt::from_mode(bits)).expect("the mode");
    };
    // Everybody may look, nobody may write.
    for path in [home.path(), &home.path().join("config"), &home.data()] {
        mode(path, 0o755);
    }
    for entry in std::fs::read_dir(home.data())
        .expect("the directory")
        .flatten()
    {
        mode(&entry.path(), 0o444);
    }
    mode(&config, 0o644);
    mode(&home.data(), 0o500);
    let give = |to: &str| {
        tool("chown", &["-R", to, home.path().to_str().expect("UTF-8")]);
    };
    if is_root {
        give("65534:65534");
    }
    let command = if is_root {
        let mut command = Command::new("setpriv");
        command.args(as_nobody).arg(binary);
        command.args(home.command().get_args());
        command
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", home.path());
        command
    } else {
        home.command()
    };
    let (success, said) = ended(command).expect("it ends");
    if is_root && said.contains("setpriv:") {
        missing(
            "setpriv",
            "a data directory that cannot be written",
            &format!("install util-linux ({said})"),
        );
        return;
    }
    assert!(!success, "{said}");
    let data = home.data();
    assert!(
        said.contains(data.to_str().expect("UTF-8")) && said.contains("ermission denied"),
        "names the directory and why: {said}"
    );
    for entry in std::fs::read_dir(home.data())
        .expect("the directory")
        .flatten()
    {
        mode(&entry.path(), 0o600);
    }
    mode(&home.data(), 0o700);
    if is_root {
        give("0:0");
    }
    assert!(tool("ls", &[data.to_str().expect("UTF-8")]).contains("leverframe.db"));
    sound(&home).await;
    record::fault(
        "read-only-directory",
        "a data directory that the process may only read",
        "refused with the path and the reason; starts again when it may write",
    );
}

#[tokio::test]
async fn a_token_file_that_a_broken_start_left_empty_is_made_again() {
    let home = Home::new("");
    std::fs::create_dir(home.data()).unwrap();
    let mode = |path: &Path, bits| {
        std::fs::set_permissions(path, PermissionsExt::from_mode(bits)).unwrap();
    };
    mode(&home.data(), 0o700);
    let token = home.data().join("token");
    std::fs::write(&token, "").unwrap();
    mode(&token, 0o600);
    let daemon = home.daemon();
    assert!(!daemon.token.is_empty());
    daemon.get("/v1/snapshot").await;
    let about = std::fs::metadata(&token).unwrap();
    assert_eq!(about.permissions().mode() & 0o777, 0o600);
}
