//! SPEC A11: what a confined program cannot do, each with a control run that shows that an unconfined one
//! can.

use std::io::Read as _;
use std::net::{TcpListener, UdpSocket};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use leverframe::tools::executable_places::ExecutablePlaces;
use leverframe::tools::guard::Guard;
use leverframe::tools::sandbox::{Program, Sandbox, WorkspaceError, check_workspace};
use serde_json::json;

use crate::tools::harness::{Bench, confined, places, text};

/// Tries everything and says of each try how it went.
const TRIES: &str = r#"
import socket, sys, os
token, sock, tcp, udp, outside = sys.argv[1:6]
def attempt(name, action):
    try:
        print(name, "worked", action(), flush=True)
    except OSError as error:
        print(name, "failed", type(error).__name__, flush=True)
def unix():
    s = socket.socket(socket.AF_UNIX); s.settimeout(5); s.connect(sock); s.sendall(b"approve"); return ""
def tcp_():
    s = socket.create_connection(("127.0.0.1", int(tcp)), 5); s.sendall(b"approve"); return ""
def udp_():
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.sendto(b"approve", ("127.0.0.1", int(udp))); return ""
def abstract():
    s = socket.socket(socket.AF_UNIX); s.settimeout(5); s.connect("\0" + sock); return ""
def write():
    open(outside, "w").write("evil"); return ""
attempt("read", lambda: open(token).read())
attempt("list", lambda: sorted(os.listdir(os.path.dirname(token))))
attempt("unix", unix)
attempt("abstract", abstract)
attempt("tcp", tcp_)
attempt("udp", udp_)
attempt("write", write)
attempt("interfaces", lambda: [name for _, name in socket.if_nameindex()])
attempt("inside", lambda: open("inside", "w").write("fine"))
"#;

struct Targets {
    unix: UnixListener,
    _abstract: UnixListener,
    tcp: TcpListener,
    udp: UdpSocket,
    argv: Vec<String>,
    /// Not below `/tmp`, of which a confined program has its own.
    outside: PathBuf,
    _elsewhere: tempfile::TempDir,
}

fn targets(bench: &Bench) -> Targets {
    use std::os::linux::net::SocketAddrExt as _;
    let (token, socket) = (
        bench.hidden.join("token"),
        bench.hidden.join("control.sock"),
    );
    std::fs::write(&token, "secret-token").unwrap();
    let unix = UnixListener::bind(&socket).unwrap();
    let name =
        std::os::unix::net::SocketAddr::from_abstract_name(socket.to_str().unwrap()).unwrap();
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
    udp.set_read_timeout(Some(std::time::Duration::from_millis(500)))
        .unwrap();
    unix.set_nonblocking(true).unwrap();
    tcp.set_nonblocking(true).unwrap();
    let elsewhere = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let outside = elsewhere.path().join("outside");
    let argv = ["python3", "-c", TRIES]
        .map(str::to_owned)
        .into_iter()
        .chain([
            token.display().to_string(),
            socket.display().to_string(),
            tcp.local_addr().unwrap().port().to_string(),
            udp.local_addr().unwrap().port().to_string(),
            outside.display().to_string(),
        ])
        .collect();
    Targets {
        unix,
        _abstract: UnixListener::bind_addr(&name).unwrap(),
        tcp,
        udp,
        argv,
        outside,
        _elsewhere: elsewhere,
    }
}

fn has_python() -> bool {
    let found =
        Path::new("/usr/bin/python3").exists() || Path::new("/usr/local/bin/python3").exists();
    if !found {
        crate::support::requirement::missing(
            "/usr/bin/python3",
            "what a confined program reaches",
            "install python3",
        );
    }
    found
}

#[tokio::test]
async fn a_confined_program_reaches_nothing_of_ours() {
    if !has_python() {
        return;
    }
    // Control: without the sandbox the very same command does all of it.
    let free = Bench::new();
    let there = targets(&free);
    let outcome = free
        .call("execute_command", json!({"argv": there.argv}))
        .await;
    for name in [
        "read", "list", "unix", "abstract", "tcp", "udp", "write", "inside",
    ] {
        assert!(
            outcome.content.contains(&format!("{name} worked")),
            "{name}: {}",
            outcome.content
        );
    }
    assert!(outcome.content.contains("secret-token"));
    assert!(there.unix.accept().is_ok() && there.tcp.accept().is_ok());
    assert!(there.udp.recv(&mut [0; 16]).is_ok());
    assert_eq!(text(&there.outside), "evil");

    let Some(bench) = confined() else { return };
    let here = targets(&bench);
    let outcome = bench
        .call("execute_command", json!({"argv": here.argv}))
        .await;
    assert!(
        outcome.content.starts_with("exit status 0"),
        "{}",
        outcome.content
    );
    for name in ["read", "list", "unix", "abstract", "tcp", "write"] {
        assert!(
            outcome.content.contains(&format!("{name} failed")),
            "{name}: {}",
            outcome.content
        );
    }
    assert!(!outcome.content.contains("secret-token"));
    assert!(
        outcome.content.contains("inside worked"),
        "{}",
        outcome.content
    );
    assert_eq!(text(&bench.workspace.join("inside")), "fine");
    assert!(here.unix.accept().is_err() && here.tcp.accept().is_err());
    // A datagram leaves for the loopback of its own network and for nowhere else.
    assert!(
        outcome.content.contains("interfaces worked ['lo']"),
        "{}",
        outcome.content
    );
    assert!(here.udp.recv(&mut [0; 16]).is_err());
    assert!(!here.outside.exists());
}

#[tokio::test]
async fn a_confined_program_sees_a_small_read_only_world() {
    let Some(bench) = confined() else { return };
    std::fs::write(bench.root.join("beside"), "x").unwrap();
    let shell = async |script: &str| {
        bench
            .call("execute_command", json!({"script": script}))
            .await
            .content
    };
    let world = shell("ls -a /root /home /run /var; ls /; cat /proc/self/status | grep CapEff; ps ax 2>/dev/null | wc -l; ls -d /proc/[0-9]* | wc -l").await;
    assert!(world.contains("CapEff:\t0000000000000000"), "{world}");
    for gone in ["/work", "/srv", "/mnt", "/boot", "/sys"] {
        assert!(
            !world.lines().any(|line| line == &gone[1..]),
            "{gone}: {world}"
        );
    }
    for place in [
        "/etc/x", "/usr/x", "/x", "/root/x", "/home/x", "/var/x", "/run/x", "/opt/x", "/dev/x",
    ] {
        let written = shell(&format!("echo evil > {place} && echo WROTE")).await;
        assert!(!written.contains("WROTE"), "{place}: {written}");
    }
    let beside = shell(&format!(
        "cat {}/beside; ls {}",
        bench.root.display(),
        bench.root.display()
    ))
    .await;
    assert!(
        beside.contains("No such file") && beside.ends_with("workspace\n"),
        "{beside}"
    );
    let own = shell("echo x > /tmp/own && cat /tmp/own && echo x > here && cat here").await;
    assert!(own.contains("x\nx\n"), "{own}");
    assert!(!Path::new("/tmp/own").exists());
    let mount = shell("mount -o remount,rw /usr 2>&1; mount -t tmpfs x /mnt 2>&1; umount /etc/shadow 2>&1; cat /etc/shadow /etc/gshadow 2>&1").await;
    assert!(!mount.contains("root:"), "{mount}");
    let escape = shell("ls /proc/1/root/ 2>&1; ls /proc/self/root/home/x 2>&1; cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n' | grep -c CARGO").await;
    assert!(escape.ends_with("0\n"), "{escape}");
}

#[tokio::test]
async fn hidden_directories_below_what_is_visible_are_empty() {
    let Some(mut bench) = confined() else { return };
    bench.put("inner/token", "secret");
    bench.hidden = bench.workspace.join("inner");
    let content = bench
        .call(
            "execute_command",
            json!({"script": "ls -A inner | wc -l; cat inner/token; echo x > inner/new"}),
        )
        .await
        .content;
    assert!(
        content.contains("\n0\n") && !content.contains("secret"),
        "{content}"
    );
    assert!(!bench.workspace.join("inner/new").exists());
}

#[tokio::test]
async fn git_hooks_and_configuration_stay_as_they_are() {
    let Some(bench) = confined() else { return };
    bench.put(".git/config", "[core]\n");
    bench.put(".git/hooks/post-commit", "x");
    bench.put(".git/HEAD", "ref");
    let script = "echo evil > .git/config; echo evil > .git/hooks/pre-push; rm -rf .git/hooks; mv .git other; \
                  mv .git/config away; echo new > .git/HEAD; echo finished";
    let content = bench
        .call("execute_command", json!({"script": script}))
        .await
        .content;
    assert!(content.contains("finished"), "{content}");
    assert_eq!(text(&bench.workspace.join(".git/config")), "[core]\n");
    assert_eq!(text(&bench.workspace.join(".git/hooks/post-commit")), "x");
    assert!(!bench.workspace.join(".git/hooks/pre-push").exists());
    assert_eq!(
        text(&bench.workspace.join(".git/HEAD")),
        "new\n",
        "the rest of .git is the program's"
    );
}

#[tokio::test]
async fn a_link_swapped_in_before_the_start_stops_it() {
    let Some(bench) = confined() else { return };
    std::fs::write(bench.hidden.join("token"), "secret").unwrap();
    let hooks = bench.put(".git/hooks/x", "x").parent().unwrap().to_owned();
    let arguments = ["-c", "touch started; cat .git/hooks/token"].map(str::to_owned);
    let guard = Guard::of(bench.workspace.clone(), vec![bench.hidden.clone()]);
    let protected = ExecutablePlaces::scan(&guard).unwrap();
    let mut command = Sandbox::find(&places()).command(&Program {
        workspace: &bench.workspace,
        hidden: std::slice::from_ref(&bench.hidden),
        readable: &[],
        writable: &[],
        protected: protected.list(),
        cwd: &bench.workspace,
        executable: Path::new("/bin/sh"),
        arguments: &arguments,
        environment: &[("PATH".to_owned(), "/usr/bin:/bin".to_owned())],
        files: &bench.workspace,
        max_file: 1 << 30,
        service: None,
    });
    assert!(
        command.output().unwrap().status.code() != Some(125),
        "nothing changed: it runs"
    );
    assert!(bench.workspace.join("started").exists());
    std::fs::remove_file(bench.workspace.join("started")).unwrap();
    // The options are made; now another directory takes the place, as one reached through a link would.
    std::fs::rename(&hooks, bench.workspace.join("away")).unwrap();
    std::fs::create_dir(&hooks).unwrap();
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(125), "{output:?}");
    assert!(!bench.workspace.join("started").exists());
    // And a link, as another program might do it.
    std::fs::remove_dir_all(&hooks).unwrap();
    std::os::unix::fs::symlink(&bench.hidden, &hooks).unwrap();
    let output = command.output().unwrap();
    assert!(
        !String::from_utf8_lossy(&output.stdout).contains("secret"),
        "{output:?}"
    );
    assert!(
        !output.status.success() && !bench.workspace.join("started").exists(),
        "{output:?}"
    );
}

#[tokio::test]
async fn a_link_in_place_of_git_shows_nothing() {
    let Some(bench) = confined() else { return };
    std::fs::write(bench.hidden.join("config"), "secret").unwrap();
    std::fs::create_dir(bench.hidden.join("hooks")).unwrap();
    std::os::unix::fs::symlink(&bench.hidden, bench.workspace.join(".git")).unwrap();
    let script = "cat .git/config; ls .git/hooks; echo finished";
    let content = bench
        .call("execute_command", json!({"script": script}))
        .await
        .content;
    assert!(
        content.contains("finished") && !content.contains("secret"),
        "{content}"
    );
    std::fs::remove_file(bench.workspace.join(".git")).unwrap();
    std::fs::create_dir(bench.workspace.join(".git")).unwrap();
    std::os::unix::fs::symlink(
        bench.hidden.join("config"),
        bench.workspace.join(".git/config"),
    )
    .unwrap();
    let content = bench
        .call("execute_command", json!({"script": script}))
        .await
        .content;
    assert!(
        content.contains("finished") && !content.contains("secret"),
        "{content}"
    );
}

#[tokio::test]
async fn memory_is_limited() {
    if !has_python() {
        return;
    }
    let Some(bench) = confined() else { return };
    let take = |bytes: u64| json!({"argv": ["python3", "-c", format!("x = bytearray({bytes}); print('taken')")]});
    let small = bench.call("execute_command", take(100 << 20)).await;
    assert!(small.content.contains("taken"), "{}", small.content);
    let large = bench.call("execute_command", take(2 << 30)).await;
    assert!(large.content.contains("MemoryError"), "{}", large.content);
}

#[test]
fn a_workspace_that_overlaps_ours_is_refused() {
    let bench = Bench::new();
    let hidden = [
        bench.hidden.clone(),
        bench.root.join("config/not-there-yet"),
    ];
    std::os::unix::fs::symlink(&bench.hidden, bench.root.join("door")).unwrap();
    for workspace in [
        bench.hidden.clone(),
        bench.hidden.join("inner"),
        bench.root.clone(),
        bench.root.join("door"),
        bench.root.join("door/new/deep"),
        bench.root.join("config"),
        bench.root.join("workspace/../data"),
    ] {
        let refused = check_workspace(&workspace, &hidden);
        assert!(
            matches!(refused, Err(WorkspaceError::Overlaps { .. })),
            "{workspace:?}: {refused:?}"
        );
        assert!(refused.unwrap_err().to_string().contains("overlap"));
    }
    for workspace in [
        "/",
        "/usr",
        "/etc",
        "/etc/x",
        "/proc/self",
        "/root",
        "/home",
        "/tmp",
        "/usr/bin",
    ] {
        let refused = check_workspace(Path::new(workspace), &hidden);
        assert!(
            matches!(refused, Err(WorkspaceError::System { .. })),
            "{workspace}: {refused:?}"
        );
    }
    assert!(check_workspace(Path::new("relative"), &hidden).is_err());
    std::os::unix::fs::symlink("nowhere", bench.root.join("dangling")).unwrap();
    assert!(check_workspace(&bench.root.join("dangling"), &hidden).is_err());
    // Beside, even with a name that begins alike.
    for workspace in [
        bench.workspace.clone(),
        bench.root.join("data-workspaces/team"),
    ] {
        assert_eq!(
            check_workspace(&workspace, &hidden),
            Ok(()),
            "{workspace:?}"
        );
    }
}

#[test]
fn the_level_is_said_in_words() {
    let none = Sandbox::none("bubblewrap is not installed");
    assert_eq!(none.level_word(), "none (bubblewrap is not installed)");
    assert_eq!(none.describe(), "unsandboxed");
    let probed = Sandbox::find(&places());
    if probed.is_confined() {
        assert_eq!(probed.level_word(), "bubblewrap");
        assert_eq!(probed.describe(), "bubblewrap: workspace only, no network");
    } else {
        eprintln!("this machine: {}", probed.level_word());
        assert!(probed.always_asks().is_some_and(|why| !why.is_empty()));
    }
    let mut word = String::new();
    probed
        .level_word()
        .as_bytes()
        .read_to_string(&mut word)
        .unwrap();
    assert!(!word.contains('\n'));
}
