//! Files of messages: fetched with the bot token, sent in Slack's three steps.
//!
//! The token goes to no host that is not Slack's or the API's. A file shows only after the last step, and the block that
//! comes with it has the key of its part, so that a look tells whether it arrived.

use serde_json::{Value, json};

use crate::channels::fields::text_at;
use crate::channels::http::CallError;
use crate::channels::slack::api::Api;
use crate::protocol::artifact::SentFile;
use crate::protocol::bridge::FileRequest;
use crate::text::mrkdwn;

/// What stands before the key in the id of a block.
pub const BLOCK: &str = "leverframe:";

/// Sends a file; its id. `place` is channel and thread.
pub async fn send(
    api: &Api,
    (channel, thread): (&str, Option<&str>),
    file: &SentFile,
    content: Vec<u8>,
    key: &str,
) -> Result<String, CallError> {
    let length = content.len().to_string();
    let params = [
        ("filename", file.name.as_str()),
        ("length", length.as_str()),
    ];
    let place = api
        .call_form("files.getUploadURLExternal", &params)
        .await
        .map_err(CallError::of_hidden_call)?;
    let (Some(address), Some(id)) = (text_at(&place, "/upload_url"), text_at(&place, "/file_id"))
    else {
        return Err(CallError::refused(200, "Slack names no place for the file"));
    };
    // Before the last step nobody sees a file, whatever came of a call.
    api.upload(address, content)
        .await
        .map_err(CallError::of_hidden_call)?;
    let mut params = json!({
        "files": [{ "id": id, "title": file.name }],
        "channel_id": channel,
        "blocks": [{
            "type": "section",
            "block_id": format!("{BLOCK}{key}"),
            "text": { "type": "mrkdwn", "text": mrkdwn::escape(&file.name), "verbatim": true },
        }],
    });
    if let Some(thread) = thread {
        params["thread_ts"] = json!(thread);
    }
    let mut shared = api.call("files.completeUploadExternal", &params).await;
    // Some workspaces take a file only without a block; a look then says that it cannot tell.
    if matches!(&shared, Err(CallError::Refused { name, .. })
        if matches!(name.as_str(), "invalid_blocks" | "invalid_arguments"))
        && let Some(fields) = params.as_object_mut()
    {
        fields.remove("blocks");
        shared = api.call("files.completeUploadExternal", &params).await;
    }
    shared.map(|_| id.to_owned())
}

/// The content of a file of a message.
pub async fn fetch(api: &Api, request: &FileRequest) -> Result<Vec<u8>, CallError> {
    let params = [("file", request.reference.as_str())];
    let said = api.call_form("files.info", &params).await?;
    let file = &said["file"];
    let too_large = || CallError::too_large(request.max_bytes);
    let size = file["size"].as_u64();
    if size.is_some_and(|size| size > request.max_bytes) {
        return Err(too_large());
    }
    let address = text_at(file, "/url_private_download")
        .or_else(|| text_at(file, "/url_private"))
        .filter(|address| !address.is_empty())
        .ok_or_else(|| CallError::refused(404, "Slack names no address for it"))?;
    let content = api
        .download(address, request.max_bytes)
        .await?
        .ok_or_else(too_large)?;
    if is_login_page(file, &content) {
        return Err(CallError::refused(
            403,
            "Slack gives a page in place of the file: add the scope files:read at api.slack.com/apps → your app → OAuth \
             & Permissions, then install the app again",
        ));
    }
    Ok(content)
}

/// To who may not read a file Slack shows a page, with status 200.
fn is_login_page(file: &Value, content: &[u8]) -> bool {
    let is_page = text_at(file, "/mimetype").is_some_and(|kind| kind.starts_with("text/html"));
    let start: Vec<u8> = content
        .iter()
        .copied()
        .skip_while(u8::is_ascii_whitespace)
        .take(9)
        .collect();
    !is_page && start.eq_ignore_ascii_case(b"<!doctype")
}
