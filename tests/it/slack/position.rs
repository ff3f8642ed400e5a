//! How far each conversation was read.

use leverframe::channels::slack::position::{MOST, Position};

#[test]
fn a_cursor_counts_for_its_own_account_only() {
    let mut position = Position::stored(None, "T1/UB");
    position.arrived("C1", "10.000001");
    position.arrived("C1/9.000000", "11.000000");
    position.arrived("C1", "9.000000");
    let text = position.text();
    assert_eq!(text, "T1/UB C1=10.000001 C1/9.000000=11.000000");
    assert_eq!(Position::stored(Some(&text), "T1/UB"), position);
    let other = Position::stored(Some(&text), "T2/UB");
    assert_eq!(other.text(), "T2/UB");
    assert_eq!(
        Position::stored(Some("T1/UB x C1= =1.000000 C2=z"), "T1/UB").text(),
        "T1/UB"
    );
}

#[test]
fn what_arrives_live_does_not_hide_what_is_missing() {
    let mut position = Position::stored(Some("T1/UB C1=10.000000 D1=20.000000"), "T1/UB");
    let held = position.hold_all();
    assert_eq!(held[0].0, "D1");
    position.arrived("C1", "30.000000");
    assert!(position.text().contains("C1=10.000000"));
    position.caught_up_to("C1", "12.000000");
    assert!(position.text().contains("C1=12.000000"));
    position.release("C1");
    assert!(position.text().contains("C1=30.000000"));
    position.arrived("C1", "31.000000");
    assert!(position.text().contains("C1=31.000000"));
}

#[test]
fn the_conversations_with_the_oldest_news_are_forgotten() {
    let mut position = Position::stored(None, "T1/UB");
    for n in 0..MOST + 5 {
        position.arrived(&format!("C{n}"), &format!("{}.000000", n + 100));
    }
    assert!(!position.knows("C4") && position.knows("C5"));
    assert!(position.text().len() < 8_000);
}
