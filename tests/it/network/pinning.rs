//! Daemons elsewhere and their certificates: the first contact, a change, and forgetting.

use std::path::PathBuf;
use std::process::Output;

use crate::network::{certificate, config, home, run, shown};
use crate::support::daemon::{DEADLINE, Daemon, Home};
use crate::support::pty::Pty;

/// A home of somebody elsewhere who has the token.
pub struct Elsewhere {
    home: Home,
    token: PathBuf,
}

impl Elsewhere {
    pub fn new(daemon: &Daemon) -> Self {
        let home = Home::new("");
        let token = home.path().join("token");
        std::fs::write(&token, &daemon.token).unwrap();
        Self { home, token }
    }

    /// `attach` without a terminal: the plain console, which ends with its input.
    pub fn attach(&self, daemon: &Daemon, more: &[&str]) -> Output {
        let token = self.token.to_str().unwrap();
        let words = ["--plain", "attach", &daemon.base, "--token-file", token];
        run(&self.home, &[&words[..], more].concat())
    }

    fn known(&self) -> String {
        std::fs::read_to_string(self.home.data().join("known_hosts")).unwrap_or_default()
    }
}

/// Both outputs.
pub fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// Host and port.
pub fn place(daemon: &Daemon) -> String {
    daemon.base.trim_start_matches("https://").to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_contact_needs_a_person_or_the_fingerprint_and_a_change_is_refused() {
    let home = home("", "90");
    let pem = home.path().join("config/certificate.pem");
    let print = shown(&home, &pem)["fingerprint"]
        .as_str()
        .unwrap()
        .to_owned();
    let mut daemon = home.daemon();
    let elsewhere = Elsewhere::new(&daemon);

    // Nobody is there to ask.
    let refused = elsewhere.attach(&daemon, &[]);
    assert!(!refused.status.success());
    let words = said(&refused);
    assert!(
        words.contains(&print) && words.contains("--accept-fingerprint"),
        "{words}"
    );
    assert_eq!(elsewhere.known(), "");
    // Another fingerprint than the one that is given.
    let other = format!("SHA256:{}", "0".repeat(64));
    let refused = elsewhere.attach(&daemon, &["--accept-fingerprint", &other]);
    let words = said(&refused);
    assert!(
        !refused.status.success() && words.contains(&print) && words.contains(&other),
        "{words}"
    );
    // No token came: the daemon counted no login.
    assert_eq!(elsewhere.known(), "");

    let accepted = elsewhere.attach(&daemon, &["--accept-fingerprint", &print]);
    assert!(accepted.status.success(), "{}", said(&accepted));
    assert_eq!(elsewhere.known(), format!("{} {print}\n", place(&daemon)));
    // From now on nobody asks.
    let again = elsewhere.attach(&daemon, &[]);
    assert!(again.status.success(), "{}", said(&again));
    let list = said(&run(&elsewhere.home, &["hosts", "list"]));
    assert!(
        list.contains(&print) && list.contains(&place(&daemon)),
        "{list}"
    );

    // Somebody else answers at the same place.
    let port = place(&daemon);
    daemon.terminate();
    std::fs::remove_file(&pem).unwrap();
    std::fs::remove_file(home.path().join("config/key.pem")).unwrap();
    certificate(&home, &home.path().join("config"), "90");
    let second = shown(&home, &pem)["fingerprint"]
        .as_str()
        .unwrap()
        .to_owned();
    let daemon = home.daemon_at(&port);
    let refused = elsewhere.attach(&daemon, &["--accept-fingerprint", &second]);
    assert!(!refused.status.success());
    let words = said(&refused);
    let step = format!("leverframe hosts forget {port}");
    assert!(
        words.contains(&print) && words.contains(&second) && words.contains(&step),
        "{words}"
    );
    let forgot = run(&elsewhere.home, &["hosts", "forget", &port]);
    assert!(forgot.status.success(), "{forgot:?}");
    assert!(
        !run(&elsewhere.home, &["hosts", "forget", &port])
            .status
            .success()
    );
    let accepted = elsewhere.attach(&daemon, &["--accept-fingerprint", &second]);
    assert!(accepted.status.success(), "{}", said(&accepted));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_is_asked_once_and_a_console_says_what_changed() {
    let home = home("", "90");
    let pem = home.path().join("config/certificate.pem");
    let print = shown(&home, &pem)["fingerprint"]
        .as_str()
        .unwrap()
        .to_owned();
    let daemon = home.daemon();
    let elsewhere = Elsewhere::new(&daemon);
    let command = || {
        let mut command = elsewhere.home.command();
        command.args(["attach", &daemon.base, "--token-file"]);
        command.arg(&elsewhere.token);
        command
    };
    let mut pty = Pty::start(&command(), 140, 30);
    pty.see(&print);
    pty.see("[y/N]");
    pty.send("n\r");
    assert_ne!(pty.wait_exit(), Some(0));
    assert_eq!(elsewhere.known(), "");
    let mut pty = Pty::start(&command(), 140, 30);
    pty.see("[y/N]");
    pty.send("y\r");
    pty.see(&format!("attached to {}", daemon.base));
    assert!(elsewhere.known().contains(&print));
    drop(pty);
    let pty = Pty::start(&command(), 140, 30);
    pty.see(&format!("attached to {}, pinned", daemon.base));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_attached_console_says_that_the_certificate_changed_and_tries_no_more() {
    let home = home("", "90");
    let pem = home.path().join("config/certificate.pem");
    let print = || {
        let shown = shown(&home, &pem);
        shown["fingerprint"].as_str().unwrap().to_owned()
    };
    let known = print();
    let mut daemon = home.daemon();
    let elsewhere = Elsewhere::new(&daemon);
    let accept = ["--accept-fingerprint", &known];
    assert!(elsewhere.attach(&daemon, &accept).status.success());
    let command = |plain: &[&str]| {
        let mut command = elsewhere.home.command();
        command.args(plain);
        command.args(["attach", &daemon.base, "--token-file"]);
        command.arg(&elsewhere.token);
        command
    };
    let mut pty = Pty::start(&command(&[]), 80, 24);
    let mut plain = Pty::start(&command(&["--plain"]), 200, 24);
    pty.see("nothing needs you");
    plain.see("attached to");
    let port = place(&daemon);
    daemon.terminate();
    pty.see("NOT CONNECTED");
    let keep = home.path().join("keep");
    std::fs::create_dir(&keep).unwrap();
    for file in ["certificate.pem", "key.pem"] {
        std::fs::rename(home.path().join("config").join(file), keep.join(file)).unwrap();
    }
    certificate(&home, &home.path().join("config"), "90");
    let mut other = home.daemon_at(&port);
    pty.see("not tried again until you press ctrl-r");
    let forget = format!("leverframe hosts forget {port}");
    for words in [known.as_str(), &print(), "attach again"] {
        pty.see(words);
    }
    let screen = pty.screen().replace(['\n', ' '], "");
    assert!(screen.contains(&forget.replace(' ', "")), "{screen}");
    let said = plain
        .see("not tried again until you type reconnect")
        .replace('\n', "");
    assert!(said.contains(&known) && said.contains(&print()), "{said}");
    // The right one is back, and is looked for when a person asks.
    other.terminate();
    for file in ["certificate.pem", "key.pem"] {
        std::fs::rename(keep.join(file), home.path().join("config").join(file)).unwrap();
    }
    let _daemon = home.daemon_at(&port);
    pty.send("\u{12}");
    pty.gone("not tried again");
    pty.see("nothing needs you");
    plain.send("reconnect\r");
    plain.see("connected again");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_certificate_is_the_credential_of_attach() {
    let home = Home::new("");
    let clients = home.path().join("clients");
    certificate(&home, &home.path().join("config"), "90");
    certificate(&home, &clients, "90");
    let (pem, key) = (clients.join("certificate.pem"), clients.join("key.pem"));
    let id = shown(&home, &pem)["id"].as_str().unwrap().to_owned();
    let tables = config(&format!(
        "client_ca = {pem:?}\n[people.anna]\nids = [\"{id}\"]\nrole = \"owner\"\n"
    ));
    std::fs::write(home.path().join("config/config.toml"), tables).unwrap();
    let daemon = home.daemon();
    let server = shown(&home, &home.path().join("config/certificate.pem"));
    let elsewhere = Home::new("");
    let attach = |more: &[&str]| {
        let words = ["--plain", "attach", &daemon.base, "--accept-fingerprint"];
        let print = [server["fingerprint"].as_str().unwrap()];
        run(&elsewhere, &[&words[..], &print, more].concat())
    };
    let own = [
        "--client-certificate",
        pem.to_str().unwrap(),
        "--client-key",
        key.to_str().unwrap(),
    ];
    let attached = attach(&own);
    assert!(attached.status.success(), "{}", said(&attached));
    let nothing = attach(&[]);
    assert!(!nothing.status.success());
    assert!(
        said(&nothing).contains("--token-file"),
        "{}",
        said(&nothing)
    );
    tokio::time::timeout(DEADLINE, daemon.get("/v1/channels"))
        .await
        .unwrap();
}
