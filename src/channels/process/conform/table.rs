//! The cases, in their order: name, what is expected, and what each does.

use futures_util::future::BoxFuture;

use crate::channels::process::conform::cases::{self, SkipReason};
use crate::channels::process::conform::lab::Lab;

/// A case.
pub struct Case {
    pub name: &'static str,
    pub expected: &'static str,
    /// Tries it. The error says what the program did in place of what is expected.
    pub run: Run,
}

type Run = for<'a> fn(&'a Lab<'a>) -> BoxFuture<'a, Result<SkipReason, String>>;

const fn case(name: &'static str, expected: &'static str, run: Run) -> Case {
    Case {
        name,
        expected,
        run,
    }
}

/// The names of all cases.
pub fn names() -> impl Iterator<Item = &'static str> {
    CASES.iter().map(|case| case.name)
}

/// Every case, in order.
pub const CASES: &[Case] = &[
    case(
        "hello",
        "`start` is answered with a `hello` of version 1, then `ping` with `pong`; no item comes before `welcome`",
        |lab| Box::pin(cases::hello(lab)),
    ),
    case(
        "version",
        "a version that it does not speak: it ends, or says hello with its own",
        |lab| Box::pin(cases::version(lab)),
    ),
    case(
        "garbage",
        "what is no JSON, has no type or a type of the future is passed over",
        |lab| Box::pin(cases::garbage(lab)),
    ),
    case(
        "send",
        "`send` is answered with `sent` and its refs; the person's message has key, conversation and sender",
        |lab| Box::pin(cases::echo(lab)),
    ),
    case(
        "characters",
        "every character comes back as it was: pairs of surrogates, marks, quotes, lines",
        |lab| Box::pin(cases::characters(lab)),
    ),
    case(
        "long text",
        "a text of `max_length` comes back whole",
        |lab| Box::pin(cases::long_text(lab)),
    ),
    case(
        "order of acks",
        "acks in another order than the items change nothing",
        |lab| Box::pin(cases::order_of_acks(lab)),
    ),
    case(
        "late acks",
        "it answers on while many items have no ack",
        |lab| Box::pin(cases::late_acks(lab)),
    ),
    case(
        "redelivery",
        "after kill -9, what comes after the cursor comes again, in order, with the same keys",
        |lab| Box::pin(cases::redelivery(lab)),
    ),
    case(
        "native key",
        "after kill -9, a second send with the same key is `sent` and not made again",
        |lab| Box::pin(cases::native_key(lab)),
    ),
    case(
        "look-up",
        "`look_up` says `sent` of what arrived and `not_sent` of what never left",
        |lab| Box::pin(cases::look_up(lab)),
    ),
    case(
        "retry",
        "the text `conform: retry` is answered with `retry`",
        |lab| Box::pin(cases::answered(lab, "retry")),
    ),
    case(
        "failed",
        "the text `conform: failed` is answered with `failed`",
        |lab| Box::pin(cases::answered(lab, "failed")),
    ),
    case(
        "unknown",
        "the text `conform: unknown` is answered with `unknown`",
        |lab| Box::pin(cases::answered(lab, "unknown")),
    ),
    case(
        "edits",
        "`edit`, `card_update` and `delete` of a message are answered with `sent`",
        |lab| Box::pin(cases::edits(lab)),
    ),
    case(
        "buttons",
        "`card` is `sent`, and the press of its first button comes as `click`",
        |lab| Box::pin(cases::buttons(lab)),
    ),
    case(
        "files",
        "`file` is `sent`, comes back with a message, and `fetch` gives the same bytes",
        |lab| Box::pin(cases::files(lab)),
    ),
    case("typing", "`typing` is taken without an answer", |lab| {
        Box::pin(cases::typing(lab))
    }),
    case(
        "shutdown",
        "`shutdown` ends it within 3 s, with status 0",
        |lab| Box::pin(cases::shutdown(lab)),
    ),
    case(
        "closed input",
        "the end of its standard input ends it within 3 s",
        |lab| Box::pin(cases::closed_input(lab)),
    ),
];
