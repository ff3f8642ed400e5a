//! From mrkdwn, as Slack delivers it, to plain text. No shape of it can fail: what is no control sequence stays as it is.
//!
//! Source: <https://docs.slack.dev/messaging/formatting-message-text#retrieving-messages>.

use std::collections::{HashMap, HashSet};

/// Names of people and channels, as far as they are known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Names {
    /// Display names by user id.
    pub users: HashMap<String, String>,
    /// Users that are bots.
    pub bots: HashSet<String>,
    /// Names by channel id, without `#`.
    pub channels: HashMap<String, String>,
}

/// The ids of the users whom a text mentions, in order.
pub fn mentioned(text: &str) -> Vec<String> {
    controls(text)
        .filter_map(|control| control.strip_prefix('@'))
        .map(|id| id.split('|').next().unwrap_or_default().to_owned())
        .collect()
}

/// The text as people read it. Mentions of `me` are taken out.
pub fn plain(text: &str, me: &str, names: &Names) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        let (before, from) = rest.split_at(at);
        unescape(before, &mut out);
        let Some((control, after)) = from
            .strip_prefix('<')
            .and_then(|inside| inside.split_once('>'))
        else {
            unescape(from, &mut out);
            return out.trim().to_owned();
        };
        rest = after;
        if is_mention_of(control, me) {
            // The space on one side goes with it.
            if out.is_empty() || out.ends_with(char::is_whitespace) {
                rest = rest.strip_prefix(' ').unwrap_or(rest);
            }
            continue;
        }
        reference(control, names, &mut out);
    }
    unescape(rest, &mut out);
    out.trim().to_owned()
}

fn is_mention_of(control: &str, user: &str) -> bool {
    control.strip_prefix('@').is_some_and(|named| {
        named.split('|').next().unwrap_or_default() == user && !user.is_empty()
    })
}

/// The control sequences of a text, without their brackets.
fn controls(text: &str) -> impl Iterator<Item = &str> {
    text.split('<')
        .skip(1)
        .filter_map(|from| from.split_once('>'))
        .map(|(control, _)| control)
}

fn reference(control: &str, names: &Names, out: &mut String) {
    let (target, label) = match control.split_once('|') {
        Some((target, label)) => (target, Some(label).filter(|label| !label.is_empty())),
        None => (control, None),
    };
    if let Some(user) = target.strip_prefix('@') {
        let known = names.users.get(user).map(String::as_str);
        out.push('@');
        match (known, label) {
            (Some(name), _) => out.push_str(name),
            (None, Some(label)) => unescape(label.trim_start_matches('@'), out),
            (None, None) => out.push_str(user),
        }
    } else if let Some(channel) = target.strip_prefix('#') {
        let known = names.channels.get(channel).map(String::as_str);
        out.push('#');
        match (label, known) {
            (Some(label), _) => unescape(label, out),
            (None, Some(name)) => out.push_str(name),
            (None, None) => out.push_str(channel),
        }
    } else if let Some(special) = target.strip_prefix('!') {
        match (special.split('^').next().unwrap_or_default(), label) {
            (_, Some(label)) => unescape(label, out),
            // Slack writes `<!here>` for what people type as `@here`.
            (word, None) => {
                out.push('@');
                out.push_str(word);
            }
        }
    } else {
        let mut address = String::new();
        unescape(target, &mut address);
        let bare = address.strip_prefix("mailto:").unwrap_or(&address);
        let mut shown = String::new();
        unescape(label.unwrap_or_default(), &mut shown);
        let same = shown.is_empty()
            || shown == bare
            || address
                .split_once("://")
                .is_some_and(|(_, rest)| rest.trim_end_matches('/') == shown);
        if same {
            out.push_str(bare);
        } else {
            out.push_str(&shown);
            out.push_str(" (");
            out.push_str(bare);
            out.push(')');
        }
    }
}

/// Slack escapes exactly three characters.
fn unescape(text: &str, out: &mut String) {
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let known = [("&amp;", '&'), ("&lt;", '<'), ("&gt;", '>')]
            .into_iter()
            .find_map(|(entity, c)| Some((c, from.strip_prefix(entity)?)));
        match known {
            Some((c, after)) => {
                out.push(c);
                rest = after;
            }
            None => {
                out.push('&');
                rest = from.strip_prefix('&').unwrap_or_default();
            }
        }
    }
    out.push_str(rest);
}
