//! Wrapping: every line fits, and every visible character is still there.

use leverframe::text::untrusted::reveal;
use leverframe::text::width::display_width;
use leverframe::text::wrap::wrap;
use proptest::prelude::*;
use unicode_segmentation::UnicodeSegmentation;

fn visible(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}

#[test]
fn breaks_at_spaces_and_keeps_the_indentation() {
    assert_eq!(wrap("one two three", 8), ["one two", "three"]);
    assert_eq!(wrap("  one two three", 8), ["  one", "  two", "  three"]);
    assert_eq!(wrap("a\n\nb", 8), ["a", "", "b"]);
    assert_eq!(wrap("a  b", 8), ["a  b"]);
    assert_eq!(wrap("", 8), [""]);
}

#[test]
fn a_word_wider_than_the_line_is_broken() {
    assert_eq!(wrap("abcdefghij", 4), ["abcd", "efgh", "ij"]);
    assert_eq!(wrap("ab abcdefghij", 4), ["ab", "abcd", "efgh", "ij"]);
    assert_eq!(wrap("漢字漢字", 5), ["漢字", "漢字"]);
    assert_eq!(wrap("漢字", 1), ["漢", "字"]);
}

#[test]
fn a_long_line_takes_linear_time() {
    let text = "word ".repeat(400_000);
    let started = std::time::Instant::now();
    assert_eq!(
        wrap(&text, 79).len(),
        400_000 / 16 + usize::from(400_000 % 16 > 0)
    );
    assert!(
        started.elapsed().as_secs() < 20,
        "took {:?}",
        started.elapsed()
    );
}

proptest! {
    #[test]
    fn lines_fit_and_nothing_is_lost(text in any::<String>(), width in 1_usize..40) {
        let text = reveal(&text).into_owned();
        let lines = wrap(&text, width);
        prop_assert_eq!(visible(&lines.concat()), visible(&text));
        for line in &lines {
            let single = line.trim_start().graphemes(true).count() <= 1;
            prop_assert!(display_width(line) <= width || single, "{:?} is wider than {}", line, width);
        }
    }

    #[test]
    fn words_stay_whole_when_they_fit(words in prop::collection::vec("[a-z]{1,9}", 0..40), width in 9_usize..40) {
        let lines = wrap(&words.join(" "), width);
        let again: Vec<&str> = lines.iter().flat_map(|line| line.split_whitespace()).collect();
        prop_assert_eq!(again, words);
    }
}
