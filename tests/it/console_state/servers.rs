//! Servers: what is asked, what the detail shows of a server, and that a trust is for what was shown.

use std::sync::Arc;

use leverframe::console::message::DaemonMessage;
use leverframe::protocol::enums::{
    Access, Effect as EffectClass, McpEra, McpServerState, McpToolState, McpTransport,
};
use leverframe::protocol::event::{Event, EventBody};
use leverframe::protocol::mcp::{
    McpClaims, McpIdentity, McpServer, McpServerReview, McpTool, McpToolDefinition,
};
use leverframe::protocol::request::{
    Answer, Command, GetMcpServer, ListMcpServers, Query, StopMcpServer, TestMcpServer,
    TrustMcpServer,
};
use leverframe::protocol::snapshot::Page;
use leverframe::tui::message::Effect;
use leverframe::tui::state::screen::Screen;
use serde_json::json;

use crate::console_frames::driver::Driver;
use crate::console_frames::fixture;
use crate::console_frames::screens::check_at;

const SEEN: &str = "5f6c0e1bd0a5b8d10f5e8e3c2b5a1f8f0a0d7f2f1b2c3d4e5f60718293a4b5c6";

fn server(name: &str, quarantined: u64) -> McpServer {
    McpServer {
        name: name.to_owned(),
        transport: McpTransport::Stdio,
        place: "npx -y server-of-files /srv/share".to_owned(),
        state: McpServerState::Running,
        problem: None,
        era: Some(McpEra::Handshake),
        protocol_version: Some("2025-11-25".to_owned()),
        identity: Some(McpIdentity {
            name: "secure-files".to_owned(),
            version: "0.6.3".to_owned(),
            place: "npx".to_owned(),
        }),
        claims_count: false,
        sandbox: Some("bubblewrap".to_owned()),
        tools: 1,
        quarantined,
        identity_changed: false,
        trusted_at: Some(fixture::ago(3600)),
        trusted_by: Some("anna".to_owned()),
        calls: 12,
        errors: 2,
        p50_ms: Some(40),
        connected_at: Some(fixture::ago(120)),
        restarts: 1,
        pid: Some(4711),
    }
}

fn tool(name: &str, state: McpToolState) -> McpTool {
    McpTool {
        name: format!("mcp__files__{name}"),
        state,
        definition: McpToolDefinition {
            name: name.to_owned(),
            title: None,
            description: "Reads a\u{202e} file.".to_owned(),
            input_schema: json!({"type": "object"}),
            output_schema: None,
            claims: McpClaims {
                read_only: Some(true),
                open_world: Some(false),
                ..McpClaims::default()
            },
        },
        access: Access::Unknown,
        effect: EffectClass::NonIdempotent,
        trusted_sha256: None,
        offered_sha256: Some(SEEN.to_owned()),
        problem: None,
    }
}

fn review(quarantined: u64) -> McpServerReview {
    McpServerReview {
        server: server("files", quarantined),
        tool_list: vec![
            tool("read", McpToolState::Trusted),
            tool("write", McpToolState::New),
        ],
        diff: "--- trusted\n+++ offered\n@@ -1 +1 @@\n-Reads a file.\n+Reads any file.\n"
            .to_owned(),
        offered_sha256: Some(SEEN.to_owned()),
        instructions: Some("Call read first.".to_owned()),
        log: vec!["listening".to_owned()],
        warnings: vec!["the tool `a b` has no usable name".to_owned()],
    }
}

fn one() -> Query {
    Query::GetMcpServer(GetMcpServer {
        name: "files".to_owned(),
    })
}

/// The screen with two servers, the first selected and shown.
fn servers(width: u16, height: u16, quarantined: u64) -> Driver {
    servers_with(width, height, review(quarantined))
}

/// The same with another answer about the first.
fn servers_with(width: u16, height: u16, review: McpServerReview) -> Driver {
    let mut driver = Driver::with(width, height, fixture::busy());
    driver.press(":");
    driver.type_text("mcp");
    driver.press("enter");
    assert_eq!(driver.state.screen, Screen::Servers);
    let all = vec![review.server.clone(), server("home", 0)];
    driver.answer(
        Query::ListMcpServers(ListMcpServers {}),
        Answer::ListMcpServers(Page::from(all)),
    );
    let effects = driver.press("j");
    assert!(effects.contains(&Effect::Query(one())), "{effects:?}");
    driver.answer(one(), Answer::GetMcpServer(review));
    driver.text();
    driver
}

#[test]
fn the_detail_says_what_a_server_offers_claims_changed_and_logged() {
    let mut driver = servers(120, 60, 1);
    let text = driver.text();
    for shown in [
        "npx -y server-of-files",
        "running, connected for 2m, process 4711, restarted once",
        "secure-files 0.6.3",
        "2025-11-25, with a handshake",
        "bubblewrap",
        "do not count",
        "by anna",
        "has no usable name",
        "Reads any file.",
        "write: new: agents do not get it yet",
        "only reads, stays inside",
        "Call read first.",
        "listening",
    ] {
        assert!(text.contains(shown), "{shown}: {text}");
    }
    assert!(!text.contains('\u{202e}'));
}

#[test]
fn the_screen_stands_as_it_was_drawn() {
    check_at(
        "servers",
        &[(120, 40), (80, 24), (20, 5)],
        |width, height| servers(width, height, 1),
    );
}

#[test]
fn a_trust_asks_first_and_is_for_what_was_shown() {
    let mut driver = servers(120, 40, 1);
    driver.press("a");
    let text = driver.text();
    assert!(
        text.contains("Let agents call the tools of files"),
        "{text}"
    );
    assert!(text.contains("1 tool is new, changed or gone."), "{text}");
    driver.press("l");
    let effects = driver.press("enter");
    let wanted = Effect::Submit(Command::TrustMcpServer(TrustMcpServer {
        name: "files".to_owned(),
        sha256: SEEN.to_owned(),
        tools: None,
    }));
    assert!(effects.contains(&wanted), "{effects:?}");
}

#[test]
fn nothing_is_trusted_before_its_end_was_shown() {
    let mut driver = servers(80, 24, 1);
    driver.press("a");
    let text = driver.text();
    assert!(text.contains("you have not seen all"), "{text}");
    driver.press("enter");
    driver.press("G");
    driver.text();
    driver.press("a");
    let text = driver.text();
    assert!(
        text.contains("Let agents call the tools of files"),
        "{text}"
    );
}

#[test]
fn nothing_is_trusted_twice_or_unseen() {
    let mut driver = servers(120, 40, 0);
    driver.press("a");
    let text = driver.text();
    assert!(text.contains("all that files offers is trusted"), "{text}");
    let unseen = McpServerReview {
        offered_sha256: None,
        ..review(1)
    };
    let mut driver = servers_with(120, 40, unseen);
    driver.press("a");
    let text = driver.text();
    assert!(text.contains("nobody has seen what files offers"), "{text}");
}

#[test]
fn a_test_connects_at_once_and_a_stop_asks_first() {
    let mut driver = servers(120, 40, 0);
    let name = || "files".to_owned();
    let effects = driver.press("t");
    let test = Effect::Submit(Command::TestMcpServer(TestMcpServer { name: name() }));
    assert!(effects.contains(&test), "{effects:?}");
    let stop = Effect::Submit(Command::StopMcpServer(StopMcpServer { name: name() }));
    let effects = driver.press("x");
    assert!(!effects.contains(&stop), "{effects:?}");
    driver.press("l");
    let effects = driver.press("enter");
    assert!(effects.contains(&stop), "{effects:?}");
}

#[test]
fn a_change_of_a_server_is_asked_for_without_a_key() {
    let mut driver = servers(120, 40, 0);
    driver.effects.clear();
    let event = Event {
        seq: None,
        at: fixture::ago(0),
        session_id: None,
        continuation_id: None,
        body: EventBody::McpChanged {
            server: "files".to_owned(),
        },
    };
    driver.hear(DaemonMessage::Event(Arc::new(event)));
    driver.wait(2_000);
    let asked = Effect::Query(Query::ListMcpServers(ListMcpServers {}));
    assert!(driver.effects.contains(&asked), "{:?}", driver.effects);
}
