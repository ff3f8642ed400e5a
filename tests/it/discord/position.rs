//! How far the gateway was read.

use leverframe::channels::discord::position::{
    MAX_DIRECT, MAX_RECENT, OVERLAP_MS, Position, TIME_SHIFT,
};
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
    assert!(position.remembers(100_000 << TIME_SHIFT));
    assert!(position.remembers(200_000 << TIME_SHIFT));
    position.caught_up();
    assert_eq!(position.missing_after(), None);
}

#[test]
fn nothing_is_read_again_that_the_position_names_or_that_an_older_version_wrote() {
    let mut position = Position::stored(None, 7);
    for time in 0..100 {
        position.saw((200_000 + time) << TIME_SHIFT, 3, false);
    }
    let mut position = Position::stored(position.cursor().as_deref(), 7);
    position.begin(session());
    let after = position.missing_after().unwrap() >> TIME_SHIFT;
    assert_eq!(after, 200_100 - MAX_RECENT as u64);
    for time in after..200_100 {
        assert!(position.remembers(time << TIME_SHIFT), "{time}");
    }
    let mut old = Position::stored(Some("{\"account\":7,\"newest\":900}"), 7);
    old.begin(session());
    assert_eq!(old.missing_after(), Some(900));
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
