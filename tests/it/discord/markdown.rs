//! Markdown as Discord shows it.

use leverframe::text::markdown::to_discord;
use proptest::prelude::*;

#[test]
fn marks_of_the_source_become_those_of_discord() {
    for (markdown, shown) in [
        ("# Top\n\ntext", "**Top**\n\ntext"),
        ("a **b** *c* ~~d~~ `e`", "a **b** _c_ ~~d~~ `e`"),
        ("**a *b* c**", "**a _b_ c**"),
        ("- one\n- two", "• one\n• two"),
        ("> quoted\n> more", "> quoted\n> more"),
        ("> a\n>\n> b\n\nend", "> a\n> \n> b\n\nend"),
        ("```rust\nlet x;\n```", "```rust\nlet x;\n```"),
        (
            "[text](https://x.example/a_b)",
            "text (https://x.example/a_b)",
        ),
        ("<https://x.example/_a_>", "https://x.example/_a_"),
        (
            "see https://x.example/a_b_c and a_b_c",
            "see https://x.example/a_b_c and a\\_b\\_c",
        ),
        ("``a`b``", "``a`b``"),
        (
            "| a | b |\n|---|---|\n| 1 | 2 |",
            "```\na  b\n-  -\n1  2\n```",
        ),
    ] {
        assert_eq!(to_discord(markdown), shown, "{markdown}");
    }
}

#[test]
fn nothing_of_the_text_is_taken_for_a_mark() {
    for (text, shown) in [
        ("<@123> <#4> <:a:5>", "\\<@123> \\<#4> \\<:a:5>"),
        ("||spoiler||", "\\|\\|spoiler\\|\\|"),
        ("\\[a\\](b)", "\\[a](b)"),
        (
            "\\# no heading\n\\> no quote\n\\- no item",
            "\\# no heading\n\\> no quote\n\\- no item",
        ),
        ("\\`\\`\\`no block", "\\`\\`\\`no block"),
        ("<b>html</b>", "\\<b>html\\</b>"),
    ] {
        assert_eq!(to_discord(text), shown, "{text}");
    }
    let fenced = to_discord("````\n```\n````");
    assert!(!fenced[4..fenced.len() - 4].contains("```"), "{fenced:?}");
}

/// Whether the marks of a text are balanced, as Discord reads it: outside code and addresses, unescaped.
fn is_balanced(text: &str) -> bool {
    let (mut open, mut rest) = (Vec::new(), text);
    while let Some(c) = rest.chars().next() {
        let mark = ["```", "**", "~~", "_"]
            .into_iter()
            .find(|mark| rest.starts_with(mark));
        if c == '\\' {
            rest = rest.get(2..).unwrap_or_default();
        } else if c == '`' && mark.is_none() {
            let length = rest.len() - rest.trim_start_matches('`').len();
            let fence = "`".repeat(length);
            let Some(end) = rest[length..].find(&fence) else {
                return false;
            };
            rest = rest[length + end..].trim_start_matches('`');
        } else if mark == Some("```") {
            let Some(end) = rest[3..].find("```") else {
                return false;
            };
            rest = &rest[3 + end + 3..];
        } else if let Some(mark) = mark {
            if open.last() == Some(&mark) {
                open.pop();
            } else if open.contains(&mark) {
                return false;
            } else {
                open.push(mark);
            }
            rest = &rest[mark.len()..];
        } else {
            rest = &rest[c.len_utf8()..];
        }
    }
    open.is_empty()
}

proptest! {
    #[test]
    fn words_survive_and_marks_are_balanced(words in prop::collection::vec("[a-z]{3,8}", 1..20),
        joint in prop::sample::select(&[" ", "\n", "\n\n", "\n- ", "\n> ", " **", " *", "\n# ", "\n1. ", "_", "~~", "||", "\\", " <", "# "][..])) {
        let text = words.join(joint);
        let shown = to_discord(&text);
        for word in &words {
            prop_assert!(shown.contains(word.as_str()), "{word} is lost in {shown:?}");
        }
        prop_assert!(is_balanced(&shown), "{shown:?}");
    }
}
