//! Twenty cards in a row at 80 by 24: how many keys they take, and how long.

use std::time::{Duration, Instant};

use crate::console_pty::door::{Door, WRITE, console, items};
use crate::support::daemon::Home;
use crate::support::pty::Pty;

/// How long a card must be on screen before a key about it counts, and a frame more.
const GLANCE: Duration = Duration::from_millis(520);

/// Counts the keys that are pressed.
struct Operator {
    pty: Pty,
    keys: usize,
}

impl Operator {
    fn press(&mut self, key: &str) {
        self.pty.send(key);
        self.keys += 1;
    }
}

#[tokio::test]
async fn twenty_cards_take_two_keys_each_and_high_risk_one_more() {
    let home = Home::new("");
    let mut operator = Operator {
        pty: console(&home),
        keys: 0,
    };
    operator.pty.see("nothing needs you");
    let door = Door::of(&home);
    let mut codes = Vec::new();
    let mut high = Vec::new();
    for n in 0..20 {
        let name = format!("note-{n}");
        let mut message = WRITE.replace("note", &name);
        if n % 5 == 0 {
            // No git can restore it: high risk.
            let file = home.workspace("api").join(format!("{name}.txt"));
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, "before\n").unwrap();
            message = message.replace("hello\\n\"", "hello\\n\",\"mode\":\"overwrite\"");
        }
        let approval = door.ask(&message).await;
        let code = approval["short_code"].as_str().unwrap().to_owned();
        high.push(approval["risk"] == "high");
        codes.push(code);
    }
    assert_eq!(high.iter().filter(|high| **high).count(), 4);
    operator.pty.see("20 need you");

    let begun = Instant::now();
    for (code, high) in codes.iter().zip(high) {
        operator.press("\t");
        operator.pty.see(&format!("· code {code}"));
        let seen = Instant::now();
        operator.pty.wait("an armed card", |screen| {
            seen.elapsed() > GLANCE && !screen.contains("not armed")
        });
        operator.press("a");
        if high {
            operator.pty.see("press the same key once more");
            operator.press("a");
        }
        operator.pty.see("allowed once by ");
    }
    let seconds = begun.elapsed().as_secs_f64();
    println!("20 cards: {} keys, {seconds:.1} s", operator.keys);
    assert_eq!(operator.keys, 16 * 2 + 4 * 3);
    operator.pty.see("nothing needs you");
    let pending = door.get("/v1/approvals?state=pending").await;
    assert_eq!(items(&pending).count(), 0, "{pending:#}");
    for n in 0..20 {
        let file = home.workspace("api").join(format!("note-{n}.txt"));
        operator.pty.wait("the file", |_| {
            std::fs::read_to_string(&file).is_ok_and(|text| text == "hello\n")
        });
    }
}
