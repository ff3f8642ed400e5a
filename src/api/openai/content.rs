//! Parts of a message in OpenAI's words: text, and files that come inline. Nothing is fetched for a client.

use serde_json::Value;

use crate::api::error::Refusal;
use crate::protocol::artifact::NewAttachment;
use crate::protocol::problem::Problem;

/// A message without its role.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Content {
    /// Its texts, with blank lines between them.
    pub text: String,
    /// Its files.
    pub files: Vec<NewAttachment>,
}

/// A field of the body that is not as it must be.
pub fn wrong(place: &str, problem: &str) -> Refusal {
    Refusal::from(Problem::invalid(format!("`{place}`: {problem}"))).parameter(place)
}

/// Adds a text behind a blank line.
pub fn add_text(whole: &mut String, text: &str) {
    if text.is_empty() {
        return;
    }
    if !whole.is_empty() {
        whole.push_str("\n\n");
    }
    whole.push_str(text);
}

/// The content of a message: a string, or parts. `place` is where it stands in the body.
pub fn read(content: &Value, place: &str) -> Result<Content, Refusal> {
    let mut read = Content::default();
    match content {
        Value::Null => {}
        Value::String(text) => read.text.clone_from(text),
        Value::Array(parts) => {
            for (at, part) in parts.iter().enumerate() {
                read_part(part, &format!("{place}[{at}]"), &mut read)?;
            }
        }
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
            return Err(wrong(place, "expected a string or a list of parts"));
        }
    }
    Ok(read)
}

fn word<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    value.get(name).and_then(Value::as_str)
}

fn read_part(part: &Value, place: &str, read: &mut Content) -> Result<(), Refusal> {
    let number = read.files.len() + 1;
    let missing = |name: &str| wrong(&format!("{place}.{name}"), "expected a string");
    match word(part, "type").unwrap_or_default() {
        "text" | "input_text" | "output_text" => {
            let text = word(part, "text").ok_or_else(|| missing("text"))?;
            add_text(&mut read.text, text);
        }
        "refusal" => add_text(&mut read.text, word(part, "refusal").unwrap_or_default()),
        // Chat completions have an object there, responses a string.
        "image_url" | "input_image" => {
            let given = part.get("image_url");
            let url = given.and_then(|given| given.as_str().or_else(|| word(given, "url")));
            let url = url.ok_or_else(|| no_reference(place, part, "image_url"))?;
            read.files.push(inline(
                url,
                &format!("{place}.image_url"),
                "picture",
                number,
            )?);
        }
        "file" | "input_file" => {
            let file = part.get("file").unwrap_or(part);
            let data =
                word(file, "file_data").ok_or_else(|| no_reference(place, file, "file_data"))?;
            let mut attachment = inline(data, &format!("{place}.file_data"), "file", number)?;
            if let Some(name) = word(file, "filename") {
                name.clone_into(&mut attachment.name);
            }
            read.files.push(attachment);
        }
        "input_audio" => {
            let audio = part.get("input_audio").unwrap_or(part);
            let format = word(audio, "format").ok_or_else(|| missing("input_audio.format"))?;
            let data = word(audio, "data").ok_or_else(|| missing("input_audio.data"))?;
            read.files.push(NewAttachment {
                name: format!("recording-{number}.{format}"),
                media_type: Some(match format {
                    "mp3" => "audio/mpeg".to_owned(),
                    other => format!("audio/{other}"),
                }),
                data: data.to_owned(),
            });
        }
        other => {
            let other: String = other
                .chars()
                .take(64)
                .flat_map(char::escape_debug)
                .collect();
            return Err(wrong(
                &format!("{place}.type"),
                &format!(
                    "`{other}` is unknown: expected text, image_url, file, input_audio, or input_text, input_image, input_file"
                ),
            ));
        }
    }
    Ok(())
}

/// What is said of a file that is not in the request itself.
fn no_reference(place: &str, file: &Value, field: &str) -> Refusal {
    let reference = ["file_id", "file_url"]
        .into_iter()
        .find(|name| file.get(*name).is_some_and(|value| !value.is_null()));
    match reference {
        Some(name) => wrong(
            &format!("{place}.{name}"),
            "files are not kept and not fetched for a client: send the content as a data: URL",
        ),
        None => wrong(&format!("{place}.{field}"), "expected a data: URL"),
    }
}

/// The file of a `data:` URL in base64.
fn inline(url: &str, place: &str, name: &str, number: usize) -> Result<NewAttachment, Refusal> {
    let Some(rest) = url.strip_prefix("data:") else {
        let is_remote = url.starts_with("http://") || url.starts_with("https://");
        return Err(wrong(
            place,
            if is_remote {
                "addresses are not fetched for a client: send the content as a data: URL"
            } else {
                "expected a data: URL with base64, as in data:image/png;base64,…"
            },
        ));
    };
    let Some((media_type, data)) = rest.split_once(";base64,") else {
        return Err(wrong(place, "expected base64 in the data: URL"));
    };
    // Parameters of the media type say nothing about the file.
    let media_type = media_type.split(';').next().unwrap_or_default();
    let end = media_type.rsplit('/').next().unwrap_or_default();
    let is_plain = !end.is_empty() && end.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let end = if is_plain { end } else { "bin" };
    Ok(NewAttachment {
        name: format!("{name}-{number}.{end}"),
        media_type: Some(media_type.to_owned()).filter(|kind| !kind.is_empty()),
        data: data.to_owned(),
    })
}
