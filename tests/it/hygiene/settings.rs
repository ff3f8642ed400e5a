//! `[memory.hygiene]` and its variable: defaults, precedence, and what cannot be used.

use crate::config_files::Case;

#[test]
fn settings_are_checked_with_their_line_and_have_their_defaults() {
    let settings = Case::new("").settings().hygiene;
    assert_eq!(
        (
            settings.session_days,
            settings.channel_days,
            settings.global_days
        ),
        (30, 30, 30)
    );
    assert_eq!((settings.max_memories, settings.undo_days), (10_000, 7));
    let text =
        "[memory.hygiene]\nretention_days = 9\nglobal_days = 0\nmax_memories = 5\nundo_days = 2\n";
    let settings = Case::new(text)
        .env("LEVERFRAME_MEMORY_RETENTION_DAYS", "11")
        .settings()
        .hygiene;
    assert_eq!(
        (
            settings.session_days,
            settings.channel_days,
            settings.global_days
        ),
        (11, 11, 0),
        "what the file says of one scope comes before the variable"
    );
    assert_eq!((settings.max_memories, settings.undo_days), (5, 2));
    for (text, expected) in [
        ("[memory.hygiene]\nretention_day = 9\n", "retention_days"),
        ("[memory.hygiene]\nundo_days = 0\n", "1 to 365"),
        ("[memory.hygiene]\nmax_memories = 0\n", "1 to 1000000"),
        ("[memory.hygiene]\nsession_days = 36501\n", "0 to 36500"),
    ] {
        let error = Case::new(text).error().to_string();
        assert!(
            error.contains(expected) && error.contains("2:"),
            "{text}: {error}"
        );
    }
    for value in ["-1", "36501", "soon", "1.5"] {
        let error = Case::new("")
            .env("LEVERFRAME_MEMORY_RETENTION_DAYS", value)
            .error()
            .to_string();
        assert!(
            error.contains("LEVERFRAME_MEMORY_RETENTION_DAYS"),
            "{error}"
        );
    }
}
