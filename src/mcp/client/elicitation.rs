//! What a server wants to know in the midst of a call, as questions to a person.
//!
//! No question is answered by anybody but a person, and none for a secret is put.

use serde_json::{Map, Value, json};

use crate::mcp::client::caller::Caller;
use crate::mcp::client::visible::visible;

/// Most fields of one form.
const MAX_FIELDS: usize = 16;
/// Longest text of a server in one question, in bytes.
const MAX_TEXT: usize = 1024;
/// Most choices of one field.
const MAX_CHOICES: usize = 20;
/// Words in the name of a field that make it a secret.
const SECRETS: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "passcode",
    "secret",
    "token",
    "apikey",
    "accesskey",
    "privatekey",
    "credential",
    "onetimecode",
    "otp",
    "cvv",
    "pin",
    "seedphrase",
    "mnemonic",
];

/// What a form of a server is answered with: the answer for the server, and a note for the model where it is no answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// An `ElicitResult`.
    pub result: Value,
    /// Why nobody answered; none = somebody did.
    pub note: Option<String>,
}

impl Answer {
    fn declined(note: String) -> Self {
        Self {
            result: json!({"action": "decline"}),
            note: Some(note),
        }
    }
}

/// Asks a person for what the parameters of a request name.
pub async fn answer(params: &Value, caller: &dyn Caller) -> Answer {
    let message = short(
        params
            .get("message")
            .and_then(Value::as_str)
            .unwrap_or_default(),
    );
    let url = params.get("url").and_then(Value::as_str);
    if let Some(url) = url.filter(|_| params.get("mode") == Some(&Value::from("url"))) {
        return Answer::declined(format!(
            "the server wants a person to open {}, which nobody does from here",
            short(url)
        ));
    }
    let fields = match Field::all(params.get("requestedSchema").unwrap_or(&Value::Null)) {
        Ok(fields) => fields,
        Err(why) => return Answer::declined(why),
    };
    if let Some(secret) = fields.iter().find(|field| field.is_secret()) {
        return Answer::declined(format!(
            "the server asks for `{}`, which looks like a secret; nobody gives one this way",
            short(&secret.name)
        ));
    }
    let mut content = Map::new();
    for field in &fields {
        match field.ask(&message, fields.len() == 1, caller).await {
            Ok(Some(value)) => {
                content.insert(field.name.clone(), value);
            }
            Ok(None) => {
                if let Some(proposed) = field.proposed() {
                    content.insert(field.name.clone(), proposed.clone());
                }
            }
            Err(why) => return Answer::declined(why),
        }
    }
    if fields.is_empty() {
        // Nothing to fill in: it wants a yes.
        let choices = ["yes".to_owned(), "no".to_owned()];
        match caller.ask(&message, &choices).await {
            Ok(said) if said == choices[0] => {}
            Ok(_) => return Answer::declined("a person declined".to_owned()),
            Err(why) => return Answer::declined(why),
        }
    }
    Answer {
        result: json!({"action": "accept", "content": content}),
        note: None,
    }
}

/// One thing that is asked for.
struct Field {
    name: String,
    title: String,
    schema: Value,
    is_required: bool,
    /// What can be chosen: the value and what a person reads.
    choices: Vec<(Value, String)>,
}

impl Field {
    /// The fields of a form. The error says why it is not put to anybody.
    fn all(schema: &Value) -> Result<Vec<Self>, String> {
        let properties = schema.get("properties").and_then(Value::as_object);
        let required = schema.get("required").and_then(Value::as_array);
        let is_required =
            |name: &str| required.is_some_and(|names| names.iter().any(|one| one == name));
        let fields: Vec<Self> = properties
            .into_iter()
            .flatten()
            .map(|(name, schema)| Self {
                name: name.clone(),
                title: short(
                    ["title", "description"]
                        .iter()
                        .find_map(|key| schema.get(*key)?.as_str())
                        .unwrap_or(name),
                ),
                is_required: is_required(name),
                choices: choices(schema),
                schema: schema.clone(),
            })
            .collect();
        if fields.len() > MAX_FIELDS {
            return Err(format!(
                "the server asks for {} things at once, and {MAX_FIELDS} are the most",
                fields.len()
            ));
        }
        let many = fields
            .iter()
            .find(|field| field.choices.len() > MAX_CHOICES);
        if let Some(field) = many {
            return Err(format!(
                "the server offers {} choices for `{}`, and {MAX_CHOICES} are the most",
                field.choices.len(),
                short(&field.name)
            ));
        }
        Ok(fields)
    }

    fn is_secret(&self) -> bool {
        let format = self.schema.get("format").and_then(Value::as_str);
        let texts = [self.name.as_str(), self.title.as_str()];
        format == Some("password") || texts.iter().any(|text| names_secret(text))
    }

    /// What the server proposes; none = nothing.
    fn proposed(&self) -> Option<&Value> {
        self.schema.get("default").filter(|value| !value.is_null())
    }

    /// What somebody chooses who gives no value.
    fn left_out(&self) -> String {
        match self.proposed() {
            Some(Value::String(text)) => format!("take what the server proposes: {}", short(text)),
            Some(other) => format!(
                "take what the server proposes: {}",
                short(&other.to_string())
            ),
            None => "leave it out".to_owned(),
        }
    }

    /// A person's value; none = they left it out. The error says why there is no answer at all.
    async fn ask(
        &self,
        message: &str,
        is_only: bool,
        caller: &dyn Caller,
    ) -> Result<Option<Value>, String> {
        let mut question = if is_only && !message.is_empty() {
            message.to_owned()
        } else {
            format!("{message}\n{}", self.title).trim().to_owned()
        };
        let left_out = self.left_out();
        if !self.is_required && self.choices.is_empty() {
            question.push_str(&format!(" (answer `-` to {left_out})"));
        }
        let left_out = format!("({left_out})");
        let mut shown: Vec<String> = self
            .choices
            .iter()
            .map(|(_, shown)| shown.clone())
            .collect();
        if !self.is_required && !shown.is_empty() {
            shown.push(left_out.clone());
        }
        let said = caller.ask(&question, &shown).await?;
        if !self.is_required && (said.trim() == "-" || said == left_out) {
            return Ok(None);
        }
        let value = match self.choices.iter().find(|(_, shown)| *shown == said) {
            Some((value, _)) => value.clone(),
            None if !self.choices.is_empty() => {
                return Err("the answer is none of the choices".to_owned());
            }
            None => typed(&said, &self.schema),
        };
        let value = match self.kind() {
            // One of many was chosen.
            Some("array") => json!([value]),
            _ => value,
        };
        let validator = jsonschema::validator_for(&self.schema).ok();
        if let Some(Err(error)) = validator
            .as_ref()
            .map(|validator| validator.validate(&value))
        {
            return Err(format!(
                "a person's answer for `{}` does not fit what the server asks for: {}",
                short(&self.name),
                error.masked()
            ));
        }
        Ok(Some(value))
    }

    fn kind(&self) -> Option<&str> {
        self.schema.get("type").and_then(Value::as_str)
    }
}

/// An answer as the type that is asked for; text where it is not of that type.
fn typed(said: &str, schema: &Value) -> Value {
    let said = said.trim();
    match schema.get("type").and_then(Value::as_str) {
        Some("integer") => said
            .parse::<i64>()
            .map_or_else(|_| json!(said), |n| json!(n)),
        Some("number") => said
            .parse::<f64>()
            .map_or_else(|_| json!(said), |n| json!(n)),
        _ => json!(said),
    }
}

/// What can be chosen of a field; empty = it is no choice.
fn choices(schema: &Value) -> Vec<(Value, String)> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    if schema.get("type") == Some(&json!("boolean")) {
        return vec![
            (json!(true), "yes".to_owned()),
            (json!(false), "no".to_owned()),
        ];
    }
    let schema = schema.get("items").unwrap_or(schema);
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        let names = schema.get("enumNames").and_then(Value::as_array);
        let named = values.iter().enumerate().filter_map(|(at, value)| {
            let name = names.and_then(|names| text(names.get(at)?));
            Some((value.clone(), short(&name.or_else(|| text(value))?)))
        });
        return named.collect();
    }
    let titled = ["oneOf", "anyOf"]
        .iter()
        .find_map(|key| schema.get(*key)?.as_array());
    let titled = titled.into_iter().flatten().filter_map(|choice| {
        let value = choice.get("const")?;
        let title = choice.get("title").and_then(text).or_else(|| text(value))?;
        Some((value.clone(), short(&title)))
    });
    titled.collect()
}

/// Whether a name or title speaks of a secret.
pub fn names_secret(text: &str) -> bool {
    // `apiKey`, `api_key` and `API key` are one word each way.
    let mut words: Vec<String> = Vec::new();
    let mut word = String::new();
    let mut was_lower = false;
    for c in text.chars() {
        let ends = !c.is_alphanumeric() || (c.is_uppercase() && was_lower);
        if ends && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if c.is_alphanumeric() {
            word.extend(c.to_lowercase());
        }
        was_lower = c.is_lowercase();
    }
    words.push(word);
    let joined = words.concat();
    SECRETS.iter().any(|secret| match secret.len() {
        // Short ones are parts of harmless words.
        0..=5 => words
            .iter()
            .any(|word| word == secret || *word == format!("{secret}s")),
        _ => joined.contains(secret),
    }) || words.iter().any(|word| word == "key" || word == "keys")
}

/// A text of a server, without what nobody sees, cut.
fn short(text: &str) -> String {
    let text = visible(text);
    let kept = &text[..text.floor_char_boundary(MAX_TEXT)];
    if kept.len() < text.len() {
        format!("{kept}…")
    } else {
        kept.to_owned()
    }
}
