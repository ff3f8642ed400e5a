//! Reads the pictures of a request, newest first, as many as a model is shown. A picture that is not sent is named.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use crate::engine::context::build::Context;
use crate::engine::core::Engine;
use crate::model::profiles::Profile;
use crate::model::request::ModelMessage;

/// Most pictures of one request.
const MOST: usize = 8;
/// Bytes that they have at most, all together. Providers take requests of 20 to 32 MiB, in base64.
const MOST_BYTES: u64 = 12 * 1024 * 1024;

/// Puts the contents of the pictures into the messages.
pub async fn read(engine: &Engine, model: &str, profile: &Profile, context: &mut Context) {
    let (mut sent, mut bytes, mut left_out) = (0, 0, 0_usize);
    for message in context.messages.iter_mut().rev() {
        let ModelMessage::User { pictures, .. } = message else {
            continue;
        };
        for mut picture in std::mem::take(pictures).into_iter().rev() {
            let size = picture.artifact.size;
            if profile.pictures == Some(false) || sent == MOST || bytes + size > MOST_BYTES {
                left_out += 1;
                continue;
            }
            match engine.store.artifact_content(picture.artifact.hash).await {
                Ok(content) => {
                    picture.data = BASE64.encode(content).into();
                    (sent, bytes) = (sent + 1, bytes + size);
                    pictures.insert(0, picture);
                }
                Err(error) => {
                    let hash = picture.artifact.hash;
                    context
                        .notes
                        .push(format!("the picture {hash} cannot be read: {error}"));
                }
            }
        }
    }
    if left_out > 0 {
        context.notes.push(if profile.pictures == Some(false) {
            format!("{left_out} picture(s) were not sent: {model} takes none")
        } else {
            format!("{left_out} earlier picture(s) were not sent: a request has at most {MOST}, and 12 MiB of them")
        });
    }
}
