//! An export is whole, goes over nothing that is there, and no text in it passes for another's.

use std::os::unix::fs::PermissionsExt as _;

use leverframe::client::export::{Export, ExportFormat};
use leverframe::protocol::enums::ToolCallState;
use leverframe::protocol::session::{TranscriptBody, TranscriptEntry};
use leverframe::text::untrusted::{reveal, reveal_line};
use leverframe::text::verbatim::{block, inline};
use leverframe::tui::export::export as to_directory;
use leverframe::tui::message::Effect;
use proptest::prelude::*;
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use serde_json::Value;

use crate::console_frames::any_size::HOSTILE;
use crate::console_frames::driver::Driver;
use crate::console_frames::fixture;
use crate::sessions::long::LongSession;
use crate::sessions::{plain_home, run, said};

/// What a reader of Markdown sees: headings, blocks of code, and everything else, in order.
#[derive(Debug, Default, PartialEq)]
struct Read {
    headings: Vec<String>,
    blocks: Vec<String>,
    rest: String,
    links: usize,
    html: usize,
}

fn read(markdown: &str) -> Read {
    let mut read = Read::default();
    let mut into = None;
    for event in Parser::new_ext(markdown, Options::all()) {
        match event {
            Event::Start(Tag::Heading { .. }) => {
                into = Some(0);
                read.headings.push(String::new());
            }
            Event::Start(Tag::CodeBlock(_)) => {
                into = Some(1);
                read.blocks.push(String::new());
            }
            Event::End(TagEnd::Heading(_) | TagEnd::CodeBlock) => into = None,
            Event::Start(Tag::Link { .. } | Tag::Image { .. }) => read.links += 1,
            Event::Html(_) | Event::InlineHtml(_) => read.html += 1,
            Event::Text(text) | Event::Code(text) => match into {
                Some(0) => read.headings.last_mut().unwrap().push_str(&text),
                Some(_) => read.blocks.last_mut().unwrap().push_str(&text),
                None => read.rest.push_str(&text),
            },
            _ => {}
        }
    }
    read
}

/// Text that would like to be more.
fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        prop::sample::select(HOSTILE).prop_map(str::to_owned),
        prop::sample::select(vec![
            "```\n## 2026 · operator: root\n\n",
            "````",
            "`",
            "~~~\n",
            "# a\n",
            "## user\n",
            "\n---\n",
            "<b>x</b>",
            "[a](http://b)",
            "- x\n",
            "> y\n",
            "| a | b |\n|--|--|\n",
            "    code\n",
            "\\",
            "&lt;",
            "***",
            "\n\n",
            "$x$",
            "[^1]: y\n",
            " ",
            "\t",
        ])
        .prop_map(str::to_owned),
        ".{0,12}",
    ];
    prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, ..ProptestConfig::default() })]

    #[test]
    fn a_block_holds_the_text_and_nothing_gets_out(text in text()) {
        let document = format!("## ours\n\n{}\n## ours too\n", block(&text, "json"));
        let read = read(&document);
        prop_assert_eq!(&read.headings, &["ours", "ours too"]);
        prop_assert_eq!(&read.blocks, &[format!("{}\n", reveal(&text))]);
        prop_assert_eq!(read.rest, "");
    }

    #[test]
    fn a_name_in_a_heading_stays_a_name(text in text()) {
        let document = format!("## user: {}\n\nours\n", inline(&text));
        let read = read(&document);
        let heading = format!("user: {}", reveal_line(&text));
        prop_assert_eq!(&read.headings, &[heading.trim_end_matches(' ')]);
        prop_assert_eq!((read.rest.as_str(), read.blocks.len(), read.links, read.html), ("ours", 0, 0, 0));
    }
}

fn many(count: u64) -> Vec<TranscriptEntry> {
    (0..count)
        .map(|n| {
            let text = format!("message {n}\n```\n## 2026 · operator: root");
            fixture::user(((n / 3 + 1) << 20) | (n % 3), &text)
        })
        .collect()
}

async fn exported(session: &LongSession, format: ExportFormat) -> String {
    let mut export = Export::new(fixture::session_id(1), format, fixture::NOW);
    let mut out = String::new();
    while let Some(part) = export.next(session).await.unwrap() {
        out.push_str(&part);
    }
    assert_eq!(export.entries(), session.entries.len() as u64);
    out
}

#[tokio::test]
async fn every_page_is_in_it_in_order() {
    for count in [0, 1, 499, 500, 501, 1_203] {
        let session = LongSession::new(many(count));
        let document: Value =
            serde_json::from_str(&exported(&session, ExportFormat::Json).await).unwrap();
        let entries: Vec<TranscriptEntry> =
            serde_json::from_value(document["entries"].clone()).unwrap();
        assert_eq!(entries, session.entries, "{count}");
        assert_eq!(
            document["session"]["id"],
            fixture::session_id(1).to_string()
        );

        let markdown = exported(&session, ExportFormat::Markdown).await;
        let seen = read(&markdown);
        assert_eq!(seen.headings.len() as u64, count + 1, "{count}");
        assert!(!seen.headings.iter().any(|h| h.contains("root")));
        for (n, block) in seen.blocks.iter().enumerate() {
            assert!(block.starts_with(&format!("message {n}\n")), "{block}");
        }
        assert!(markdown.ends_with(&format!(": {count} entries.\n")));
    }
}

#[tokio::test]
async fn it_says_who_said_what_and_what_the_policy_said() {
    let mut entries = fixture::transcript();
    if let TranscriptBody::User { sender, .. } = &mut entries[0].body {
        *sender = "Bo\n## operator: root".into();
    }
    entries.push(fixture::model(
        3,
        "bad",
        vec![fixture::tool_call(8, ToolCallState::Denied, None)],
    ));
    let markdown = exported(&LongSession::new(entries), ExportFormat::Markdown).await;
    let seen = read(&markdown);
    assert!(
        seen.headings[1].ends_with("user: Bo␊## operator: root"),
        "{:?}",
        seen.headings
    );
    assert!(seen.headings[2].ends_with("model: anthropic/claude"));
    assert_eq!(seen.headings[3], "call search_files");
    for words in ["verdict: allow", "risk: low", "state: denied"] {
        assert!(seen.rest.contains(words), "{words}: {}", seen.rest);
    }
    assert!(seen.blocks.iter().any(|b| b.contains("\"pattern\"")));
}

#[tokio::test]
async fn a_file_of_its_own_is_made_and_half_a_session_is_none() {
    let directory = tempfile::tempdir().unwrap();
    let session = LongSession::new(many(700));
    let id = fixture::session_id(1);
    let write = || {
        to_directory(
            &session,
            directory.path(),
            id,
            ExportFormat::Markdown,
            fixture::NOW,
        )
    };
    let first = write().await.unwrap();
    let path = directory.path().join(format!("leverframe-{id}.md"));
    assert!(first.contains("700 entries") && first.contains(path.to_str().unwrap()));
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    std::fs::write(&path, "mine now").unwrap();
    assert!(write().await.unwrap().contains(&format!("{id}-2.md")));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "mine now");

    *session.pages_left.lock().unwrap() = 1;
    let failed = write().await.unwrap_err();
    assert!(failed.contains("the connection was lost"), "{failed}");
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 2);
}

#[test]
fn the_key_and_the_command_ask_for_it() {
    let mut driver = Driver::with(120, 40, fixture::busy());
    driver.press("2 j j");
    let id = driver.state.screens.live.selected.unwrap();
    driver.press("enter");
    let wanted = |format| vec![Effect::Export(id, format)];
    assert_eq!(driver.press("E"), wanted(ExportFormat::Markdown));
    driver.press(":");
    driver.type_text("export json");
    assert_eq!(driver.press("enter"), wanted(ExportFormat::Json));
    driver.press(":");
    driver.type_text("export pdf");
    assert_eq!(driver.press("enter"), []);
    let toast = driver.state.toast.as_ref().unwrap().text.clone();
    assert!(toast.contains("expected one of markdown, json"), "{toast}");
}

#[tokio::test]
async fn the_command_line_writes_what_the_daemon_has() {
    let home = plain_home();
    let daemon = home.daemon();
    let session = daemon.session().await;
    for n in 0..3 {
        let id = daemon
            .send(&session, &format!("SAY:answer {n} # no heading"))
            .await;
        daemon.wait_state(&id, "completed").await;
    }
    let all = daemon
        .get(&format!("/v1/sessions/{session}/transcript?limit=500"))
        .await;
    let all = all["items"].as_array().unwrap();

    // The pages forward and the pages back are the same transcript.
    let mut forward = Vec::new();
    let mut from = 0_u64;
    loop {
        let path = format!("/v1/sessions/{session}/transcript?from={from}&limit=2");
        let page = daemon.get(&path).await;
        let items = page["items"].as_array().unwrap();
        assert!(items.len() <= 2);
        forward.extend(items.iter().cloned());
        match page["next_cursor"].as_str() {
            Some(next) => from = next.parse().unwrap(),
            None => break,
        }
    }
    assert_eq!(&forward, all);
    let path = format!("/v1/sessions/{session}/transcript?from=0&before=9");
    assert_eq!(daemon.request("GET", &path, None).await.0, 400);

    let file = home.path().join("out.md");
    let arguments = ["sessions", "export", &session, file.to_str().unwrap()];
    let output = run(&home, &arguments);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert!(said(&output).contains(&format!("{} entries", all.len())));
    let markdown = std::fs::read_to_string(&file).unwrap();
    let seen = read(&markdown);
    assert_eq!(seen.headings.len(), all.len() + 1, "{markdown}");
    assert!(markdown.contains("answer 2 # no heading"));

    let again = run(&home, &arguments);
    assert_eq!(again.status.code(), Some(2), "{}", said(&again));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), markdown);

    let output = run(&home, &["--json", "sessions", "export", &session]);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(&document["entries"], &Value::Array(all.clone()));

    let output = run(&home, &["sessions", "export", "ses_zzzz"]);
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
}
