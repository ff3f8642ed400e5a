//! The reader of traces on lines as `strace` 6.1 writes them.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use proptest::prelude::*;

use crate::power_loss::trace::{Call, Reader, Record, Scope};

fn scope() -> Scope<'static> {
    Scope {
        root: Path::new("/r"),
        inside: Path::new("/r"),
        journal: Path::new("/j"),
    }
}

/// As the tracer writes bytes.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "\\x{byte:02x}");
        text
    })
}

fn path(text: &str) -> String {
    hex(text.as_bytes())
}

fn read(lines: &[String]) -> Result<Vec<Record>, String> {
    let mut reader = Reader::default();
    reader
        .process(&lines.join("\n"), &scope())
        .map_err(|unclear| unclear.0)?;
    reader.finish(&scope()).map_err(|unclear| unclear.0)
}

fn calls(lines: &[String]) -> Vec<Call> {
    read(lines)
        .unwrap()
        .into_iter()
        .map(|record| record.call)
        .collect()
}

fn write(at: Option<u64>, data: &[u8]) -> Call {
    Call::Write {
        path: PathBuf::from("/r/f"),
        at,
        data: data.to_owned(),
    }
}

#[test]
fn plain_lines_are_understood() {
    let f = path("/r/f");
    let cwd = path("/r");
    let lines = [
        format!(
            r#"7  openat(AT_FDCWD<{cwd}>, "{}", O_RDWR|O_CREAT|O_CLOEXEC, 0600) = 9<{f}>"#,
            path("f")
        ),
        format!(r#"7  pwrite64(9<{f}>, "{}", 3, 4096) = 3"#, hex(b"a,)")),
        // Short: only what was taken.
        format!(r#"7  pwrite64(9<{f}>, "{}", 3, 0) = 2"#, hex(b"xyz")),
        format!(
            r#"7  pwrite64(9<{f}>, "{}", 3, 0) = -1 EIO (Input/output error) (INJECTED)"#,
            hex(b"xyz")
        ),
        format!("7  fsync(9<{f}>)        = 0"),
        format!("7  fdatasync(9<{f}>) = -1 ENOSPC (No space left on device)"),
        format!("7  ftruncate(9<{f}>, 512)  = 0"),
        format!("7  fallocate(9<{f}>, 0, 512, 1024) = 0"),
        format!(r#"7  rename("{f}", "{}") = 0"#, path("/r/g")),
        format!(
            r#"7  renameat2(AT_FDCWD<{cwd}>, "{}", AT_FDCWD<{cwd}>, "{}", 0) = 0"#,
            path("g"),
            path("/r/f")
        ),
        format!(r#"7  unlink("{f}") = 0"#),
        format!(r#"7  write(9<{f}>(deleted), "{}", 1) = 1"#, hex(b"2")),
        format!(
            r#"7  unlinkat(AT_FDCWD<{cwd}>, "{}", AT_REMOVEDIR) = 0"#,
            path("d")
        ),
        format!(r#"7  mkdir("{}", 0700) = 0"#, path("/r/d")),
        format!(
            r#"7  bind(9<UNIX-STREAM:[12]>, {{sa_family=AF_UNIX, sun_path="{}"}}, 12) = 0"#,
            path("/r/s")
        ),
        format!(r#"7  unlink("{}") = 0"#, path("/elsewhere/f")),
        format!(
            r#"7  execve("{}", ["{}", "{}"], 0x7ffc /* 3 vars */) = 0"#,
            path("/bin/sh"),
            hex(b"sh"),
            hex(b"-c, [")
        ),
        "7  --- SIGCHLD {si_signo=SIGCHLD, si_code=CLD_EXITED} ---".to_owned(),
        "7  +++ exited with 0 +++".to_owned(),
    ];
    let f = || PathBuf::from("/r/f");
    assert_eq!(
        calls(&lines),
        [
            Call::Open {
                path: f(),
                create: true,
                empty: false
            },
            write(Some(4096), b"a,)"),
            write(Some(0), b"xy"),
            Call::Sync { path: f() },
            Call::Resize {
                path: f(),
                length: 512
            },
            Call::Grow {
                path: f(),
                length: 1536
            },
            Call::Rename {
                from: f(),
                to: PathBuf::from("/r/g")
            },
            Call::Rename {
                from: PathBuf::from("/r/g"),
                to: f()
            },
            Call::Unlink { path: f() },
            Call::RemoveDirectory {
                path: PathBuf::from("/r/d")
            },
            Call::MakeDirectory {
                path: PathBuf::from("/r/d")
            },
            Call::Open {
                path: PathBuf::from("/r/s"),
                create: true,
                empty: false
            },
            Call::Execute {
                arguments: vec!["sh".to_owned(), "-c, [".to_owned()]
            },
        ]
    );
}

#[test]
fn sockets_and_vectors_are_understood() {
    let socket = "4<TCP:[127.0.0.1:43470->127.0.0.1:43331]>";
    let lines = [
        format!(r#"7  write({socket}, "{}", 2) = 2"#, hex(b"hi")),
        format!(
            r#"7  sendto({socket}, "{}", 2, MSG_NOSIGNAL, NULL, 0) = 2"#,
            hex(b"xx")
        ),
        format!(
            r#"7  writev({socket}, [{{iov_base="{}", iov_len=1}}, {{iov_base="{}", iov_len=2}}], 2) = 2"#,
            hex(b"a"),
            hex(b"bc")
        ),
        format!(
            r#"7  sendmsg({socket}, {{msg_name=NULL, msg_namelen=0, msg_iov=[{{iov_base="{}", iov_len=1}}, {{iov_base="{}", iov_len=2}}], msg_iovlen=2, msg_controllen=0, msg_flags=0}}, 0) = 3"#,
            hex(b"q"),
            hex(b"rr")
        ),
        format!(
            r#"7  write(2<{}>, "{}", 1) = 1"#,
            hex(b"pipe:[12]"),
            hex(b"n")
        ),
        format!(
            r#"7  write(5<{}<char 1:3>>, "{}", 1) = 1"#,
            path("/dev/null"),
            hex(b"n")
        ),
    ];
    let sent: Vec<Vec<u8>> = calls(&lines)
        .into_iter()
        .map(|call| match call {
            Call::Send { data, .. } => data,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(sent, [&b"hi"[..], b"xx", b"ab", b"qrr"]);
}

#[test]
fn calls_of_several_threads_keep_their_places() {
    let f = path("/r/f");
    let lines = [
        format!("7  fsync(9<{f}> <unfinished ...>"),
        format!(
            r#"8  pwrite64(9<{f}>, "{}", 1, 5 <unfinished ...>"#,
            hex(b"a")
        ),
        "7  <... fsync resumed>)              = 0".to_owned(),
        "8  <... pwrite64 resumed>)           = 1".to_owned(),
        format!(
            r#"8  pwrite64(9<{f}>, "{}", 1, 6 <unfinished ...>"#,
            hex(b"b")
        ),
        "8  +++ killed by SIGKILL +++".to_owned(),
    ];
    let records = read(&lines).unwrap();
    let places: Vec<_> = records
        .iter()
        .map(|record| (record.began, record.ended))
        .collect();
    assert_eq!(places, [(0, Some(2)), (1, Some(3)), (4, None)]);
    assert_eq!(records[2].call, write(Some(6), b"b"));
}

#[test]
fn plain_writes_go_on_where_the_last_one_ended() {
    let f = path("/r/f");
    let open = |flags: &str| format!(r#"7  openat(AT_FDCWD<{f}>, "{f}", {flags}, 0600) = 9<{f}>"#);
    let plain = |text: &[u8]| format!(r#"7  write(9<{f}>, "{}", {}) = {1}"#, hex(text), text.len());
    let lines = [
        open("O_WRONLY|O_CREAT|O_TRUNC"),
        plain(b"ab"),
        plain(b"c"),
        format!("7  lseek(9<{f}>, 1, SEEK_SET) = 1"),
        plain(b"d"),
        open("O_WRONLY|O_APPEND"),
        plain(b"e"),
    ];
    let found: Vec<Call> = calls(&lines)
        .into_iter()
        .filter(|call| matches!(call, Call::Write { .. }))
        .collect();
    assert_eq!(
        found,
        [
            write(Some(0), b"ab"),
            write(Some(2), b"c"),
            write(Some(1), b"d"),
            write(None, b"e")
        ]
    );
}

#[test]
fn what_is_not_understood_is_refused() {
    let f = path("/r/f");
    for (line, why) in [
        (
            format!(r#"7  pwrite64(9<{f}>, "{}"..., 9, 0) = 9"#, hex(b"cut")),
            "not a whole string",
        ),
        (
            format!(r#"7  write(9<{f}>, "{}", 1) = 1"#, hex(b"a")),
            "not seen being opened",
        ),
        (
            format!("7  fallocate(9<{f}>, FALLOC_FL_PUNCH_HOLE, 0, 9) = 0"),
            "not modelled",
        ),
        (
            format!(r#"7  rename("{f}", "{}") = 0"#, path("/elsewhere")),
            "across the root",
        ),
        (format!("7  io_uring_enter(9<{f}>, 1) = 0"), "not known"),
        ("7  <... fsync resumed>) = 0".to_owned(), "never began"),
        (r#"7  unlink("/r/f") = 0"#.to_owned(), "not hexadecimal"),
    ] {
        let said = read(&[line]).unwrap_err();
        assert!(said.contains(why), "{said}");
    }
}

proptest! {
    #[test]
    fn any_bytes_come_back(data in prop::collection::vec(any::<u8>(), 0..200), at in any::<u32>(), cut in any::<bool>()) {
        let f = path("/r/f");
        let start = format!(r#"7  pwrite64(9<{f}>, "{}", {}, {at}"#, hex(&data), data.len());
        let end = format!(") = {}", data.len());
        let lines = if cut {
            vec![format!("{start} <unfinished ...>"), format!("8  fsync(9<{f}>) = 0"), format!("7  <... pwrite64 resumed>{end}")]
        } else {
            vec![format!("{start}{end}")]
        };
        let found = calls(&lines);
        prop_assert_eq!(found.last(), Some(&write(Some(u64::from(at)), &data)));
    }
}
