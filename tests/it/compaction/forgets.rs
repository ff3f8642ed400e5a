//! What was said first in a conversation is in the request, in its summary, or named as left out: at every turn.

use std::collections::HashMap;

use crate::compaction::daemon::say;
use crate::model_calls::server::{ModelServer, ask, says, steps};
use crate::support::daemon::Home;

const FACT: &str = "my name is Zebedee";

#[tokio::test]
async fn thirty_short_exchanges_are_all_in_the_next_request() {
    let one = ModelServer::chat((0..30).map(|n| says(&format!("answer {n}"))).collect());
    let table = one.table("one", "context_window = 128000\nmax_output_tokens = 1000");
    let home = Home::new(&format!("[model]\ndefault = \"one/m\"\n{table}"));
    let daemon = home.daemon();
    let session = daemon.session().await;
    ask(&daemon, &session, FACT, "completed").await;
    for n in 1..30 {
        let turn = ask(&daemon, &session, &format!("message {n}"), "completed").await;
        let request = one.seen().pop().expect("a request").to_string();
        assert!(request.contains(FACT), "gone at turn {}: {turn:#}", n + 1);
    }
}

/// A number below `most` that follows from the one before it.
fn next(seed: &mut u64, most: u64) -> u64 {
    *seed = seed
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    (*seed >> 33) % most
}

#[tokio::test]
async fn nothing_is_forgotten_without_a_word() {
    let home = Home::new(
        "[engine]\nhistory_exchanges = 2\nhistory_share = 25\n[providers.scripted]\nkind = \"scripted\"\n\
         context_window = 9000\nmax_output_tokens = 1000\n[memory]\ncompaction_share = 95\n",
    );
    let daemon = home.daemon();
    let mut seed = 14;
    let mut ways: HashMap<&str, u32> = HashMap::new();
    for turns in [1_u32, 4, 9, 17, 30] {
        let session = daemon.session().await;
        say(&daemon, &session, FACT).await;
        for n in 0..turns {
            // Nobody waits for a compaction: whatever it has done by now must do.
            let filler = "long ".repeat(next(&mut seed, 120) as usize);
            say(&daemon, &session, &format!("SAY:noted, {n} of {filler}")).await;
        }
        let answer = say(&daemon, &session, "earlier zebedee").await;
        let said = answer["response"]["text"].as_str().expect("an answer");
        let asked = steps(&daemon, &answer, "model").await;
        let named = asked[0]["dropped"].to_string();
        if said.contains(FACT) {
            *ways.entry("sent").or_default() += 1;
        } else {
            assert!(
                named.contains("exchange(s) before"),
                "{turns} turns: {said}\n{named}"
            );
            *ways.entry("named").or_default() += 1;
        }
    }
    assert!(ways["sent"] >= 3, "{ways:?}");
    let compactions = daemon.get("/v1/compactions").await;
    assert!(!compactions["items"].as_array().expect("a list").is_empty());
}
