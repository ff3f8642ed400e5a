//! The words with which Slack refuses, what each means for a call, and what to do about it.

use crate::channels::http::CallError;

/// What a refusal means for the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
    /// A token is at fault: no call will do until a person changes something.
    Token,
    /// Too many calls: the same call will do later.
    Limited,
    /// Slack's side failed; the call may have been carried out.
    Failed,
    /// The call was not carried out; the same call may do later.
    NotDone,
    /// This call will not do.
    Refused,
}

/// A word of Slack's.
struct Word {
    word: &'static str,
    meaning: Meaning,
    fix: &'static str,
}

const fn word(word: &'static str, meaning: Meaning, fix: &'static str) -> Word {
    Word { word, meaning, fix }
}

/// Where the tokens of an app are.
const BOT_TOKEN: &str = "take the Bot User OAuth Token (xoxb-…) from api.slack.com/apps → your app → OAuth & Permissions";

const WORDS: &[Word] = &[
    word("invalid_auth", Meaning::Token, BOT_TOKEN),
    word("not_authed", Meaning::Token, BOT_TOKEN),
    word(
        "account_inactive",
        Meaning::Token,
        "the app was removed from the workspace: install it again at api.slack.com/apps → your app → Install App, and take \
         the new token",
    ),
    word(
        "token_revoked",
        Meaning::Token,
        "install the app again at api.slack.com/apps → your app → Install App, and take the new token",
    ),
    word(
        "token_expired",
        Meaning::Token,
        "switch token rotation off at api.slack.com/apps → your app → OAuth & Permissions, and take a new token",
    ),
    word(
        "not_allowed_token_type",
        Meaning::Token,
        "`token` is the bot token (xoxb-…), `app_token` the app-level one (xapp-…)",
    ),
    word(
        "missing_scope",
        Meaning::Refused,
        "add the scope at api.slack.com/apps → your app → OAuth & Permissions, then install the app again",
    ),
    word(
        "not_in_channel",
        Meaning::Refused,
        "invite the bot to the channel: write `/invite @its-name` there",
    ),
    word(
        "channel_not_found",
        Meaning::Refused,
        "there is no such channel, or the bot is not in it: write `/invite @its-name` there",
    ),
    word(
        "is_archived",
        Meaning::Refused,
        "the channel is archived: somebody has to unarchive it in Slack",
    ),
    word(
        "cannot_dm_bot",
        Meaning::Refused,
        "this id is another bot's: Slack lets bots not write to each other directly",
    ),
    word(
        "user_not_found",
        Meaning::Refused,
        "check the id: in Slack, open the profile of the person → More → Copy member ID",
    ),
    word(
        "restricted_action",
        Meaning::Refused,
        "an administrator of the workspace restricts who may post there",
    ),
    word(
        "msg_too_long",
        Meaning::Refused,
        "a message may have 40 000 characters, a change of one 4 000",
    ),
    word(
        "msg_blocks_too_long",
        Meaning::Refused,
        "the blocks of a message may have about 13 000 characters together",
    ),
    word(
        "access_denied",
        Meaning::Refused,
        "an administrator of the workspace has to allow the app",
    ),
    word(
        "org_login_required",
        Meaning::NotDone,
        "the workspace is being moved to an organisation; Slack refuses everything until that ends",
    ),
    word(
        "team_access_not_granted",
        Meaning::Refused,
        "an administrator of the organisation has to allow the app for this workspace",
    ),
    word("ratelimited", Meaning::Limited, ""),
    word("rate_limited", Meaning::Limited, ""),
    word("message_limit_exceeded", Meaning::Limited, ""),
    word("internal_error", Meaning::Failed, ""),
    word("fatal_error", Meaning::Failed, ""),
    word("service_unavailable", Meaning::Failed, ""),
    word("request_timeout", Meaning::NotDone, ""),
];

fn known(given: &str) -> Option<&'static Word> {
    WORDS.iter().find(|one| one.word == given)
}

/// What a word means for the call.
pub fn meaning(given: &str) -> Meaning {
    known(given).map_or(Meaning::Refused, |one| one.meaning)
}

/// What to do about it; none = nothing is known.
pub fn fix(given: &str) -> Option<&'static str> {
    known(given)
        .map(|one| one.fix)
        .filter(|fix| !fix.is_empty())
}

/// Whether a call failed because of its token.
pub fn refuses_token(error: &CallError) -> bool {
    matches!(error, CallError::Refused { name, .. } if is_about_token(name))
}

/// Whether a token is at fault.
pub fn is_about_token(given: &str) -> bool {
    meaning(given) == Meaning::Token
}
