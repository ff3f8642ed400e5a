//! Texts and cards within the limits of Slack.

use leverframe::channels::card::{Line, Style};
use leverframe::channels::slack::render::{MAX_TEXT, messages, sections};
use leverframe::protocol::channel::LengthUnit;
use leverframe::text::chunk::length;
use serde_json::Value;

fn line(text: &str, style: Style) -> Line {
    Line {
        text: text.to_owned(),
        style,
    }
}

fn texts(blocks: &[Value]) -> Vec<String> {
    blocks
        .iter()
        .map(|block| block["text"]["text"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn a_text_that_its_markup_makes_too_long_becomes_several() {
    assert_eq!(messages("**hi**"), ["*hi*"]);
    for source in [
        "&".repeat(3_900),
        "a < b > c & ".repeat(320),
        "```\n".to_owned() + &"<&>\n".repeat(900) + "```",
    ] {
        let texts = messages(&source);
        assert!(texts.len() > 1);
        for text in &texts {
            assert!(length(text, LengthUnit::Chars) <= MAX_TEXT);
        }
        let signs = |text: &str| text.matches("&amp;").count();
        let sum: usize = texts.iter().map(|text| signs(text)).sum();
        assert_eq!(sum, source.matches('&').count());
    }
}

#[test]
fn every_section_is_within_the_limit_and_nothing_is_lost() {
    let mut lines = vec![
        line("May <it> run?", Style::Bold),
        line("plain & simple", Style::Plain),
    ];
    lines.extend((0..150).map(|n| line(&format!("line {n} ```<"), Style::Code)));
    lines.push(line(&"x&".repeat(800), Style::Plain));
    let blocks = sections(&lines).unwrap();
    assert!(blocks.len() > 1 && blocks.len() < 45);
    let texts = texts(&blocks);
    for text in &texts {
        assert!(text.chars().count() <= 3_000, "{}", text.chars().count());
        assert_eq!(text.matches("```").count() % 2, 0, "{text}");
    }
    let whole = texts.concat();
    assert!(
        whole.starts_with("*May &lt;it&gt; run?*\nplain &amp; simple\n```\nline 0 ``\u{200b}`&lt;")
    );
    assert!(whole.contains("line 149") && whole.matches("x&amp;").count() == 800);
    let huge: Vec<Line> = (0..400)
        .map(|_| line(&"y".repeat(100), Style::Plain))
        .collect();
    assert_eq!(sections(&huge), None);
}
