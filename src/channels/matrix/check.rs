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
    let about = &format!("channel {channel}");
    let mut all = Vec::new();
    match api.versions().await {
        Ok(versions) if versions.is_empty() => {
            all.push(Finding::fail(
                about,
                format!("{base} answers, but is not a Matrix homeserver"),
                "set api_base to the homeserver's address; https://SERVER/.well-known/matrix/client has it as `base_url`",
            ));
            return all;
        }
        Ok(versions) => {
            let newest = versions.last().map_or("", String::as_str);
            let newest = reveal_line(newest);
            all.push(Finding::ok(
                about,
                format!("the homeserver speaks Matrix up to {newest}"),
            ));
        }
        Err(error) => {
            all.push(Finding::fail(
                about,
                format!("the homeserver at {base} cannot be reached: {error}"),
                "check api_base, and that this machine reaches it",
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
            all.push(Finding::ok(about, said));
            user
        }
        Err(error) => {
            all.push(match sync::broken(&error) {
                ChannelError::Fatal { detail, fix } => Finding::fail(about, detail, fix),
                ChannelError::Transient { detail, .. } => Finding::fail(
                    about,
                    format!("the homeserver does not say whose token this is: {detail}"),
                    "try again; if it stays so, read the homeserver's log",
                ),
            });
            return all;
        }
    };
    all.push(match api.display_name(&user).await {
        Ok(Some(name)) => Finding::ok(about, format!("people see it as {}", reveal_line(&name))),
        Ok(None) => Finding::warn(
            about,
            "the account has no display name, so people see its id",
            "set one: PUT /_matrix/client/v3/profile/USER/displayname, or in any client",
        ),
        Err(error) => unread(about, format!("the profile cannot be read: {error}")),
    });
    all.push(rooms(api, about).await);
    all.push(match api.largest_upload().await {
        Ok(Some(bytes)) => {
            let most = bytes / (1024 * 1024);
            Finding::ok(about, format!("files of up to {most} MiB can be sent"))
        }
        Ok(None) | Err(CallError::Refused { .. }) => {
            Finding::ok(about, "the homeserver does not say how large a file may be")
        }
        Err(error) => unread(
            about,
            format!("the limits of files cannot be read: {error}"),
        ),
    });
    all
}

/// Something that the homeserver does not tell, and that nobody can mend here.
fn unread(about: &str, detail: String) -> Finding {
    Finding {
        verdict: Standing::Warn,
        ..Finding::ok(about, detail)
    }
}

/// How many rooms there are, and how many of them cannot be read.
async fn rooms(api: &Api, about: &str) -> Finding {
    let answer = match sync::overview(api).await {
        Ok(answer) => answer,
        Err(error) => {
            let said = format!("the rooms cannot be read: {error}");
            return Finding::warn(about, said, "read the homeserver's log");
        }
    };
    let known = Rooms::default();
    known.replace(&answer["rooms"]["join"]);
    let (rooms, encrypted) = known.count();
    let invites = answer["rooms"]["invite"].as_object();
    let invites = invites.map_or(0, serde_json::Map::len);
    let said = format!("rooms it is in: {rooms}, invites: {invites}");
    if encrypted == 0 {
        return Finding::ok(about, said);
    }
    Finding::warn(
        about,
        format!("{said}; encrypted, so the bot cannot read them: {encrypted}"),
        "create a room without encryption for the bot: clients ask when they create a room",
    )
}
