//! The fake is as strict as it claims, so that what passes here means something.

use std::time::{Duration, Instant};

use leverframe::channels::http::{CallError, HttpTimes};
use leverframe::channels::telegram::api::Api;
use leverframe::config::settings::Secret;
use serde_json::{Value, json};

use crate::support::fake_telegram::{FakeTelegram, TOKEN, html};
use crate::telegram::port::ada;

fn api(fake: &FakeTelegram) -> Api {
    Api::new(fake.url(), Secret::new(TOKEN), HttpTimes::default()).unwrap()
}

async fn refused(api: &Api, method: &str, params: Value) -> String {
    match api.call(method, &params).await {
        Err(CallError::Refused { detail, .. }) => detail,
        other => panic!("{method} {params}: {other:?}"),
    }
}

#[tokio::test]
async fn updates_stay_until_a_higher_offset_confirms_them() {
    let fake = FakeTelegram::start();
    let api = api(&fake);
    for text in ["a", "b", "c"] {
        fake.user_says(4242, &ada(), text);
    }
    let ids = |value: Value| -> Vec<i64> {
        value
            .as_array()
            .unwrap()
            .iter()
            .map(|update| update["update_id"].as_i64().unwrap())
            .collect()
    };
    let all = ids(api.call("getUpdates", &json!({})).await.unwrap());
    assert_eq!(all.len(), 3);
    assert_eq!(ids(api.call("getUpdates", &json!({})).await.unwrap()), all);
    let rest = api.call("getUpdates", &json!({"offset": all[1]})).await;
    assert_eq!(ids(rest.unwrap()), all[1..]);
    let gone = api.call("getUpdates", &json!({"offset": all[0]})).await;
    assert_eq!(ids(gone.unwrap()), all[1..], "confirmed is gone");
    let one = api.call("getUpdates", &json!({"limit": 1})).await;
    assert_eq!(ids(one.unwrap()), all[1..2]);
    let far = api
        .call("getUpdates", &json!({"offset": all[2] + 1000}))
        .await;
    assert_eq!(
        ids(far.unwrap()),
        all[1..],
        "an offset from nowhere confirms nothing"
    );
}

#[tokio::test]
async fn a_poll_waits_and_a_second_one_ends_the_first() {
    let fake = FakeTelegram::start();
    let (first, second) = (api(&fake), api(&fake));
    let began = Instant::now();
    let empty = first.call("getUpdates", &json!({"timeout": 1})).await;
    assert_eq!(empty.unwrap(), json!([]));
    assert!(began.elapsed() >= Duration::from_millis(950));

    let waiting =
        tokio::spawn(async move { first.call("getUpdates", &json!({"timeout": 20})).await });
    fake.wait_until("the first poll", |state| state.poll == 2)
        .await;
    let other =
        tokio::spawn(async move { second.call("getUpdates", &json!({"timeout": 20})).await });
    assert!(matches!(
        waiting.await.unwrap(),
        Err(CallError::Refused { code: 409, .. })
    ));
    fake.user_says(4242, &ada(), "hi");
    assert_eq!(other.await.unwrap().unwrap().as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn only_what_was_asked_for_is_queued() {
    let fake = FakeTelegram::start();
    let api = api(&fake);
    let _ = api
        .call("getUpdates", &json!({"allowed_updates": ["message"]}))
        .await;
    fake.raw_update(json!({"callback_query": {"id": "1"}}));
    fake.user_says(4242, &ada(), "hi");
    let updates = api.call("getUpdates", &json!({})).await.unwrap();
    assert_eq!(updates.as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn wrong_calls_are_refused_and_noted() {
    let fake = FakeTelegram::start();
    let api = api(&fake);
    fake.change(|state| state.know_chat(1));
    let button = |data: &str| json!({"chat_id": 1, "text": "x", "reply_markup": {"inline_keyboard": [[{"text": "b", "callback_data": data}]]}});
    for (params, words) in [
        (json!({"chat_id": 1, "text": " "}), "message text is empty"),
        (json!({"chat_id": 2, "text": "x"}), "chat not found"),
        (
            json!({"chat_id": 1, "text": "🦀".repeat(2049)}),
            "message is too long",
        ),
        (
            json!({"chat_id": 1, "text": "<b>x", "parse_mode": "HTML"}),
            "can't parse entities",
        ),
        (
            json!({"chat_id": 1, "text": "x", "message_thread_id": 4}),
            "message thread not found",
        ),
        (
            json!({"chat_id": 1, "text": "x", "reply_parameters": {"message_id": 4}}),
            "message to be replied not found",
        ),
        (button(""), "BUTTON_DATA_INVALID"),
        (button(&"x".repeat(65)), "BUTTON_DATA_INVALID"),
    ] {
        let said = refused(&api, "sendMessage", params).await;
        assert!(said.contains(words), "{said}");
    }
    assert!(fake.state().violations.is_empty());
    assert!(
        api.call("sendMessage", &button(&"x".repeat(64)))
            .await
            .is_ok()
    );
    assert!(
        api.call(
            "sendMessage",
            &json!({"chat_id": 1, "text": "🦀".repeat(2048)})
        )
        .await
        .is_ok()
    );
    refused(&api, "sendMessage", json!({"chat_id": "1", "text": "x"})).await;
    refused(&api, "sendMesage", json!({})).await;
    let _ = api
        .call(
            "sendMessage",
            &json!({"chat_id": 1, "text": "x", "parsemode": "HTML"}),
        )
        .await;
    assert_eq!(fake.state().violations.len(), 3);
}

#[test]
fn html_is_parsed_as_telegram_does() {
    let good = html::parse("a<b>b<i>🦀</i></b> &lt;&#65;&unknown; <a href=\"https://x/?a&amp;b\">l</a><pre><code class=\"language-rust\">x</code></pre>").unwrap();
    assert_eq!(good.text, "ab🦀 <A&unknown; lx");
    assert_eq!(
        good.entities[0],
        json!({"type": "bold", "offset": 1, "length": 3})
    );
    assert_eq!(
        good.entities[1],
        json!({"type": "italic", "offset": 2, "length": 2})
    );
    assert_eq!(good.entities[2]["url"], "https://x/?a&b");
    for (bad, words) in [
        ("<b>x", "Can't find end tag"),
        ("x</b>", "Unexpected end tag"),
        ("<b><i>x</b></i>", "Unmatched end tag"),
        ("<script>", "Unsupported start tag \"script\""),
        ("a < b", "Unclosed start tag"),
    ] {
        let said = html::parse(bad).unwrap_err();
        assert!(said.contains(words), "{bad}: {said}");
    }
}
