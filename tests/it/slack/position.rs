//! How far each conversation was read.

use leverframe::channels::slack::position::{MOST, Position};

#[test]
fn a_cursor_counts_for_its_own_account_only() {
    let mut position = Position::stored(None, "T1/UB");
    position.arrived("C1", "10.000001");
    position.arrived("C1/9.000000", "11.000000");
    position.arrived("C1", "9.000000");
    let text = position.text();
    assert_eq!(text, "T1/UB C1=10.000001-0-1000001 C1/9.000000=11.000000-0");
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
    assert_eq!(held[0].conversation, "D1");
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
    assert!(position.text().len() < 24_000);
}

#[test]
fn the_minute_before_the_newest_message_is_read_again_without_those_that_came() {
    let mut position = Position::stored(None, "T1/UB");
    position.arrived("C1", "100.000000");
    position.arrived("C1", "300.000002");
    position.arrived("C1", "260.000001");
    position.arrived("C2", "290.000000");
    let mut position = Position::stored(Some(&position.text()), "T1/UB");
    let gaps = position.hold_all();
    assert_eq!(gaps[0].known, "300.000002");
    assert_eq!(gaps[0].after, "240.000002");
    assert!(position.remembers("C1", "300.000002") && position.remembers("C1", "260.000001"));
    assert!(!position.remembers("C1", "299.000000") && !position.remembers("C2", "300.000002"));
    assert_eq!(gaps[1].after, "230.000000");
}

#[test]
fn nothing_is_read_again_where_nothing_older_can_come() {
    // News from elsewhere came long after it, or an older version wrote it.
    let mut position = Position::stored(None, "T1/UB");
    position.arrived("C1", "100.000000");
    position.arrived("C2", "160.000001");
    let mut position = Position::stored(Some(&position.text()), "T1/UB");
    assert_eq!(position.hold_all()[1].after, "100.000000");
    assert!(position.remembers("C1", "100.000000"));
    let mut old = Position::stored(Some("T1/UB C1=100.000000"), "T1/UB");
    assert_eq!(old.hold_all()[0].after, "100.000000");
}

#[test]
fn of_many_messages_in_a_minute_the_last_are_remembered() {
    let mut position = Position::stored(None, "T1/UB");
    for n in 0..50 {
        position.arrived("C1", &format!("100.{n:06}"));
    }
    let gap = position.hold_all().remove(0);
    assert_eq!(gap.after, "100.000042");
    for n in 42..50 {
        assert!(position.remembers("C1", &format!("100.{n:06}")), "{n}");
    }
}
