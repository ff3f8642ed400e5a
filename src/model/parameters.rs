//! The parameters that a model may refuse, for every interface alike: which are sent, and what follows from a refusal.

use serde_json::{Value, json};

use crate::model::failure;
use crate::model::request::{ModelRequest, Picture};
use crate::protocol::options::{ModelParameters, ToolChoice};

/// Which parameters a model is known to take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Support {
    /// `temperature`.
    pub temperature: bool,
    /// `top_p`.
    pub top_p: bool,
    /// `tool_choice`.
    pub tool_choice: bool,
    pub pictures: bool,
}

impl Default for Support {
    /// A model that takes everything.
    fn default() -> Self {
        Self {
            temperature: true,
            top_p: true,
            tool_choice: true,
            pictures: true,
        }
    }
}

/// Words of a refusal, lower case, that are about parameters that do not go together, or about any value but one.
const EXCLUDING_WORDS: &[&str] = &[
    "cannot both",
    "only the default",
    "deprecated",
    "may not be",
    "can only be",
    "must not be",
    "may only be",
];

/// Words of a refusal, lower case, that is about pictures.
const PICTURE_WORDS: &[&str] = &[
    "image",
    "picture",
    "vision",
    "multimodal",
    "inline_data",
    "inlinedata",
    "media type",
    "mime",
    "content must be a string",
    "expected a string",
];

/// Whether a refusal, in lower case, is about what one picture holds and not about what the model takes.
pub fn is_about_one_picture(words: &str) -> bool {
    const WORDS: [&str; 8] = [
        "could not process",
        "unable to process",
        "decode",
        "corrupt",
        "invalid image",
        "too large",
        "exceed",
        "dimension",
    ];
    WORDS.iter().any(|word| words.contains(word))
        && PICTURE_WORDS.iter().any(|word| words.contains(word))
}

impl Support {
    /// The pictures of a message that this model takes.
    pub fn shown(self, pictures: &[Picture]) -> impl Iterator<Item = &Picture> {
        let has_content = |picture: &&Picture| !picture.data.is_empty();
        pictures
            .iter()
            .filter(move |picture| self.pictures && has_content(picture))
    }

    /// The parameters of `request` that this model takes. A choice of tools goes with tools alone.
    pub fn sent(self, request: &ModelRequest) -> ModelParameters {
        let asked = request.parameters.clone();
        ModelParameters {
            temperature: asked.temperature.filter(|_| self.temperature),
            top_p: asked.top_p.filter(|_| self.top_p),
            tool_choice: asked
                .tool_choice
                .filter(|_| self.tool_choice && !request.tools.is_empty()),
        }
    }

    /// Puts the sampling parameters of `request` that this model takes into a body; `top_p` is how the second is called.
    pub fn put_sampling(self, request: &ModelRequest, top_p: &str, body: &mut Value) {
        let sent = self.sent(request);
        for (name, value) in [("temperature", sent.temperature), (top_p, sent.top_p)] {
            if let Some(value) = value {
                body[name] = json!(value);
            }
        }
    }

    /// What to send after a refusal of `request` with `words`, lower case; none when they are not about a parameter
    /// that was sent. A value out of range is for the operator to correct.
    pub fn without_refused(self, request: &ModelRequest, words: &str) -> Option<Self> {
        let names = |list: &[&str]| list.iter().any(|name| words.contains(name));
        if self.pictures && request.pictures() > 0 && names(PICTURE_WORDS) {
            return Some(Self {
                pictures: false,
                ..self
            });
        }
        if !failure::refuses_parameter(words) && !names(EXCLUDING_WORDS) {
            return None;
        }
        let sent = self.sent(request);
        let chosen = !matches!(sent.tool_choice, None | Some(ToolChoice::Auto));
        let mut fewer = self;
        // Of two that do not go together the temperature stays.
        if sent.top_p.is_some() && names(&["top_p", "topp"]) {
            fewer.top_p = false;
        } else if sent.temperature.is_some() && names(&["temperature"]) {
            fewer.temperature = false;
        } else if chosen
            && names(&[
                "tool_choice",
                "tool choice",
                "function_calling_config",
                "functioncallingconfig",
            ])
        {
            fewer.tool_choice = false;
        }
        (fewer != self).then_some(fewer)
    }

    /// What an operator should know: which parameters of `request` the model did without.
    pub fn note(self, request: &ModelRequest) -> Option<String> {
        let (asked, sent) = (Self::default().sent(request), self.sent(request));
        let missing: Vec<&str> = [
            ("temperature", asked.temperature != sent.temperature),
            ("top_p", asked.top_p != sent.top_p),
            ("tool_choice", asked.tool_choice != sent.tool_choice),
        ]
        .into_iter()
        .filter_map(|(name, left_out)| left_out.then_some(name))
        .collect();
        let pictures = request.pictures();
        if !self.pictures && pictures > 0 {
            return Some(format!(
                "the model {} takes no pictures; it was asked without {pictures}",
                request.model
            ));
        }
        (!missing.is_empty()).then(|| {
            format!(
                "the model {} takes no {}; it was asked without",
                request.model,
                missing.join(" and no ")
            )
        })
    }
}
