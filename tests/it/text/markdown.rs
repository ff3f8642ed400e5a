//! Markdown to platform markup: balanced, escaped, and without losing text.

use leverframe::text::markdown::{
    to_discord, to_matrix_html, to_pieces, to_plain, to_slack, to_telegram_html,
};
use proptest::prelude::*;

/// What a strict reader of the platform's HTML accepts; the text without tags.
fn read_strictly(html: &str) -> Result<String, String> {
    let mut text = String::new();
    let mut open: Vec<String> = Vec::new();
    let mut rest = html;
    while let Some(at) = rest.find(['<', '&']) {
        text.push_str(&rest[..at]);
        rest = &rest[at..];
        if rest.starts_with('&') {
            let end = rest.find(';').ok_or("bare ampersand")?;
            text.push(match &rest[..=end] {
                "&amp;" => '&',
                "&lt;" => '<',
                "&gt;" => '>',
                "&quot;" => '"',
                other => return Err(format!("unknown entity {other}")),
            });
            rest = &rest[end + 1..];
            continue;
        }
        let end = rest.find('>').ok_or("unterminated tag")?;
        let tag = &rest[1..end];
        rest = &rest[end + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            if open.pop().as_deref() != Some(name) {
                return Err(format!("</{name}> closes nothing"));
            }
            continue;
        }
        let name = tag.split(' ').next().unwrap_or_default().to_owned();
        let inside = open.last().map(String::as_str);
        let fits = match name.as_str() {
            "b" | "i" | "u" | "s" | "a" => {
                !open.iter().any(|o| o == "code" || o == "pre" || *o == name)
            }
            "code" => inside.is_none() || inside == Some("pre"),
            "pre" | "blockquote" => inside.is_none(),
            _ => return Err(format!("unknown tag {tag}")),
        };
        let attributes_fit = match name.as_str() {
            "a" => tag.starts_with("a href=\"http") && tag.matches('"').count() == 2,
            "code" => {
                tag == "code"
                    || (inside == Some("pre") && tag.starts_with("code class=\"language-"))
            }
            _ => tag == name,
        };
        if !fits || !attributes_fit {
            return Err(format!("<{tag}> inside {inside:?}"));
        }
        open.push(name);
    }
    text.push_str(rest);
    if open.is_empty() {
        Ok(text)
    } else {
        Err(format!("{open:?} left open"))
    }
}

#[track_caller]
fn check(markdown: &str, html: &str, plain: &str) {
    assert_eq!(to_telegram_html(markdown), html);
    assert_eq!(to_plain(markdown), plain);
    assert!(read_strictly(html).is_ok());
}

#[test]
fn inline_markup() {
    check(
        "**bold** *it* ~~gone~~ `a<b`",
        "<b>bold</b> <i>it</i> <s>gone</s> <code>a&lt;b</code>",
        "bold it gone a<b",
    );
    check("**a `b` c**", "<b>a </b><code>b</code><b> c</b>", "a b c");
    check("**a *b* c**", "<b>a <i>b</i> c</b>", "a b c");
    check("one\ntwo", "one\ntwo", "one\ntwo");
}

#[test]
fn blocks() {
    check("# Title\n\ntext", "<b>Title</b>\n\ntext", "Title\n\ntext");
    check(
        "- a\n- b\n  - c\n\nend",
        "• a\n• b\n  • c\n\nend",
        "• a\n• b\n  • c\n\nend",
    );
    check("3. a\n4. b", "3. a\n4. b", "3. a\n4. b");
    check(
        "- [x] done\n- [ ] open",
        "• [x] done\n• [ ] open",
        "• [x] done\n• [ ] open",
    );
    check(
        "> quoted\n\nafter",
        "<blockquote>quoted</blockquote>\n\nafter",
        "quoted\n\nafter",
    );
    check(
        "```rust\nfn a() {}\n```",
        "<pre><code class=\"language-rust\">fn a() {}</code></pre>",
        "fn a() {}",
    );
    check(
        "```\na & b\n```\nx",
        "<pre>a &amp; b</pre>\n\nx",
        "a & b\n\nx",
    );
    check("a\n\n---\n\nb", "a\n\n———\n\nb", "a\n\n———\n\nb");
    check(
        "| a | bb |\n|---|---|\n| ccc | d |",
        "<pre>a    bb\n---  --\nccc  d</pre>",
        "a    bb\n---  --\nccc  d",
    );
}

#[test]
fn links_that_cannot_be_followed_safely_show_their_address() {
    check(
        "[site](https://x.org/?a=1&b=2)",
        "<a href=\"https://x.org/?a=1&amp;b=2\">site</a>",
        "site (https://x.org/?a=1&b=2)",
    );
    check(
        "<https://x.org>",
        "<a href=\"https://x.org\">https://x.org</a>",
        "https://x.org",
    );
    check(
        "[me](tg://user?id=1)",
        "me (tg://user?id=1)",
        "me (tg://user?id=1)",
    );
    check(
        "[x](javascript:alert(1))",
        "x (javascript:alert(1))",
        "x (javascript:alert(1))",
    );
    check(
        "![alt](https://x.org/a.png)",
        "<a href=\"https://x.org/a.png\">alt</a>",
        "alt (https://x.org/a.png)",
    );
}

#[test]
fn raw_html_is_text() {
    check(
        "a <b>x</b> <script>",
        "a &lt;b&gt;x&lt;/b&gt; &lt;script&gt;",
        "a <b>x</b> <script>",
    );
    check(
        "<div onclick=\"x\">hi</div>",
        "&lt;div onclick=&quot;x&quot;&gt;hi&lt;/div&gt;",
        "<div onclick=\"x\">hi</div>",
    );
    check("```\"><b>\nx\n```", "<pre>x</pre>", "x");
}

/// Markdown takes `[PASS]: login` for the definition of a link, and shows nothing of it.
#[test]
fn a_definition_that_no_link_uses_is_shown_where_it_stands() {
    let report = "Results:\n\n[PASS]: login\n[PASS]: *log_out*\n[FAIL]: payment\n\nend";
    check(report, report, report);
    assert_eq!(said(report), report);
    for source in [
        "[OK]: done",
        "- [OK]: done\n- [OK]: again",
        "> [OK]: done",
        "1. [OK]:\n   done",
        "```\n```",
        "#",
    ] {
        for shown in [
            to_discord(source),
            to_matrix_html(source),
            to_plain(source),
            to_slack(source),
            to_telegram_html(source),
            said(source),
        ] {
            for word in ["[OK", "done", "again", "`", "#"] {
                let is_there = shown.contains(word);
                assert!(is_there || !source.contains(word), "{source:?}: {shown:?}");
            }
        }
    }
    // Of a list of sources, those that are used are links, and the rest is text.
    check(
        "see [a][1] and [c][3]\n\n[1]: https://a.example\n[2]: https://b.example/*x*\n[3]: https://c.example",
        "see <a href=\"https://a.example\">a</a> and <a href=\"https://c.example\">c</a>\n\n[2]: https://b.example/*x*",
        "see a (https://a.example) and c (https://c.example)\n\n[2]: https://b.example/*x*",
    );
    check("```\n[a]: b\n```", "<pre>[a]: b</pre>", "[a]: b");
    check("text\n[a]: b", "text\n[a]: b", "text\n[a]: b");
}

fn markdown() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(
        &[
            "**",
            "*",
            "_",
            "~~",
            "`",
            "```\n",
            "```rust\n",
            "> ",
            "- ",
            "1. ",
            "# ",
            "\n",
            "\n\n",
            "| a | b |\n|---|---|\n",
            "| ",
            "[",
            "](https://x.org)",
            "](tg://x)",
            "![",
            "<b>",
            "</i>",
            "<",
            ">",
            "&",
            "&amp;",
            "\"",
            "word",
            " ",
            "    ",
            "\\",
            "---\n",
            "]: ",
        ][..],
    );
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn html_is_always_accepted(text in markdown()) {
        let html = to_telegram_html(&text);
        prop_assert!(read_strictly(&html).is_ok(), "{:?} for {:?} gave {:?}", read_strictly(&html), text, html);
    }

    #[test]
    fn words_survive(words in prop::collection::vec("[a-z]{3,8}", 1..20), joint in prop::sample::select(&[" ", "\n", "\n\n", "\n- ", "\n> ", " **", "\n# ", "\n1. "][..])) {
        let text = words.join(joint);
        let plain = to_plain(&text);
        let html = read_strictly(&to_telegram_html(&text)).unwrap();
        for word in &words {
            prop_assert!(plain.contains(word.as_str()) && html.contains(word.as_str()), "{word} is lost in {plain:?}");
        }
    }
}

fn said(markdown: &str) -> String {
    to_pieces(markdown).into_iter().map(|p| p.text).collect()
}

#[test]
fn pieces_know_their_look_and_keep_what_markdown_would_hide() {
    let pieces = to_pieces("# Top *and* `code`\n\n> **so** ~~no~~\n\n[a](http://b.example)");
    let look = |text: &str| {
        let found = pieces.iter().find(|piece| piece.text == text);
        found.unwrap_or_else(|| panic!("{text}: {pieces:?}")).look
    };
    assert!(look("# ").strong && look("and").strong && look("and").emphasis);
    assert!(look("`code`").code && !look("`code`").strong);
    assert!(look("so").strong && look("so").quote && look("no").struck);
    assert!(look("a").link && !look(" (http://b.example)").code);
    assert_eq!(
        said("[a](http://b.example \"do it\")\n\n[ref]: http://c.example 'now'\n\nend"),
        "a (http://b.example \"do it\")\n\n[ref]: http://c.example 'now'\n\nend"
    );
    assert_eq!(said("```sh and more\nls -l\n```"), "sh and more:\nls -l");
    let diff = to_pieces("```diff\n-a\n+b\n```");
    assert!(
        diff.iter()
            .any(|piece| piece.look.diff && piece.text == "-a\n+b")
    );
    assert_eq!(said("1. a\n   - b\n2. c"), "1. a\n  • b\n2. c");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, ..ProptestConfig::default() })]

    #[test]
    fn no_word_vanishes_from_the_screen(parts in prop::collection::vec((0usize..WRAPS.len(), "[a-z]{3,7}"), 1..12)) {
        let mut markdown = String::new();
        for (wrap, word) in &parts {
            markdown.push_str(&WRAPS[*wrap].replace('@', word));
        }
        let shown = said(&markdown);
        for (_, word) in &parts {
            prop_assert!(shown.contains(word.as_str()), "{word} of {markdown:?} is not in {shown:?}");
        }
    }
}

/// Places where Markdown puts words, some of which it usually hides.
const WRAPS: &[&str] = &[
    "@ ",
    "**@** ",
    "*@* ",
    "~~@~~ ",
    "`@` ",
    "[@](http://x.example) ",
    "[x](http://@.example '@') ",
    "![@](x) ",
    "\n\n[@]: http://x.example \"@\"\n\n",
    "\n\n# @\n\n",
    "\n- @\n",
    "\n1. @\n",
    "\n> @\n\n",
    "\n\n```@ @\n@\n```\n",
    "<b>@</b> ",
    "<!-- @ --> ",
    "\n\n| @ | b |\n|---|---|\n| c | @ |\n\n",
    "\n\n    @\n\n",
    "<http://@.example> ",
    "\n\n@\n===\n",
    "[@] ",
    "[^@] ",
    "\\@ ",
    "$@$ ",
    "\n- [x] @\n",
    "@\\\n",
];
