//! Cells of a CSV file.

use leverframe::text::csv::line;

#[test]
fn a_cell_reads_back_as_it_is() {
    assert_eq!(line(["a", "", "b c"]), "a,,b c\r\n");
    assert_eq!(
        line(["a,b", "say \"x\"", "1\n2"]),
        "\"a,b\",\"say \"\"x\"\"\",\"1\n2\"\r\n"
    );
    assert_eq!(line([" a"]), "\" a\"\r\n");
}

#[test]
fn no_cell_is_a_formula() {
    for text in [
        "=1+1",
        "+cmd|' /C calc'!A0",
        "-2+3",
        "@SUM(A1)",
        "\tx",
        "\r=1",
    ] {
        let line = line([text]);
        assert!(line.starts_with("\"'"), "{line:?}");
    }
    assert_eq!(line(["-2.5", "+1"]), "-2.5,+1\r\n");
}
