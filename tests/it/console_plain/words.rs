//! Words of a line.

use leverframe::cli::plain::words::{first, split};

#[test]
fn words_are_parted_as_in_a_shell() {
    let words = |line| split(line).unwrap_or_default();
    assert_eq!(words("a  b\tc"), ["a", "b", "c"]);
    assert_eq!(
        words(r#"rules add x --prefix "git status""#)[4],
        "git status"
    );
    assert_eq!(
        words(r#"'{"a": 1}' b\ c "q\"q""#),
        [r#"{"a": 1}"#, "b c", "q\"q"]
    );
    assert_eq!(words(r#"a "" b"#), ["a", "", "b"]);
    assert!(split("it's").is_err());
    assert!(split("\"x").is_err());
    assert_eq!(words("   "), Vec::<String>::new());
}

#[test]
fn the_rest_of_a_line_is_left_as_typed() {
    assert_eq!(first("write  it's  fine "), ("write", "it's  fine"));
    assert_eq!(first("queue"), ("queue", ""));
}
