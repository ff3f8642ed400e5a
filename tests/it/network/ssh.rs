//! `attach ssh://…` through a real `sshd` on loopback, as a user who may log in with a key.

use std::io::Write as _;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::console_pty::steps::quit;
use crate::network::run;
use crate::support::daemon::{DEADLINE, Home};
use crate::support::pty::Pty;
use crate::support::requirement::missing;

const SSHD: &str = "/usr/sbin/sshd";

/// An `sshd` that lets one key in, and a folder with an `ssh` that knows this key and this server.
struct Server {
    child: Child,
    port: u16,
    folder: tempfile::TempDir,
}

impl Server {
    fn start() -> Option<Self> {
        if !Path::new(SSHD).exists() {
            missing("sshd", "`attach ssh://`", "install openssh-server");
            return None;
        }
        let folder = tempfile::Builder::new().prefix("lfssh").tempdir().unwrap();
        let file = |name: &str| folder.path().join(name);
        for name in ["host", "own"] {
            let made = Command::new("ssh-keygen")
                .args(["-q", "-t", "ed25519", "-N", "", "-f"])
                .arg(file(name))
                .status();
            assert!(made.unwrap().success());
        }
        if rustix::process::geteuid().is_root() {
            // What the service of the system makes at its start.
            std::fs::create_dir_all("/run/sshd").unwrap();
        }
        let port = free_port();
        let (host, own, pid) = (file("host"), file("own"), file("pid"));
        std::fs::write(
            file("sshd_config"),
            format!(
                "ListenAddress 127.0.0.1\nPort {port}\nHostKey {}\nPidFile {}\nAuthorizedKeysFile {}\n\
                 StrictModes no\nUsePAM no\nPasswordAuthentication no\nPermitRootLogin prohibit-password\n",
                host.display(),
                pid.display(),
                file("own.pub").display()
            ),
        )
        .unwrap();
        let public = std::fs::read_to_string(file("host.pub")).unwrap();
        std::fs::write(file("known"), format!("[127.0.0.1]:{port} {public}")).unwrap();
        std::fs::write(
            file("ssh_config"),
            format!(
                "Host *\nIdentityFile {}\nIdentitiesOnly yes\nUserKnownHostsFile {}\nGlobalKnownHostsFile /dev/null\n",
                own.display(),
                file("known").display()
            ),
        )
        .unwrap();
        std::fs::create_dir(file("bin")).unwrap();
        let mut ssh = std::fs::File::create(file("bin/ssh")).unwrap();
        writeln!(
            ssh,
            "#!/bin/sh\nexec /usr/bin/ssh -F {} \"$@\"",
            file("ssh_config").display()
        )
        .unwrap();
        ssh.set_permissions(PermissionsExt::from_mode(0o755))
            .unwrap();
        drop(ssh);
        let child = serve(folder.path());
        let server = Self {
            child,
            port,
            folder,
        };
        server.wait_up();
        Some(server)
    }

    fn wait_up(&self) {
        let deadline = Instant::now() + DEADLINE;
        while std::net::TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            assert!(
                Instant::now() < deadline,
                "sshd does not listen: {}",
                self.log()
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    /// Ends the connections that are open, and the server.
    fn stop(&mut self) {
        for id in children_of(self.child.id()) {
            let pid = rustix::process::Pid::from_raw(i32::try_from(id).unwrap()).unwrap();
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// `attach` on the socket of a daemon.
    fn attach(&self, elsewhere: &Home, address: &str, plain: bool) -> Command {
        let mut command = elsewhere.command();
        let path = format!(
            "{}:/usr/local/bin:/usr/bin:/bin",
            self.folder.path().join("bin").display()
        );
        command.env("PATH", path);
        if plain {
            command.arg("--plain");
        }
        command.args(["attach", address]);
        command
    }

    fn address(&self, socket: &Path) -> String {
        let user = Command::new("id").arg("-un").output().unwrap().stdout;
        let user = String::from_utf8(user).unwrap();
        format!(
            "ssh://{}@127.0.0.1:{}{}",
            user.trim(),
            self.port,
            socket.display()
        )
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

fn serve(folder: &Path) -> Child {
    Command::new(SSHD)
        .args(["-D", "-E"])
        .arg(folder.join("log"))
        .arg("-f")
        .arg(folder.join("sshd_config"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

/// Every process below this one.
fn children_of(id: u32) -> Vec<u32> {
    let threads = std::fs::read_dir(format!("/proc/{id}/task"))
        .into_iter()
        .flatten();
    let direct = threads
        .map_while(Result::ok)
        .map(|thread| std::fs::read_to_string(thread.path().join("children")).unwrap_or_default());
    let direct = direct.collect::<String>();
    let direct = direct.split_whitespace().map(|word| word.parse().unwrap());
    direct
        .flat_map(|child: u32| [vec![child], children_of(child)].concat())
        .collect()
}

/// Processes of `ssh` below this one.
fn tunnels_of(id: u32) -> Vec<u32> {
    let name = |id: &u32| std::fs::read_to_string(format!("/proc/{id}/comm")).unwrap_or_default();
    children_of(id)
        .into_iter()
        .filter(|id| name(id).trim() == "ssh")
        .collect()
}

fn socket(home: &Home) -> PathBuf {
    home.data().join("leverframe.sock")
}

#[tokio::test(flavor = "multi_thread")]
async fn the_tunnel_carries_the_console_comes_back_and_goes_with_it() {
    let Some(mut server) = Server::start() else {
        return;
    };
    let (home, elsewhere) = (Home::new(""), Home::new(""));
    let daemon = home.daemon();
    let address = server.address(&socket(&home));
    let mut pty = Pty::start(&server.attach(&elsewhere, &address, false), 160, 40);
    pty.see("attached to ssh://");
    daemon.session().await;
    let own = u32::try_from(pty.pid().as_raw_nonzero().get()).unwrap();
    let first = tunnels_of(own);
    assert_eq!(first.len(), 1, "{first:?}");

    // The server goes, with every connection; then it is back.
    server.stop();
    pty.see("NOT CONNECTED");
    server.child = serve(server.folder.path());
    server.wait_up();
    pty.gone("NOT CONNECTED");
    let second = tunnels_of(own);
    assert!(second.len() == 1 && second != first, "{first:?} {second:?}");
    quit(&mut pty, "quit");
    assert_eq!(pty.wait_exit(), Some(0));
    let deadline = Instant::now() + DEADLINE;
    while Path::new(&format!("/proc/{}", second[0])).exists() {
        assert!(Instant::now() < deadline, "ssh goes on after the console");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[test]
fn a_login_that_fails_and_a_machine_without_a_daemon_are_said_before_the_screen() {
    let Some(server) = Server::start() else {
        return;
    };
    let elsewhere = Home::new("");
    let said = |command: &mut Command| {
        let output = command.output().unwrap();
        assert!(!output.status.success(), "{output:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let nowhere = server.address(Path::new("/nowhere/leverframe.sock"));
    let words = said(&mut server.attach(&elsewhere, &nowhere, true));
    assert!(
        words.contains("there is no socket /nowhere/leverframe.sock"),
        "{words}"
    );
    let stranger = format!("ssh://nobody-here@127.0.0.1:{}", server.port);
    let words = said(&mut server.attach(&elsewhere, &stranger, true));
    assert!(
        words.contains("could not log in") && words.contains("Permission denied"),
        "{words}"
    );
    for bad in [
        "ssh://",
        "ssh://-oProxyCommand=x",
        "ssh://a@b;c",
        "ssh://host/pa th",
        "ssh://host:port",
    ] {
        let output = run(&elsewhere, &["--plain", "attach", bad]);
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(words.contains("is not an address"), "{bad}: {words}");
    }
}
