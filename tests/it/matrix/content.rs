//! Content of the events that are sent.

use leverframe::channels::card::{Line, Style};
use leverframe::channels::matrix::content::{
    Kind, card_content, edit, fits, lines, markdown, message, relate,
};
use serde_json::json;

fn line(text: &str, style: Style) -> Line {
    Line {
        text: text.to_owned(),
        style,
    }
}

#[test]
fn nothing_that_is_sent_mentions_anybody() {
    let text = markdown("@room and [Anna](https://matrix.to/#/@anna:x) and @anna:x");
    let message = message(&text, Kind::Notice);
    for content in [
        message.clone(),
        edit("$e", message),
        card_content(&text, "K7Q2MX"),
    ] {
        assert_eq!(content["m.mentions"], json!({}));
        assert!(!content.to_string().contains("href"), "{content}");
    }
}

#[test]
fn lines_become_escaped_html_with_one_block_of_code() {
    let text = lines(&[
        line("a <b>", Style::Bold),
        line("one & two", Style::Plain),
        line("x", Style::Code),
        line("y", Style::Code),
        line("end", Style::Plain),
    ]);
    assert_eq!(
        text.html,
        "<b>a &lt;b&gt;</b><br>one &amp; two<pre><code>x\ny</code></pre>end"
    );
    assert_eq!(text.plain, "a <b>\none & two\nx\ny\nend");
}

#[test]
fn an_edit_says_its_text_to_every_client() {
    let text = markdown("**now**");
    let content = edit("$first", message(&text, Kind::Notice));
    assert_eq!(content["body"], "* now");
    assert_eq!(content["m.new_content"]["body"], "now");
    assert_eq!(content["m.new_content"]["formatted_body"], "<b>now</b>");
    assert_eq!(
        content["m.relates_to"],
        json!({ "rel_type": "m.replace", "event_id": "$first" })
    );
}

#[test]
fn a_message_that_is_too_long_with_its_html_goes_without() {
    let long = markdown(&"<&\"".repeat(8_000));
    let content = message(&long, Kind::Notice);
    assert!(content.get("formatted_body").is_none());
    assert!(fits(&content));
    assert!(message(&markdown("short"), Kind::Notice)["formatted_body"].is_string());
}

#[test]
fn an_answer_in_a_thread_stays_in_it() {
    let mut content = json!({});
    relate(&mut content, Some("$root"), Some("$question"));
    assert_eq!(
        content["m.relates_to"],
        json!({ "rel_type": "m.thread", "event_id": "$root", "is_falling_back": true,
                "m.in_reply_to": { "event_id": "$question" } })
    );
    let mut content = json!({});
    relate(&mut content, None, Some("$question"));
    assert_eq!(
        content["m.relates_to"],
        json!({ "m.in_reply_to": { "event_id": "$question" } })
    );
    let mut content = json!({ "body": "x" });
    relate(&mut content, None, None);
    assert_eq!(content, json!({ "body": "x" }));
}
