//! The Servers screen: tool servers, and what the selected one offers, changed and logged.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::client::server_lines::{standing, state_words, tool_words};
use crate::console::format;
use crate::protocol::enums::{McpEra, McpServerState, McpToolState};
use crate::protocol::mcp::{McpServer, McpServerReview, McpTool};
use crate::tui::message::{FrameReport, HitRegion};
use crate::tui::state::app::State;
use crate::tui::state::servers_screen::{COLUMNS, cells};
use crate::tui::theme::roles::{Role, Theme};
use crate::tui::view::card_body::Body;
use crate::tui::view::diff::{DiffColors, DiffLayout};
use crate::tui::view::list_panel::{ListPanel, nothing};
use crate::tui::view::table::{Column, Fit, column};
use crate::tui::view::{detail, diff};

const TABLE: [Column; 9] = [
    column(14, 0, Role::Text, Fit::Left),
    column(13, 1, Role::Text, Fit::Left),
    column(5, 2, Role::Text, Fit::Right),
    column(6, 3, Role::Text, Fit::Right),
    column(6, 4, Role::Text, Fit::Right),
    column(6, 5, Role::Text, Fit::Right),
    column(7, 6, Role::Text, Fit::Right),
    column(10, 7, Role::Text, Fit::Left),
    column(20, 8, Role::Outside, Fit::Rest),
];

/// What stands where there is none.
const NO_SERVER: (&str, &str) = (
    "No tool server.",
    "A server of the Model Context Protocol gives agents more tools. `leverframe mcp add NAME` puts one into \
     the configuration, `leverframe mcp import FILE` those of another program.",
);

pub fn draw(state: &State, theme: &Theme, area: Rect, buf: &mut Buffer, report: &mut FrameReport) {
    let panel = &state.screens.servers;
    let list = &panel.list;
    let shown = ListPanel {
        title: match &panel.servers {
            Some(_) => format!("Servers  {}", list.count()),
            None => "Servers".to_owned(),
        },
        empty: nothing(
            panel.problem.as_ref(),
            panel.servers.is_some(),
            "the servers",
            NO_SERVER,
        ),
        cells: &|name: &String| cells(state, name),
        roles: &|name| roles(panel.server(name)),
        region: Some(&HitRegion::Server),
        ..ListPanel::new(list, COLUMNS, &TABLE)
    };
    shown.draw_with_detail(state, theme, area, buf, report, |area| {
        let one = panel.selected()?;
        let mut body = Body::new(theme, detail::columns(area));
        described(state, &mut body, one);
        match panel.review() {
            Some(Ok(review)) => offered(theme, detail::columns(area), &mut body, review),
            unknown => {
                body.blank();
                body.known(unknown, "asking what it offers …");
            }
        }
        Some((one.name.clone(), body.lines))
    });
}

/// What an operator should look at stands out.
fn roles(server: Option<&McpServer>) -> Vec<(usize, Role)> {
    let Some(server) = server else {
        return Vec::new();
    };
    let mut roles = Vec::new();
    match server.state {
        McpServerState::Failed => roles.push((1, Role::NoticeError)),
        McpServerState::NeedsLogin => roles.push((1, Role::NoticeWarning)),
        McpServerState::Idle
        | McpServerState::Starting
        | McpServerState::Running
        | McpServerState::Stopped => {}
    }
    if server.quarantined > 0 || server.identity_changed {
        roles.push((3, Role::NoticeWarning));
    }
    roles
}

fn described(state: &State, body: &mut Body<'_>, one: &McpServer) {
    let now = state.model.now.wall;
    body.field("place", Role::Outside, &one.place);
    let since = one.connected_at;
    let since = since.map(|at| format!(", connected for {}", format::age(now, at)));
    let pid = one.pid.map(|pid| format!(", process {pid}"));
    let restarts = match one.restarts {
        0 => String::new(),
        1 => ", restarted once".to_owned(),
        many => format!(", restarted {many} times"),
    };
    let what = format!(
        "{}{}{}{restarts}",
        state_words(one.state),
        since.unwrap_or_default(),
        pid.unwrap_or_default()
    );
    body.field("state", Role::Text, &what);
    if let Some(problem) = &one.problem {
        body.field("problem", Role::NoticeError, problem);
    }
    if let Some(identity) = &one.identity {
        let says = format!("{} {}", identity.name, identity.version);
        body.field("says it is", Role::Outside, says.trim_end());
    }
    let waits = one.identity_changed || one.quarantined > 0 || one.trusted_at.is_none();
    let role = if waits {
        Role::NoticeWarning
    } else {
        Role::Text
    };
    body.field("trust", role, &standing(one));
    if let (Some(era), Some(version)) = (one.era, &one.protocol_version) {
        let text = match era {
            McpEra::Handshake => format!("{version}, with a handshake"),
            McpEra::Stateless => format!("{version}, stateless"),
        };
        body.field("protocol", Role::Text, &text);
    }
    if let Some(sandbox) = &one.sandbox {
        let role = if sandbox == "unsandboxed" {
            Role::NoticeWarning
        } else {
            Role::Text
        };
        body.field("sandbox", role, sandbox);
    }
    let claims = if one.claims_count {
        "count (trusted = true)"
    } else {
        "do not count: each tool is of unknown class where the configuration says nothing"
    };
    body.field("claims", Role::Text, claims);
    if let (Some(at), Some(by)) = (one.trusted_at, &one.trusted_by) {
        let text = format!("{} by {by}", format::moment(at));
        body.field("last given", Role::Text, &text);
    }
}

fn offered(theme: &Theme, width: usize, body: &mut Body<'_>, review: &McpServerReview) {
    for warning in &review.warnings {
        body.field("warning", Role::NoticeWarning, warning);
    }
    if !review.tool_list.is_empty() {
        body.heading("tools");
    }
    for tool in &review.tool_list {
        one_tool(body, tool);
    }
    if !review.diff.is_empty() {
        body.heading("changes since it was trusted");
        let colors = DiffColors { theme, code: None };
        let lines = diff::lines(colors, &review.diff, width, DiffLayout::Unified);
        body.lines.extend(lines);
    }
    if let Some(instructions) = &review.instructions {
        body.heading("what it tells models (no prompt holds it)");
        body.text(Role::Outside, instructions);
    }
    if !review.log.is_empty() {
        body.heading("log");
    }
    for line in &review.log {
        body.whole_line(Role::Outside, line);
    }
}

fn one_tool(body: &mut Body<'_>, tool: &McpTool) {
    let role = match tool.state {
        McpToolState::Trusted => Role::Text,
        McpToolState::New | McpToolState::Changed | McpToolState::Missing => Role::NoticeWarning,
        McpToolState::Invalid => Role::NoticeError,
        McpToolState::Blocked => Role::TextMuted,
    };
    let line = format!(
        "{}: {}; {}; claims: {}",
        tool.definition.name,
        tool_words(tool.state),
        tool.access,
        tool.definition.claims.text()
    );
    body.text(role, &line);
    let about: Vec<&str> = tool.definition.description.split_whitespace().collect();
    if !about.is_empty() {
        let about = about.join(" ");
        body.text(Role::TextMuted, &format!("  {about}"));
    }
    if let Some(problem) = &tool.problem {
        body.text(Role::NoticeWarning, &format!("  {problem}"));
    }
}
