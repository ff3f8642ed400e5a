//! Whatever strangers and operators do in whatever order: the store agrees with a table of four lines, never more than
//! three wait, and the sender hears one word for each question and one for each yes.

use std::collections::BTreeMap;

use leverframe::protocol::enums::{DecisionKind, PairingState};
use leverframe::store::commands::revoke_pairing::RevokePairing;
use proptest::prelude::*;

use crate::pairings::world::{ask, decide, pairing, pass, said};
use crate::support::world::{World, by};

#[derive(Debug, Clone)]
enum Step {
    /// A message of a stranger; `again` = delivered twice.
    Write {
        sender: usize,
        again: bool,
    },
    Decide {
        sender: usize,
        accept: bool,
    },
    Revoke {
        sender: usize,
    },
    /// Minutes go by.
    Wait(i64),
    Restart,
    Crash,
}

fn step() -> impl Strategy<Value = Step> {
    let sender = 0..SENDERS.len();
    prop_oneof![
        6 => (sender.clone(), any::<bool>()).prop_map(|(sender, again)| Step::Write { sender, again }),
        4 => (sender.clone(), any::<bool>()).prop_map(|(sender, accept)| Step::Decide { sender, accept }),
        2 => sender.prop_map(|sender| Step::Revoke { sender }),
        2 => (1..45_i64).prop_map(Step::Wait),
        1 => Just(Step::Restart),
        1 => Just(Step::Crash),
    ]
}

const SENDERS: [&str; 6] = ["1", "2", "3", "4", "5", "6"];

/// What a stranger should be, until when they wait, and what they heard.
#[derive(Debug, Clone, Default)]
struct Expected {
    state: Option<PairingState>,
    until: i64,
    heard: usize,
}

fn waiting(table: &BTreeMap<usize, Expected>) -> usize {
    table
        .values()
        .filter(|one| one.state == Some(PairingState::Pending))
        .count()
}

async fn walk(steps: Vec<Step>) {
    let mut world = World::new().await;
    let mut table: BTreeMap<usize, Expected> = BTreeMap::new();
    let mut messages = 0;
    for step in steps {
        match step {
            Step::Write { sender, again } => {
                messages += 1;
                let command = ask(&world, SENDERS[sender], Some(&format!("m{messages}")));
                let full = waiting(&table) >= 3;
                let one = table.entry(sender).or_default();
                let asks = !full
                    && matches!(
                        one.state,
                        None | Some(PairingState::Expired | PairingState::Revoked)
                    );
                if asks {
                    one.state = Some(PairingState::Pending);
                    one.until = command.expires_at.as_millis();
                    one.heard += 1;
                }
                assert_eq!(world.ok(command.clone()).await.1, asks);
                if again {
                    assert!(!world.ok(command).await.1);
                }
            }
            Step::Decide { sender, accept } => {
                let one = table.entry(sender).or_default();
                if one.state != Some(PairingState::Pending) {
                    continue;
                }
                one.state = Some(if accept {
                    one.heard += 1;
                    PairingState::Accepted
                } else {
                    PairingState::Refused
                });
                let word = if accept {
                    DecisionKind::Approve
                } else {
                    DecisionKind::Deny
                };
                decide(&world, SENDERS[sender], word).await;
            }
            Step::Revoke { sender } => {
                let Some(found) = pairing(&world, SENDERS[sender]).await else {
                    continue;
                };
                let command = RevokePairing {
                    id: found.id,
                    by: by("anna"),
                };
                let one = table.entry(sender).or_default();
                match one.state {
                    Some(PairingState::Accepted | PairingState::Refused) => {
                        one.state = Some(PairingState::Revoked);
                        world.ok(command).await;
                    }
                    Some(PairingState::Revoked) => world.ok(command).await,
                    Some(PairingState::Pending | PairingState::Expired) | None => {
                        world.illegal(command).await;
                    }
                }
            }
            Step::Wait(minutes) => {
                let now = pass(&world, minutes * 60).await.as_millis();
                for one in table.values_mut() {
                    if one.state == Some(PairingState::Pending) && one.until <= now {
                        one.state = Some(PairingState::Expired);
                    }
                }
            }
            Step::Restart => world = world.restart().await,
            Step::Crash => world = world.crash().await,
        }
        assert!(waiting(&table) <= 3);
        for (sender, one) in &table {
            let found = pairing(&world, SENDERS[*sender]).await;
            assert_eq!(found.map(|found| found.state), one.state);
        }
    }
    for (sender, one) in &table {
        assert_eq!(said(&world, SENDERS[*sender]).await.len(), one.heard);
    }
    world.sound().await;
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn strangers_and_operators_in_any_order(steps in prop::collection::vec(step(), 1..40)) {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap()
            .block_on(walk(steps));
    }
}
