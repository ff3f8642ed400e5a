//! Values of what is read once in a while: the doctor, the audit, artifacts, what a release asks about.

use leverframe::protocol::artifact::{Artifact, ArtifactHash};
use leverframe::protocol::doctor::*;
use leverframe::protocol::enums::{
    ApprovalKind, ContinuationState, Effect, Risk, Surface, ToolCallState,
};
use leverframe::protocol::request::{Answer, GetTranscriptFrom, Query};
use leverframe::protocol::session::{TranscriptBody, TranscriptEntry};
use leverframe::protocol::snapshot::Page;
use leverframe::protocol::uncertain::{
    OpenQuestion, Uncertain, UncertainCall, UncertainTotals, WaitingConversation, WaitingTurn,
};

use crate::api_http::samples::*;

pub fn uncertain() -> Uncertain {
    Uncertain {
        at: at(),
        quarantine: true,
        held_since: Some(at()),
        oldest_at: Some(at()),
        totals: UncertainTotals {
            turns: 1,
            calls: 1,
            deliveries: 0,
            questions: 1,
        },
        conversations: vec![WaitingConversation {
            session_id: session_id(),
            channel: "team".to_owned(),
            conversation: "chat".to_owned(),
            title: Some(NASTY.to_owned()),
            turns: vec![WaitingTurn {
                continuation_id: continuation_id(),
                state: ContinuationState::Interrupted,
                text: NASTY.to_owned(),
                created_at: at(),
            }],
        }],
        calls: vec![UncertainCall {
            id: call_id(),
            continuation_id: continuation_id(),
            name: "write_file".to_owned(),
            preview: NASTY.to_owned(),
            effect: Effect::NonIdempotent,
            state: ToolCallState::Indeterminate,
            started_at: None,
        }],
        deliveries: Vec::new(),
        questions: vec![OpenQuestion {
            id: approval_id(),
            short_code: "ABC234".to_owned(),
            kind: ApprovalKind::ResolveUnknown,
            channel: "team".to_owned(),
            tool: "write_file".to_owned(),
            risk: Risk::Medium,
            requested_at: at(),
        }],
    }
}

pub fn artifact() -> Artifact {
    Artifact {
        data: None,
        hash: ArtifactHash::from_bytes([0xab; 32]),
        size: NASTY.len() as u64,
        media_type: "text/plain; charset=utf-8".to_owned(),
        created_at: at(),
        text: NASTY.to_owned(),
    }
}

/// A diagnosis with a failed rule.
pub fn doctor() -> Doctor {
    Doctor {
        at: at(),
        database: NASTY.to_owned(),
        live: true,
        findings: vec![Finding {
            verdict: Standing::Warn,
            about: "clock".to_owned(),
            detail: NASTY.to_owned(),
            fix: Some("set it right".to_owned()),
        }],
        check: Some(CheckReport {
            rules: vec![RuleResult {
                invariant: "I4".to_owned(),
                broken: "step written after the end".to_owned(),
                rows: 7,
                violations: 1,
                found: vec![format!("{} step 9", continuation_id())],
            }],
            rows: 7,
            violations: 1,
            took_ms: 3,
        }),
    }
}

/// A row of the audit.
pub fn audit_row() -> AuditRow {
    AuditRow {
        seq: 3,
        at: at(),
        action: "approval.decided".to_owned(),
        actor: NASTY.to_owned(),
        actor_id: "operator:1000".to_owned(),
        surface: Surface::Console,
        channel: Some("team".to_owned()),
        subject: approval_id().to_string(),
        detail: r#"{"decision":"approve"}"#.to_owned(),
        prev: "00".repeat(32),
        hash: "ab".repeat(32),
    }
}

/// A head noted elsewhere.
pub fn anchor() -> AuditAnchor {
    AuditAnchor {
        seq: 3,
        hash: "ab".repeat(32),
    }
}

/// A walk that found something.
pub fn audit_report() -> AuditReport {
    AuditReport {
        rows: 3,
        first_seq: 1,
        head_seq: 3,
        head_hash: "ab".repeat(32),
        broken: Some(AuditBreak {
            seq: 2,
            reason: NASTY.to_owned(),
        }),
        anchors: 1,
        anchors_missing: vec![AnchorCheck {
            anchor: anchor(),
            verdict: AnchorVerdict::BeyondEnd,
        }],
        given: Some(AnchorCheck {
            anchor: anchor(),
            verdict: AnchorVerdict::Contained,
        }),
    }
}

/// A transcript read forward.
pub fn transcript_from() -> (Query, Answer) {
    (
        Query::GetTranscriptFrom(GetTranscriptFrom {
            session_id: session_id(),
            from: 9,
            limit: Some(10),
        }),
        Answer::GetTranscriptFrom(Page {
            items: vec![TranscriptEntry {
                position: 9,
                continuation_id: continuation_id(),
                at: at(),
                body: TranscriptBody::User {
                    sender: NASTY.to_owned(),
                    text: NASTY.to_owned(),
                },
            }],
            next_cursor: Some("10".to_owned()),
        }),
    )
}
