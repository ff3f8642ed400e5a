//! Resolving keys, with sequences.

use std::collections::BTreeMap;

use crate::tui::action::Action;
use crate::tui::keymap::context::Context;
use crate::tui::keymap::key::{Key, print_sequence};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binding {
    /// Keys in a row.
    pub keys: Vec<Key>,
    pub action: Action,
}

/// A loaded keymap, checked for clashes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Keymap {
    pub name: String,
    /// Bindings per context, in file order.
    pub contexts: BTreeMap<Context, Vec<Binding>>,
}

/// What keys mean so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lookup {
    /// This.
    Found(Action),
    /// The start of a longer sequence; `emergency` = of the emergency stop's.
    Pending {
        /// Whether it is the first press of the emergency stop.
        emergency: bool,
    },
    None,
}

impl Keymap {
    /// What is bound in a context, in file order.
    pub fn bindings(&self, context: Context) -> &[Binding] {
        self.contexts.get(&context).map_or(&[], Vec::as_slice)
    }

    /// What `keys` mean in `context`. The emergency stop holds in every context.
    pub fn lookup(&self, context: Context, keys: &[Key]) -> Lookup {
        let global: Box<dyn Iterator<Item = &Binding>> = if context.sees_global() {
            Box::new(self.bindings(Context::Global).iter())
        } else {
            Box::new(self.emergency())
        };
        let mut pending = None;
        for binding in self.bindings(context).iter().chain(global) {
            if binding.keys == keys {
                return Lookup::Found(binding.action);
            }
            if binding.keys.starts_with(keys) {
                let emergency = binding.action == Action::EmergencyStop;
                pending = Some(pending.unwrap_or(false) || emergency);
            }
        }
        pending.map_or(Lookup::None, |emergency| Lookup::Pending { emergency })
    }

    fn emergency(&self) -> impl Iterator<Item = &Binding> {
        self.bindings(Context::Global)
            .iter()
            .filter(|binding| binding.action == Action::EmergencyStop)
    }

    /// What can follow `keys` in `context`: the rest of each sequence and its action, in file order.
    pub fn continuations(&self, context: Context, keys: &[Key]) -> Vec<(String, Action)> {
        let global = self
            .bindings(Context::Global)
            .iter()
            .filter(|binding| context.sees_global() || binding.action == Action::EmergencyStop);
        self.bindings(context)
            .iter()
            .chain(global)
            .filter_map(|binding| {
                let rest = binding.keys.strip_prefix(keys)?;
                (!rest.is_empty()).then(|| (print_sequence(rest), binding.action))
            })
            .collect()
    }

    /// The keys of an action in a context (or in `[global]` where that holds), as text. An action without a key of its own
    /// has those of the one whose key it shares.
    pub fn keys_of(&self, context: Context, action: Action) -> Vec<String> {
        let own = self.own_keys_of(context, action);
        match shares_key_of(action) {
            Some(other) if own.is_empty() => self.own_keys_of(context, other),
            Some(_) | None => own,
        }
    }

    fn own_keys_of(&self, context: Context, action: Action) -> Vec<String> {
        let global = if context.sees_global() {
            self.bindings(Context::Global)
        } else {
            &[]
        };
        self.bindings(context)
            .iter()
            .chain(global)
            .filter(|binding| binding.action == action)
            .map(|binding| print_sequence(&binding.keys))
            .collect()
    }

    /// The first key of an action, for footers.
    pub fn key_of(&self, context: Context, action: Action) -> Option<String> {
        self.keys_of(context, action).into_iter().next()
    }

    /// Actions that can be reached in a context, each once, in the order of [`Action::ALL`].
    pub fn actions_in(&self, context: Context) -> Vec<Action> {
        Action::ALL
            .iter()
            .copied()
            .filter(|action| !self.keys_of(context, *action).is_empty())
            .collect()
    }
}

/// The action whose key stands for this one too: no card offers both.
const fn shares_key_of(action: Action) -> Option<Action> {
    match action {
        Action::Rehearse => Some(Action::SettleAgain),
        _ => None,
    }
}
