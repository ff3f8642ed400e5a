//! Subcommands against the scripted engine.

use clap::Parser as _;
use leverframe::cli::arguments::Arguments;
use leverframe::cli::execute::execute;
use leverframe::cli::exit::Failure;
use leverframe::cli::terminal::{Attendance, Format, Terminal};
use leverframe::protocol::enums::{ApprovalState, ContinuationState, Risk};
use leverframe::protocol::problem::{Problem, ProblemKind};
use leverframe::protocol::request::{Answer, Ask, Command, Decide, Outcome, Query};
use leverframe::protocol::snapshot::Page;

use crate::api_http::fake::FakeClient;
use crate::api_http::samples;
use crate::api_http::samples_traffic;

struct Ran {
    status: u8,
    out: String,
    notes: String,
    message: String,
}

async fn run(fake: &FakeClient, words: &str, attended: Attendance, input: &str) -> Ran {
    let line = std::iter::once("leverframe").chain(words.split(' '));
    let arguments = Arguments::try_parse_from(line).unwrap();
    let format = if arguments.json {
        Format::Json
    } else {
        Format::Human
    };
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut input = input.as_bytes();
    let mut terminal = Terminal {
        out: &mut out,
        err: &mut err,
        input: &mut input,
        attended,
        format,
    };
    let done = execute(arguments.command.unwrap(), &mut terminal.with(fake), None).await;
    let (status, message) = match done {
        Ok(()) => (0, String::new()),
        Err(failure) => (failure.status(), failure.message().unwrap_or_default()),
    };
    Ran {
        status,
        out: String::from_utf8(out).unwrap(),
        notes: String::from_utf8(err).unwrap(),
        message,
    }
}

fn approvals(fake: &FakeClient, risk: Risk) {
    let approval = leverframe::protocol::approval::Approval {
        risk,
        shortened: false,
        ..samples::approval(ApprovalState::Pending)
    };
    fake.knows(Ok(Answer::ListApprovals(Page {
        items: vec![approval],
        next_cursor: None,
    })));
}

#[tokio::test]
async fn lists_are_one_line_an_item_and_reveal_outside_text() {
    let fake = FakeClient::new();
    for words in [
        "sessions list",
        "channels list",
        "continuations list",
        "approvals list --all",
    ] {
        for json in [false, true] {
            let answer = samples_traffic::answer(|query| match words {
                "sessions list" => matches!(query, Query::ListSessions(_)),
                "channels list" => matches!(query, Query::ListChannels(_)),
                "continuations list" => matches!(query, Query::ListContinuations(_)),
                _ => matches!(query, Query::ListApprovals(_)),
            });
            fake.knows(Ok(answer));
            let words = if json {
                format!("{words} --json")
            } else {
                words.to_owned()
            };
            let ran = run(&fake, &words, Attendance::Script, "").await;
            assert_eq!(ran.status, 0, "{words}: {}", ran.message);
            assert_eq!(
                ran.out.lines().count(),
                if json { 1 } else { 2 },
                "{}",
                ran.out
            );
            assert!(!ran.out.contains('\u{1b}'), "{}", ran.out);
            if json {
                serde_json::from_str::<serde_json::Value>(&ran.out).unwrap();
            } else {
                assert!(!ran.out.contains('\u{202e}'), "{}", ran.out);
            }
        }
    }
}

#[tokio::test]
async fn a_script_must_name_the_digest_and_a_person_is_shown_the_card() {
    let fake = FakeClient::new();
    approvals(&fake, Risk::High);
    let ran = run(&fake, "approvals approve k7q2zd", Attendance::Script, "y\n").await;
    assert_eq!(ran.status, 2);
    assert!(ran.message.contains("--digest"), "{}", ran.message);
    for answer in ["", "n\n", "\n", "maybe\n"] {
        approvals(&fake, Risk::High);
        let ran = run(
            &fake,
            "approvals approve k7q2zd",
            Attendance::Person,
            answer,
        )
        .await;
        assert_eq!(ran.status, 1, "{answer:?}");
        assert!(ran.out.contains("argv[1]"), "{}", ran.out);
    }
    approvals(&fake, Risk::Critical);
    let ran = run(&fake, "approvals approve k7q2zd", Attendance::Person, "y\n").await;
    assert_eq!(ran.status, 1, "critical needs the code");
    assert!(
        fake.envelopes.lock().unwrap().is_empty(),
        "nothing was decided"
    );
    approvals(&fake, Risk::Critical);
    fake.will(Ok(Outcome::Decide(samples::approval(
        ApprovalState::Approved,
    ))));
    let ran = run(
        &fake,
        "approvals approve k7q2zd",
        Attendance::Person,
        "K7Q2ZD\n",
    )
    .await;
    assert_eq!(ran.status, 0, "{}", ran.message);
    let Command::Decide(Decide { decision, .. }) = fake.last_envelope().command else {
        panic!("not a decision")
    };
    assert_eq!(decision.digest, "ab".repeat(32));
    assert_eq!(decision.confirm_code.as_deref(), Some("K7Q2ZD"));
    approvals(&fake, Risk::High);
    fake.will(Ok(Outcome::Decide(samples::approval(
        ApprovalState::Denied,
    ))));
    let ran = run(
        &fake,
        "approvals deny K7Q2ZD --digest ffff",
        Attendance::Script,
        "",
    )
    .await;
    assert_eq!(ran.status, 0, "{}", ran.message);
    let Command::Decide(Decide { decision, .. }) = fake.last_envelope().command else {
        panic!("not a decision")
    };
    assert_eq!(decision.digest, "ffff");
    assert_eq!(
        decision.revision, None,
        "the revision belongs to another digest"
    );
}

#[tokio::test]
async fn an_ambiguous_prefix_is_refused() {
    let fake = FakeClient::new();
    let mut other = samples::approval(ApprovalState::Pending);
    other.id = leverframe::protocol::ids::ApprovalId::from_bytes([4; 16]);
    other.short_code = "OTHER1".to_owned();
    fake.knows(Ok(Answer::ListApprovals(Page {
        items: vec![samples::approval(ApprovalState::Pending), other],
        next_cursor: None,
    })));
    let ran = run(&fake, "approvals show apr_0", Attendance::Script, "").await;
    assert_eq!(ran.status, 2);
    assert!(ran.message.contains("more than one"), "{}", ran.message);
}

#[tokio::test]
async fn a_list_that_goes_on_says_so_beside_the_result() {
    let fake = FakeClient::new();
    let page = |next_cursor| {
        Ok(Answer::ListSessions(Page {
            items: vec![samples::session()],
            next_cursor,
        }))
    };
    for words in ["sessions list", "sessions list --json"] {
        fake.knows(page(Some("c1".to_owned())));
        let ran = run(&fake, words, Attendance::Script, "").await;
        assert_eq!(
            ran.notes,
            "there are more than these 1: --limit takes up to 500\n"
        );
        assert!(!ran.out.contains("there are more"), "{}", ran.out);
        fake.knows(page(None));
        assert_eq!(run(&fake, words, Attendance::Script, "").await.notes, "");
    }
}

#[tokio::test]
async fn ask_prints_the_answer_or_ends_with_six() {
    for (state, status) in [
        (ContinuationState::Completed, 0),
        (ContinuationState::AwaitingApproval, 6),
        (ContinuationState::Failed, 1),
    ] {
        let fake = FakeClient::new();
        fake.will(Ok(Outcome::Ask(samples::accepted())));
        fake.knows(Ok(Answer::GetContinuation(samples::continuation(state))));
        fake.knows(Ok(Answer::GetApproval(samples::approval(
            ApprovalState::Pending,
        ))));
        let ran = run(&fake, "ask -", Attendance::Script, "from stdin").await;
        assert_eq!(ran.status, status, "{state}: {}", ran.message);
        match fake.last_envelope().command {
            Command::Ask(Ask { channel, text, .. }) => {
                assert_eq!((channel.as_str(), text.as_str()), ("cli", "from stdin"));
            }
            other => panic!("{other:?}"),
        }
        if status == 0 {
            assert_eq!(ran.out, "the answer\n");
        }
        if status == 6 {
            assert!(
                ran.out.contains("K7Q2ZD"),
                "the approval is shown: {}",
                ran.out
            );
        }
    }
}

#[tokio::test]
async fn problems_have_their_exit_status() {
    for (kind, status) in [
        (ProblemKind::Invalid, 2),
        (ProblemKind::Unauthenticated, 4),
        (ProblemKind::Forbidden, 4),
        (ProblemKind::Conflict, 5),
        (ProblemKind::Gone, 5),
        (ProblemKind::NotFound, 1),
        (ProblemKind::Internal, 1),
    ] {
        let fake = FakeClient::new();
        fake.will(Err(Problem::new(kind, "t", "d").hint("next")));
        let ran = run(&fake, "emergency-stop", Attendance::Script, "").await;
        assert_eq!(ran.status, status);
        assert!(ran.message.contains("next"), "{}", ran.message);
    }
    let pipe = Failure::Output(std::io::ErrorKind::BrokenPipe.into());
    assert_eq!((pipe.status(), pipe.message()), (0, None));
}

#[tokio::test]
async fn nothing_running_is_three_and_says_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    let failure = leverframe::cli::connect::daemon(dir.path())
        .await
        .unwrap_err();
    assert_eq!(failure.status(), 3);
    assert!(failure.message().unwrap().contains("leverframe --daemon"));
}

#[tokio::test]
async fn init_replaces_nothing_and_writes_no_secret() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("conf").join("config.toml");
    let environment = leverframe::config::environment::Environment::default();
    let run = async |force: bool| {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let mut input: &[u8] = b"";
        let mut terminal = Terminal {
            out: &mut out,
            err: &mut err,
            input: &mut input,
            attended: Attendance::Script,
            format: Format::Human,
        };
        let arguments = leverframe::cli::arguments::InitArguments {
            provider: Some("anthropic".to_owned()),
            force,
            ..Default::default()
        };
        leverframe::cli::init::run(&mut terminal, &file, &arguments, Some("m"), &environment).await
    };
    run(false).await.unwrap();
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains("anthropic/m"), "{text}");
    toml::from_str::<toml::Table>(&text).unwrap();
    std::fs::write(&file, "mine").unwrap();
    assert_eq!(run(false).await.unwrap_err().status(), 2);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "mine");
    run(true).await.unwrap();
    assert_ne!(std::fs::read_to_string(&file).unwrap(), "mine");
}
