//! Signs for terminals that have only ASCII.

use leverframe::text::ascii::sign;

#[test]
fn every_sign_is_one_ascii_character() {
    for given in "─│┌┐└┘·…—▁█→?xé漢".chars() {
        assert!(sign(given).is_ascii(), "{given}");
    }
    assert_eq!(sign('─'), '-');
    assert_eq!(sign('a'), 'a');
}
