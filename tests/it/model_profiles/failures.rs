//! What is wrong between here and a model: the message names the provider, what was expected and the next step, never the
//! key.

use serde_json::json;

use crate::model_profiles::server::{KEY, home, part, run};
use crate::support::fake_http::{FakeHttp, Reply};

fn raw(status: &str, headers: &str, body: &str) -> Reply {
    Reply::Raw(
        format!(
            "HTTP/1.1 {status}\r\n{headers}content-length: {}\r\nconnection: close\r\n\r\n{body}",
            body.len()
        )
        .into_bytes(),
    )
}

/// What a test of a model at this server says of its first call.
#[track_caller]
fn said(server: &FakeHttp, words: &[&str]) {
    let ran = run(&home(server.url(), ""), &["models", "test", "--json"]);
    assert_eq!(ran.status, Some(1), "{}{}", ran.out, ran.err);
    let test: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    let (verdict, why) = part(&test, "streaming");
    assert_eq!(verdict, "no");
    assert!(why.starts_with("provider house (127.0.0.1:"), "{why}");
    for word in words {
        assert!(why.contains(word), "`{word}` is not in: {why}");
    }
    // Nothing else is asked of a model that does not answer.
    assert_eq!(test["calls"], 1);
    assert_eq!(part(&test, "tools").0, "unknown");
}

#[test]
fn each_names_the_provider_what_was_expected_and_the_next_step() {
    let error = |status, message: &str| Reply::Json(status, json!({"error": {"message": message}}));
    let echo = format!("Incorrect API key provided: {KEY}");
    let cases: Vec<(Reply, Vec<&str>)> = vec![
        (
            error(401, &echo),
            vec![
                "it answered 401",
                "check the key of this provider",
                "wrong",
                "taken from HOUSE_KEY",
            ],
        ),
        (
            error(401, "API key expired. Please renew the API key."),
            vec![
                "expired",
                "check the key of this provider",
                "taken from HOUSE_KEY",
            ],
        ),
        (
            error(403, "this key may not use this model"),
            vec!["it answered 403", "not allowed this model"],
        ),
        (
            error(404, "The model `this-model` does not exist"),
            vec!["does not exist", "check base_url and the model name"],
        ),
        (
            raw(
                "200 OK",
                "content-type: text/html\r\n",
                "<html>Log in to the hotel Wi-Fi</html>",
            ),
            vec![
                "expected an event stream, got text/html",
                "not an LLM endpoint",
                "hotel",
                "check that base_url",
            ],
        ),
        (
            raw(
                "200 OK",
                "content-type: application/json\r\n",
                "{\"error\":{\"message\":\"invalid api key\",\"type\":\"authentication_error\"}}",
            ),
            vec!["invalid api key", "check the key of this provider"],
        ),
        (
            raw(
                "511 Network Authentication Required",
                "content-type: text/html\r\n",
                "<html>sign in</html>",
            ),
            vec!["it answered 511"],
        ),
        (Reply::Reset, vec!["provider house"]),
    ];
    for (reply, words) in cases {
        let server = FakeHttp::start(move |_| reply.clone());
        said(&server, &words);
    }
}

#[test]
fn a_redirect_is_named_and_not_followed() {
    let elsewhere = FakeHttp::start(|_| panic!("the key would have come along"));
    let target = elsewhere.url().replace("127.0.0.1", "localhost");
    let server = FakeHttp::start(move |_| {
        raw(
            "307 Temporary Redirect",
            &format!("location: {target}/v1\r\n"),
            "",
        )
    });
    said(
        &server,
        &[
            "redirect (307) to localhost",
            "not followed",
            "check base_url",
        ],
    );
}

#[test]
fn a_dead_server_is_named() {
    let server = FakeHttp::start(|_| Reply::Hang);
    server.refuse(true);
    said(
        &server,
        &[
            "could not connect",
            "check base_url, the network, and that the server runs",
        ],
    );
}
