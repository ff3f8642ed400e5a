//! Rules that random walks over the store found missing, or too strict.

use leverframe::protocol::enums::{ApprovalKind, DecisionKind, Effect};
use leverframe::protocol::session::ErrorBody;
use leverframe::store::commands::fail_turn::FailTurn;
use leverframe::store::commands::llm_result::LlmResult;
use leverframe::store::commands::reopen_approval::ReopenApproval;
use leverframe::store::commands::resume::Resume;
use leverframe::store::input::AnswerSource;
use leverframe::store::input::{NewCallFacts, NewCallOutcome, SessionChoice};

use crate::support::world::{World, approval, by, call, turn, usage};

#[tokio::test]
async fn the_model_says_nothing_more_before_every_call_has_its_result() {
    let world = World::new().await;
    let (_, id) = world.running("chat").await;
    // A call and its retry: both were reserved before either answered.
    let (first, second) = (world.model_step(id).await, world.model_step(id).await);
    let answer = |step, calls| LlmResult {
        continuation_id: id,
        epoch: world.epoch(),
        step,
        calls,
    };
    let new = call(Effect::ReadOnly, NewCallOutcome::Ready);
    let call_id = new.id;
    world.ok(answer(first, vec![new])).await;
    let late = answer(second, vec![call(Effect::ReadOnly, NewCallOutcome::Ready)]);
    let what = world.illegal(late).await;
    assert!(what.contains(&call_id.to_string()), "{what}");
    world.sound().await;
}

#[tokio::test]
async fn a_turn_does_not_settle_the_model_call_of_another() {
    let world = World::new().await;
    let (_, one) = world.running("chat").await;
    let (_, other) = world.running("elsewhere").await;
    let AnswerSource::Attempt(attempt) = world.model_step(other).await.source else {
        panic!("no model call")
    };
    let what = world
        .illegal(FailTurn {
            continuation_id: one,
            epoch: world.epoch(),
            error: ErrorBody {
                code: "model".to_owned(),
                message: "broken".to_owned(),
            },
            model: Some((attempt, usage())),
            notices: Vec::new(),
        })
        .await;
    assert!(what.contains(&other.to_string()), "{what}");
    world.sound().await;
}

#[tokio::test]
async fn a_call_that_ran_before_it_had_to_ask_is_sound() {
    let world = World::new().await;
    let (session, id) = world.running("chat").await;
    let new = call(Effect::ReadOnly, NewCallOutcome::Ready);
    let (call_id, digest) = (new.id, new.digest.clone());
    world.propose(id, vec![new]).await;
    world.start(call_id, &digest).await;
    let world = world.crash().await;
    world
        .ok(Resume {
            continuation_id: id,
            by: by("anna"),
        })
        .await;
    world.claim(session).await.unwrap();
    let question = approval(ApprovalKind::Execute, "another plan");
    let gate = question.id;
    world
        .ok(ReopenApproval {
            call_id,
            epoch: world.epoch(),
            approval: question,
            reason: "the policy became stricter".to_owned(),
            call: NewCallFacts {
                args: serde_json::json!({}),
                preview: "b.txt".to_owned(),
                access: leverframe::protocol::enums::Access::Write,
                effect: Effect::ReadOnly,
                risk: leverframe::protocol::enums::Risk::Medium,
                risk_reasons: Vec::new(),
                plan: leverframe::protocol::approval::PlanFacts::default(),
                digest: "another plan".to_owned(),
                args_digest: "args".to_owned(),
                verdict: leverframe::protocol::policy::Verdict {
                    decision: leverframe::protocol::enums::VerdictKind::Ask,
                    rule: "a rule".to_owned(),
                    policy_version: 2,
                },
            },
        })
        .await;
    world.sound().await;
    let command = world
        .decide_command(gate, DecisionKind::Answer, "anna")
        .await;
    world.ok(command).await;
    world.sound().await;
}

#[tokio::test]
async fn a_temporary_session_ends_with_the_last_turn_in_it() {
    let world = World::new().await;
    let mut first = turn("chat", None);
    first.session = SessionChoice::Temporary;
    let session_id = world.ok(first).await.session_id.unwrap();
    let one = world.claim(session_id).await.unwrap();
    let mut second = turn("chat", None);
    second.session = SessionChoice::Id(session_id);
    world.ok(second).await;
    world.finish(one, 1).await;
    world.sound().await;
    let two = world.claim(session_id).await.unwrap();
    world.finish(two, 1).await;
    let state = world
        .store
        .read(move |reader| reader.session(session_id))
        .await
        .unwrap()
        .state;
    assert_eq!(state, leverframe::protocol::enums::SessionState::Ended);
    world.sound().await;
}
