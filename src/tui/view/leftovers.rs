//! What a run left in places that make programs run: one line for the Queue, and the card.

use crate::protocol::leftovers::Leftovers;
use crate::tui::theme::roles::Role;
use crate::tui::view::card_body::Body;

/// In one line: the first place, and how many more there are.
pub fn in_words(one: &Leftovers) -> String {
    let new = &one.new;
    let in_place = new
        .in_place
        .iter()
        .map(|place| format!("STILL IN PLACE: {}", place.path));
    let set_aside = new
        .set_aside
        .iter()
        .map(|place| format!("set aside: {} is now {}", place.path, place.name));
    let count = (new.in_place.len() + new.set_aside.len()) as u64 + new.more;
    match in_place.chain(set_aside).next() {
        Some(first) if count > 1 => format!("{first}, and {} more", count - 1),
        Some(first) => first,
        None => "a run may have left something: not every place was checked".to_owned(),
    }
}

/// The card's lines.
pub fn body(body: &mut Body<'_>, one: &Leftovers) {
    body.field(
        "channel",
        Role::Text,
        &format!("{} · {}", one.channel, one.conversation),
    );
    body.field("session", Role::Text, &one.session_id.to_string());
    body.field("call", Role::Text, &one.tool);
    body.field("", Role::Outside, &one.preview);
    body.field("workspace", Role::Text, &one.workspace);
    if one.new.interrupted {
        body.field(
            "found",
            Role::NoticeWarning,
            "at the start after the process died during the run; it may include files that others put there since",
        );
    }
    if let Some(problem) = &one.new.incomplete {
        body.field(
            "DANGER",
            Role::NoticeError,
            &format!("not every place was checked: {problem}"),
        );
    }
    if !one.new.in_place.is_empty() {
        body.heading("Still in place: programs may run from here");
        for place in &one.new.in_place {
            body.text(Role::Outside, &place.path);
            body.text(
                Role::NoticeError,
                &format!("  not renamed: {}", place.problem),
            );
        }
    }
    if !one.new.set_aside.is_empty() {
        body.heading("Set aside");
        for place in &one.new.set_aside {
            body.text(Role::Outside, &place.path);
            body.text(Role::Outside, &format!("  is now named {}", place.name));
        }
        if one.new.more > 0 {
            body.text(Role::TextMuted, &format!("and {} more", one.new.more));
        }
    }
    body.blank();
    body.text(
        Role::TextMuted,
        "Git, editors, shells and agents run programs from these places. Look at each; rename it back, or remove it. \
         Dismiss takes this item off the Queue and changes no file.",
    );
}
