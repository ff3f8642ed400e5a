//! A connection that is cut and comes back, on every screen: the last known state stays, keys live, and
//! everything goes on where it was.

use std::io::copy;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::console_pty::door::command;
use crate::console_pty::steps::quit;
use crate::support::daemon::Home;
use crate::support::pty::Pty;

/// A way to a daemon that can be cut without touching the daemon.
struct Bridge {
    address: String,
    is_cut: Arc<AtomicBool>,
    streams: Arc<Mutex<Vec<TcpStream>>>,
}

impl Bridge {
    fn to(base: &str) -> Self {
        let target = base.trim_start_matches("http://").to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let is_cut = Arc::new(AtomicBool::new(false));
        let streams = Arc::new(Mutex::new(Vec::new()));
        let (cut, known) = (Arc::clone(&is_cut), Arc::clone(&streams));
        std::thread::spawn(move || {
            for stream in listener.incoming().take(10_000) {
                let Ok(near) = stream else { return };
                if cut.load(Ordering::SeqCst) {
                    continue;
                }
                let Ok(far) = TcpStream::connect(&target) else {
                    continue;
                };
                let mut held = known.lock().unwrap_or_else(PoisonError::into_inner);
                for (from, to) in [(&near, &far), (&far, &near)] {
                    let (mut from, mut to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
                    std::thread::spawn(move || {
                        let _ = copy(&mut from, &mut to);
                        let _ = to.shutdown(Shutdown::Both);
                    });
                }
                held.extend([near, far]);
            }
        });
        Self {
            address,
            is_cut,
            streams,
        }
    }

    fn cut(&self) {
        self.is_cut.store(true, Ordering::SeqCst);
        let mut held = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        for stream in held.drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    fn restore(&self) {
        self.is_cut.store(false, Ordering::SeqCst);
    }
}

/// Every screen with what stands on it. None of the words is on another.
const SCREENS: &[(&str, &str)] = &[
    ("1", "┌ Queue"),
    ("2", "┌ Live"),
    ("3", "┌ Session"),
    ("4", "┌ Channels"),
    ("5", "┌ Continuations"),
    ("6", "┌ Rules"),
    ("7", "┌ Cached responses"),
    ("8", "┌ Memory"),
    ("9", "┌ Audit"),
    ("0", "┌ Doctor"),
];

#[tokio::test]
async fn a_cut_is_survived_on_every_screen() {
    let home = Home::new("");
    let daemon = home.daemon();
    let bridge = Bridge::to(&daemon.base);
    let session = daemon.session().await;
    let continuation = daemon.send(&session, "SAY:hello there").await;
    daemon.wait_state(&continuation, "completed").await;
    let mut attach = command(&home);
    attach
        .args(["attach", &bridge.address, "--token-file"])
        .arg(home.data().join("token"));
    let mut pty = Pty::start(&attach, 100, 30);
    pty.see("nothing needs you");
    pty.send("2");
    pty.see("┌ Live");
    pty.send("j\r");
    pty.see("hello there");
    for (key, title) in SCREENS {
        pty.send(key);
        pty.see(title);
        bridge.cut();
        // A frame arrives in pieces: the header may be there before the title is drawn again.
        pty.wait(&format!("{title}, not connected"), |screen| {
            screen.contains("NOT CONNECTED") && screen.contains(title)
        });
        pty.send("?");
        pty.see("┌ Help");
        pty.send("\x1b");
        pty.gone("┌ Help");
        bridge.restore();
        pty.wait(&format!("{title}, connected again"), |screen| {
            !screen.contains("NOT CONNECTED") && screen.contains(title)
        });
    }
    // What happens after the last cut arrives: nothing of the stream was lost.
    pty.send("3");
    pty.see("hello there");
    let next = daemon.send(&session, "SAY:and again").await;
    pty.see("and again");
    daemon.wait_state(&next, "completed").await;
    quit(&mut pty, "quit");
    assert_eq!(pty.wait_exit(), Some(0));
}
