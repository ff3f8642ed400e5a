//! The share of the window that earlier exchanges fill, and that nothing of them is gone without a word.

use leverframe::engine::context::build::{Material, MemoryContext, Target, build};
use leverframe::engine::context::{exchanges, history_tokens};
use proptest::prelude::*;

use crate::context::histories::{MODEL, exchange, fit, prefix, said, target, users};

/// What a model of this window is sent with the settings that nobody changed.
fn by_default(window: u64) -> Target<'static> {
    Target {
        exchanges: exchanges(6, window) as usize,
        history: history_tokens(50, window),
        ..target(window)
    }
}

#[test]
fn short_exchanges_go_on_being_sent() {
    let mut history = vec![exchange("the key is under the mat", &[said(MODEL, 20)])];
    history.extend((1..150).map(|n| exchange(&format!("message {n}"), &[said(MODEL, 20)])));
    let context = fit(&history, &exchange("now", &[]), &by_default(128_000));
    assert_eq!(users(&context).len(), 151);
    assert_eq!(context.dropped, Vec::<String>::new());
}

#[test]
fn the_least_are_sent_whatever_they_fill() {
    let history: Vec<_> = (0..5)
        .map(|n| exchange(&format!("message {n}"), &[said(MODEL, 8_000)]))
        .collect();
    let narrow = Target {
        exchanges: 3,
        history: 1_000,
        ..target(100_000)
    };
    let context = fit(&history, &exchange("now", &[]), &narrow);
    assert_eq!(
        users(&context),
        ["message 2", "message 3", "message 4", "now"]
    );
    assert!(
        context.dropped[0].starts_with("2 exchange(s) before the one of "),
        "{:?}",
        context.dropped
    );
}

proptest! {
    #[test]
    fn what_was_said_first_is_sent_or_named(
        sizes in prop::collection::vec(1_usize..3_000, 1..40),
        least in 0_usize..8,
        history in 0_u64..6_000,
        window in 1_500_u64..20_000,
        unread in 0_u64..4,
    ) {
        let mut all = vec![exchange("the key is under the mat", &[said(MODEL, sizes[0])])];
        all.extend(
            sizes
                .iter()
                .skip(1)
                .map(|size| exchange(&"w".repeat(*size), &[said(MODEL, *size)])),
        );
        let material = Material {
            hints: &[],
            prefix: &prefix(),
            memory: &MemoryContext::default(),
            history: &all,
            unread,
            current: &exchange("now", &[]),
            ratio: 1.0,
        };
        let target = Target { exchanges: least, history, ..target(window) };
        let context = build(&material, &target).expect("no call lacks its result");
        let sent = users(&context).len() - 1;
        let gone = all.len() - sent;
        let named = context.dropped.iter().find(|line| line.contains("exchange(s) before"));
        if gone > 0 {
            prop_assert!(
                named.is_some_and(|line| line.starts_with(&format!("{gone} exchange(s) before"))),
                "{gone} are gone: {:?}", context.dropped
            );
        } else {
            prop_assert!(users(&context)[0].contains("under the mat"));
        }
        let told = named.is_some_and(|line| line.contains(&format!("at most {unread} ")));
        prop_assert_eq!(told, unread > 0, "{:?}", context.dropped);
    }
}
