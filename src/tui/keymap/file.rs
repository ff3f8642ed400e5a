//! Keymap files: TOML, one table per context, key = action. A file that is not wholly valid is refused
//! with the line to blame; nothing is ever half loaded.

use std::path::Path;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::tui::action::{Action, ActionClass};
use crate::tui::assets::{self, AssetError, AssetKind, Source};
use crate::tui::keymap::context::Context;
use crate::tui::keymap::key::{parse_sequence, print_sequence};
use crate::tui::keymap::lookup::{Binding, Keymap};

/// Unbinds a key of the inherited keymap.
const UNBIND: &str = "none";

/// The shipped default keymap. Its validity is a test; a broken one yields no bindings but the stop.
pub fn default_keymap() -> Keymap {
    load("default", None).unwrap_or_default()
}

/// Loads a keymap by name: the user's file first, then the shipped one.
pub fn load(name: &str, user_dir: Option<&Path>) -> Result<Keymap, AssetError> {
    let source = assets::find(AssetKind::Keymap, name, user_dir)?;
    parse(name, &source, user_dir, 0)
}

pub fn parse(
    name: &str,
    source: &Source,
    user_dir: Option<&Path>,
    depth: usize,
) -> Result<Keymap, AssetError> {
    let document = DeTable::parse(&source.text).map_err(|error| source.syntax_error(&error))?;
    let root = document.get_ref();

    let mut keymap = Keymap::default();
    if let Some(inherits) = root.get("inherits") {
        let kind = AssetKind::Keymap;
        let own = (name, source);
        let (parent, found) = assets::parent(kind, own, user_dir, depth, inherits)?;
        keymap = parse(parent, &found, user_dir, depth + 1)?;
    }
    name.clone_into(&mut keymap.name);

    for (table_name, value) in root {
        let word = table_name.get_ref().as_ref();
        if word == "inherits" {
            continue;
        }
        let at = table_name.span().start;
        let Some(context) = Context::from_name(word) else {
            let known = Context::ALL.iter().map(|c| c.name());
            let hint = match assets::nearest(word, known.clone()) {
                Some(near) => format!("did you mean `[{near}]`?"),
                None => format!("expected one of {}", known.collect::<Vec<_>>().join(", ")),
            };
            return Err(source.error(at, format!("`[{word}]` is not a table of a keymap; {hint}")));
        };
        let DeValue::Table(table) = value.get_ref() else {
            return Err(source.error(
                at,
                format!("`{word}` must be a table of `\"key\" = \"action\"` lines"),
            ));
        };
        // TOML tables lose the order of lines; the footer shows the first key of an action.
        let mut lines: Vec<_> = table.iter().collect();
        lines.sort_unstable_by_key(|(key, _)| key.span().start);
        for (key, action) in lines {
            bind(&mut keymap, context, source, key, action)?;
        }
    }
    check(&keymap, source)?;
    Ok(keymap)
}

fn bind(
    keymap: &mut Keymap,
    context: Context,
    source: &Source,
    key: &Spanned<std::borrow::Cow<'_, str>>,
    action: &Spanned<DeValue<'_>>,
) -> Result<(), AssetError> {
    let keys =
        parse_sequence(key.get_ref()).map_err(|message| source.error(key.span().start, message))?;
    let at = action.span().start;
    let Some(word) = action.get_ref().as_str() else {
        return Err(source.error(
            at,
            format!("`{}` must name an action in quotes", key.get_ref()),
        ));
    };
    let bindings = keymap.contexts.entry(context).or_default();
    bindings.retain(|binding| binding.keys != keys);
    if word == UNBIND {
        return Ok(());
    }
    let Some(action) = Action::from_name(word) else {
        let near = assets::nearest(word, Action::ALL.iter().map(|a| a.name()));
        let hint = near.map_or_else(
            || "the help overlay (`?`) lists them".to_owned(),
            |near| format!("did you mean `{near}`?"),
        );
        return Err(source.error(at, format!("`{word}` is not an action; {hint}")));
    };
    if let Some(problem) = misplaced(action, context) {
        return Err(source.error(at, problem));
    }
    bindings.push(Binding { keys, action });
    Ok(())
}

/// Why an action may not be bound there.
fn misplaced(action: Action, context: Context) -> Option<String> {
    let fits = |context: Context| match action.class() {
        ActionClass::Decision => context == Context::Queue,
        ActionClass::Dialog => context == Context::Dialog,
        ActionClass::Text => context == Context::Text,
        ActionClass::Ordinary => context == Context::Global || context.sees_global(),
    };
    if action == Action::EmergencyStop && context != Context::Global {
        return Some(
            "`emergency-stop` belongs in [global]: it holds in every context from there".to_owned(),
        );
    }
    (!fits(context)).then(|| {
        let tables = Context::ALL
            .iter()
            .filter(|context| fits(**context))
            .map(|c| format!("[{}]", c.name()))
            .collect::<Vec<_>>()
            .join(", ");
        let kind = match action.class() {
            ActionClass::Decision => "a decision and can only be bound",
            ActionClass::Dialog | ActionClass::Text | ActionClass::Ordinary => "only understood",
        };
        format!(
            "`{action}` is {kind} in {tables}, not in [{}]",
            context.name()
        )
    })
}

/// Finds keys that would never be reached: shadowed by, or a prefix of, another one of the same place.
fn check(keymap: &Keymap, source: &Source) -> Result<(), AssetError> {
    let empty = Vec::new();
    let global = keymap.contexts.get(&Context::Global).unwrap_or(&empty);
    for (context, bindings) in &keymap.contexts {
        for (index, binding) in bindings.iter().enumerate() {
            let reached: Box<dyn Iterator<Item = (&Context, &Binding)>> = if context.sees_global() {
                Box::new(
                    bindings
                        .iter()
                        .skip(index + 1)
                        .map(move |b| (context, b))
                        .chain(global.iter().map(|b| (&Context::Global, b))),
                )
            } else {
                // The emergency stop holds in dialogs and text fields too.
                let stop = global
                    .iter()
                    .filter(|b| b.action == Action::EmergencyStop && *context != Context::Global);
                Box::new(
                    bindings
                        .iter()
                        .skip(index + 1)
                        .map(move |b| (context, b))
                        .chain(stop.map(|b| (&Context::Global, b))),
                )
            };
            for (other_context, other) in reached {
                let clash = if binding.keys == other.keys {
                    "is bound a second time as"
                } else if other.keys.starts_with(&binding.keys) {
                    "hides the longer"
                } else if binding.keys.starts_with(&other.keys) {
                    "can never be typed because of"
                } else {
                    continue;
                };
                let keys = print_sequence(&binding.keys);
                let message = format!(
                    "`{keys}` ({} in [{}]) {clash} `{}` ({} in [{}])",
                    binding.action,
                    context.name(),
                    print_sequence(&other.keys),
                    other.action,
                    other_context.name()
                );
                return Err(
                    match find_line(&source.text, context.name(), &keys).or_else(|| {
                        find_line(
                            &source.text,
                            other_context.name(),
                            &print_sequence(&other.keys),
                        )
                    }) {
                        Some(offset) => source.error(offset, message),
                        None => AssetError::whole(&source.file, message),
                    },
                );
            }
        }
    }
    let stop = global
        .iter()
        .any(|binding| binding.action == Action::EmergencyStop && binding.keys.len() >= 2);
    if !stop {
        return Err(AssetError::whole(
            &source.file,
            "`emergency-stop` must stay bound in [global], to a sequence of two keys or more",
        ));
    }
    if let Some(single) = global
        .iter()
        .find(|b| b.action == Action::EmergencyStop && b.keys.len() < 2)
    {
        return Err(AssetError::whole(
            &source.file,
            format!(
                "`{}`: `emergency-stop` needs a sequence of two keys",
                print_sequence(&single.keys)
            ),
        ));
    }
    Ok(())
}

/// Offset of the line that binds `keys` in `[context]`, when it is in this file (not inherited).
fn find_line(text: &str, context: &str, keys: &str) -> Option<usize> {
    let document = DeTable::parse(text).ok()?;
    let DeValue::Table(table) = document.get_ref().get(context)?.get_ref() else {
        return None;
    };
    table
        .iter()
        .find(|(key, _)| {
            parse_sequence(key.get_ref()).is_ok_and(|parsed| print_sequence(&parsed) == keys)
        })
        .map(|(key, _)| key.span().start)
}
