//! Where a token goes.

use leverframe::channels::slack::api::is_own_host;

#[test]
fn tokens_go_only_to_slack_and_to_the_api() {
    let base = "https://slack.com/api";
    for own in [
        "https://files.slack.com/files-pri/T1-F1/a.txt",
        "https://slack.com/x",
        "https://a.slack-files.com/x",
    ] {
        assert!(is_own_host(own, base), "{own}");
    }
    for foreign in [
        "http://files.slack.com/x",
        "https://files.slack.com.evil.example/x",
        "https://evilslack.com/x",
        "https://files.slack.com:8443/x",
        "https://user@files.slack.com/x",
        "https://drive.example/x",
        "http://127.0.0.1:9/x",
        "file:///etc/passwd",
        "",
    ] {
        assert!(!is_own_host(foreign, base), "{foreign}");
    }
    assert!(is_own_host(
        "http://127.0.0.1:9/f/x",
        "http://127.0.0.1:9/api"
    ));
    assert!(!is_own_host(
        "http://127.0.0.1:8/f/x",
        "http://127.0.0.1:9/api"
    ));
}
