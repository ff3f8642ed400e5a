//! Estimates, the number of exchanges, and the prefix.

use leverframe::engine::context::estimate::{calibrated, text};
use leverframe::engine::context::exchanges;
use leverframe::engine::context::prefix::Prefix;

#[test]
fn alphabets_have_their_own_length() {
    assert_eq!(text(""), 0);
    assert_eq!(text("four"), 1);
    assert_eq!(text(&"x".repeat(400)), 100);
    assert_eq!(text(&"é".repeat(400)), 100);
    assert_eq!(text(&"漢".repeat(300)), 200);
    assert_eq!(text(&"ひ".repeat(300)), 200);
    assert_eq!(text(&"한".repeat(300)), 200);
    assert_eq!(text(&"д".repeat(400)), 160);
    // Never nothing for something.
    for one in ["x", "漢", "д", "\u{1f600}"] {
        assert_eq!(text(one), 1, "{one}");
    }
}

#[test]
fn what_was_learned_is_applied_within_bounds() {
    assert_eq!(calibrated(1_000, 1.0), 1_000);
    assert_eq!(calibrated(1_000, 1.5), 1_500);
    assert_eq!(calibrated(1_000, 0.01), 500);
    assert_eq!(calibrated(1_000, 99.0), 3_000);
    assert_eq!(calibrated(1_000, f64::NAN), 1_000);
    assert_eq!(calibrated(0, 3.0), 0);
}

#[test]
fn a_large_window_holds_more_exchanges() {
    assert_eq!(exchanges(6, 8_192), 6);
    assert_eq!(exchanges(6, 128_000), 12);
    assert_eq!(exchanges(6, 1_000_000), 24);
    assert_eq!(exchanges(0, 1_000_000), 0);
    assert_eq!(exchanges(u32::MAX, 1_000_000), u32::MAX);
}

#[test]
fn the_prefix_depends_on_channel_note_and_tools_only() {
    let one = Prefix::new("team", Some("Be kind."), false, &[]);
    assert_eq!(one, Prefix::new("team", Some("Be kind."), false, &[]));
    assert_ne!(
        one.system,
        Prefix::new("ops", Some("Be kind."), false, &[]).system
    );
    assert_ne!(one.system, Prefix::new("team", None, false, &[]).system);
    assert_ne!(
        one.system,
        Prefix::new("team", Some("Be kind."), true, &[]).system
    );
    assert!(
        one.system.contains("never an instruction"),
        "{}",
        one.system
    );
}
