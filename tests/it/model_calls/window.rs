//! Conversations that do not fit: compacted once, asked once more, then failed with what to do.

use crate::model_calls::server::{ModelServer, ask, claude, fails, home, says, steps};
use crate::support::fake_http::Reply;

const ONE: &str = "[model]\ndefault = \"one/m\"";
/// Nothing else ends the turn, and no turn is compacted after it.
const ROOM: &str = "[budgets]\nmax_tokens = 100_000_000\n[memory]\ncompaction = false";

fn too_long() -> Reply {
    fails(
        400,
        "",
        "This model's maximum context length is 4000 tokens",
    )
}

#[tokio::test]
async fn what_is_too_long_is_compacted_once_and_asked_again() {
    let one = ModelServer::chat(Vec::new());
    // The answers are long, and each turn is sent the ones before it.
    let config = format!("{ONE}\n{ROOM}");
    let home = home(&config, &[("one", &one)]);
    let daemon = home.daemon();
    let session = daemon.session().await;
    for n in 0..6 {
        one.next(says(&format!("answer {n} {}", "word ".repeat(20_000))));
        ask(&daemon, &session, &format!("question {n}"), "completed").await;
    }
    one.next(says("shorter"));
    one.next(too_long());
    let done = ask(&daemon, &session, "question now", "completed").await;
    assert_eq!(done["response"]["text"], "shorter");
    let requests = one.seen();
    let sizes: Vec<usize> = requests[6..]
        .iter()
        .map(|body| body.to_string().len())
        .collect();
    assert_eq!(sizes.len(), 2);
    assert!(sizes[1] < sizes[0], "{sizes:?}");
    let step = &steps(&daemon, &done, "model").await[0];
    let said = step.to_string();
    assert!(
        said.contains("the model's window was full; asked again with half of it")
            && said.contains("exchange(s) before the one of")
            && said.contains("a summary stands for"),
        "{said}"
    );
    let second = requests[7]["messages"].to_string();
    assert!(
        second.contains("question now") && second.contains("question 5"),
        "{second}"
    );
    assert!(second.contains("<earlier_conversation"), "{second}");
}

#[tokio::test]
async fn what_is_still_too_long_fails_and_says_what_to_do() {
    let one = ModelServer::chat(vec![too_long(), too_long()]);
    let two = ModelServer::chat(Vec::new());
    let config = format!("{ONE}\nfallback = [\"two/n\"]");
    let home = home(&config, &[("one", &one), ("two", &two)]);
    let daemon = home.daemon();
    let session = daemon.session().await;
    let failed = ask(&daemon, &session, "hello", "failed").await;
    assert_eq!((one.seen().len(), two.seen().len()), (2, 0));
    assert_eq!(failed["error"]["code"], "context_too_long");
    let message = failed["error"]["message"].as_str().unwrap();
    for word in ["maximum context length", "/new", "larger window"] {
        assert!(message.contains(word), "{message}");
    }
}

#[tokio::test]
async fn a_window_that_is_full_before_a_word_is_the_same() {
    let full = || claude(&[], "model_context_window_exceeded");
    let one = ModelServer::claude(vec![full(), full()]);
    let home = home(ONE, &[("one", &one)]);
    let daemon = home.daemon();
    let session = daemon.session().await;
    let failed = ask(&daemon, &session, "hello", "failed").await;
    assert_eq!(one.seen().len(), 2);
    assert_eq!(failed["error"]["code"], "context_too_long");
    // What was used counts all the same.
    assert_eq!(failed["usage"]["input_tokens"], 200);
}

#[tokio::test]
async fn a_window_that_is_full_in_the_middle_cuts_the_answer() {
    let words = [crate::model_calls::server::text("Half of")];
    let one = ModelServer::claude(vec![claude(&words, "model_context_window_exceeded")]);
    let home = home(ONE, &[("one", &one)]);
    let daemon = home.daemon();
    let session = daemon.session().await;
    let done = ask(&daemon, &session, "hello", "completed").await;
    assert_eq!(one.seen().len(), 1);
    let text = done["response"]["text"].as_str().unwrap();
    assert_eq!(text, "Half of\n\n[the answer was cut at the output limit]");
}

#[tokio::test]
async fn a_compaction_that_fails_loses_nothing_and_is_made_anew_later() {
    let one = ModelServer::chat(Vec::new());
    let config = format!("{ONE}\n{ROOM}");
    let home = home(&config, &[("one", &one)]);
    let daemon = home.daemon();
    let session = daemon.session().await;
    let mut turns = Vec::new();
    for n in 0..6 {
        one.next(says(&format!("answer {n} {}", "word ".repeat(20_000))));
        turns.push(ask(&daemon, &session, &format!("question {n}"), "completed").await);
    }

    // The summary is made here, so the request that it shortens is the only one that can fail, and no further one is
    // made for it. What was sent before the question is the same each time: compacted once is not compacted for good.
    let mut before = Vec::new();
    for _ in 0..2 {
        one.next(fails(401, "", "no such key"));
        one.next(too_long());
        let first = one.seen().len();
        let failed = ask(&daemon, &session, "question now", "failed").await;
        assert_eq!(failed["error"]["code"], "model_authentication");
        let requests = one.seen();
        assert_eq!(requests.len(), first + 2, "the long one and the short one");
        let size = |at: usize| requests[at].to_string().len();
        assert!(size(first + 1) < size(first) - 50_000, "it was compacted");
        before.push(requests[first]["messages"].clone());
    }
    assert_eq!(before[0], before[1]);

    // Every row is there as it was.
    for (n, turn) in turns.iter().enumerate() {
        let answer = &steps(&daemon, turn, "model").await[0];
        let text = answer["text"].as_str().unwrap();
        assert!(text.starts_with(&format!("answer {n} ")), "{n}");
        assert!(text.len() > 100_000, "{n}: {} bytes", text.len());
    }
    // It is tried again when it is needed again, and then the turn goes on.
    one.next(says("shorter"));
    one.next(too_long());
    let first = one.seen().len();
    let done = ask(&daemon, &session, "question now", "completed").await;
    assert_eq!(done["response"]["text"], "shorter");
    let requests = one.seen();
    assert_eq!(requests[first]["messages"], before[0]);
    let short = requests[first + 1]["messages"].to_string();
    assert!(short.contains("<earlier_conversation") && short.contains("question now"));
}
