//! U+0000 in what people write: it reaches the model and the transcript as U+FFFD.

use crate::stories::bot::{self, WRITE, shown};
use crate::support::fake_telegram::FakeTelegram;
use crate::support::fake_telegram::state::User;

#[tokio::test]
async fn text_with_u_0000_is_answered_and_decided_like_any_other() {
    let telegram = FakeTelegram::start();
    let people = "[people.anna]\nids = [\"telegram:200\"]\nrole = \"owner\"";
    let home = bot::home(&telegram, "allowed_users = [\"100\"]", people);
    let daemon = bot::start(&home, &telegram, &[200], &[]);
    let (ben, anna) = (User::new(100, "B\0en"), User::new(200, "An\0na"));

    telegram.user_says(100, &ben, "SAY:one\0two");
    shown(&telegram, 100, "one\u{fffd}two").await;
    telegram.user_says(100, &ben, WRITE);
    let approval = daemon.wait_approval().await;
    let asks = approval["requester"]["display"].as_str().unwrap();
    assert!(asks.starts_with("B\u{fffd}en"), "{asks}");
    // A code counts where its card was shown.
    shown(&telegram, 200, "May `write_file` run?").await;
    let code = approval["short_code"].as_str().unwrap();
    telegram.user_says(200, &anna, &format!("/approve {code}"));
    shown(&telegram, 100, "all done").await;

    let session = daemon.session().await;
    let continuation = daemon.send(&session, "SAY:three\0four").await;
    let done = daemon.wait_state(&continuation, "completed").await;
    assert_eq!(done["request"]["text"], "SAY:three\u{fffd}four");
    assert_eq!(done["response"]["text"], "three\u{fffd}four");

    let doctor = daemon.get("/v1/doctor?check=true").await;
    assert_eq!(doctor["check"]["violations"], 0, "{doctor:#}");
    let (whole, told) = bot::cli(&home, &["audit", "verify"]).await;
    assert!(whole, "{told}");
}
