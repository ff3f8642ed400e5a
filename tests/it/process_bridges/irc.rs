//! The bridge to IRC through the real daemon and ngircd, a server that we did not write.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::process_bridges::{example, program};
use crate::support::daemon::{DEADLINE, Daemon, Home};

/// Longest line that receivers get, without its end.
const LINE: usize = 510;

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

/// A server.
struct Ngircd {
    process: Child,
    port: u16,
    directory: tempfile::TempDir,
}

impl Ngircd {
    fn start() -> Option<Self> {
        let directory = tempfile::tempdir().unwrap();
        let port = free_port();
        let config = format!(
            "[Global]\nName = irc.example.test\nInfo = a server of a test\nListen = 127.0.0.1\nPorts = {port}\n\
             MotdPhrase = hello\n[Limits]\nMaxConnectionsIP = 0\nMaxPenaltyTime = 1\n\
             [Options]\nDNS = no\nIdent = no\nPAM = no\n"
        );
        std::fs::write(directory.path().join("ngircd.conf"), config).unwrap();
        let process = Self::run(&directory)?;
        let server = Self {
            process,
            port,
            directory,
        };
        server.wait();
        Some(server)
    }

    fn run(directory: &tempfile::TempDir) -> Option<Child> {
        let program = program("ngircd", "the bridge to IRC at a real server")?;
        let config = directory.path().join("ngircd.conf");
        let started = Command::new(program)
            .args(["-n", "-f"])
            .arg(config)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        Some(started.unwrap())
    }

    fn wait(&self) {
        let deadline = Instant::now() + DEADLINE;
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            assert!(Instant::now() < deadline, "ngircd does not listen");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn stop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }

    fn again(&mut self) {
        self.process = Self::run(&self.directory).unwrap();
        self.wait();
    }
}

impl Drop for Ngircd {
    fn drop(&mut self) {
        self.stop();
    }
}

/// A person on IRC.
struct Person {
    socket: TcpStream,
    lines: Arc<Mutex<Vec<String>>>,
}

impl Person {
    async fn join(server: &Ngircd, nick: &str, channel: &str) -> Self {
        let socket = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
        let (reader, mut answers) = (socket.try_clone().unwrap(), socket.try_clone().unwrap());
        let lines: Arc<Mutex<Vec<String>>> = Arc::default();
        let kept = Arc::clone(&lines);
        std::thread::spawn(move || {
            let mut reader = BufReader::new(reader);
            let mut line = Vec::new();
            while reader
                .read_until(b'\n', &mut line)
                .is_ok_and(|count| count > 0)
            {
                let text = String::from_utf8(std::mem::take(&mut line)).expect("whole characters");
                let text = text.trim_end_matches(['\r', '\n']).to_owned();
                if let Some(token) = text.strip_prefix("PING ") {
                    let _ = write!(answers, "PONG {token}\r\n");
                }
                kept.lock().unwrap().push(text);
            }
        });
        let mut person = Self { socket, lines };
        person.write(&format!("NICK {nick}\r\nUSER {nick} 0 * :{nick}"));
        person
            .wait("the welcome", |line| line.contains(" 001 "))
            .await;
        person.write(&format!("JOIN {channel}"));
        person
            .wait("the names", |line| line.contains(" 366 "))
            .await;
        person
    }

    fn write(&mut self, line: &str) {
        write!(self.socket, "{line}\r\n").unwrap();
    }

    fn say(&mut self, target: &str, text: &str) {
        self.write(&format!("PRIVMSG {target} :{text}"));
    }

    fn lines(&self) -> Vec<String> {
        self.lines.lock().unwrap().clone()
    }

    /// What others said here, without who and where.
    fn texts(&self) -> Vec<String> {
        let lines = self.lines();
        let texts = lines.iter().filter_map(|line| {
            let (head, text) = line.split_once(" :")?;
            head.contains(" PRIVMSG ").then(|| text.to_owned())
        });
        texts.collect()
    }

    fn count(&self, words: &str) -> usize {
        self.texts()
            .iter()
            .filter(|text| text.contains(words))
            .count()
    }

    async fn wait(&self, what: &str, is_so: impl Fn(&str) -> bool) -> String {
        let deadline = Instant::now() + DEADLINE;
        loop {
            if let Some(line) = self.lines().into_iter().find(|line| is_so(line)) {
                return line;
            }
            assert!(
                Instant::now() < deadline,
                "never came: {what}\n{:#?}",
                self.lines()
            );
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    async fn hears(&self, words: &str) -> String {
        self.wait(words, |line| {
            line.contains(" PRIVMSG ") && line.contains(words)
        })
        .await
    }
}

fn home(port: u16, more: &str) -> Option<Home> {
    let python = program("python3", "the bridge to IRC")?;
    program("bwrap", "a bridge in the sandbox")?;
    let (python, script) = (python.display(), example("irc.py"));
    let script = script.display();
    Some(Home::new(&format!(
        "[model]\ndefault = \"scripted/demo\"\nallow_scripted_on_channels = true\n\n\
         [channels.irc]\nkind = \"process\"\ncommand = [\"{python}\", \"{script}\"]\nread = [\"{script}\"]\n\
         allowed_users = [\"ada\"]\nallowed_chats = [\"%23lever\"]\n\
         [channels.irc.environment]\nIRC_SERVER = \"127.0.0.1\"\nIRC_PORT = \"{port}\"\nIRC_TLS = \"no\"\n\
         IRC_NICK = \"lever\"\nIRC_CHANNELS = \"#lever\"\nIRC_RATE = \"0.05\"\n{more}\n"
    )))
}

async fn connected(daemon: &Daemon) -> Value {
    daemon
        .wait("/v1/channels/irc", "the channel is connected", |channel| {
            channel["health"]["state"] == "connected"
        })
        .await
}

async fn there(person: &mut Person, nick: &str) {
    // Who is in the channel already was told by the names.
    let (joined, named) = (format!(":{nick}!"), nick.to_owned());
    person.write("NAMES #lever");
    person
        .wait("the bot joins", |line| {
            let is_join = line.starts_with(&joined) && line.contains(" JOIN ");
            let is_named =
                line.contains(" 353 ") && line.split([' ', ':', '@']).any(|word| word == named);
            is_join || is_named
        })
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_in_a_channel_and_one_in_a_query_are_answered_and_no_decision_counts() {
    let Some(server) = Ngircd::start() else {
        return;
    };
    let Some(home) = home(server.port, "") else {
        return;
    };
    let mut ada = Person::join(&server, "ada", "#lever").await;
    let daemon = home.daemon();
    let channel = connected(&daemon).await;
    assert_eq!(channel["account"], "lever");
    there(&mut ada, "lever").await;
    ada.say("#lever", "nobody is meant: SAY:overheard");
    ada.say("#lever", "lever: SAY:hello channel");
    let line = ada.hears("hello channel").await;
    assert!(line.contains(" PRIVMSG #lever :"), "{line}");
    ada.say("lever", "SAY:hello query");
    let line = ada.hears("hello query").await;
    assert!(line.contains(" PRIVMSG ada :"), "{line}");
    assert_eq!(ada.count("overheard"), 0);

    // A write waits; by a nick, which anybody can take, nobody decides.
    ada.say(
        "lever",
        "TOOL:write_file{\"path\":\"note.txt\",\"content\":\"hi\"}",
    );
    let approval = daemon.wait_approval().await;
    let code = approval["short_code"].as_str().unwrap();
    ada.say("lever", &format!(" /approve {code}"));
    ada.hears("Not decided").await;
    assert_eq!(daemon.wait_approval().await["id"], approval["id"]);
    ada.say("#lever", "lever, SAY:still here");
    ada.hears("still here").await;
    let (status, answer) = daemon.decide(&approval, "approve").await;
    assert!(status < 300, "{answer}");
}

#[tokio::test(flavor = "multi_thread")]
async fn long_texts_are_whole_lines_that_receivers_take_and_hold_no_commands() {
    let Some(server) = Ngircd::start() else {
        return;
    };
    let Some(home) = home(server.port, "") else {
        return;
    };
    let mut ada = Person::join(&server, "ada", "#lever").await;
    let daemon = home.daemon();
    connected(&daemon).await;
    there(&mut ada, "lever").await;
    ada.say("lever", "SAY:begin");
    ada.hears("begin").await;
    let sessions = daemon.get("/v1/sessions").await;
    let session = sessions["items"][0]["id"].as_str().unwrap();
    let words: Vec<String> = (0..200).map(|n| format!("wörd{n}👩‍👩‍👧")).collect();
    let text = format!("{}\r\nQUIT :injected\nlast\0line", words.join(" "));
    let path = format!("/v1/sessions/{session}");
    let held = daemon.post(&format!("{path}/take-over"), json!({})).await;
    let hold = held["taken_over"]["id"].clone();
    daemon
        .post(
            &format!("{path}/say"),
            json!({"take_over_id": hold, "text": text}),
        )
        .await;
    ada.hears("last").await;
    for line in ada.lines() {
        assert!(line.len() <= LINE, "{} bytes: {line}", line.len());
    }
    let said = ada.texts().join(" ");
    for word in &words {
        assert!(said.contains(word.as_str()), "{word} is missing: {said}");
    }
    assert!(said.contains("QUIT :injected"), "{said}");
    ada.say("lever", "/status");
    assert!(
        !ada.lines()
            .iter()
            .any(|line| line.starts_with(":lever!") && line.contains(" QUIT "))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_taken_nick_becomes_another_and_a_server_that_went_away_is_joined_again() {
    let Some(mut server) = Ngircd::start() else {
        return;
    };
    let Some(home) = home(server.port, "") else {
        return;
    };
    let holder = Person::join(&server, "lever", "#lever").await;
    let daemon = home.daemon();
    connected(&daemon).await;
    let join = holder
        .wait("another nick joins", |line| {
            line.starts_with(":lever") && !line.starts_with(":lever!") && line.contains(" JOIN ")
        })
        .await;
    let nick = join[1..].split('!').next().unwrap().to_owned();
    let mut ada = Person::join(&server, "ada", "#lever").await;
    ada.say("#lever", &format!("{nick}: SAY:by another name"));
    ada.hears("by another name").await;
    server.stop();
    daemon
        .wait(
            "/v1/channels/irc",
            "the channel says that the server is away",
            |channel| {
                let health = &channel["health"];
                health["state"] == "degraded"
                    && health["detail"]
                        .as_str()
                        .is_some_and(|text| text.contains("127.0.0.1"))
            },
        )
        .await;
    drop((ada, holder));
    server.again();
    connected(&daemon).await;
    let mut ada = Person::join(&server, "ada", "#lever").await;
    there(&mut ada, "lever").await;
    ada.say("#lever", "lever: SAY:back again");
    ada.hears("back again").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_that_is_killed_says_nothing_twice_and_asks_where_it_cannot_know() {
    for (point, is_asked) in [
        ("ingest.post_commit", false),
        ("send.started", true),
        ("send.effect_done", true),
    ] {
        let Some(server) = Ngircd::start() else {
            return;
        };
        let Some(home) = home(server.port, "") else {
            return;
        };
        let mut ada = Person::join(&server, "ada", "#lever").await;
        let crash = format!("{point}:1");
        let mut daemon = home.daemon_with(&[("LEVERFRAME_CRASH", &crash)]);
        connected(&daemon).await;
        there(&mut ada, "lever").await;
        ada.say("lever", "SAY:only once");
        assert!(daemon.wait_exit().is_some(), "it is killed at {point}");
        ada.wait("the bridge goes with its daemon", |line| {
            line.starts_with(":lever!") && line.contains(" QUIT ")
        })
        .await;
        let before = ada.lines().len();
        let daemon = home.daemon();
        connected(&daemon).await;
        if is_asked {
            daemon.wait_question("resend", "").await;
        } else {
            ada.hears("only once").await;
        }
        // Its earlier lines are there still: this one is new.
        let joins = |line: &&String| line.starts_with(":lever!") && line.contains(" JOIN ");
        let deadline = Instant::now() + DEADLINE;
        while !ada.lines().iter().skip(before).any(|line| joins(&line)) {
            assert!(Instant::now() < deadline, "it never joins again");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        ada.say("#lever", "lever: SAY:and then");
        ada.hears("and then").await;
        assert!(ada.count("only once") <= 1, "{point}: {:#?}", ada.lines());
        if point == "send.effect_done" {
            assert_eq!(ada.count("only once"), 1, "{:#?}", ada.lines());
        }
    }
}

/// A server of the test that wants a login: what it was told, line by line.
fn with_login(port: TcpListener, password: &'static str) -> Arc<Mutex<Vec<String>>> {
    use base64::Engine as _;
    let told: Arc<Mutex<Vec<String>>> = Arc::default();
    let kept = Arc::clone(&told);
    std::thread::spawn(move || {
        for socket in port.incoming() {
            let Ok(socket) = socket else { return };
            let mut answers = socket.try_clone().unwrap();
            let kept = Arc::clone(&kept);
            for line in BufReader::new(socket).lines().map_while(Result::ok) {
                kept.lock().unwrap().push(line.clone());
                let right =
                    base64::engine::general_purpose::STANDARD.encode(format!("\0bot\0{password}"));
                let answer = match line.split_once(' ').unwrap_or((&line, "")) {
                    ("CAP", "REQ :sasl") => ":s CAP * ACK :sasl",
                    ("AUTHENTICATE", "PLAIN") => "AUTHENTICATE +",
                    ("AUTHENTICATE", given) if given == right => ":s 903 lever :welcome",
                    ("AUTHENTICATE", _) => ":s 904 lever :no",
                    ("CAP", "END") => ":s 001 lever :hello",
                    ("PING", ":joined") => ":s PONG s :joined",
                    _ => continue,
                };
                if write!(answers, "{answer}\r\n").is_err() {
                    break;
                }
            }
        }
    });
    told
}

#[tokio::test(flavor = "multi_thread")]
async fn a_login_is_made_and_a_refused_one_is_a_failure_with_the_fix() {
    for (given, state) in [("swordfish", "connected"), ("wrong", "failed")] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let told = with_login(listener, "swordfish");
        let more = "IRC_SASL_USER = \"bot\"\n\n[channels.irc.environment_files]\nIRC_SASL_PASSWORD = \"{home}/password\"";
        let Some(home) = home(port, more) else {
            return;
        };
        let file = home.path().join("password");
        std::fs::write(&file, given).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        std::fs::set_permissions(&file, mode).unwrap();
        let daemon = home.daemon();
        let channel = daemon
            .wait("/v1/channels/irc", state, |channel| {
                channel["health"]["state"] == state
            })
            .await;
        if state == "failed" {
            let detail = channel["health"]["detail"].as_str().unwrap();
            assert!(detail.contains("IRC_SASL_PASSWORD"), "{detail}");
            assert!(!channel.to_string().contains("wrong"), "{channel}");
        }
        let told = told.lock().unwrap().clone();
        assert_eq!(told[0], "CAP REQ :sasl", "{told:?}");
        assert!(told.contains(&"AUTHENTICATE PLAIN".to_owned()), "{told:?}");
    }
}
