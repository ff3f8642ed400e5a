//! Themes and keymaps of one's own on a real terminal: chosen, changed while it runs, broken while it runs.

use crate::console_pty::door::command;
use crate::console_pty::steps::quit;
use crate::support::daemon::Home;
use crate::support::pty::Pty;

fn write(home: &Home, file: &str, text: &str) {
    let file = home.path().join("config").join(file);
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(file, text).unwrap();
}

#[test]
fn a_theme_is_chosen_and_what_is_written_is_taken_up() {
    let home = Home::new("");
    write(&home, "themes/sea.toml", "inherits = \"dark\"\n");
    let mut program = command(&home);
    program.env("COLORTERM", "truecolor");
    let mut pty = Pty::start(&program, 100, 30);
    pty.see("nothing needs you");
    pty.send(":theme sea\r");
    pty.see("theme sea");
    assert!(!pty.wrote(b"48;2;1;2;3"));
    write(
        &home,
        "themes/sea.toml",
        "inherits = \"dark\"\n[palette]\nnight = \"#010203\"\n",
    );
    // Nobody presses a key: an idle console takes it up by itself.
    let deadline = std::time::Instant::now() + crate::support::daemon::DEADLINE;
    while !pty.wrote(b"48;2;1;2;3") {
        assert!(std::time::Instant::now() < deadline, "{}", pty.screen());
        std::thread::yield_now();
    }
    write(
        &home,
        "themes/sea.toml",
        "inherits = \"dark\"\n[roles]\n\"txet\" = \"red\"\n",
    );
    let screen = pty.see("theme unchanged");
    assert!(screen.contains("sea.toml:3"), "{screen}");
    quit(&mut pty, "stop");
    assert_eq!(pty.wait_exit(), Some(0));
}

#[test]
fn a_keymap_is_chosen_changed_and_kept_when_broken() {
    let home = Home::new("");
    let mut pty = Pty::start(&command(&home), 138, 30);
    pty.see("nothing needs you");
    pty.send(":keymap vim\r");
    pty.see("keymap vim");
    pty.send("gc");
    pty.see("┌ Channels");
    pty.send(":keymap defalt\r");
    pty.see("did you mean `default`?");
    write(
        &home,
        "keymaps/vim.toml",
        "inherits = \"vim\"\n[global]\n\"B\" = \"screen-live\"\n",
    );
    pty.press_until("B", "┌ Live");
    write(
        &home,
        "keymaps/vim.toml",
        "inherits = \"vim\"\n[global]\n\"B\" = \"screen-lvie\"\n",
    );
    // No key: a notice goes with its screen.
    let screen = pty.see("keymap unchanged");
    assert!(
        screen.contains("vim.toml:3") && screen.contains("screen-live"),
        "{screen}"
    );
    pty.send("1");
    pty.see("┌ Queue");
    pty.send("B");
    pty.see("┌ Live");
    pty.press_until("ZZ", "┌ Quit");
    pty.send("j\r");
    assert_eq!(pty.wait_exit(), Some(0));
}
