//! The example bridge in Node through the real daemon: a chat over a port.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use crate::process_bridges::{example, program};
use crate::support::daemon::{DEADLINE, Home};

/// Lines that a person reads until one has these words.
fn read_until(reader: &mut BufReader<TcpStream>, words: &str) -> Vec<String> {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        let count = reader.read_line(&mut line).unwrap();
        assert!(count > 0, "it ended before {words}: {lines:?}");
        let found = line.contains(words);
        lines.push(line);
        if found {
            return lines;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_writes_to_the_bot_over_a_port() {
    let Some(node) = program("node", "the example bridge in Node") else {
        return;
    };
    let port = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let script = example("node/lines.js");
    let home = Home::new(&format!(
        "[model]\ndefault = \"scripted/demo\"\nallow_scripted_on_channels = true\n\n\
         [channels.lines]\nkind = \"process\"\ncommand = [\"{}\", \"{}\"]\nread = [\"{}\"]\n\
         environment = {{ LINES_PORT = \"{port}\" }}\nallowed_users = [\"ada\"]\n",
        node.display(),
        script.display(),
        script.parent().unwrap().display()
    ));
    let daemon = home.daemon();
    daemon
        .wait(
            "/v1/channels/lines",
            "the channel is connected",
            |channel| channel["health"]["state"] == "connected",
        )
        .await;
    let talk = tokio::task::spawn_blocking(move || {
        let deadline = Instant::now() + DEADLINE;
        let socket = loop {
            match TcpStream::connect(("127.0.0.1", port)) {
                Ok(socket) => break socket,
                Err(error) => assert!(Instant::now() < deadline, "{error}"),
            }
        };
        socket
            .set_read_timeout(Some(Duration::from_secs(20)))
            .unwrap();
        let mut reader = BufReader::new(socket.try_clone().unwrap());
        let mut writer = socket;
        read_until(&mut reader, "your name?");
        writer.write_all(b"ada\nSAY:hello over the wire\n").unwrap();
        read_until(&mut reader, "hello over the wire")
    });
    talk.await.unwrap();
}
