//! How far the gateway was read.

use leverframe::channels::discord::position::{MAX_DIRECT, OVERLAP_MS, Position, TIME_SHIFT};
use leverframe::channels::discord::session::Session;

fn session() -> Session {
    Session {
        id: "s".to_owned(),
        resume_url: "wss://x".to_owned(),
        seq: 4,
    }
}

#[test]
fn a_position_comes_back_whole_and_only_for_its_account() {
    let mut position = Position::stored(None, 7);
    position.begin(session());
    position.count(Some(9));
    position.count(Some(5));
    position.saw(90 << TIME_SHIFT, 3, true);
    let cursor = position.cursor().unwrap();
    assert_eq!(Position::stored(Some(&cursor), 7), position);
    assert_eq!(position.session.as_ref().unwrap().seq, 9);
    assert_eq!(
        Position::stored(Some(&cursor), 8),
        Position::stored(None, 8)
    );
    for odd in ["", "42", "{}", "{\"account\":\"7\"}", "7:42"] {
        assert_eq!(
            Position::stored(Some(odd), 7),
            Position::stored(None, 7),
            "{odd}"
        );
    }
}

#[test]
fn what_a_lost_session_missed_is_owed_until_it_was_asked_for() {
    let mut position = Position::stored(None, 7);
    position.begin(session());
    assert_eq!(
        position.missing_after(),
        None,
        "nothing was ever seen, so nothing is owed"
    );
    position.saw(100_000 << TIME_SHIFT, 3, false);
    position.begin(session());
    position.saw(200_000 << TIME_SHIFT, 3, false);
    position.begin(session());
    assert_eq!(
        position.missing_after(),
        Some((100_000 - OVERLAP_MS) << TIME_SHIFT)
    );
    position.caught_up();
    assert_eq!(position.missing_after(), None);
}

#[test]
fn direct_conversations_are_bounded_and_the_newest_stay() {
    let mut position = Position::stored(None, 7);
    for conversation in 0..200 {
        position.saw(1, conversation, true);
    }
    position.saw(1, 150, true);
    assert_eq!(position.direct().len(), MAX_DIRECT);
    assert_eq!(position.direct().last(), Some(&150));
    assert!(!position.direct().contains(&1));
}
