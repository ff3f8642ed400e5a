//! Pictures in the real console, on terminals that this test plays: what each is sent, once, and what is left of it.

use std::process::Command;

use image::{ImageFormat, Rgb, RgbImage};

use crate::console_pty::door::{Door, command};
use crate::console_pty::steps::quit;
use crate::support::daemon::Home;
use crate::support::pty::{Pty, find};

const KITTY: &str = "\x1b_Gi=31;OK\x1b\\\x1b[6;20;10t\x1b[?62c";
const NEW_KITTY: &str = "\x1b_Gi=31;OK\x1b\\\x1bP>|kitty(0.35.2)\x1b\\\x1b[6;20;10t\x1b[?62c";
const ITERM2: &str = "\x1bP>|iTerm2 3.5.0\x1b\\\x1b[6;20;10t\x1b[?62;4c";
const SIXEL: &str = "\x1b[6;20;10t\x1b[?62;4c";
/// Characters that show a picture of kitty.
const PLACEHOLDER: char = '\u{10eeee}';

/// How often these bytes were written.
fn count(pty: &Pty, bytes: &str) -> usize {
    let raw = pty.raw();
    let windows = raw.windows(bytes.len());
    windows.filter(|window| *window == bytes.as_bytes()).count()
}

/// Waits until these bytes were written so often.
fn wait_count(pty: &Pty, bytes: &str, times: usize) {
    let what = format!("{times} times {bytes:?}, but {}", count(pty, bytes));
    pty.wait(&what, |_| count(pty, bytes) == times);
}

/// A program in a directory with a picture of 200 by 120 pixels.
pub(super) fn beside_a_photo(home: &Home) -> Command {
    let here = home.path().join("here");
    std::fs::create_dir_all(&here).unwrap();
    let photo = RgbImage::from_fn(200, 120, |x, y| match (x < 100, y < 60) {
        (true, true) => Rgb([200, 30, 30]),
        (false, true) => Rgb([30, 200, 30]),
        (true, false) => Rgb([30, 30, 200]),
        (false, false) => Rgb([230, 230, 30]),
    });
    photo
        .save_with_format(here.join("photo.png"), ImageFormat::Png)
        .unwrap();
    let mut program = command(home);
    program.current_dir(&here);
    program
}

/// A console on a terminal that answers so, with a message that brought the picture, selected.
async fn selected(home: &Home, program: &Command, answers: &str) -> Pty {
    let mut pty = Pty::start(program, 120, 36);
    // The line keeps it until somebody asks and reads.
    pty.send(answers);
    pty.see("nothing needs you");
    let door = Door::of(home);
    let first = door.say("SAY:first").await;
    door.wait_state(&first, "completed").await;
    pty.send("2");
    pty.see("first");
    pty.send("j");
    pty.press_until("\r", "┌ Session");
    pty.send(":attach photo.png\r");
    pty.see("the next message goes with photo.png");
    pty.send("i");
    pty.see("with photo.png");
    pty.send("SAY:thanks for it\r");
    let answered = |screen: &str| screen.matches("│ answer ").count() == 2;
    pty.wait("the second answer", answered);
    while !pty.screen().contains("entry 4/6") {
        let before = pty.screen();
        pty.send("k");
        pty.wait("the selection moves", |screen| screen != before);
    }
    pty.see(" photo.png (image/png");
    pty
}

async fn on(answers: &str) -> (Home, Pty) {
    let home = Home::new("");
    let program = beside_a_photo(&home);
    let pty = selected(&home, &program, answers).await;
    (home, pty)
}

/// Opens the help over everything, and closes it.
fn cover(pty: &mut Pty) {
    pty.press_until("?", "┌ Help");
    pty.send("\x1b");
    pty.gone("┌ Help");
}

#[tokio::test]
async fn kitty_is_sent_a_picture_once_and_it_goes_with_its_message() {
    let (_home, mut pty) = on(KITTY).await;
    assert_eq!(count(&pty, "a=q"), 1);
    wait_count(&pty, "\x1b_Ga=p,", 1);
    pty.gone("▀");
    // Below the help there is nothing of it, and it is not sent again.
    cover(&mut pty);
    wait_count(&pty, "\x1b_Ga=p,", 2);
    assert_eq!(count(&pty, "\x1b_Ga=d,d=i,"), 1);
    assert_eq!(count(&pty, "\x1b_Ga=t,"), 1);
    assert_eq!(count(&pty, "\x1b_Ga=d,d=I,"), 0);
    pty.send("j");
    pty.gone(" photo.png (image/png");
    wait_count(&pty, "\x1b_Ga=d,d=I,", 1);
    // It is deleted when the console is left, too.
    pty.send("k");
    pty.see(" photo.png (image/png");
    wait_count(&pty, "\x1b_Ga=t,", 2);
    wait_count(&pty, "\x1b_Ga=p,", 3);
    quit(&mut pty, "stop");
    assert_eq!(pty.wait_exit(), Some(0));
    let raw = pty.raw();
    let last = raw.windows(8).rposition(|w| w == b"\x1b_Ga=d,d").unwrap();
    let left = raw.windows(8).rposition(|w| w == b"\x1b[?1049l").unwrap();
    assert!(last < left, "deleted on the screen of the shell");
}

#[tokio::test]
async fn characters_of_a_newer_kitty_stay_around_what_covers_them() {
    let (_home, mut pty) = on(NEW_KITTY).await;
    pty.wait("characters of a picture", |screen| {
        screen.contains(PLACEHOLDER)
    });
    assert_eq!(count(&pty, "\x1b_Ga=T,U=1,c=20,r=6,"), 1);
    cover(&mut pty);
    pty.wait("the picture again", |screen| screen.contains(PLACEHOLDER));
    assert_eq!(count(&pty, "\x1b_Ga=T,"), 1);
    assert_eq!(count(&pty, "\x1b_Ga=d,"), 0);
    pty.send("j");
    pty.gone(" photo.png (image/png");
    wait_count(&pty, "\x1b_Ga=d,d=I,", 1);
    assert!(!pty.screen().contains(PLACEHOLDER));
}

#[tokio::test]
async fn sixel_is_sent_where_all_of_a_picture_is_seen_and_cells_have_a_size() {
    let (_home, mut pty) = on(SIXEL).await;
    wait_count(&pty, "\x1bP0;1;0q\"1;1;200;120#", 1);
    pty.gone("▀");
    let raw = pty.raw();
    pty.send("?");
    pty.see("┌ Help");
    assert_eq!(count(&pty, "\x1bP0;1;0q"), 1);
    pty.send("\x1b");
    pty.gone("┌ Help");
    wait_count(&pty, "\x1bP0;1;0q", 2);
    // No row was scrolled by the terminal while pixels were on it.
    let after = pty.raw().split_off(raw.len());
    assert!(!find(&after, b"\x1b[r"));
    // A window of another size whose line says no pixels: nobody knows the size of a cell.
    pty.resize(118, 36);
    pty.see("▀");
    cover(&mut pty);
    pty.see("▀");
    assert_eq!(count(&pty, "\x1bP0;1;0q"), 2);
}

#[tokio::test]
async fn a_resize_of_a_line_with_pixels_sends_a_picture_for_its_new_cells() {
    let (_home, mut pty) = on(SIXEL).await;
    wait_count(&pty, "\x1bP0;1;0q\"1;1;200;120#", 1);
    // Cells of 4 by 8: the room of 80 by 20 cells is 320 by 160 pixels.
    pty.resize_with_pixels(110, 50, (440, 400));
    wait_count(&pty, "\x1bP0;1;0q\"1;1;200;120#", 2);
    pty.gone("▀");
    // Cells of 2 by 4: 160 by 80.
    pty.resize_with_pixels(112, 50, (224, 200));
    wait_count(&pty, "\x1bP0;1;0q\"1;1;133;80#", 1);
    pty.gone("▀");
}

#[tokio::test]
async fn iterm_is_sent_a_file_of_our_own_making() {
    let (_home, mut pty) = on(ITERM2).await;
    let begin = "\x1b]1337;File=inline=1;width=20;height=6;preserveAspectRatio=1;";
    wait_count(&pty, begin, 1);
    pty.gone("▀");
    cover(&mut pty);
    wait_count(&pty, begin, 2);
    assert_eq!(count(&pty, "\x1bP0;1;0q"), 0);
}

#[tokio::test]
async fn without_an_answer_pictures_are_half_blocks_and_a_late_one_types_nothing() {
    let home = Home::new("");
    let program = beside_a_photo(&home);
    let mut late = Pty::start(&program, 120, 36);
    late.see("nothing needs you");
    late.send("\x1bP>|kitty(0.35.2)\x1b\\\x1b_Gi=31;OK\x1b\\\x1b[6;20;10t\x1b[?62;4c");
    // The keys of the answer would open a field, and this would be written into it.
    late.send("2");
    late.see("┌ Live");
    quit(&mut late, "stop");
    assert_eq!(late.wait_exit(), Some(0));

    let pty = selected(&home, &program, "").await;
    pty.see("▀");
    for bytes in [
        "\x1b_Ga=t",
        "\x1b_Ga=T",
        "\x1b_Ga=p",
        "\x1bP0;1;0q",
        "\x1b]1337",
    ] {
        assert_eq!(count(&pty, bytes), 0, "{bytes:?}");
    }
}

#[tokio::test]
async fn a_setting_comes_before_what_the_terminal_answers() {
    for (word, shows, asks) in [("half-blocks", true, false), ("off", false, false)] {
        let home = Home::new(&format!("[console]\npictures = \"{word}\"\n"));
        let program = beside_a_photo(&home);
        let pty = selected(&home, &program, "").await;
        if shows {
            pty.see("▀");
        }
        assert_eq!(pty.screen().contains('▀'), shows, "{word}");
        assert_eq!(find(&pty.raw(), b"a=q"), asks, "{word}");
    }
    let home = Home::new("[console]\npictures = \"sixel\"\n");
    let program = beside_a_photo(&home);
    let pty = selected(&home, &program, KITTY).await;
    wait_count(&pty, "\x1bP0;1;0q", 1);
    assert_eq!(count(&pty, "\x1b_Ga=t"), 0);
}
