//! Two people at once, and an answer that meets its deadline: exactly one wins, and the audit says who.

use leverframe::protocol::enums::{ApprovalState, ContinuationState, DecisionKind, Effect};
use leverframe::protocol::snapshot::{AuditFilter, PageRequest};
use leverframe::store::commands::decide::DecideOutcome;
use leverframe::store::commands::expire_due::ExpireDue;
use leverframe::store::commands::park::Park;
use serde_json::{Value, json};

use crate::support::daemon::{Daemon, Home};
use crate::support::record::fault;
use crate::support::world::{START, World, gated};

const ROUNDS: usize = 20;
const WRITE: &str =
    "TOOL:write_file{\"path\":\"note.txt\",\"content\":\"hello\\n\",\"mode\":\"append\"}\nSAY:done";

async fn ask(daemon: &Daemon) -> (String, Value) {
    let session = daemon.session().await;
    let continuation = daemon.send(&session, WRITE).await;
    daemon.wait_state(&continuation, "awaiting_approval").await;
    (continuation, daemon.wait_approval().await)
}

#[tokio::test]
async fn two_operators_at_once_agree_or_one_of_them_wins() {
    let home = Home::new("");
    let daemon = home.daemon();
    let mut allowed = 0;
    let mut denied = 0;
    for round in 0..ROUNDS {
        let same = round % 2 == 0;
        let (continuation, approval) = ask(&daemon).await;
        let other = if same { "approve" } else { "deny" };
        let (first, second) = tokio::join!(
            daemon.decide(&approval, "approve"),
            daemon.decide(&approval, other)
        );
        let done = daemon.wait_state(&continuation, "completed").await;
        let ran = done["tool_calls"][0]["state"] == "succeeded";
        if same {
            assert_eq!((first.0, second.0), (200, 200), "{first:?} {second:?}");
            assert!(ran);
        } else {
            let mut statuses = [first.0, second.0];
            statuses.sort_unstable();
            assert_eq!(statuses, [200, 409], "{first:?} {second:?}");
            let lost = if first.0 == 409 { &first.1 } else { &second.1 };
            let won = if first.0 == 200 { "approve" } else { "deny" };
            assert_eq!(lost["winner"]["decision"], won, "{lost}");
            assert_eq!(ran, won == "approve", "the loser's word was followed");
        }
        allowed += usize::from(ran);
        denied += usize::from(!ran);
        let id = approval["id"].as_str().unwrap();
        let audit = daemon
            .get("/v1/audit?action=approval.decided&limit=500")
            .await;
        let rows = audit["items"].as_array().unwrap().iter();
        assert_eq!(
            rows.filter(|row| row["subject"] == id).count(),
            1,
            "one decision, one row"
        );
    }
    let file = std::fs::read_to_string(home.workspace("api").join("note.txt")).unwrap();
    assert_eq!(file.lines().count(), allowed, "each allowed call ran once");
    assert_eq!(
        daemon.get("/v1/doctor?check=true").await["check"]["violations"],
        json!(0)
    );
    fault(
        "two-operators-at-once",
        &format!("{ROUNDS} pairs of decisions at the same moment over HTTP, half of them opposite"),
        &format!(
            "equal decisions both got 200, an opposite one 409 with the winner; {allowed} ran once, {denied} did not run"
        ),
    );
}

#[tokio::test]
async fn an_approval_that_meets_its_deadline_is_either_given_or_expired() {
    let mut won = [0_u32; 2];
    for round in 0..ROUNDS {
        let world = World::new().await;
        let (_, id) = world.running("chat").await;
        let (asking, gate) = gated(Effect::NonIdempotent);
        world.propose(id, vec![asking]).await;
        let park = Park {
            continuation_id: id,
            epoch: world.epoch(),
            active_ms: 0,
            notices: Vec::new(),
        };
        world.ok(park).await;
        let decide = world
            .decide_command(gate, DecisionKind::Approve, "anna")
            .await;
        // The last millisecond in which it counts, or the first in which it does not, and either one first.
        let deadline = START.plus_seconds(3600);
        let late = round % 4 >= 2;
        world.clock.advance_millis(3600 * 1000 - i64::from(!late));
        let expire = ExpireDue {
            now: deadline,
            notice: "too late".to_owned(),
        };
        let (decided, expired) = if round % 2 == 0 {
            tokio::join!(world.store.write(decide), world.store.write(expire))
        } else {
            let (expired, decided) =
                tokio::join!(world.store.write(expire), world.store.write(decide));
            (decided, expired)
        };
        let given = matches!(decided.unwrap().outcome, DecideOutcome::Decided(_));
        let expired = expired.unwrap().approvals.len() == 1;
        assert!(given != expired, "given {given}, expired {expired}");
        let (state, turn) = world
            .store
            .read(move |reader| Ok((reader.approval(gate)?.state, reader.turn(id)?.state)))
            .await
            .unwrap();
        if given {
            assert!(!late, "given after its time");
            assert_eq!(
                (state, turn),
                (ApprovalState::Approved, ContinuationState::Pending)
            );
        } else {
            assert_eq!(
                (state, turn),
                (ApprovalState::Expired, ContinuationState::Expired)
            );
        }
        won[usize::from(given)] += 1;
        let rows = world
            .store
            .read(move |reader| reader.audit_rows(&AuditFilter::default(), &PageRequest::default()))
            .await
            .unwrap()
            .items;
        let of = |action: &str| rows.iter().filter(|row| row.action == action).count();
        assert_eq!(of("approval.decided"), usize::from(given));
        assert_eq!(of("approval.expired"), usize::from(expired), "{rows:#?}");
        world.sound().await;
    }
    assert!(won[0] > 0 && won[1] > 0, "one side never won: {won:?}");
    fault(
        "expiry-racing-an-approval",
        &format!("{ROUNDS} approvals within a millisecond of their deadline, beside expiry"),
        &format!(
            "exactly one won each time: {} approved, {} expired, one audit row each",
            won[1], won[0]
        ),
    );
}
