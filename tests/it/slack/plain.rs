//! What people see of a text with references.

use std::collections::{HashMap, HashSet};

use leverframe::channels::slack::plain::{Names, mentioned, plain};

fn read(text: &str) -> String {
    let names = Names {
        users: HashMap::from([("U1".to_owned(), "Anna".to_owned())]),
        channels: HashMap::from([("C9".to_owned(), "ops".to_owned())]),
        bots: HashSet::new(),
    };
    plain(text, "UBOT", &names)
}

#[test]
fn references_become_what_people_see() {
    for (sent, seen) in [
        ("<@UBOT> hello", "hello"),
        ("hello <@UBOT>", "hello"),
        ("hey <@UBOT> go", "hey go"),
        ("<@UBOT|lever>: go", ": go"),
        ("<@U1> and <@U2> and <@U3|ben>", "@Anna and @U2 and @ben"),
        ("see <#C1|general>, <#C9>, <#C8>", "see #general, #ops, #C8"),
        (
            "<!here> <!channel> <!subteam^S1|@devs>",
            "@here @channel @devs",
        ),
        ("<!date^1^{date}|yesterday>", "yesterday"),
        ("<https://x.y/?a=1&amp;b=2>", "https://x.y/?a=1&b=2"),
        (
            "<http://x.y|x.y> <https://x.y/z|here>",
            "http://x.y here (https://x.y/z)",
        ),
        ("<mailto:a@b.c|a@b.c>", "a@b.c"),
        (
            "1 &lt; 2 &amp;&amp; 3 &gt; 2 &amp;lt; &nbsp;",
            "1 < 2 && 3 > 2 &lt; &nbsp;",
        ),
        ("a < b and <unfinished", "a < b and <unfinished"),
        ("", ""),
    ] {
        assert_eq!(read(sent), seen, "{sent}");
    }
}

#[test]
fn mentions_are_found_in_order() {
    assert_eq!(
        mentioned("<@U2> x <@U1|anna> &lt;@U3&gt; <#C1>"),
        ["U2", "U1"]
    );
}
