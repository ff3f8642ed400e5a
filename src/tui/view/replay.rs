//! What a replay says about itself, beside the transcript that it plays.

use crate::console::format;
use crate::tui::state::replay::Replay;

/// The title of its panel: what is played, when it was, how far it is.
pub fn title(replay: &Replay) -> String {
    let (position, length) = replay.time();
    let (shown, moments) = replay.moment();
    let at = replay
        .clock()
        .map_or_else(String::new, |at| format!(" · {}", format::moment(at)));
    let cut = if replay.cut {
        format!(
            " · only the first {} entries",
            crate::tui::state::replay::ENTRIES
        )
    } else {
        String::new()
    };
    let time = |millis: i64| {
        let seconds = millis / 1_000;
        if seconds < 3_600 {
            format!("{}:{:02}", seconds / 60, seconds % 60)
        } else {
            format!(
                "{}:{:02}:{:02}",
                seconds / 3_600,
                seconds / 60 % 60,
                seconds % 60
            )
        }
    };
    format!(
        "REPLAY  {} of {} · {shown} of {moments} moments{at}{cut} · {}",
        time(position),
        time(length),
        replay.source
    )
}

/// How it runs, in a word.
pub fn note(replay: &Replay) -> String {
    let (shown, moments) = replay.moment();
    let how = if !replay.loaded {
        "loading"
    } else if replay.playing {
        "playing"
    } else if shown == moments {
        "at the end"
    } else {
        "paused"
    };
    format!("{how}, {}x", replay.speed())
}
