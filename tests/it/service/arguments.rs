//! Arguments in a unit of systemd.

use leverframe::cli::service_unit::argument;

#[test]
fn arguments_stay_one_word_whatever_they_hold() {
    for (given, written) in [
        ("/usr/bin/leverframe", "/usr/bin/leverframe"),
        ("/home/a b/x", "\"/home/a b/x\""),
        ("100%", "100%%"),
        ("$HOME", "\"$$HOME\""),
        ("a\"b\\c", "\"a\\\"b\\\\c\""),
        ("", "\"\""),
    ] {
        assert_eq!(argument(given), written);
    }
}
