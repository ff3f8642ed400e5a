//! The cases, in their order: name and what is expected.

/// What is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CaseKind {
    Hello,
    Version,
    Garbage,
    Echo,
    Characters,
    LongText,
    OrderOfAcks,
    LateAcks,
    Redelivery,
    NativeKey,
    LookUp,
    Retry,
    Failed,
    Unknown,
    Edits,
    Buttons,
    Files,
    Typing,
    Shutdown,
    ClosedInput,
}

/// A case.
pub struct Case {
    pub kind: CaseKind,
    pub name: &'static str,
    pub expected: &'static str,
}

const fn case(kind: CaseKind, name: &'static str, expected: &'static str) -> Case {
    Case {
        kind,
        name,
        expected,
    }
}

/// The names of all cases.
pub fn names() -> impl Iterator<Item = &'static str> {
    CASES.iter().map(|case| case.name)
}

/// Every case, in order.
pub const CASES: &[Case] = &[
    case(
        CaseKind::Hello,
        "hello",
        "`start` is answered with a `hello` of version 1, then `ping` with `pong`; no item comes before `welcome`",
    ),
    case(
        CaseKind::Version,
        "version",
        "a version that it does not speak: it ends, or says hello with its own",
    ),
    case(
        CaseKind::Garbage,
        "garbage",
        "what is no JSON, has no type or a type of the future is passed over",
    ),
    case(
        CaseKind::Echo,
        "send",
        "`send` is answered with `sent` and its refs; the person's message has key, conversation and sender",
    ),
    case(
        CaseKind::Characters,
        "characters",
        "every character comes back as it was: pairs of surrogates, marks, quotes, lines",
    ),
    case(
        CaseKind::LongText,
        "long text",
        "a text of `max_length` comes back whole",
    ),
    case(
        CaseKind::OrderOfAcks,
        "order of acks",
        "acks in another order than the items change nothing",
    ),
    case(
        CaseKind::LateAcks,
        "late acks",
        "it answers on while many items have no ack",
    ),
    case(
        CaseKind::Redelivery,
        "redelivery",
        "after kill -9, what comes after the cursor comes again, in order, with the same keys",
    ),
    case(
        CaseKind::NativeKey,
        "native key",
        "after kill -9, a second send with the same key is `sent` and not made again",
    ),
    case(
        CaseKind::LookUp,
        "look-up",
        "`look_up` says `sent` of what arrived and `not_sent` of what never left",
    ),
    case(
        CaseKind::Retry,
        "retry",
        "the text `conform: retry` is answered with `retry`",
    ),
    case(
        CaseKind::Failed,
        "failed",
        "the text `conform: failed` is answered with `failed`",
    ),
    case(
        CaseKind::Unknown,
        "unknown",
        "the text `conform: unknown` is answered with `unknown`",
    ),
    case(
        CaseKind::Edits,
        "edits",
        "`edit`, `card_update` and `delete` of a message are answered with `sent`",
    ),
    case(
        CaseKind::Buttons,
        "buttons",
        "`card` is `sent`, and the press of its first button comes as `click`",
    ),
    case(
        CaseKind::Files,
        "files",
        "`file` is `sent`, comes back with a message, and `fetch` gives the same bytes",
    ),
    case(
        CaseKind::Typing,
        "typing",
        "`typing` is taken without an answer",
    ),
    case(
        CaseKind::Shutdown,
        "shutdown",
        "`shutdown` ends it within 3 s, with status 0",
    ),
    case(
        CaseKind::ClosedInput,
        "closed input",
        "the end of its standard input ends it within 3 s",
    ),
];
