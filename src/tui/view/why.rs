//! The pager that tells why calls ran, asked or were refused.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

use crate::console::format;
use crate::protocol::decision::effect_text;
use crate::protocol::session::Why;
use crate::tui::sanitize;
use crate::tui::state::app::State;
use crate::tui::state::modal::WhyPager;
use crate::tui::theme::roles::{Role, Theme};
use crate::tui::view::card_body::Body;
use crate::tui::view::console::outcome;
use crate::tui::view::{detail, paint};

/// Draws it; how far it can be scrolled.
pub fn draw(state: &State, theme: &Theme, pager: &WhyPager, area: Rect, buf: &mut Buffer) -> usize {
    let lines = lines(state, theme, pager, detail::pager_columns(area));
    let first_call = pager.calls.first().and_then(|(_, answer)| answer.as_ref());
    let title = match (pager.calls.len(), first_call) {
        (1, Some(Ok(why))) => format!("Why {}", sanitize::whole_line(&why.call.name)),
        (1, _) => "Why".to_owned(),
        (many, _) => format!("Why  {many} calls"),
    };
    detail::pager(buf, area, theme, &title, &lines, pager.scroll)
}

fn lines(state: &State, theme: &Theme, pager: &WhyPager, width: usize) -> Vec<Line<'static>> {
    let mut body = Body::new(theme, width);
    if pager.left_out > 0 {
        let text = format!(
            "{} earlier calls are omitted (`leverframe why CALL` explains each)",
            pager.left_out
        );
        body.text(Role::TextMuted, &text);
    }
    for (index, (id, answer)) in pager.calls.iter().enumerate() {
        if index > 0 {
            body.blank();
        }
        match answer {
            None => body.text(Role::TextMuted, &format!("{id}: asking …")),
            Some(Err(why)) => body.text(Role::NoticeError, &format!("{id}: {why}")),
            Some(Ok(why)) => explain(state, why, &mut body),
        }
    }
    body.lines
}

fn explain(state: &State, why: &Why, body: &mut Body<'_>) {
    let call = &why.call;
    body.field(
        "call",
        Role::TextStrong,
        &format!("{} · {}", call.name, call.state),
    );
    body.field("id", Role::TextMuted, &call.id.to_string());
    body.field("arguments", Role::Outside, &call.args.to_string());
    let effect = effect_text(call.access, call.effect);
    body.field("effect", Role::Text, &effect);
    let risk = format!("{} risk", call.risk);
    body.field("risk", paint::risk_role(call.risk), &risk);
    for reason in &call.risk_reasons {
        body.field("", paint::risk_role(call.risk), reason);
    }
    let verdict = format!("{}: {}", call.verdict.decision, call.verdict.rule);
    body.field("verdict", Role::TextStrong, &verdict);
    let author = why.policy_author.as_deref().unwrap_or("the configuration");
    let policy = format!(
        "version {} of channel {}, by {author}",
        call.verdict.policy_version, why.channel
    );
    body.field("policy", Role::Text, &policy);
    if let Some(channel) = state.model.world().channels.get(&why.channel) {
        let now = &channel.policy;
        let level = if now.version == call.verdict.policy_version {
            format!("{} (the same version still)", now.autonomy)
        } else {
            format!("{} (version {})", now.autonomy, now.version)
        };
        body.field("level now", Role::Text, &level);
        for (label, list) in [
            ("runs alone", &now.auto_approve),
            ("never runs", &now.block),
            ("always asks", &now.always_ask),
        ] {
            body.field(label, Role::Text, &format::names(list));
        }
    }
    body.field(
        "asked by",
        Role::Outside,
        &format!("{} · {}", why.requester.display, why.requester.id),
    );
    body.field("message", Role::Outside, &why.request);
    if let Some(reason) = &why.model_reason {
        body.field("model says", Role::OutsideModel, reason);
    }
    for taint in &why.taint {
        body.field("untrusted", Role::RiskMedium, taint);
    }
    if let Some(approval) = &why.approval {
        let (role, end) = outcome(approval);
        let text = format!("{} {}: {end}", approval.short_code, approval.kind);
        body.field("approval", role, &text);
    }
    body.heading("What happened");
    for line in &why.story {
        body.text(Role::Outside, line);
    }
    let similar = why.approval.iter().flat_map(|approval| &approval.similar);
    for (index, earlier) in similar.enumerate() {
        if index == 0 {
            body.heading("Earlier calls of this tool here");
        }
        let end = match (earlier.decision, &earlier.by) {
            (Some(decision), Some(by)) => format!("{} by {by}", decision.text().done),
            (Some(decision), None) => decision.text().done.to_owned(),
            (None, _) => earlier.verdict.to_string(),
        };
        let text = format!("{} · {end}", earlier.preview);
        let age = format::age(state.model.now.wall, earlier.at);
        body.field(&format!("{age} ago"), Role::Outside, &text);
    }
}
