//! Markdown to the HTML of Matrix: line ends that HTML knows, and nobody mentioned.

use leverframe::text::markdown::to_matrix_html;
use proptest::prelude::*;

#[test]
fn line_ends_and_indents_survive_html() {
    assert_eq!(
        to_matrix_html("one\ntwo\n\nthree"),
        "one<br>two<br><br>three"
    );
    assert_eq!(to_matrix_html("- a\n  - b"), "• a<br>&nbsp; • b");
    assert_eq!(
        to_matrix_html("```rust\nlet a =  1;\nlet b;\n```"),
        "<pre><code class=\"language-rust\">let a =  1;\nlet b;</code></pre>"
    );
    assert_eq!(
        to_matrix_html("**b** <i>x</i> & `c<d`"),
        "<b>b</b> &lt;i&gt;x&lt;/i&gt; &amp; <code>c&lt;d</code>"
    );
    assert_eq!(
        to_matrix_html("> quoted"),
        "<blockquote>quoted</blockquote>"
    );
}

#[test]
fn a_link_that_clients_show_as_a_person_is_text() {
    assert_eq!(
        to_matrix_html("[docs](https://example.org/?a=1&b)"),
        "<a href=\"https://example.org/?a=1&amp;b\">docs</a>"
    );
    for address in [
        "https://matrix.to/#/@anna:example.org",
        "HTTPS://MATRIX.TO/#/!room:example.org",
        "https://user@matrix.to/#/@anna:example.org",
        "https://www.matrix.to:443/#/@anna:example.org",
        "matrix:u/anna:example.org",
    ] {
        let html = to_matrix_html(&format!("[Anna]({address}) <{address}>"));
        assert!(!html.contains("href"), "{html}");
        assert!(html.contains("Anna"), "{html}");
    }
}

proptest! {
    #[test]
    fn tags_are_closed_and_nothing_of_the_text_becomes_one(text in "([a-z<>&\"*_`~\\[\\]() \n#>-]|https://x ){0,60}") {
        let html = to_matrix_html(&text);
        let mut open: Vec<&str> = Vec::new();
        let mut rest = html.as_str();
        while let Some(at) = rest.find('<') {
            let end = rest[at..].find('>').map(|end| at + end);
            prop_assert!(end.is_some(), "{html}");
            let tag = &rest[at + 1..end.unwrap()];
            rest = &rest[end.unwrap() + 1..];
            let name = tag.split(' ').next().unwrap().trim_start_matches('/');
            prop_assert!(["b", "i", "s", "code", "pre", "a", "blockquote", "br"].contains(&name), "{tag} in {html}");
            if name == "br" {
                continue;
            }
            if tag.starts_with('/') {
                prop_assert_eq!(open.pop(), Some(name), "{}", html);
            } else {
                open.push(name);
            }
        }
        prop_assert!(open.is_empty(), "{html}");
    }
}
