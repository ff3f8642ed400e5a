//! Whether an account is set up as it must be: what the homeserver says, and what to do about it. Only reads.

use crate::channels::channel::ChannelError;
use crate::channels::http::CallError;
use crate::channels::matrix::api::Api;
use crate::channels::matrix::rooms::Rooms;
use crate::channels::matrix::sync;
use crate::protocol::doctor::{Finding, Standing};
use crate::text::untrusted::reveal_line;

/// Asks about everything that a channel needs.
pub async fn findings(api: &Api, channel: &str, base: &str) -> Vec<Finding> {
    let about = format!("channel {channel}");
    let finding = |verdict, detail: String, fix: Option<&str>| Finding {
        verdict,
        about: about.clone(),
        detail,
        fix: fix.map(str::to_owned),
    };
    let mut all = Vec::new();
    match api.versions().await {
        Ok(versions) if versions.is_empty() => {
            all.push(finding(
                Standing::Fail,
                format!("{base} answers, but is not a Matrix homeserver"),
                Some(
                    "set api_base to the homeserver's address; https://SERVER/.well-known/matrix/client has it as \
                     `base_url`",
                ),
            ));
            return all;
        }
        Ok(versions) => {
            let newest = versions.last().map_or("", String::as_str);
            all.push(finding(
                Standing::Ok,
                format!("the homeserver speaks Matrix up to {}", reveal_line(newest)),
                None,
            ));
        }
        Err(error) => {
            all.push(finding(
                Standing::Fail,
                format!("the homeserver at {base} cannot be reached: {error}"),
                Some("check api_base, and that this machine reaches it"),
            ));
            return all;
        }
    }
    let user = match api.whoami().await {
        Ok(answer) => {
            let text = |name: &str| answer[name].as_str().unwrap_or("nobody").to_owned();
            let (user, device) = (text("user_id"), text("device_id"));
            let said = format!(
                "the token belongs to {}, device {}",
                reveal_line(&user),
                reveal_line(&device)
            );
            all.push(finding(Standing::Ok, said, None));
            user
        }
        Err(error) => {
            all.push(match sync::broken(&error) {
                ChannelError::Fatal { detail, fix } => {
                    finding(Standing::Fail, detail, Some(fix.as_str()))
                }
                ChannelError::Transient { detail, .. } => finding(
                    Standing::Fail,
                    format!("the homeserver does not say whose token this is: {detail}"),
                    Some("try again; if it stays so, read the homeserver's log"),
                ),
            });
            return all;
        }
    };
    all.push(match api.display_name(&user).await {
        Ok(Some(name)) => finding(
            Standing::Ok,
            format!("people see it as {}", reveal_line(&name)),
            None,
        ),
        Ok(None) => finding(
            Standing::Warn,
            "the account has no display name, so people see its id".to_owned(),
            Some("set one: PUT /_matrix/client/v3/profile/USER/displayname, or in any client"),
        ),
        Err(error) => finding(
            Standing::Warn,
            format!("the profile cannot be read: {error}"),
            None,
        ),
    });
    all.push(rooms(api, &finding).await);
    all.push(match api.largest_upload().await {
        Ok(Some(bytes)) => finding(
            Standing::Ok,
            format!("files of up to {} MiB can be sent", bytes / (1024 * 1024)),
            None,
        ),
        Ok(None) | Err(CallError::Refused { .. }) => finding(
            Standing::Ok,
            "the homeserver does not say how large a file may be".to_owned(),
            None,
        ),
        Err(error) => finding(
            Standing::Warn,
            format!("the limits of files cannot be read: {error}"),
            None,
        ),
    });
    all
}

/// How many rooms there are, and how many of them cannot be read.
async fn rooms(api: &Api, finding: &impl Fn(Standing, String, Option<&str>) -> Finding) -> Finding {
    let answer = match sync::overview(api).await {
        Ok(answer) => answer,
        Err(error) => {
            let said = format!("the rooms cannot be read: {error}");
            return finding(Standing::Warn, said, Some("read the homeserver's log"));
        }
    };
    let known = Rooms::default();
    known.replace(&answer["rooms"]["join"]);
    let (rooms, encrypted) = known.count();
    let invites = answer["rooms"]["invite"].as_object();
    let invites = invites.map_or(0, serde_json::Map::len);
    let said = format!("rooms it is in: {rooms}, invites: {invites}");
    if encrypted == 0 {
        return finding(Standing::Ok, said, None);
    }
    finding(
        Standing::Warn,
        format!("{said}; encrypted, so the bot cannot read them: {encrypted}"),
        Some("create a room without encryption for the bot: clients ask when they create a room"),
    )
}

/// What stops every try before the homeserver is asked.
pub fn unusable(channel: &str, error: &ChannelError) -> Finding {
    let (detail, fix) = match error {
        ChannelError::Fatal { detail, fix } => (detail.clone(), Some(fix.clone())),
        ChannelError::Transient { detail, .. } => (detail.clone(), None),
    };
    Finding {
        verdict: Standing::Fail,
        about: format!("channel {channel}"),
        detail,
        fix,
    }
}
