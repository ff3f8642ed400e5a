//! Cards and their buttons.

use leverframe::channels::card::{Line, Style};
use leverframe::channels::discord::render::{MAX_LABEL, card, lines};
use leverframe::protocol::bridge::CardButton;
use serde_json::{Value, json};

#[test]
fn a_card_is_text_only_and_its_code_stays_in_its_block() {
    let line = |text: &str, style| Line {
        text: text.to_owned(),
        style,
    };
    let shown = lines(&[
        line("**Run** `x` <@1>", Style::Bold),
        line("# not a heading", Style::Plain),
        line("a: \"```\"", Style::Code),
        line("b: *", Style::Code),
        line("end", Style::Plain),
    ]);
    assert_eq!(
        shown,
        "**\\*\\*Run\\*\\* \\`x\\` \\<@1>**\n\\# not a heading\n```\na: \"``\u{200b}`\"\nb: *\n```\nend"
    );
}

#[test]
fn buttons_stand_in_rows_of_five() {
    let many: Vec<CardButton> = (0..7)
        .map(|n| CardButton {
            label: format!("{}{n}", "x".repeat(90)),
            token: format!("t{n}"),
        })
        .collect();
    let shown = card("what", &many);
    assert_eq!(shown.as_array().map(Vec::len), Some(3));
    assert_eq!(shown.pointer("/0/content"), Some(&json!("what")));
    assert_eq!(
        shown.pointer("/2/components/1/custom_id"),
        Some(&json!("t6"))
    );
    assert_eq!(
        shown
            .pointer("/1/components/0/label")
            .and_then(Value::as_str)
            .map(str::len),
        Some(MAX_LABEL)
    );
}
