//! Samples of assignments and of who is on call.

use leverframe::protocol::enums::{ApprovalKind, ApprovalState};
use leverframe::protocol::escalation::{
    DrillRequest, Escalation, EscalationDrill, EscalationStatus, EscalationStep,
    NextEscalationStep, PolicyStep, StepOutcome,
};
use leverframe::protocol::event::{Event, EventBody};
use leverframe::protocol::ids::OutboxId;
use leverframe::protocol::on_call::{
    AssignRequest, Assignment, OnCall, OnCallRequest, OnCallStatus,
};
use leverframe::protocol::request::{AssignApproval, Command, DrillEscalation, SetOnCall};
use leverframe::protocol::summary::{
    ShiftSummary, SummaryAssignment, SummaryQuestion, SummaryRefusal,
};

use crate::api_http::samples::{NASTY, approval, approval_id, at};
use crate::api_http::samples_traffic::event;

pub fn assigned() -> Assignment {
    Assignment {
        to: "anna".to_owned(),
        by: "ben".to_owned(),
        at: at(),
        note: Some(NASTY.to_owned()),
    }
}

pub fn escalation() -> Escalation {
    Escalation {
        policy: "night".to_owned(),
        steps: vec![EscalationStep {
            step: 1,
            to: "on-call".to_owned(),
            person: Some("anna".to_owned()),
            at: at(),
            outcome: StepOutcome::Failed,
            detail: Some(NASTY.to_owned()),
            settled_at: Some(at()),
            deliveries: vec![OutboxId::generate()],
        }],
        next: Some(NextEscalationStep {
            step: 2,
            to: "ntfy:ntfy.example".to_owned(),
            person: None,
            at: at(),
        }),
    }
}

pub fn drill() -> EscalationDrill {
    EscalationDrill {
        channel: "team".to_owned(),
        by: "ben".to_owned(),
        started_at: at(),
        fast: true,
        escalation: escalation(),
        ended_at: Some(at()),
    }
}

pub fn escalation_status() -> EscalationStatus {
    EscalationStatus {
        channel: "team".to_owned(),
        policy: "night".to_owned(),
        steps: vec![PolicyStep {
            after_seconds: 300,
            to: "on-call".to_owned(),
            person: Some("anna".to_owned()),
        }],
        drill: Some(drill()),
    }
}

pub fn on_call_status() -> OnCallStatus {
    OnCallStatus {
        on_call: None,
        ended: Some(OnCall {
            name: "anna".to_owned(),
            by: "ben".to_owned(),
            since: at(),
            until: Some(at()),
            note: Some(NASTY.to_owned()),
        }),
        names: vec!["anna".to_owned(), NASTY.to_owned()],
        you: vec!["ben".to_owned()],
    }
}

pub fn summary() -> ShiftSummary {
    ShiftSummary {
        since: at(),
        until: at(),
        pending: vec![SummaryQuestion {
            id: approval_id(),
            short_code: "ABC234".to_owned(),
            kind: ApprovalKind::Execute,
            tool: Some("bash".to_owned()),
            channel: "team".to_owned(),
            requester: NASTY.to_owned(),
            requested_at: at(),
            expires_at: None,
            snoozed: vec![("operator:1000".to_owned(), at())],
            assignment: Some(assigned()),
        }],
        more_pending: 1,
        taken_over: Vec::new(),
        channels: Vec::new(),
        refused_calls: vec![SummaryRefusal {
            channel: "team".to_owned(),
            calls: 2,
            last_at: at(),
        }],
        grants: Vec::new(),
        rules: Vec::new(),
        held: Some((at(), NASTY.to_owned())),
        deeds: Vec::new(),
        spent: Vec::new(),
        on_call: on_call_status().ended,
        on_call_ended: None,
        assignments: vec![SummaryAssignment {
            at: at(),
            by: "ben".to_owned(),
            short_code: Some("ABC234".to_owned()),
            to: None,
            from: Some("anna".to_owned()),
            until: None,
            note: Some(NASTY.to_owned()),
        }],
    }
}

pub fn commands() -> Vec<Command> {
    vec![
        Command::AssignApproval(AssignApproval {
            approval_id: approval_id(),
            request: AssignRequest {
                to: "anna".to_owned(),
                note: Some(NASTY.to_owned()),
                digest: "ab".repeat(32),
                revision: Some(1),
            },
        }),
        Command::SetOnCall(SetOnCall {
            request: OnCallRequest {
                name: "anna".to_owned(),
                seconds: Some(3600),
                note: Some(NASTY.to_owned()),
            },
        }),
        Command::DrillEscalation(DrillEscalation {
            request: DrillRequest {
                channel: "team".to_owned(),
                fast: true,
            },
        }),
    ]
}

pub fn events() -> Vec<Event> {
    vec![
        event(
            Some(5),
            EventBody::ApprovalAssigned {
                approval: Box::new(approval(ApprovalState::Pending)),
            },
        ),
        event(
            Some(6),
            EventBody::ApprovalReminded {
                approval: Box::new(approval(ApprovalState::Pending)),
            },
        ),
        event(
            Some(8),
            EventBody::ApprovalFirstAllowed {
                approval: Box::new(approval(ApprovalState::Pending)),
            },
        ),
        event(
            Some(9),
            EventBody::ApprovalEscalation {
                approval: Box::new(approval(ApprovalState::Pending)),
            },
        ),
        event(
            Some(7),
            EventBody::OnCallChanged {
                on_call: on_call_status().ended.map(Box::new),
            },
        ),
    ]
}
