//! Inside tmux, as many operators have it: drawn, resized, and the pane as it was afterwards.

use std::process::Command;
use std::time::{Duration, Instant};

use crate::console_pty::door::{Door, command};
use crate::console_pty::pictures::beside_a_photo;
use crate::support::daemon::{DEADLINE, Home};

/// A tmux server of this test alone.
struct Tmux {
    socket: std::path::PathBuf,
}

impl Tmux {
    fn run(&self, words: &[&str]) -> String {
        let output = Command::new("tmux")
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("TERM", "xterm-256color")
            .env("LC_ALL", "C.UTF-8")
            .arg("-S")
            .arg(&self.socket)
            .args(["-f", "/dev/null", "-u"])
            .args(words)
            .output()
            .expect("tmux starts");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn pane(&self) -> String {
        self.run(&["capture-pane", "-p"])
    }

    fn wait(&self, what: &str, condition: impl Fn(&str) -> bool) {
        let deadline = Instant::now() + DEADLINE;
        loop {
            let pane = self.pane();
            if condition(&pane) {
                return;
            }
            assert!(Instant::now() < deadline, "never: {what}\n{pane}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn see(&self, text: &str) {
        self.wait(text, |pane| pane.contains(text));
    }

    /// Alternate screen, mouse.
    fn modes(&self, wanted: &str) {
        let modes = || self.run(&["display-message", "-p", "#{alternate_on} #{mouse_any_flag}"]);
        self.wait(&format!("modes {wanted}"), |_| modes().trim() == wanted);
    }

    fn keys(&self, keys: &[&str]) {
        let mut words = vec!["send-keys"];
        words.extend(keys);
        self.run(&words);
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        self.run(&["kill-server"]);
    }
}

/// A tmux server of this test, with a shell in which this console was started; none where there is no tmux.
fn started(home: &Home, program: &Command) -> Option<Tmux> {
    if Command::new("tmux").arg("-V").output().is_err() {
        crate::support::requirement::missing("tmux", "the console in tmux", "install tmux");
        return None;
    }
    let tmux = Tmux {
        socket: home.path().join("tmux"),
    };
    let mut line: Vec<String> = vec!["env".to_owned(), "-u".to_owned(), "LC_ALL".to_owned()];
    if let Some(directory) = program.get_current_dir() {
        line.push(format!("-C '{}'", directory.to_str().unwrap()));
    }
    for (name, value) in program.get_envs() {
        let value = value.unwrap().to_str().unwrap();
        // tmux says itself what its terminal is called.
        if name != "TERM" {
            line.push(format!("{}='{value}'", name.to_str().unwrap()));
        }
    }
    line.extend(
        std::iter::once(program.get_program())
            .chain(program.get_args())
            .map(|word| format!("'{}'", word.to_str().unwrap())),
    );
    tmux.run(&[
        "new-session",
        "-d",
        "-x",
        "100",
        "-y",
        "30",
        "PS1='shell: ' bash --norc --noprofile",
    ]);
    tmux.see("shell:");
    tmux.modes("0 0");
    tmux.keys(&[&line.join(" "), "Enter"]);
    tmux.see("nothing needs you");
    Some(tmux)
}

#[test]
fn a_pane_is_drawn_resized_and_given_back() {
    let home = Home::new("");
    let Some(tmux) = started(&home, &command(&home)) else {
        return;
    };
    tmux.modes("1 0");
    tmux.keys(&["m"]);
    tmux.modes("1 1");
    tmux.run(&["resize-window", "-x", "70", "-y", "18"]);
    tmux.wait("a frame of the new size", |pane| {
        let corner = pane.lines().any(|line| line.trim_end().ends_with('┐'));
        let wide = pane.lines().all(|line| line.chars().count() <= 70);
        corner && wide && pane.lines().count() == 18
    });
    tmux.keys(&["?"]);
    tmux.see("┌ Help");
    tmux.keys(&["Escape"]);
    tmux.wait("the help closes", |pane| !pane.contains("┌ Help"));
    tmux.keys(&["q"]);
    tmux.see("┌ Quit");
    tmux.keys(&["j"]);
    tmux.see("> stop");
    tmux.keys(&["Enter"]);
    tmux.modes("0 0");
    tmux.see("shell:");
}

/// tmux takes kitty's sequences for a title, and lets nothing through by itself.
#[tokio::test]
async fn a_picture_in_a_pane_is_half_blocks() {
    let home = Home::new("");
    let mut program = beside_a_photo(&home);
    program.env("COLORTERM", "truecolor");
    let Some(tmux) = started(&home, &program) else {
        return;
    };
    let door = Door::of(&home);
    let first = door.say("SAY:first").await;
    door.wait_state(&first, "completed").await;
    let title = || tmux.run(&["display-message", "-p", "#{pane_title}"]);
    let before = title();
    tmux.keys(&["2"]);
    tmux.see("first");
    tmux.keys(&["j", "Enter"]);
    tmux.see("┌ Session");
    tmux.keys(&[":attach photo.png", "Enter"]);
    tmux.see("the next message goes with photo.png");
    tmux.keys(&["i"]);
    tmux.see("with photo.png");
    tmux.keys(&["SAY:thanks", "Enter"]);
    let answered = |pane: &str| pane.matches("│ answer ").count() == 2;
    tmux.wait("the second answer", answered);
    while !tmux.pane().contains("entry 4/6") {
        let before = tmux.pane();
        tmux.keys(&["k"]);
        tmux.wait("the selection moves", |pane| pane != before);
    }
    tmux.see(" photo.png (image/png");
    tmux.see("▀");
    assert!(!title().contains("i="), "{before} {}", title());
}
