//! Continuations, Audit & log, and the pager of `why`: frames, and clean at any size whatever the engine answers.

use leverframe::console::message::DaemonMessage;
use leverframe::protocol::doctor::{AuditBreak, AuditReport, AuditRow};
use leverframe::protocol::enums::*;
use leverframe::protocol::problem::Problem;
use leverframe::protocol::request::{
    Answer, ExplainCall, GetApproval, GetContinuation, GetTranscript, ListAudit, ListContinuations,
    Query,
};
use leverframe::protocol::session::*;
use leverframe::protocol::snapshot::{Page, PageRequest};
use leverframe::tui::message::{Effect, Message};
use proptest::prelude::*;

use crate::console_frames::any_size::{HOSTILE, assert_clean};
use crate::console_frames::driver::Driver;
use crate::console_frames::fixture::{self, ago, busy};
use crate::console_frames::screens::check;

/// What an engine with these rows answers.
#[derive(Clone, Default)]
pub struct Engine {
    pub turns: Vec<Continuation>,
    pub steps: Vec<Step>,
    pub rows: Vec<AuditRow>,
    pub report: Option<AuditReport>,
    pub why: Option<Why>,
    pub transcript: Vec<TranscriptEntry>,
}

fn page<T: Clone>(all: &[T], request: &PageRequest) -> Page<T> {
    let from: usize = request.cursor.as_deref().map_or(0, |c| c.parse().unwrap());
    let limit = request.limit.unwrap_or(100) as usize;
    let end = (from + limit).min(all.len());
    Page {
        items: all[from..end].to_vec(),
        next_cursor: (end < all.len()).then(|| end.to_string()),
    }
}

impl Engine {
    fn answer(&self, query: &Query) -> Option<Result<Answer, Problem>> {
        let found = |turn: Option<&Continuation>, id: &dyn std::fmt::Display| match turn {
            Some(turn) => Ok(Answer::GetContinuation(turn.clone())),
            None => Err(Problem::not_found("continuation", id)),
        };
        Some(match query {
            Query::ListContinuations(ListContinuations {
                state,
                page: request,
                ..
            }) => {
                let mut turns: Vec<Continuation> = self
                    .turns
                    .iter()
                    .filter(|turn| state.is_none_or(|state| turn.state == state))
                    .cloned()
                    .collect();
                turns.sort_by_key(|turn| std::cmp::Reverse((turn.created_at, turn.id)));
                Ok(Answer::ListContinuations(page(&turns, request)))
            }
            Query::GetContinuation(GetContinuation { id }) => {
                found(self.turns.iter().find(|t| t.id == *id), id)
            }
            Query::ListSteps(_) => Ok(Answer::ListSteps(page(
                &self.steps,
                &PageRequest::default(),
            ))),
            Query::GetApproval(GetApproval { id }) => Err(Problem::not_found("approval", id)),
            Query::ExplainCall(ExplainCall { tool_call_id }) => match &self.why {
                Some(why) => {
                    let mut why = why.clone();
                    why.call.id = *tool_call_id;
                    Ok(Answer::ExplainCall(why))
                }
                None => Err(Problem::not_found("tool call", tool_call_id)),
            },
            Query::ListAudit(ListAudit {
                filter,
                page: request,
            }) => {
                let mut rows: Vec<AuditRow> = self
                    .rows
                    .iter()
                    .filter(|row| filter.action.as_ref().is_none_or(|a| *a == row.action))
                    .filter(|row| filter.since.is_none_or(|since| row.at >= since))
                    .cloned()
                    .collect();
                rows.sort_by_key(|row| std::cmp::Reverse(row.seq));
                Ok(Answer::ListAudit(page(&rows, request)))
            }
            Query::VerifyAudit(_) => Ok(Answer::VerifyAudit(self.report.clone()?)),
            Query::GetTranscript(GetTranscript { before, limit, .. }) => {
                let mut items: Vec<TranscriptEntry> = self
                    .transcript
                    .iter()
                    .filter(|entry| before.is_none_or(|before| entry.position < before))
                    .cloned()
                    .collect();
                let from = items.len().saturating_sub(limit.unwrap() as usize);
                items.drain(..from);
                Ok(Answer::GetTranscript(Page {
                    items,
                    next_cursor: None,
                }))
            }
            _ => return None,
        })
    }

    /// Answers everything that was asked, and what that asks, and draws. Returns what was asked.
    pub fn serve(&self, driver: &mut Driver) -> Vec<Query> {
        let mut asked = Vec::new();
        for _ in 0..100 {
            let queries: Vec<Query> = std::mem::take(&mut driver.effects)
                .into_iter()
                .filter_map(|effect| match effect {
                    Effect::Query(query) => Some(query),
                    _ => None,
                })
                .collect();
            if queries.is_empty() {
                driver.draw();
                if driver.effects.is_empty() {
                    return asked;
                }
                continue;
            }
            for query in queries {
                if let Some(result) = self.answer(&query) {
                    driver.hear(DaemonMessage::Answered {
                        query: Box::new(query.clone()),
                        result: result.map(Box::new).map_err(Box::new),
                    });
                }
                asked.push(query);
            }
            driver.draw();
        }
        panic!("it asks without end: {:?}", asked.last());
    }
}

pub fn turn(n: u8, state: ContinuationState, seconds: i64, text: &str) -> Continuation {
    Continuation {
        waiting_files: 0,
        state,
        attachments: Vec::new(),
        request: TextBody { text: text.into() },
        error: None,
        created_at: ago(seconds),
        updated_at: ago(seconds / 2),
        ..fixture::continuation(n, state)
    }
}

fn steps() -> Vec<Step> {
    let step = |n, kind, body| Step {
        continuation_id: fixture::continuation_id(3),
        n,
        kind,
        body,
        at: ago(620 - i64::from(n)),
    };
    let call = fixture::tool_call(31, ToolCallState::Succeeded, Some("12 lines"));
    vec![
        step(
            1,
            StepKind::Model,
            StepBody::Model {
                model: "anthropic/claude".into(),
                text: "I look for the log first.".into(),
                tool_calls: vec![call.id],
                stop: "tool_use".into(),
                usage: fixture::usage(),
                latency_ms: 1_340,
                attempts: 1,
                native: None,
                dropped: vec![],
                notes: vec![],
                cached: None,
            },
        ),
        step(
            2,
            StepKind::ToolResult,
            StepBody::ToolResult {
                call_id: call.id,
                provider_call_id: "c1".into(),
                name: "search_files".into(),
                state: ToolCallState::Succeeded,
                content: "logs/mail.log:12: restarted".into(),
                is_error: false,
                duration_ms: Some(84),
                artifact: None,
                cached: None,
            },
        ),
    ]
}

/// Turns of every group, the same in every test.
pub fn fleet() -> Engine {
    let mut interrupted = turn(
        3,
        ContinuationState::Interrupted,
        900,
        "Summarise the log of last night, please.",
    );
    interrupted.error = Some(ErrorBody {
        code: "interrupted".into(),
        message: "the process was stopped while the turn ran".into(),
    });
    interrupted.tool_calls = vec![
        fixture::tool_call(31, ToolCallState::Succeeded, Some("12 lines")),
        ToolCall {
            name: "write_file".into(),
            ..fixture::tool_call(32, ToolCallState::Started, None)
        },
    ];
    let mut running = turn(
        2,
        ContinuationState::Running,
        120,
        "Which of the services restarted last night?",
    );
    running.channel = "desk".into();
    running.tool_calls = vec![fixture::tool_call(21, ToolCallState::Started, None)];
    let mut failed = turn(
        5,
        ContinuationState::Failed,
        4000,
        "Fetch the report again.",
    );
    failed.error = Some(ErrorBody {
        code: "model_unavailable".into(),
        message: "the provider answered 529 four times".into(),
    });
    failed.retry_of = Some(fixture::continuation_id(6));
    let mut routine = turn(7, ContinuationState::Completed, 9000, "Tidy the inbox.");
    routine.requester.id = "routine:tidy".into();
    routine.requester.display = "routine tidy".into();
    routine.requester.person = None;
    routine.response = Some(TextBody {
        text: "Nothing was left over.".into(),
    });
    Engine {
        turns: vec![
            turn(
                1,
                ContinuationState::AwaitingApproval,
                300,
                "Please replace today's list.",
            ),
            turn(
                4,
                ContinuationState::Pending,
                60,
                "And what about tomorrow?",
            ),
            running,
            interrupted,
            failed,
            routine,
        ],
        steps: steps(),
        rows: (1..=9).map(row).collect(),
        report: Some(report()),
        why: Some(why()),
        transcript: vec![],
    }
}

pub fn why() -> Why {
    Why {
        call: ToolCall {
            risk_reasons: vec!["reads many files".into()],
            ..fixture::tool_call(31, ToolCallState::Succeeded, Some("12 lines"))
        },
        requester: fixture::requester(),
        request: "Summarise the log of last night, please.".into(),
        model_reason: Some("I look for the log first.".into()),
        channel: "telegram".into(),
        taint: vec!["result of fetch (https://example.org/page)".into()],
        policy_author: Some("ana at 2026-11-20T08:00:00Z".into()),
        approval: Some(fixture::approval(1, Risk::Medium)),
        hooks: vec![],
        story: vec![
            "telegram:481516 asked on telegram; the model proposed search_files.".into(),
            "Policy version 3: may run without asking (autonomy semi_auto: local reads run)."
                .into(),
            "It is succeeded now.".into(),
        ],
    }
}

pub fn hash(n: u64) -> String {
    format!("{n:02x}").repeat(32)
}

pub fn row(n: u64) -> AuditRow {
    let actions = [
        "engine.started",
        "approval.requested",
        "approval.decided",
        "tool.started",
        "tool.finished",
        "policy.changed",
        "engine.held",
        "engine.released",
        "channel.paused",
    ];
    let action = actions[usize::try_from(n - 1).unwrap() % actions.len()];
    AuditRow {
        seq: n,
        at: ago(60 * (100 - i64::try_from(n).unwrap())),
        action: action.into(),
        actor: "ana".into(),
        actor_id: "telegram:481516".into(),
        surface: Surface::Chat,
        channel: Some("telegram".into()),
        subject: if action.starts_with("tool.") {
            fixture::tool_call(31, ToolCallState::Started, None)
                .id
                .to_string()
        } else {
            fixture::approval_id(u8::try_from(n % 200).unwrap()).to_string()
        },
        detail: r#"{"decision":"approve","tool":"write_file"}"#.into(),
        prev: hash(n - 1),
        hash: hash(n),
    }
}

pub fn report() -> AuditReport {
    AuditReport {
        rows: 9,
        first_seq: 1,
        head_seq: 9,
        head_hash: hash(9),
        broken: None,
        anchors: 4,
        anchors_missing: vec![],
        given: None,
    }
}

/// The screen that a key opens, with what the engine answers.
pub fn opened(width: u16, height: u16, keys: &str, engine: &Engine) -> Driver {
    let mut driver = Driver::with(width, height, busy());
    driver.effects.clear();
    for key in keys.split(' ') {
        driver.press(key);
        engine.serve(&mut driver);
    }
    driver
}

#[test]
fn continuations_without_any() {
    check("continuations_empty", |w, h| {
        opened(w, h, "5", &Engine::default())
    });
}

#[test]
fn continuations_listed() {
    check("continuations", |w, h| opened(w, h, "5", &fleet()));
}

#[test]
fn continuations_detail() {
    check("continuations_detail", |w, h| {
        opened(w, h, "5 j j j j tab", &fleet())
    });
}

#[test]
fn continuations_beside() {
    let mut driver = opened(160, 45, "5 j j j j", &fleet());
    let text = driver.text();
    for wanted in [
        "UNKNOWN write_file",
        "write_file: started, outcome unknown",
        "step 2: tool_result",
        "a message on telegram",
        "interrupted: can be resumed",
    ] {
        assert!(text.contains(wanted), "{wanted}\n{text}");
    }
}

#[test]
fn why_pager() {
    check("why", |w, h| opened(w, h, "5 j j j j W", &fleet()));
}

#[test]
fn audit_listed() {
    check("audit", |w, h| opened(w, h, "9", &fleet()));
}

#[test]
fn audit_row() {
    check("audit_row", |w, h| opened(w, h, "9 v j j enter", &fleet()));
}

#[test]
fn a_row_of_the_audit_is_a_sentence_and_one_key_shows_it_as_it_is_stored() {
    let mut driver = opened(120, 40, "9", &fleet());
    let text = driver.text();
    for sentence in [
        "ana allowed write_file on telegram",
        "write_file started on telegram",
        "ana STOPPED everything",
        "ana released the emergency stop",
    ] {
        assert!(text.contains(sentence), "{sentence}: {text}");
    }
    assert!(!text.contains("{\"decision\""), "{text}");
    driver.press("r");
    let text = driver.text();
    assert!(
        text.contains("{\"dec") && text.contains("approval.decided"),
        "{text}"
    );
    assert!(!text.contains("ana allowed"), "{text}");
    // The row itself says both.
    driver.press("r j enter");
    let text = driver.text();
    assert!(
        text.contains("ana let") && text.contains("POLICY channel.paused"),
        "{text}"
    );
}

#[test]
fn a_broken_chain_is_said_where_it_breaks() {
    let mut engine = fleet();
    let mut broken = report();
    broken.broken = Some(AuditBreak {
        seq: 4,
        reason: "its hash does not follow".into(),
    });
    engine.report = Some(broken);
    engine.rows[3].prev = hash(77);
    let mut driver = opened(160, 45, "9 v", &engine);
    let text = driver.text();
    assert!(
        text.contains("BROKEN at row 4: its hash does not follow"),
        "{text}"
    );
    driver.press("G k k k");
    engine.serve(&mut driver);
    let text = driver.text();
    assert!(text.contains("DOES NOT follow row 3"), "{text}");
    assert!(text.contains("the chain breaks here"), "{text}");
}

/// An engine in which everything that may come from outside is hostile.
fn hostile(n: usize) -> Engine {
    let h = |k: usize| HOSTILE[(n + k) % HOSTILE.len()].repeat(1 + n % 3);
    let mut engine = fleet();
    for (k, turn) in engine.turns.iter_mut().enumerate() {
        turn.channel = h(k);
        turn.conversation = h(k + 1);
        turn.request.text = HOSTILE.concat();
        turn.response = Some(TextBody { text: h(k + 2) });
        turn.requester.display = h(k + 3);
        turn.requester.person = (k % 2 == 0).then(|| h(k + 4));
        turn.requester.id = format!("routine:{}", h(k + 5));
        turn.model = Some(h(k + 6));
        turn.error = Some(ErrorBody {
            code: h(k),
            message: h(k + 1),
        });
        for call in &mut turn.tool_calls {
            call.name = h(k);
            call.args = serde_json::json!({ h(1): h(2) });
            call.verdict.rule = h(3);
        }
    }
    for step in &mut engine.steps {
        match &mut step.body {
            StepBody::Model { model, text, .. } => {
                *model = h(1);
                *text = HOSTILE.join("\n");
            }
            StepBody::ToolResult { name, content, .. } => {
                *name = h(2);
                *content = HOSTILE.join("\n");
            }
            _ => {}
        }
    }
    for (k, row) in engine.rows.iter_mut().enumerate() {
        row.action = h(k);
        row.actor = h(k + 1);
        row.actor_id = h(k + 2);
        row.channel = Some(h(k + 3));
        if k % 2 == 0 {
            row.subject = h(k + 4);
        }
        row.detail = HOSTILE.concat();
        row.hash = h(k + 5);
    }
    let mut why = why();
    why.call.name = h(1);
    why.request = HOSTILE.join("\n");
    why.model_reason = Some(h(2));
    why.channel = h(3);
    why.taint = vec![h(4)];
    why.story = HOSTILE.iter().map(|text| (*text).to_owned()).collect();
    why.policy_author = Some(h(5));
    engine.why = Some(why);
    let mut broken = report();
    broken.broken = Some(AuditBreak {
        seq: 3,
        reason: h(6),
    });
    engine.report = Some(broken);
    engine
}

const TOURS: &[&str] = &[
    "5",
    "5 j",
    "5 j tab",
    "5 j j j j W",
    "5 j j j j W ctrl-d j",
    "5 G X",
    "5 /",
    "9",
    "9 j",
    "9 j enter G",
    "9 v j j j j j W",
    "9 /",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn both_screens_draw_clean_at_any_size(width in 0u16..=200, height in 0u16..=80, n in 0usize..30, which in 0usize..TOURS.len(), lost in any::<bool>()) {
        let engine = hostile(n);
        let mut driver = opened(width, height, TOURS[which], &engine);
        if TOURS[which].ends_with('/') {
            driver.send(Message::Paste(HOSTILE.concat()));
            driver.press("enter");
            engine.serve(&mut driver);
        }
        if lost {
            driver.hear(DaemonMessage::Disconnected { why: HOSTILE.concat() });
        }
        assert_clean(&mut driver, TOURS[which]);
    }
}
