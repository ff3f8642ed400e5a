//! The conformance cases of the model side: a directory a case, played over sockets against the real adapters.
//!
//! `tests/fixtures/conformance/<adapter>/<case>/` holds `case.toml` (what is asked and what it shows),
//! `request.expect.json` (what must be sent), `response.http` (the bytes that come, see `script`) and `outcome.json`
//! (what must come of it). A case that is put there is played; nothing else is to be done.

// clippy.toml allows these in test functions only; helpers of tests are no test functions to it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod case;
mod coverage;
pub mod issued;
mod matching;
mod runner;
mod script;

use futures_util::StreamExt;

use crate::conformance::case::Case;

/// Cases that are played at once.
const AT_ONCE: usize = 6;

async fn play(adapter: &'static str) {
    let cases = case::cases_of(adapter);
    assert!(!cases.is_empty(), "there are cases for {adapter}");
    // Those with pauses and those with megabytes have the machine to themselves.
    let (quick, slow): (Vec<Case>, Vec<Case>) =
        cases.into_iter().partition(|case| case.file.rechunk);
    let mut wrong = play_some(quick, AT_ONCE).await;
    wrong.extend(play_some(slow, 1).await);
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

async fn play_some(cases: Vec<Case>, at_once: usize) -> Vec<String> {
    futures_util::stream::iter(cases)
        .map(|case| async move {
            let played = tokio::spawn(runner::play_all(case)).await;
            played.err().map(|failed| {
                let panic = failed.into_panic();
                match panic.downcast::<String>() {
                    Ok(text) => *text,
                    Err(other) => other
                        .downcast::<&str>()
                        .map_or_else(|_| "a panic".to_owned(), |text| (*text).to_owned()),
                }
            })
        })
        .buffer_unordered(at_once)
        .filter_map(std::future::ready)
        .collect()
        .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn anthropic() {
    play("anthropic").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn openai_chat() {
    play("openai-chat").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn openai_responses() {
    play("openai-responses").await;
}
