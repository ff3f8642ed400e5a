//! The text of answers: HTML as people read it, character sets, and whatever else comes.

use leverframe::tools::http::answer::text;
use leverframe::tools::http::exchange::Answer;
use leverframe::tools::http::html;
use proptest::prelude::*;
use reqwest::Url;

fn base() -> Url {
    Url::parse("https://site.test/a/b").unwrap()
}

fn page(html_text: &str) -> String {
    html::text(html_text, &base())
}

fn answered(content_type: Option<&str>, body: &[u8]) -> Result<String, String> {
    let answer = Answer {
        status: 200,
        content_type: content_type.map(str::to_owned),
        location: None,
        body: body.to_vec(),
        cut: false,
        length: None,
    };
    text(&answer, &base())
}

#[test]
fn a_page_reads_as_people_read_it() {
    assert_eq!(page("<p>a<p>b<br>c"), "a\n\nb\nc");
    assert_eq!(page("a  \n b<b>c</b> d"), "a bc d");
    assert_eq!(page("<h2>Head</h2>text"), "## Head\n\ntext");
    assert_eq!(
        page("<ul><li>one<li>two<ul><li>three</ul></ul>end"),
        "- one\n- two\n\n- three\n\nend"
    );
    assert_eq!(
        page("<table><tr><th>a<th>b<tr><td>1<td>2</table>"),
        "a | b\n1 | 2"
    );
    assert_eq!(
        page("x<pre>  two\n    lines </pre>y"),
        "x\n\n  two\n    lines \n\ny"
    );
    assert_eq!(
        page("&lt;b&gt; &amp;amp; &eacute; &#8364;"),
        "<b> &amp; é €"
    );
    assert_eq!(
        page("<img src=x alt='a cat'> and <img src=y>"),
        "[image: a cat] and"
    );
}

#[test]
fn links_are_whole_addresses_and_others_are_words() {
    assert_eq!(
        page("see <a href=c>this one</a>."),
        "see [this one](https://site.test/a/c)."
    );
    assert_eq!(
        page("<li><a href=//other.test>x</a>"),
        "- [x](https://other.test/)"
    );
    assert_eq!(
        page("<a href='#top'>up</a> <a href='javascript:x()'>run</a> <a href='mailto:a@b'>m</a>"),
        "up run m"
    );
    assert_eq!(
        page("<a href=https://x.test/>https://x.test/</a>"),
        "https://x.test/"
    );
    assert_eq!(
        page("<a href=c></a><a href=d> <img alt=pic></a>"),
        "[[image: pic]](https://site.test/a/d)"
    );
    // A link around a block, one that is never closed, one in another.
    assert_eq!(page("<a href=c><p>in</p>out</a>"), "in\n\nout");
    assert_eq!(page("<a href=c>never"), "[never](https://site.test/a/c)");
    assert_eq!(
        page("<a href=c>one<a href=d>two</a>"),
        "[one](https://site.test/a/c)[two](https://site.test/a/d)"
    );
}

#[test]
fn what_nobody_reads_is_left_out() {
    assert_eq!(page("a<script>if (x < '</p>') {}</script>b"), "ab");
    assert_eq!(page("a<style>p > b {}</style>b<!-- c -->d"), "abd");
    assert_eq!(
        page("a<svg><text>x</text><svg></svg></svg>b<noscript>c</noscript>d"),
        "abd"
    );
    assert_eq!(
        page("a<select><option>x<option>y</select>b<template><p>t</p></template>c"),
        "abc"
    );
    assert_eq!(page("a<script>never closed"), "a");
}

#[test]
fn a_character_set_is_what_the_bytes_say_before_what_is_said_of_them() {
    let ok = |content_type: &str, body: &[u8]| answered(Some(content_type), body).unwrap();
    assert_eq!(ok("text/plain", "é €".as_bytes()), "é €");
    assert_eq!(
        ok("text/plain; charset=ISO-8859-1", b"caf\xe9 \x80"),
        "café €"
    );
    assert_eq!(ok("text/plain", b"caf\xe9"), "café");
    // Said to be something else than it is.
    assert_eq!(ok("text/plain; charset=iso-8859-1", "é".as_bytes()), "é");
    assert_eq!(ok("text/plain; charset=shift_jis", "é".as_bytes()), "é");
    assert_eq!(ok("text/plain; charset=\"utf-16le\"", b"a\0\xe9\0"), "aé");
    assert_eq!(ok("text/plain", b"\xff\xfea\0b\0"), "ab");
    assert_eq!(ok("text/plain", b"\xfe\xff\0a"), "a");
    assert_eq!(ok("text/plain", b"\xef\xbb\xbfa"), "a");
    assert_eq!(
        ok("text/html", b"<meta charset=windows-1252><p>\x93x\x94"),
        "“x”"
    );
    let lossy = ok("text/plain; charset=utf-8", b"a\xffb");
    assert!(
        lossy.starts_with("a\u{fffd}b\n[bytes that are not UTF-8"),
        "{lossy}"
    );
    let refused = answered(Some("text/plain; charset=Shift_JIS"), b"\x83e\x83X").unwrap_err();
    assert_eq!(
        refused,
        "the answer (text/plain, 4 bytes) is in the character set `shift_jis`; \
         only UTF-8, UTF-16 and windows-1252 are read"
    );
}

#[test]
fn a_type_that_nobody_names_is_looked_for() {
    assert_eq!(answered(None, b" <!DOCTYPE html><p>a").unwrap(), "a");
    assert_eq!(answered(None, b"<p>a").unwrap(), "<p>a");
    assert_eq!(
        answered(Some("application/ld+json"), b"[1]").unwrap(),
        "[\n  1\n]"
    );
    assert_eq!(answered(Some("application/json"), b"{no").unwrap(), "{no");
    assert_eq!(
        answered(Some("application/rss+xml"), b"<a/>").unwrap(),
        "<a/>"
    );
    assert!(
        answered(None, b"\0\x01")
            .unwrap_err()
            .contains("of no type, 2 bytes")
    );
    assert!(
        answered(Some("application/pdf"), b"%PDF")
            .unwrap_err()
            .contains("application/pdf")
    );
}

proptest! {
    #[test]
    fn any_page_gives_a_text_without_harm(text in any::<String>(), tags in "[<>/a-z ='\"&;!#-]{0,400}") {
        for page_text in [&text, &tags] {
            let read = page(page_text);
            // Only links and marks make it longer: each is at most its address and some signs.
            let addresses = page_text.matches("href").count() * (page_text.len() * 3 + 40);
            prop_assert!(read.len() <= page_text.len() * 6 + addresses + 16);
        }
    }

    #[test]
    fn any_body_gives_a_text_or_says_why_not(body in proptest::collection::vec(any::<u8>(), 0..200), which in 0_usize..5) {
        let types = [None, Some("text/html"), Some("text/plain; charset=utf-8"), Some("application/json"), Some("text/x; charset=utf-16")];
        let _ = answered(types[which], &body);
    }
}
