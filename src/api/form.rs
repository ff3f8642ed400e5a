//! What a request of a route consists of: query parameters and fields of a body, as the schema of a type names them.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::sync::{Arc, OnceLock};

use axum::extract::Query;
use axum::http::Uri;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value};

use crate::api::error::Refusal;
use crate::clock::Timestamp;
use crate::protocol::problem::Problem;

/// How the schema of a type gets into a document.
pub type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

/// How the JSON of a body is read strictly.
pub type ReadBody = fn(&[u8]) -> Result<Value, Refusal>;

/// What a route reads.
#[derive(Debug, Clone)]
pub struct Form {
    /// What the route does, in one line.
    pub about: String,
    /// The field of the request that `{id}` of the path fills. Other names in a path are names of fields.
    pub id: &'static str,
    /// Query parameters; others are refused.
    pub query: Vec<Parameter>,
    /// Body.
    pub body: Body,
    /// Fields that the type needs and the route does not, with the value that they then get.
    pub defaults: Vec<(&'static str, Value)>,
}

/// A form that is made when somebody first asks for it: its types have schemas, which take time.
#[derive(Clone)]
pub struct LazyForm {
    form: OnceLock<Arc<Form>>,
    make: Arc<dyn Fn() -> Form + Send + Sync>,
}

impl LazyForm {
    /// The form that this makes.
    pub fn new(make: impl Fn() -> Form + Send + Sync + 'static) -> Self {
        Self {
            form: OnceLock::new(),
            make: Arc::new(make),
        }
    }

    /// Changes the form before anybody sees it.
    pub fn edit(self, change: impl Fn(&mut Form) + Send + Sync + 'static) -> Self {
        Self::new(move || {
            let mut form = (self.make)();
            change(&mut form);
            form
        })
    }

    /// The form.
    pub fn get(&self) -> &Arc<Form> {
        self.form.get_or_init(|| Arc::new((self.make)()))
    }
}

/// The shape of a query parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shape {
    /// Text.
    Text,
    /// A moment (RFC 3339).
    Time,
    /// A whole number.
    Number(RangeInclusive<u64>),
    /// true or false.
    Flag,
    /// One of a closed vocabulary.
    Words(Vec<String>),
    /// Texts with commas between them.
    List,
    /// Text that is JSON.
    Json,
}

/// A query parameter.
#[derive(Debug, Clone)]
pub struct Parameter {
    /// Name.
    pub name: String,
    /// The field of the request that it fills, from the outside to the inside.
    pub field: Vec<String>,
    /// Shape.
    pub shape: Shape,
    /// Whether it has to be there.
    pub required: bool,
    /// What it means.
    pub about: String,
}

/// The body of a request.
#[derive(Debug, Clone)]
pub enum Body {
    /// The route takes none.
    None,
    /// Bytes of any kind, read as they come.
    Stream,
    /// A JSON object without other fields than these; may be left out when nothing is required.
    Object(Object),
}

/// The fields of a body.
#[derive(Debug, Clone)]
pub struct Object {
    /// Of the type that has them.
    pub schema: SchemaOf,
    /// Those that a body may have.
    pub fields: Vec<String>,
    /// Those that it must have.
    pub required: Vec<String>,
    /// Where the whole body is one field of the request: its name, and how its type is read.
    pub nested: Option<(&'static str, ReadBody)>,
}

impl Form {
    /// Offers a field no more.
    pub fn remove(&mut self, field: &str) {
        self.query.retain(|one| one.name != field);
        if let Body::Object(object) = &mut self.body {
            object.fields.retain(|one| one != field);
            object.required.retain(|one| one != field);
        }
    }
}

impl Object {
    /// The fields of a type.
    pub fn of<T: JsonSchema>() -> Self {
        let schema = schema_of::<T>();
        let fields = schema["properties"].as_object();
        Self {
            schema: T::json_schema,
            fields: fields.into_iter().flat_map(Map::keys).cloned().collect(),
            required: required(&schema).map(str::to_owned).collect(),
            nested: None,
        }
    }
}

impl Parameter {
    /// The fields of a type as parameters. The fields of a struct in it are parameters too.
    pub fn of<T: JsonSchema>() -> Vec<Self> {
        let mut found = Vec::new();
        collect(&schema_of::<T>(), &[], &mut found);
        found
    }

    fn read(&self, text: &str) -> Result<Value, Refusal> {
        match &self.shape {
            Shape::Text => return Ok(text.into()),
            Shape::Time => serde_json::from_value::<Timestamp>(text.into())
                .map(|_| text.into())
                .map_err(|error| error.to_string()),
            Shape::Number(range) => match text.parse::<u64>() {
                Ok(number) if range.contains(&number) => Ok(number.into()),
                Ok(_) | Err(_) => Err(format!(
                    "`{}` is not a whole number from {} to {}",
                    shortened(text),
                    range.start(),
                    range.end()
                )),
            },
            Shape::Flag => text
                .parse::<bool>()
                .map(Value::from)
                .map_err(|_| "expected true or false".to_owned()),
            Shape::Words(words) if words.iter().any(|word| word == text) => Ok(text.into()),
            Shape::Words(words) => Err(format!(
                "`{}` is unknown: expected one of {}",
                shortened(text),
                words.join(", ")
            )),
            Shape::List => {
                let entries = text.split(',').map(str::trim);
                return Ok(entries.filter(|entry| !entry.is_empty()).collect());
            }
            Shape::Json => serde_json::from_str(text).map_err(|error| error.to_string()),
        }
        .map_err(|error| parameter(&self.name, &error))
    }

    fn missing(&self) -> Refusal {
        let mut detail = format!("query parameter `{}` is missing", self.name);
        if let Shape::Words(words) = &self.shape {
            detail.push_str(&format!(": expected one of {}", words.join(", ")));
        }
        Problem::invalid(detail).into()
    }
}

/// What a type means, without the full stop.
pub fn about<T: JsonSchema>() -> String {
    let text = description(&schema_of::<T>());
    text.trim_end_matches('.').to_owned()
}

/// The whole schema of a type in one piece.
fn schema_of<T: JsonSchema>() -> Value {
    let settings =
        SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    let mut generator = settings.for_deserialize().into_generator();
    T::json_schema(&mut generator).to_value()
}

fn description(schema: &Value) -> String {
    let text = schema["description"].as_str().unwrap_or_default();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn required(schema: &Value) -> impl Iterator<Item = &str> {
    let names = schema["required"].as_array();
    names.into_iter().flatten().filter_map(Value::as_str)
}

fn collect(schema: &Value, outer: &[String], found: &mut Vec<Parameter>) {
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let place = [outer, std::slice::from_ref(name)].concat();
        let choices = field["anyOf"].as_array().into_iter().flatten();
        let present = choices.chain([field]).find(|one| one["type"] != "null");
        let present = present.unwrap_or(field);
        if present["properties"].is_object() {
            collect(present, &place, found);
            continue;
        }
        let shape = shape(present);
        let mut about = description(field);
        if shape == Shape::List {
            about.push_str(" Commas stand between its entries.");
        }
        found.push(Parameter {
            name: name.clone(),
            field: place,
            shape,
            required: required(schema).any(|needed| needed == name),
            about,
        });
    }
}

fn shape(schema: &Value) -> Shape {
    let is = |name: &str| match &schema["type"] {
        Value::Array(names) => names.iter().any(|one| one == name),
        one => one == name,
    };
    if let Some(words) = schema["enum"].as_array() {
        let words = words.iter().filter_map(Value::as_str);
        Shape::Words(words.map(str::to_owned).collect())
    } else if is("integer") {
        let most = match schema["format"].as_str() {
            Some("uint32") => u32::MAX.into(),
            Some(_) | None => u64::MAX,
        };
        let end = |name: &str| schema[name].as_u64();
        Shape::Number(end("minimum").unwrap_or(0)..=end("maximum").unwrap_or(most))
    } else if is("boolean") {
        Shape::Flag
    } else if schema["format"] == "date-time" {
        Shape::Time
    } else if is("string") {
        Shape::Text
    } else if is("array") && schema["items"]["type"] == "string" {
        Shape::List
    } else {
        Shape::Json
    }
}

/// Reads the query of a URI into the fields of a request.
pub fn read_query(uri: &Uri, known: &[Parameter]) -> Result<Map<String, Value>, Refusal> {
    let Query(pairs) = Query::<Vec<(String, String)>>::try_from_uri(uri)
        .map_err(|error| Problem::invalid(format!("the query could not be read: {error}")))?;
    let mut seen: Vec<&str> = Vec::new();
    let mut fields = Map::new();
    for (name, text) in &pairs {
        let Some(found) = known.iter().find(|one| one.name == *name) else {
            return Err(unknown(name, known));
        };
        if seen.contains(&name.as_str()) {
            return Err(parameter(name, &"was given twice"));
        }
        seen.push(name);
        put(&mut fields, &found.field, found.read(text)?);
    }
    let missing = |one: &&Parameter| one.required && !seen.contains(&one.name.as_str());
    match known.iter().find(missing) {
        Some(one) => Err(one.missing()),
        None => Ok(fields),
    }
}

fn put(fields: &mut Map<String, Value>, place: &[String], value: Value) {
    match place {
        [] => {}
        [name] => {
            fields.insert(name.clone(), value);
        }
        [name, inner @ ..] => {
            let entry = fields.entry(name).or_insert_with(|| Map::new().into());
            if let Value::Object(fields) = entry {
                put(fields, inner, value);
            }
        }
    }
}

fn unknown(name: &str, known: &[Parameter]) -> Refusal {
    let names: Vec<&str> = known.iter().map(|one| one.name.as_str()).collect();
    let allowed = if names.is_empty() {
        "this route takes none".to_owned()
    } else {
        format!("expected one of {}", names.join(", "))
    };
    let name = shortened(name);
    Problem::invalid(format!("unknown query parameter `{name}`: {allowed}")).into()
}

/// A refused query parameter.
pub fn parameter(name: &str, error: &impl Display) -> Refusal {
    Problem::invalid(format!("query parameter `{name}`: {error}")).into()
}

/// Outside text for a message: at most 64 characters, on one line.
pub fn shortened(text: &str) -> String {
    text.chars().take(64).flat_map(char::escape_debug).collect()
}
