//! Leaving a console whose engine serves people.

use std::io::Write as _;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, test_kill_process};

use crate::console_pty::door::{Door, command};
use crate::console_pty::steps::quit;
use crate::support::daemon::{DEADLINE, Home};
use crate::support::fake_telegram::FakeTelegram;
use crate::support::fake_telegram::state::User;
use crate::support::pty::{Manners, Pty};

/// A process of ours that is not our child. Ended by its id.
struct Stray(Pid);

impl Stray {
    /// Whoever holds the home's data directory.
    fn holder(home: &Home) -> Self {
        let text = std::fs::read_to_string(home.data().join("leverframe.lock")).unwrap();
        let pid = text
            .split(|c: char| !c.is_ascii_digit())
            .find_map(|digits| digits.parse().ok())
            .and_then(Pid::from_raw)
            .unwrap_or_else(|| panic!("no process id: {text}"));
        Self(pid)
    }

    fn stop(&self) {
        let _ = kill_process(self.0, Signal::TERM);
        let deadline = Instant::now() + DEADLINE;
        while test_kill_process(self.0).is_ok() {
            if Instant::now() > deadline {
                let _ = kill_process(self.0, Signal::KILL);
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Stray {
    fn drop(&mut self) {
        self.stop();
    }
}

#[tokio::test]
async fn detaching_leaves_a_daemon_that_still_answers() {
    let telegram = FakeTelegram::start();
    let home = Home::new(&format!(
        "[model]\ndefault = \"scripted/demo\"\nallow_scripted_on_channels = true\n\n\
         [channels.team]\nkind = \"telegram\"\ntoken_env = \"TEAM_TOKEN\"\napi_base = \"{}\"\n\
         allowed_users = [\"100\"]\n",
        telegram.url()
    ));
    let token = telegram.state().token.clone();
    let mut program = command(&home);
    program.env("TEAM_TOKEN", token);
    let ben = User::new(100, "Ben");
    let answers = |text: &str, count: usize| {
        telegram.user_says(100, &ben, &format!("SAY:{text}"));
        let text = text.to_owned();
        telegram.wait_blocking(&format!("{count} answers"), move |state| {
            let mine: Vec<_> = state.messages.iter().filter(|m| m.chat == 100).collect();
            mine.len() == count && mine.iter().any(|m| m.text.contains(&text))
        });
    };

    let mut pty = Pty::start(&program, 80, 24);
    pty.see("nothing needs you");
    let console = pty.pid();
    answers("from the console", 1);

    pty.press_until("q", "┌ Quit");
    let menu = pty.screen();
    for line in [
        "serves team",
        "> stay",
        "detach: the engine goes on",
        "stop the engine",
    ] {
        assert!(menu.contains(line), "{line}:\n{menu}");
    }
    pty.press_until("j", "> detach");
    pty.send("\r");
    pty.see("attached");
    let daemon = Stray::holder(&home);
    assert_ne!(daemon.0, console);
    answers("from the daemon", 2);
    quit(&mut pty, "quit");
    assert_eq!(pty.wait_exit(), Some(0));
    assert_eq!(pty.manners(), Manners::SHELL);
    answers("with nobody watching", 3);

    let mut pty = Pty::start(&program, 80, 24);
    pty.see("attached");
    Door::of(&home).get("/v1/snapshot").await;
    quit(&mut pty, "quit");
    assert_eq!(pty.wait_exit(), Some(0));
    answers("still there", 4);
    assert_eq!(telegram.state().violations, Vec::<String>::new());
    daemon.stop();
    assert!(
        test_kill_process(daemon.0).is_err(),
        "the daemon does not stop"
    );
}

#[test]
fn the_log_of_a_daemon_that_a_console_left_stays_within_its_bound() {
    let home = Home::new(
        "[log]\nmax_mib = 1\nkeep = 1\n\n[model]\nallow_scripted_on_channels = true\n\n\
         [channels.shop]\nkind = \"webhook\"\nsecret_env = \"SHOP_SECRET\"\nallowed_users = [\"ada\"]\n",
    );
    let mut program = command(&home);
    program.env("SHOP_SECRET", "a secret of forty-two characters, at least");
    let mut pty = Pty::start(&program, 80, 24);
    pty.see("nothing needs you");
    let log = home.data().join("leverframe.log");
    let aside = home.data().join("leverframe.log.1");
    let size = |file| std::fs::metadata(file).map_or(0, |about| about.len());
    // As long as a log can be: the next line does not fit.
    let mut file = std::fs::OpenOptions::new().append(true).open(&log).unwrap();
    let rest = (1 << 20) - usize::try_from(size(&log)).unwrap();
    file.write_all(&vec![b'x'; rest]).unwrap();
    pty.press_until("q", "┌ Quit");
    pty.press_until("j", "> detach");
    pty.send("\r");
    pty.see("attached");
    let daemon = Stray::holder(&home);
    quit(&mut pty, "quit");
    assert_eq!(pty.wait_exit(), Some(0));
    let deadline = Instant::now() + DEADLINE;
    // What it says on standard output comes on top.
    let bound = (1 << 20) + 4096;
    while size(&aside) == 0 {
        assert!(Instant::now() < deadline, "{} bytes", size(&log));
        std::thread::sleep(Duration::from_millis(10));
        assert!(size(&log) <= bound, "{} bytes", size(&log));
    }
    assert!(size(&aside) <= bound, "{} bytes", size(&aside));
    daemon.stop();
}
