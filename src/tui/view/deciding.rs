//! Dialogs whose last press decides. What is reported is what was really shown.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::console::arming::DialogReport;
use crate::console::lifetime::at_most;
use crate::protocol::enums::{RuleMatcher, RuleScope, VerdictKind};
use crate::protocol::rule::RuleMatches;
use crate::tui::action::Action;
use crate::tui::keymap::context::Context;
use crate::tui::sanitize;
use crate::tui::state::app::State;
use crate::tui::state::batch::{Batch, Fate, Item};
use crate::tui::state::modal::{About, Deciding, Shape};
use crate::tui::state::rule_editor::{Place, RuleEditor, USES};
use crate::tui::theme::roles::{Role, Theme};
use crate::tui::view::card_body::Body;
use crate::tui::view::paint::{self, span};
use crate::tui::view::rules;

/// Widest popup.
const WIDTH: u16 = 100;

/// A dialog as lines: what must be read stands before what only helps.
struct Page {
    title: String,
    lines: Vec<Line<'static>>,
    /// How many of the lines must have been seen.
    required: usize,
    /// Lines of the choice that is highlighted.
    chosen: Option<(usize, usize)>,
    /// The line below everything: keys or buttons.
    below: Line<'static>,
}

/// Draws the dialog; what of it was shown.
pub fn draw(
    state: &State,
    theme: &Theme,
    dialog: &Deciding,
    area: Rect,
    buf: &mut Buffer,
) -> DialogReport {
    let width = WIDTH.min(area.width);
    let columns = usize::from(width.saturating_sub(4));
    let page = match &dialog.about {
        About::Shape(shape) => shape_page(state, theme, shape, columns),
        About::Rule(editor) => rule_page(state, theme, editor, columns),
        About::Batch(batch) => batch_page(state, theme, batch, columns),
    };
    let wanted = paint::cells(page.lines.len()).saturating_add(4);
    let height = wanted.min(area.height);
    let fits_title = sanitize::width(&page.title) + 4 <= usize::from(width);
    let inner = paint::padded(paint::popup(buf, area, theme, &page.title, width, height));
    let room = inner.height.saturating_sub(2);
    let height = usize::from(room);
    let most = page.lines.len().saturating_sub(height);
    let mut first = dialog.exposure.scroll.min(most);
    if let Some((from, to)) = page.chosen {
        if to > first + height {
            first = to.saturating_sub(height);
        }
        first = first.min(from);
    }
    let end = (first + height).min(page.lines.len());
    for (at, line) in (0..room).zip(page.lines.iter().skip(first)) {
        paint::line(buf, inner, at, line);
        let index = first + usize::from(at);
        if page
            .chosen
            .is_some_and(|(from, to)| (from..to).contains(&index))
        {
            paint::select(buf, paint::row(inner, at), theme, Role::DialogChosen);
        }
    }
    if end < page.lines.len() && room > 0 {
        let note = format!("… {} more lines below", page.lines.len() - end);
        paint::put(buf, inner, room, theme, Role::TextMuted, &note);
    }
    let keys_fit = page.below.width() <= usize::from(inner.width);
    paint::line(buf, inner, inner.height.saturating_sub(1), &page.below);
    DialogReport {
        size: (inner.width, inner.height),
        lines: page.required,
        first: first.min(page.required),
        end: end.min(page.required),
        max_scroll: most,
        legible: fits_title && keys_fit && room > 0,
    }
}

fn key(state: &State, action: Action) -> String {
    let key = state.keymap.key_of(Context::Dialog, action);
    key.unwrap_or_else(|| "(no key)".to_owned())
}

/// The keys that choose another lifetime.
fn other_lifetimes(state: &State, own: bool) -> String {
    let (longer, shorter) = (Action::DialogLonger, Action::DialogShorter);
    let keys = format!(
        "{} longer, {} shorter",
        key(state, longer),
        key(state, shorter)
    );
    if own {
        let accept = key(state, Action::DialogAccept);
        return format!("{keys}, {accept} a time or day of your own");
    }
    keys
}

fn shape_page(state: &State, theme: &Theme, shape: &Shape, width: usize) -> Page {
    let approval = &shape.approval;
    let mut body = Body::new(theme, width);
    body.field("tool", Role::TextStrong, &approval.tool);
    let args =
        serde_json::to_string_pretty(&approval.args).unwrap_or_else(|_| approval.args.to_string());
    body.field("exactly", Role::Outside, &args);
    body.field("for", Role::Outside, &approval.requester.id);
    let place = format!("{} · {}", approval.channel, approval.conversation);
    body.field("in", Role::Outside, &place);
    let now = state.model.now.wall;
    body.field(
        "lasts",
        Role::TextStrong,
        &shape.lasts.lifetime().in_words(now),
    );
    body.field("", Role::TextMuted, &other_lifetimes(state, true));
    body.text(
        Role::TextMuted,
        "This call runs, and the same call again without asking, until then or until it is taken back on Rules. Anything \
         else asks as before. For this call alone, close this and allow it once.",
    );
    let keys = format!(
        "{} allows it, {} closes",
        key(state, Action::DialogAgain),
        key(state, Action::DialogCancel)
    );
    Page {
        title: "Allow this shape".to_owned(),
        required: body.lines.len(),
        lines: body.lines,
        chosen: None,
        below: Line::from(span(theme, Role::TextStrong, keys)),
    }
}

const fn matcher_words(matcher: RuleMatcher) -> &'static str {
    match matcher {
        RuleMatcher::Exact => "exact: the same, nothing more",
        RuleMatcher::Prefix => "prefix: it begins so",
        RuleMatcher::Pattern => "pattern: * anything, ? one character, a last ** further words",
    }
}

/// When the rule ends, in words, local time.
fn ends(state: &State, editor: &RuleEditor) -> String {
    let now = state.model.now.wall;
    let with = match editor.scope {
        RuleScope::Turn => ", or with the turn",
        RuleScope::Session => ", or with the session",
        RuleScope::Channel | RuleScope::Global => "",
    };
    match (editor.ends(now), editor.scope) {
        (Some(at), _) => format!("{}{with}", at_most(at, now)),
        (None, RuleScope::Turn) => "with the turn".to_owned(),
        (None, RuleScope::Session) => "with the session".to_owned(),
        (None, RuleScope::Channel | RuleScope::Global) => "never, until it is removed".to_owned(),
    }
}

fn rule_page(state: &State, theme: &Theme, editor: &RuleEditor, width: usize) -> Page {
    let approval = &editor.approval;
    let mut body = Body::new(theme, width);
    let mut chosen = None;
    for place in Place::ALL {
        let (label, text) = match place {
            Place::Matcher => ("how", matcher_words(editor.matcher).to_owned()),
            Place::Field => (
                "argument",
                editor
                    .field
                    .clone()
                    .unwrap_or_else(|| "all of them, as JSON".to_owned()),
            ),
            Place::Value => ("with", editor.value.clone()),
            Place::Scope => (
                "where",
                match editor.scope {
                    RuleScope::Turn => "this turn, until it ends".to_owned(),
                    RuleScope::Session => "this session, while it lasts".to_owned(),
                    RuleScope::Channel => format!("channel {}", approval.channel),
                    RuleScope::Global => "everywhere".to_owned(),
                },
            ),
            Place::Verdict => (
                "says",
                match editor.verdict {
                    VerdictKind::Allow => "allow: it runs without asking".to_owned(),
                    VerdictKind::Deny | VerdictKind::Ask => approval.rules_only_deny().map_or_else(
                        || "deny: it never runs".to_owned(),
                        |why| format!("deny: it never runs; none can allow it: {why}"),
                    ),
                },
            ),
            Place::Life => ("ends", ends(state, editor)),
            Place::Uses => (
                "uses",
                match USES.get(editor.uses) {
                    _ if editor.verdict != VerdictKind::Allow => "not counted".to_owned(),
                    Some(0) | None => "any number".to_owned(),
                    Some(uses) => format!("at most {uses} calls"),
                },
            ),
            Place::Cancel | Place::Make => continue,
        };
        let from = body.lines.len();
        let mark = if *place == editor.place { ">" } else { " " };
        body.field(&format!("{mark} {label}"), Role::Text, &text);
        if *place == editor.place {
            chosen = Some((from, body.lines.len()));
        }
    }
    if let Some(Ok(RuleMatches {
        coverage: Some(coverage),
        ..
    })) = editor.found.as_ref().map(Result::as_deref)
    {
        body.field("  covers", Role::NoticeWarning, coverage);
    }
    if let Some(why) = &editor.refused {
        body.text(Role::NoticeError, why);
    }
    let before = body.lines.len();
    let mut required = before + 1;
    match &editor.found {
        None => body.text(
            Role::TextMuted,
            "Looking for what it would have matched in the last 7 days …",
        ),
        Some(Err(why)) => {
            body.text(Role::NoticeError, why);
            required = body.lines.len();
        }
        Some(Ok(found)) => {
            body.heading("Would have matched in the last 7 days");
            required = body.lines.len() + 1;
            rules::matched(state, &mut body, found);
        }
    }
    let made = match editor.verdict {
        VerdictKind::Allow => "Allow this, make the rule",
        VerdictKind::Deny | VerdictKind::Ask => "Deny this, make the rule",
    };
    let button = match editor.place {
        Place::Cancel => 0,
        Place::Make => 1,
        Place::Matcher
        | Place::Field
        | Place::Value
        | Place::Scope
        | Place::Verdict
        | Place::Life
        | Place::Uses => usize::MAX,
    };
    Page {
        title: format!("Rule on {}", editor.bound.title),
        required: required.min(body.lines.len()),
        lines: body.lines,
        chosen,
        below: paint::buttons(theme, &["Cancel", made], button),
    }
}

/// Columns of the sign in front of a row, of its risk, and of its channel.
const SIGN: usize = 3;
const RISK: usize = 9;
const CHANNEL: usize = 12;

/// What became of a row: its sign, and the words that stand below it.
fn fate_words(fate: &Fate) -> (Role, &'static str, Option<String>) {
    match fate {
        Fate::Waits => (Role::Text, "+", None),
        Fate::LeftOut(why) => (Role::TextMuted, "-", Some(format!("left out: {why}"))),
        Fate::Sent => (Role::NoticeInfo, "…", Some("on its way".to_owned())),
        Fate::Done => (Role::StateGood, "ok", None),
        Fate::Refused(why) => (Role::NoticeError, "!", Some(format!("not taken: {why}"))),
    }
}

/// What the table is about, in its first lines.
fn batch_head(batch: &Batch, body: &mut Body<'_>) {
    let all = batch.items.len();
    let what = if batch.is_stack {
        "alike calls"
    } else {
        "marked"
    };
    let head = if batch.sending.is_none() {
        let waits = batch.count(&Fate::Waits);
        format!("{waits} of {all} {what}: each {}.", batch.in_words())
    } else {
        format!("{} of {all} done.", batch.count(&Fate::Done))
    };
    body.text(Role::TextStrong, &head);
    if batch.items.iter().any(|item| !item.command.is_empty()) {
        let text = "The words in which alike calls differ are underlined.";
        body.text(Role::TextMuted, text);
    }
    if batch.arrived > 0 {
        let text = format!("{} arrived since and are not in this table.", batch.arrived);
        body.text(Role::NoticeWarning, &text);
    }
    if let Some(reason) = &batch.reason {
        body.field("reason", Role::Outside, reason);
    }
}

/// The row of an item; below it the whole command, where only this table shows it.
fn batch_row(theme: &Theme, item: &Item, width: usize, body: &mut Body<'_>) {
    let (role, sign, words) = fate_words(&item.fate);
    let room = width.saturating_sub(SIGN + RISK + CHANNEL + 3);
    let what = if item.command.is_empty() {
        format!("{} {}", item.bound.title, item.what)
    } else {
        item.bound.title.clone()
    };
    body.lines.push(Line::from(vec![
        span(theme, role, sanitize::column(sign, SIGN)),
        Span::raw(" "),
        span(
            theme,
            paint::risk_role(item.risk),
            sanitize::column(item.risk.as_str(), RISK),
        ),
        Span::raw(" "),
        span(
            theme,
            Role::TextMuted,
            sanitize::column(&item.channel, CHANNEL),
        ),
        Span::raw(" "),
        span(theme, Role::Outside, sanitize::line(&what, room)),
    ]));
    let pieces = item.command.iter();
    let pieces: Vec<(String, bool)> = pieces
        .map(|word| (word.text.clone(), word.differs))
        .collect();
    body.marked_words(SIGN + 1, Role::Outside, &pieces);
    if let Some(files) = &item.bound_files {
        body.text(
            Role::TextMuted,
            &format!("{:SIGN$} bound files: {files}", ""),
        );
    }
    if let Some(words) = words {
        body.text(role, &format!("{:SIGN$} {words}", ""));
    }
}

fn batch_page(state: &State, theme: &Theme, batch: &Batch, width: usize) -> Page {
    let mut body = Body::new(theme, width);
    batch_head(batch, &mut body);
    for item in &batch.items {
        batch_row(theme, item, width, &mut body);
    }
    if let Some(lasts) = &batch.lasts {
        let now = state.model.now.wall;
        body.field("lasts", Role::TextStrong, &lasts.lifetime().in_words(now));
        if batch.sending.is_none() {
            body.field("", Role::TextMuted, &other_lifetimes(state, false));
        }
    }
    let waits = batch.count(&Fate::Waits);
    let again = [Action::DialogApprove, Action::DialogAgain];
    let again = again.into_iter().find(|key| batch.is_again(*key));
    let key = again.and_then(|key| state.keymap.key_of(Context::Dialog, key));
    if let Some(key) = key.filter(|_| batch.sending.is_none() && waits > 0) {
        let text = format!("{key} allows the {waits} that are listed with +, and no other.");
        body.text(Role::TextStrong, &text);
    }
    let labels = batch.buttons();
    let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
    let all = batch.items.len();
    Page {
        title: if batch.is_stack {
            format!("{all} alike calls")
        } else {
            format!("{all} marked cards")
        },
        required: body.lines.len(),
        lines: body.lines,
        chosen: None,
        below: paint::buttons(theme, &labels, batch.chosen),
    }
}
