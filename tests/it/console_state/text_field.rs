//! Editing a text: by graphemes, by words and by lines, whatever is in it.

use leverframe::tui::state::text_field::{Edit, Lines, TextField};

const FAMILY: &str = "\u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467}";

fn edited(field: &mut TextField, edits: &[Edit]) -> (String, (usize, usize)) {
    for edit in edits {
        field.edit(*edit);
    }
    (field.text(), field.cursor())
}

/// The bytes at which the cursor stops on its way from the end to the start, and back.
fn stops(text: &str) -> (Vec<usize>, Vec<usize>) {
    let mut field = TextField::new(Lines::One, text);
    let mut walk = |edit| {
        let mut at = vec![field.cursor().1];
        loop {
            field.edit(edit);
            let next = field.cursor().1;
            if at.last() == Some(&next) {
                return at;
            }
            at.push(next);
        }
    };
    (walk(Edit::Left), walk(Edit::Right))
}

#[test]
fn a_step_never_ends_inside_a_grapheme() {
    let text = format!("a{FAMILY}e\u{301}z");
    let end = text.len();
    let (left, right) = stops(&text);
    assert_eq!(left, [end, end - 1, end - 4, 1, 0]);
    assert_eq!(right, [0, 1, end - 4, end - 1, end]);
    let mut field = TextField::new(Lines::One, &text);
    let (text, cursor) = edited(&mut field, &[Edit::Left, Edit::Left, Edit::DeleteBack]);
    assert_eq!((text.as_str(), cursor), ("ae\u{301}z", (0, 1)));
    let (text, _) = edited(&mut field, &[Edit::DeleteForward]);
    assert_eq!(text, "az");
}

#[test]
fn characters_that_no_terminal_shows_are_stepped_over_one_by_one() {
    let text = "\u{202e}a\u{200b}b\u{202e}";
    let (left, right) = stops(text);
    assert_eq!(left, [11, 8, 7, 4, 3, 0]);
    assert_eq!(right, [0, 3, 4, 7, 8, 11]);
    let mut field = TextField::new(Lines::One, text);
    let (text, _) = edited(
        &mut field,
        &[Edit::DeleteBack, Edit::Home, Edit::DeleteForward],
    );
    assert_eq!(text, "a\u{200b}b");
}

#[test]
fn line_ends_of_every_kind_become_lines_or_spaces() {
    let text = "one\r\ntwo\rthree\nfour";
    let many = TextField::new(Lines::Many, text);
    assert_eq!(many.lines(), ["one", "two", "three", "four"]);
    assert_eq!(many.cursor(), (3, 4));
    assert_eq!((many.text().len(), many.bytes()), (18, 18));
    let one = TextField::new(Lines::One, text);
    assert_eq!(one.lines(), ["one two three four"]);
    let mut one = one;
    assert_eq!(edited(&mut one, &[Edit::Newline]).0, "one two three four");
}

#[test]
fn words_and_ends_of_lines_are_deleted() {
    let mut field = TextField::new(Lines::One, "cargo test it");
    let (text, _) = edited(&mut field, &[Edit::DeleteWord]);
    assert_eq!(text, "cargo test ");
    let (_, cursor) = edited(&mut field, &[Edit::WordLeft]);
    assert_eq!(cursor, (0, 6));
    let (text, _) = edited(&mut field, &[Edit::KillToEnd]);
    assert_eq!(text, "cargo ");
    let (_, cursor) = edited(&mut field, &[Edit::Home, Edit::WordRight]);
    assert_eq!(cursor, (0, 6));
    let (text, cursor) = edited(&mut field, &[Edit::KillToStart]);
    assert_eq!((text.as_str(), cursor), ("", (0, 0)));
    assert!(field.is_empty());
}

#[test]
fn lines_are_broken_joined_and_walked() {
    let mut field = TextField::new(Lines::Many, "ab");
    let (text, cursor) = edited(&mut field, &[Edit::Left, Edit::Newline]);
    assert_eq!((text.as_str(), cursor), ("a\nb", (1, 0)));
    let (_, cursor) = edited(&mut field, &[Edit::End, Edit::Up]);
    assert_eq!(cursor, (0, 1));
    let (_, cursor) = edited(&mut field, &[Edit::Right, Edit::Left]);
    assert_eq!(cursor, (0, 1), "over the end of the line and back");
    let (text, _) = edited(&mut field, &[Edit::DeleteForward]);
    assert_eq!(text, "ab");
    let (text, _) = edited(&mut field, &[Edit::Newline, Edit::DeleteBack]);
    assert_eq!(text, "ab");
    // A line above whose grapheme begins before the column: the cursor lands at its start.
    let mut field = TextField::new(Lines::Many, &format!("{FAMILY}\nabc"));
    let (_, cursor) = edited(&mut field, &[Edit::Left, Edit::Left, Edit::Up]);
    assert_eq!(cursor.0, 0);
    assert!(cursor.1 == 0 || cursor.1 == FAMILY.len(), "{cursor:?}");
}
