//! The tables of DESIGN.md, written down once more: what may follow what. The store has its own copy; both must agree.

use leverframe::protocol::enums::{ApprovalState, ContinuationState, OutboxState, ToolCallState};

type Pairs<S> = &'static [(S, &'static [S])];

/// Continuations.
pub(crate) const TURNS: Pairs<ContinuationState> = {
    use ContinuationState as S;
    &[
        (S::Pending, &[S::Running, S::Cancelled, S::Expired]),
        (
            S::Running,
            &[
                S::AwaitingApproval,
                S::Pending,
                S::Interrupted,
                S::Completed,
                S::Failed,
                S::Cancelled,
            ],
        ),
        // Failed: a person refused more of the budget.
        (
            S::AwaitingApproval,
            &[S::Pending, S::Failed, S::Cancelled, S::Expired],
        ),
        (
            S::Interrupted,
            &[S::Pending, S::AwaitingApproval, S::Cancelled, S::Expired],
        ),
    ]
};

/// Tool calls.
pub(crate) const CALLS: Pairs<ToolCallState> = {
    use ToolCallState as S;
    &[
        (
            S::Proposed,
            &[
                S::Blocked,
                S::Denied,
                S::Failed,
                S::Ready,
                S::Awaiting,
                S::Cancelled,
                S::Expired,
            ],
        ),
        (
            S::Ready,
            // Indeterminate: the key of a run that died with its process ran out before the next one.
            &[
                S::Started,
                S::Awaiting,
                S::Denied,
                S::Indeterminate,
                S::Cancelled,
                S::Expired,
            ],
        ),
        (
            S::Awaiting,
            &[
                S::Approved,
                S::Denied,
                S::Succeeded,
                S::Cancelled,
                S::Expired,
            ],
        ),
        (
            S::Approved,
            &[
                S::Started,
                S::Denied,
                S::Awaiting,
                S::Indeterminate,
                S::Cancelled,
                S::Expired,
            ],
        ),
        (
            S::Started,
            &[S::Succeeded, S::Failed, S::Indeterminate, S::Ready],
        ),
        (
            S::Indeterminate,
            &[S::SucceededByNote, S::Ready, S::Abandoned],
        ),
    ]
};

/// Approvals.
pub(crate) const GATES: Pairs<ApprovalState> = {
    use ApprovalState as S;
    &[
        (
            S::Pending,
            &[S::Approved, S::Denied, S::Expired, S::Revoked, S::Consumed],
        ),
        (S::Approved, &[S::Consumed, S::Revoked, S::Pending]),
    ]
};

/// Outbound parts.
pub(crate) const PARTS: Pairs<OutboxState> = {
    use OutboxState as S;
    &[
        // Unknown: it may have arrived and its key ran out, or it is so old that a person is asked first.
        (
            S::Pending,
            &[S::Sending, S::Unknown, S::Superseded, S::Abandoned],
        ),
        (
            S::Sending,
            &[S::Sent, S::Pending, S::Failed, S::Unknown, S::Superseded],
        ),
        (S::Unknown, &[S::Sent, S::Pending, S::Abandoned]),
        (S::Failed, &[S::Sent, S::Pending, S::Abandoned]),
    ]
};

/// Arrows that are allowed and that no command takes: a call leaves `proposed` in the transaction that makes it, and
/// a person gives up a part only after a send.
pub(crate) const UNUSED: &[(&str, &str, &str)] = &[
    ("call", "proposed", "cancelled"),
    ("call", "proposed", "expired"),
    ("part", "pending", "abandoned"),
];

/// Whether a table allows a change.
pub(crate) fn allows<S: Copy + PartialEq>(table: Pairs<S>, from: S, to: S) -> bool {
    table
        .iter()
        .any(|(before, after)| *before == from && after.contains(&to))
}

/// Every arrow of the four tables, as words.
pub(crate) fn arrows() -> Vec<(&'static str, &'static str, &'static str)> {
    let mut all = Vec::new();
    for (from, list) in TURNS {
        all.extend(list.iter().map(|to| ("turn", from.as_str(), to.as_str())));
    }
    for (from, list) in CALLS {
        all.extend(list.iter().map(|to| ("call", from.as_str(), to.as_str())));
    }
    for (from, list) in GATES {
        all.extend(list.iter().map(|to| ("gate", from.as_str(), to.as_str())));
    }
    for (from, list) in PARTS {
        all.extend(list.iter().map(|to| ("part", from.as_str(), to.as_str())));
    }
    all
}

/// The store's tables are these, pair by pair.
#[test]
fn the_store_has_the_tables_of_the_design() {
    use leverframe::store::transitions;
    for from in ContinuationState::ALL.iter().copied() {
        for to in ContinuationState::ALL.iter().copied() {
            assert_eq!(
                transitions::continuation(from, to),
                allows(TURNS, from, to),
                "continuation {from} to {to}"
            );
        }
    }
    for from in ToolCallState::ALL.iter().copied() {
        for to in ToolCallState::ALL.iter().copied() {
            assert_eq!(
                transitions::tool_call(from, to),
                allows(CALLS, from, to),
                "call {from} to {to}"
            );
        }
    }
    for from in ApprovalState::ALL.iter().copied() {
        for to in ApprovalState::ALL.iter().copied() {
            assert_eq!(
                transitions::approval(from, to),
                allows(GATES, from, to),
                "approval {from} to {to}"
            );
        }
    }
    for from in OutboxState::ALL.iter().copied() {
        for to in OutboxState::ALL.iter().copied() {
            assert_eq!(
                transitions::outbox(from, to),
                allows(PARTS, from, to),
                "part {from} to {to}"
            );
        }
    }
}
