//! Markdown to Slack's mrkdwn: no control sequence of anybody's making, marks that are marks, and no text lost.

use leverframe::text::markdown::to_slack;
use proptest::prelude::*;

#[test]
fn markdown_becomes_what_slack_shows() {
    for (markdown, mrkdwn) in [
        ("**b** *i* ~~s~~ `c`", "*b* _i_ ~s~ `c`"),
        ("# Head\n\ntext", "*Head*\n\ntext"),
        ("a **b *c* d** e", "a *b _c_ d* e"),
        ("un**believ**able", "un\u{200b}*believ*\u{200b}able"),
        ("x`y`z", "x\u{200b}`y`\u{200b}z"),
        ("**a\nb**", "*a*\n*b*"),
        (
            "[t](https://x.y/a|b>c&d)",
            "<https://x.y/a%7Cb%3Ec&amp;d|t>",
        ),
        ("[**t**](https://x.y)", "*<https://x.y|t>*"),
        (
            "[t](javascript:x) <https://x.y>",
            "t (javascript:x) <https://x.y|https://x.y>",
        ),
        ("> a\n> b\n\nc", "> a\n> b\n\nc"),
        ("> a\n>\n> b", "> a\n>\n> b"),
        ("- a\n  - b\n- c", "• a\n  • b\n• c"),
        ("1. a\n2. b", "1. a\n2. b"),
        ("```rust\nlet x = 1;\n```", "```\nlet x = 1;\n```"),
        ("    in ``` code", "```\nin ``\u{200b}` code\n```"),
        ("`` a`b ``", "a`b"),
        (
            "| a | b |\n|---|---|\n| 1 | 2 |",
            "```\na  b\n-  -\n1  2\n```",
        ),
        (
            "to <!channel> <@U1> <#C1> &amp; <b>",
            "to &lt;!channel&gt; &lt;@U1&gt; &lt;#C1&gt; &amp; &lt;b&gt;",
        ),
        ("**5 < 6**", "*5 &lt; 6*"),
        ("", ""),
    ] {
        assert_eq!(to_slack(markdown), mrkdwn, "{markdown:?}");
    }
}

/// The text without marks, and every control sequence in it.
fn read(mrkdwn: &str) -> Result<(String, Vec<String>), String> {
    let mut text = String::new();
    let mut controls = Vec::new();
    let mut rest = mrkdwn;
    while let Some(at) = rest.find(['<', '&']) {
        text.push_str(&rest[..at]);
        rest = &rest[at..];
        if let Some(inside) = rest.strip_prefix('<') {
            let (control, after) = inside.split_once('>').ok_or("an open bracket")?;
            let (target, label) = control.split_once('|').ok_or("no label")?;
            controls.push(target.to_owned());
            text.push_str(label);
            rest = after;
            continue;
        }
        let end = rest.find(';').ok_or("a bare ampersand")?;
        text.push(match &rest[..=end] {
            "&amp;" => '&',
            "&lt;" => '<',
            "&gt;" => '>',
            other => return Err(format!("unknown entity {other}")),
        });
        rest = &rest[end + 1..];
    }
    text.push_str(rest);
    Ok((text, controls))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn nothing_of_the_source_becomes_a_control_sequence(source in "[-a-c<>!@#&|*_~`\\[\\]()\n :/.x]{0,60}") {
        let shown = to_slack(&source);
        let (_, controls) = read(&shown).map_err(|why| TestCaseError::fail(format!("{why}: {source:?} -> {shown:?}")))?;
        for target in controls {
            prop_assert!(target.starts_with("http"), "{source:?} -> {shown:?}");
        }
    }

    #[test]
    fn no_word_is_lost(words in prop::collection::vec("[a-z]{3,7}", 1..9), wraps in prop::collection::vec(0usize..8, 9)) {
        const WRAPS: &[&str] = &["@ ", "**@** ", "*@*", "~~@~~ ", "`@`", "\n\n> @\n\n", "\n- @\n", "\n\n```\n@\n```\n\n"];
        let mut source = String::new();
        for (word, wrap) in words.iter().zip(&wraps) {
            source.push_str(&WRAPS[*wrap].replace('@', word));
        }
        let shown = to_slack(&source);
        for word in &words {
            prop_assert!(shown.contains(word.as_str()), "{word} of {source:?} is not in {shown:?}");
        }
        // Marks come in pairs on each line outside of blocks.
        let mut in_block = false;
        for line in shown.lines() {
            if line.starts_with("```") {
                in_block = !in_block;
                continue;
            }
            if !in_block && !source.contains("***") {
                for mark in ['*', '~'] {
                    prop_assert_eq!(line.matches(mark).count() % 2, 0, "{} of {:?} -> {:?}", mark, source, shown);
                }
            }
        }
    }
}
