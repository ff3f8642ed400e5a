//! Local users without a token who open connections and say nothing whole, and a socket that does not answer. The
//! owner's socket and the emergency stop work all the same.

use std::os::unix::net::UnixListener;
use std::process::Stdio;
use std::time::{Duration, Instant};

use leverframe::client::remote::connection::{Limits, RemoteClient};
use leverframe::client::remote::target::Target;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::process_faults::world::{FULL, alive, engine, eventually, script, stubborn, tag};
use crate::support::daemon::{DEADLINE, Daemon, Home};

/// Connections of the attack.
const MANY: usize = 1100;

/// The limit of a stop, as the specification has it.
const STOP: Duration = Duration::from_secs(2);

/// Makes room for the attacker's own descriptors, which are this process's.
fn raise_own_limit() {
    let own = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    let raised = rustix::process::Rlimit {
        current: own.maximum,
        maximum: own.maximum,
    };
    rustix::process::setrlimit(rustix::process::Resource::Nofile, raised).expect("a higher limit");
}

async fn running_tool(home: &Home, daemon: &Daemon) -> String {
    let session = daemon.session().await;
    let tag = tag(home);
    daemon.send(&session, &script(&stubborn(&tag))).await;
    let up = home.workspace("api").join("up");
    eventually("the tool runs", || up.exists()).await;
    assert!(alive(&tag));
    tag
}

/// Runs `leverframe emergency-stop`; what it said on both outputs, and when the tool was dead.
async fn stop_by_command(home: &Home, tag: &str) -> (String, Duration) {
    let begun = Instant::now();
    let mut command = home.command();
    command.arg("emergency-stop");
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().expect("the binary starts");
    while alive(tag) && begun.elapsed() < DEADLINE {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let took = begun.elapsed();
    let output = tokio::task::spawn_blocking(move || child.wait_with_output())
        .await
        .expect("no panic")
        .expect("it ends");
    let said = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    assert_eq!(output.status.code(), Some(0), "{said}");
    (said, took)
}

#[tokio::test]
async fn a_flood_of_half_sent_requests_leaves_the_owners_socket_and_the_stop_alone() {
    raise_own_limit();
    let home = Home::new(FULL);
    let few = ["sh", "-c", "ulimit -n 1024; exec \"$@\"", "sh"];
    let mut daemon = home.daemon_through(&few, &[]);
    let tag = running_tool(&home, &daemon).await;
    let address = daemon.base.trim_start_matches("http://").to_owned();
    let mut open = Vec::new();
    for _ in 0..MANY {
        let connecting = tokio::time::timeout(Duration::from_secs(1), TcpStream::connect(&address));
        // A full queue of the listener is part of the attack.
        if let Ok(Ok(mut stream)) = connecting.await
            && stream.write_all(b"GET /healthz HTTP/1.1\r\n").await.is_ok()
        {
            open.push(stream);
        }
    }
    assert!(open.len() > MANY / 2, "{} connections", open.len());
    let begun = Instant::now();
    let socket = Target::Unix(home.data().join("leverframe.sock"));
    let client = RemoteClient::connect_within(socket, Limits::default()).await;
    assert!(client.is_ok(), "{client:?}");
    assert!(begun.elapsed() < Duration::from_secs(1));
    let (said, took) = stop_by_command(&home, &tag).await;
    assert!(took < STOP, "alive {took:?} after the stop");
    assert!(said.contains("emergency stop since"), "{said}");
    assert!(!said.contains("SIGUSR1"), "the socket answered: {said}");
    // What is half-sent is cut, and then TCP serves again while the attacker still holds on.
    let deadline = Instant::now() + DEADLINE;
    while daemon.try_request("GET", "/healthz", None).await.is_err() {
        assert!(Instant::now() < deadline, "TCP never came back");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    for stream in &mut open {
        let mut rest = Vec::new();
        let ended = tokio::time::timeout(DEADLINE, stream.read_to_end(&mut rest));
        assert!(
            ended.await.is_ok(),
            "a half-sent request is still waited for"
        );
    }
    assert!(daemon.terminate().success());
}

#[tokio::test]
async fn a_socket_that_does_not_answer_is_no_obstacle_to_a_stop() {
    let home = Home::new(FULL);
    let mut daemon = home.daemon();
    let tag = running_tool(&home, &daemon).await;
    let socket = home.data().join("leverframe.sock");
    std::fs::rename(&socket, home.data().join("aside")).expect("the socket");
    // Takes connections and never answers.
    let mute = UnixListener::bind(&socket).expect("a listener");
    let (said, took) = stop_by_command(&home, &tag).await;
    assert!(
        said.contains("SIGUSR1") && said.contains(&daemon.pid().to_string()),
        "{said}"
    );
    assert!(
        said.contains("emergency stop since") && said.contains("signal"),
        "{said}"
    );
    assert!(took < Duration::from_secs(2) + STOP, "alive for {took:?}");
    let status = engine(&daemon).await;
    assert_eq!(status["held_reason"], "signal", "{status:#}");
    drop(mute);
    assert!(daemon.terminate().success());
}

#[tokio::test]
async fn the_signal_alone_stops_and_holds_over_a_restart() {
    let home = Home::new(FULL);
    let mut daemon = home.daemon();
    let tag = running_tool(&home, &daemon).await;
    let begun = Instant::now();
    daemon.signal(rustix::process::Signal::USR1);
    while alive(&tag) && begun.elapsed() < STOP {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(!alive(&tag), "alive {:?} after the signal", begun.elapsed());
    daemon
        .wait("/v1/snapshot", "a hold by signal", |body| {
            body["engine"]["held_reason"] == "signal"
        })
        .await;
    assert!(daemon.terminate().success());
    let mut daemon = home.daemon();
    assert_eq!(engine(&daemon).await["held_reason"], "signal");
    assert!(daemon.terminate().success());
}
