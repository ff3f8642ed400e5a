//! A stranger is let in from a console of lines, like any item.

use crate::console_plain::typist::{PROMPT, Typist};
use crate::pairings::daemon::{heard, home, pairings};
use crate::support::fake_telegram::FakeTelegram;
use crate::support::fake_telegram::state::User;

#[tokio::test(flavor = "multi_thread")]
async fn it_is_announced_read_and_said_twice() {
    let telegram = FakeTelegram::start();
    let home = home(&telegram, "", "");
    let token = telegram.state().token.clone();
    let daemon = home.daemon_with(&[("TEAM_TOKEN", &token)]);
    let mut program = crate::console_pty::door::command(&home);
    program.env("TEAM_TOKEN", &token).arg("--plain");
    let mut typist = Typist::of(&program);
    typist.hear(PROMPT);
    telegram.user_says(999, &User::new(999, "Mallory\u{202e}"), "hello");
    heard(&telegram, 999, 1).await;
    let news = typist.news("new: 1");
    assert!(
        news.contains("high") && news.contains("telegram:999"),
        "{news}"
    );
    let card = typist.enter("1");
    let code = pairings(&daemon).await[0]["code"].clone();
    for needed in ["telegram:999", code.as_str().unwrap(), "not on its list"] {
        assert!(card.contains(needed), "{needed}:\n{card}");
    }
    assert!(!card.contains('\u{202e}'), "{card:?}");
    typist.look();
    typist.say("1 1");
    typist.hear("HIGH RISK: approve 1, pairing, revision 1. Type yes to decide:");
    typist.look();
    let said = typist.enter("yes");
    assert!(said.contains("allowed once: pairing"), "{said}");
    assert!(heard(&telegram, 999, 2).await[1].contains("have access"));
    typist.quit();
}
