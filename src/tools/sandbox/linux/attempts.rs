//! What a program must not be able to do, tried from inside: the engine runs this in the real profile at start.
//!
//! An attempt opens, connects or asks; it changes nothing that it is not given for that purpose.

use std::net::{TcpStream, UdpSocket};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{CWD, Mode, OFlags};
use rustix::process::{Pid, test_kill_process};
use rustix::thread::UnshareFlags;
use serde::{Deserialize, Serialize};

use crate::tools::sandbox::attempt::Attempt;

/// Deepest level of `/proc` and `/sys` looked at, and most files of them that are tried.
const DEPTH: usize = 6;
const MAX_FILES: usize = 20_000;
/// Files of `/sys` by which root changes the host.
const SYS: [&str; 4] = [
    "/sys/kernel/uevent_helper",
    "/sys/power/state",
    "/sys/fs/cgroup/cgroup.procs",
    "/sys/kernel/mm/transparent_hugepage/enabled",
];
/// An address of documentation (RFC 5737): connecting a datagram socket to it sends nothing, but needs a route.
const ELSEWHERE: &str = "192.0.2.1:9";

/// What the attempts aim at.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Targets {
    /// Where the program may write.
    pub workspace: PathBuf,
    /// A file outside the workspace that the user of the engine may write, and whose directory too.
    pub outside: PathBuf,
    /// A file in a directory that is hidden from tools.
    pub secret: PathBuf,
    /// Port of a TCP listener on the loopback interface.
    pub tcp: u16,
    /// Port of a UDP socket there.
    pub udp: u16,
    /// A unix socket beside the secret.
    pub socket: PathBuf,
    /// A unix socket in the abstract name space.
    pub name: String,
    /// A process that is not the program's, and when it started (field 22 of its `stat`).
    pub process: (i32, String),
}

impl Targets {
    /// A file beside the one outside, which is not there.
    pub fn beside(&self) -> PathBuf {
        self.outside.with_extension("new")
    }
}

/// How the attempts went.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// Whether the workspace can be written, which it should be.
    pub inside: bool,
    /// What worked, and on what.
    pub worked: Vec<(Attempt, String)>,
}

/// Tries everything. The process must have one thread: the last attempt changes its user namespace.
pub fn run(targets: &Targets) -> Report {
    let mut worked = Vec::new();
    let mut attempt = |what: Attempt, on: &str, done: bool| {
        if done {
            worked.push((what, on.to_owned()));
        }
    };
    for path in kernel_files() {
        let opened = std::fs::OpenOptions::new().write(true).open(&path);
        attempt(Attempt::Kernel, &path.to_string_lossy(), opened.is_ok());
    }
    attempt(
        Attempt::Outside,
        &targets.outside.to_string_lossy(),
        change(&targets.outside),
    );
    // In a `/tmp` of its own this makes a file that the host does not see; the host looks.
    let _ = std::fs::write(targets.beside(), "x");
    for place in ["/", "/etc", "/usr", "/dev", "/var", "/run", "/root"].map(Path::new) {
        // A file without a name, gone when it is closed.
        let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
        let opened = rustix::fs::openat(CWD, place, flags, Mode::RUSR | Mode::WUSR);
        attempt(Attempt::Outside, &place.to_string_lossy(), opened.is_ok());
    }
    attempt(
        Attempt::Data,
        &targets.secret.to_string_lossy(),
        std::fs::read(&targets.secret).is_ok(),
    );
    let tcp = std::net::SocketAddr::from(([127, 0, 0, 1], targets.tcp));
    attempt(
        Attempt::Network,
        "TCP",
        TcpStream::connect_timeout(&tcp, Duration::from_secs(1)).is_ok(),
    );
    if let Ok(socket) = UdpSocket::bind("0.0.0.0:0") {
        // Whether it arrives is for the one who listens to say.
        let _ = socket.send_to(b"x", ("127.0.0.1", targets.udp));
        attempt(
            Attempt::Network,
            "a route",
            socket.connect(ELSEWHERE).is_ok(),
        );
    }
    attempt(
        Attempt::Socket,
        &targets.socket.to_string_lossy(),
        UnixStream::connect(&targets.socket).is_ok(),
    );
    let abstract_name = SocketAddr::from_abstract_name(&targets.name)
        .and_then(|address| UnixStream::connect_addr(&address));
    attempt(Attempt::Socket, &targets.name, abstract_name.is_ok());
    attempt(Attempt::Signal, "a process", can_signal(&targets.process));
    let inside = std::fs::write(targets.workspace.join("inside"), "x").is_ok();
    attempt(Attempt::Namespace, "a user namespace", own_namespace());
    Report { inside, worked }
}

/// Changes a file that is there.
fn change(path: &Path) -> bool {
    use std::io::Write as _;
    let opened = std::fs::OpenOptions::new().write(true).open(path);
    opened.is_ok_and(|mut file| file.write_all(b"changed").is_ok())
}

/// When a process started, by which it is told from another with its number.
pub fn started(process: i32) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name, in brackets, may hold anything; the 22nd field is the 20th after it.
    let (_, fields) = stat.rsplit_once(") ")?;
    fields.split(' ').nth(19).map(str::to_owned)
}

fn can_signal((process, began): &(i32, String)) -> bool {
    let alive = Pid::from_raw(*process).is_some_and(|pid| test_kill_process(pid).is_ok());
    // Where its start cannot be read the number alone decides.
    alive && started(*process).is_none_or(|start| start == *began)
}

#[expect(
    deprecated,
    reason = "its replacement is unsafe, which this crate forbids; this process has one thread"
)]
fn own_namespace() -> bool {
    rustix::thread::unshare(UnshareFlags::NEWUSER).is_ok()
}

/// The files of `/proc` that belong to no process, and the known ones of `/sys`.
fn kernel_files() -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = SYS.iter().map(PathBuf::from).collect();
    let top = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    for entry in top {
        let of_process = entry
            .file_name()
            .as_encoded_bytes()
            .first()
            .is_some_and(u8::is_ascii_digit);
        if !of_process {
            collect(&entry.path(), DEPTH, &mut files);
        }
    }
    files
}

fn collect(path: &Path, depth: usize, files: &mut Vec<PathBuf>) {
    let Ok(found) = std::fs::symlink_metadata(path) else {
        return;
    };
    if found.is_file() && files.len() < MAX_FILES {
        files.push(path.to_owned());
    } else if found.is_dir() && depth > 0 {
        for entry in std::fs::read_dir(path).into_iter().flatten().flatten() {
            collect(&entry.path(), depth - 1, files);
        }
    }
}
