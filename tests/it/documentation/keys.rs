//! The page of the keys, from the actions and the two shipped keymaps.

use std::collections::BTreeMap;

use leverframe::tui::action::{Action, ActionClass};
use leverframe::tui::keymap::context::Context;
use leverframe::tui::keymap::file;
use leverframe::tui::keymap::lookup::Keymap;

use crate::documentation::markdown::{Page, code, prose};

/// What stands before the generated part.
const INTRODUCTION: &str = "\
The keys of the keymaps `default` and `vim`. `leverframe keys` prints the keys that are in force.
[The console](../guide/console.md#keys-and-themes) says how to change them. A keymap file uses the names of the last column.";

/// The whole page.
pub fn page() -> String {
    let default = file::default_keymap();
    let vim = file::load("vim", None).unwrap();
    let mut page = Page::new("Keys");
    page.paragraph(INTRODUCTION);
    for (title, class) in [
        ("Actions", ActionClass::Ordinary),
        ("Decisions", ActionClass::Decision),
        ("Dialogs", ActionClass::Dialog),
        ("Text fields", ActionClass::Text),
    ] {
        page.heading(2, title);
        if class == ActionClass::Decision {
            page.paragraph(
                "These keys work in the Queue only. [When a decision key counts](../guide/approvals.md#when-a-decision-key-counts) \
                 lists the conditions.",
            );
        }
        let rows: Vec<[String; 5]> = Action::ALL
            .iter()
            .filter(|action| action.class() == class)
            .map(|action| {
                let (keys, screens) = places(&default, *action);
                let (vim, vim_screens) = places(&vim, *action);
                let vim = match (vim == keys, vim_screens == screens) {
                    (true, true) => "the same".to_owned(),
                    (_, true) => vim,
                    (_, false) => format!("{vim} ({vim_screens})"),
                };
                [
                    keys,
                    screens,
                    prose(action.description()),
                    vim,
                    code(action.name()),
                ]
            })
            .collect();
        page.table(["default", "where", "meaning", "vim", "action"], &rows);
    }
    page.finish()
}

/// The keys of an action, and where they hold; several groups are parted by a stroke.
fn places(keymap: &Keymap, action: Action) -> (String, String) {
    let holds = |context: &&Context| match action.class() {
        ActionClass::Ordinary | ActionClass::Decision => context.sees_global(),
        ActionClass::Dialog => **context == Context::Dialog,
        ActionClass::Text => **context == Context::Text,
    };
    let every = Context::ALL.iter().filter(holds).count();
    let mut places: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for context in Context::ALL.iter().filter(holds) {
        let keys = keymap.keys_of(*context, action);
        if !keys.is_empty() {
            let keys: Vec<String> = keys.iter().map(|keys| code(keys)).collect();
            places
                .entry(keys.join(" "))
                .or_default()
                .push(context.name());
        }
    }
    let screens: Vec<String> = places
        .values()
        .map(|on| match on.len() {
            1 => on[0].to_owned(),
            count if count == every => "everywhere".to_owned(),
            _ => on.join(", "),
        })
        .collect();
    let keys: Vec<String> = places.into_keys().collect();
    (keys.join(" / "), screens.join(" / "))
}
