//! `/openapi.json`, written from the same table the router is built from, so the two cannot disagree.

use std::collections::BTreeSet;

use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, ReplaceBoolSchemas, Transform as _};
use schemars::{Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use crate::api::auth::MCP_PATH;
use crate::api::error;
use crate::api::events::{EPHEMERAL, KINDS};
use crate::api::form::{Body, Form, Object, Shape};
use crate::api::openai::error::{ErrorDocument, ErrorShape, shape_at};
use crate::api::route::{AnswerShape, Needs, Route, Success, path_names};
use crate::client::remote::wire::PROTOCOL_HEADER;
use crate::protocol::event::Event;
use crate::protocol::schema::vocabulary;

/// Where the schemas of a document are.
const SCHEMAS: &str = "/components/schemas";

/// A schema that takes everything is `{}` and not `true`, which generators of clients do not know.
fn objects() -> ReplaceBoolSchemas {
    let mut transform = ReplaceBoolSchemas::default();
    transform.skip_additional_properties = true;
    transform
}

/// An enum whose words each have a meaning is derived as a choice of constants, which generators of clients get wrong.
/// One list of words, described together, says the same.
fn words(schema: &mut Schema) {
    let constants: Option<Vec<(String, String)>> = schema
        .get("oneOf")
        .and_then(Value::as_array)
        .and_then(|choices| {
            choices
                .iter()
                .map(|choice| {
                    let about = choice.get("description").and_then(Value::as_str);
                    let word = choice.get("const")?.as_str()?;
                    Some((word.to_owned(), about?.to_owned()))
                })
                .collect()
        });
    let Some(constants) = constants else { return };
    let constants: Vec<(&str, &str)> = constants
        .iter()
        .map(|(word, about)| (word.as_str(), about.as_str()))
        .collect();
    let about = schema
        .get("description")
        .and_then(Value::as_str)
        .unwrap_or_default();
    *schema = vocabulary(about, &constants);
}

fn value(mut schema: Schema) -> Value {
    objects().transform(&mut schema);
    schema.to_value()
}

/// Schemas of what is written and of what is read: a field with a default is always written and need not be sent.
struct Schemas {
    written: SchemaGenerator,
    read: SchemaGenerator,
}

impl Schemas {
    fn new() -> Self {
        let settings = || {
            SchemaSettings::draft2020_12()
                .with(|settings| {
                    settings.definitions_path = SCHEMAS.into();
                    settings.meta_schema = None;
                })
                .with_transform(objects())
                .with_transform(RecursiveTransform(words))
        };
        Self {
            written: settings().for_serialize().into_generator(),
            read: settings().for_deserialize().into_generator(),
        }
    }

    /// All of them by name. One that is read otherwise than it is written gets the ending `Input`, in `bodies` too.
    fn merge(mut self, bodies: &mut Value) -> Map<String, Value> {
        let mut schemas = self.written.take_definitions(true);
        let mut read = self.read.take_definitions(true);
        let mut other: BTreeSet<String> = BTreeSet::new();
        loop {
            let more: Vec<String> = read
                .iter()
                .filter(|(name, schema)| {
                    let differs = schemas.get(*name).is_some_and(|written| written != *schema);
                    !other.contains(*name) && (differs || refers_to(schema, &other))
                })
                .map(|(name, _)| name.clone())
                .collect();
            if more.is_empty() {
                break;
            }
            other.extend(more);
        }
        rename(bodies, &other);
        for (name, schema) in &mut read {
            rename(schema, &other);
            let name = if other.contains(name) {
                format!("{name}Input")
            } else {
                name.clone()
            };
            schemas.insert(name, schema.take());
        }
        schemas
    }
}

/// The name that a value refers to, if it is a reference.
fn referred(value: &Value) -> Option<&str> {
    let path = value.get("$ref")?.as_str()?.strip_prefix('#')?;
    path.strip_prefix(SCHEMAS)?.strip_prefix('/')
}

fn refers_to(value: &Value, names: &BTreeSet<String>) -> bool {
    referred(value).is_some_and(|name| names.contains(name))
        || match value {
            Value::Object(fields) => fields.values().any(|field| refers_to(field, names)),
            Value::Array(items) => items.iter().any(|item| refers_to(item, names)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
        }
}

fn rename(value: &mut Value, names: &BTreeSet<String>) {
    if let Some(name) = referred(value).filter(|name| names.contains(*name)) {
        value["$ref"] = json!(format!("#{SCHEMAS}/{name}Input"));
    }
    match value {
        Value::Object(fields) => fields.values_mut().for_each(|field| rename(field, names)),
        Value::Array(items) => items.iter_mut().for_each(|item| rename(item, names)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The OpenAPI 3.1 document of a table of routes.
pub fn document(table: &[Route]) -> Value {
    let mut paths = json!({});
    let mut schemas = Schemas::new();
    let problem = schemas
        .written
        .subschema_for::<error::Document<'_>>()
        .to_value();
    for route in table {
        paths[route.path][route.method.as_str().to_ascii_lowercase()] =
            operation(route, &mut schemas, &problem);
    }
    let schemas = schemas.merge(&mut paths);
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Leverframe",
            "version": env!("CARGO_PKG_VERSION"),
            "description": format!("Every answer carries the header `{PROTOCOL_HEADER}`."),
        },
        "security": [{ "bearer": [] }],
        "paths": paths,
        "components": {
            "securitySchemes": { "bearer": { "type": "http", "scheme": "bearer" } },
            "schemas": schemas,
        },
    })
}

fn operation(route: &Route, schemas: &mut Schemas, problem: &Value) -> Value {
    let mut parameters: Vec<Value> = path_names(route.path)
        .map(|name| {
            json!({ "name": name, "in": "path", "required": true, "schema": { "type": "string" } })
        })
        .collect();
    parameters.extend(route.form.get().query.iter().map(|one| {
        json!({
            "name": one.name,
            "in": "query",
            "required": one.required,
            "description": one.about,
            "schema": shape(&one.shape),
        })
    }));
    match route.needs {
        Needs::Engine => parameters.push(json!({
            "name": "Idempotency-Key",
            "in": "header",
            "required": false,
            "description": "makes a repeated request return the result of the first one",
            "schema": { "type": "string" },
        })),
        Needs::Nothing | Needs::Read | Needs::Credential => {}
    }
    let mut responses = Map::new();
    for success in &route.answers {
        responses.insert(
            success.status.as_str().to_owned(),
            response(*success, schemas),
        );
    }
    let refusal = match shape_at(route.path) {
        ErrorShape::Problem if route.path == MCP_PATH => json!({
            "description": "a problem, or an error of JSON-RPC",
            "content": {
                "application/problem+json": { "schema": problem },
                "application/json": { "schema": { "type": "object" } },
            },
        }),
        ErrorShape::Problem | ErrorShape::Both => json!({
            "description": "a problem",
            "content": { "application/problem+json": { "schema": problem } },
        }),
        ErrorShape::OpenAi => {
            let error = schemas.written.subschema_for::<ErrorDocument>();
            json!({
                "description": "an error of OpenAI's interface",
                "content": { "application/json": { "schema": error } },
            })
        }
    };
    responses.insert("default".to_owned(), refusal);
    let mut operation = json!({
        "operationId": operation_id(route),
        "summary": route.form.get().about,
        "parameters": parameters,
        "responses": responses,
    });
    match route.needs {
        Needs::Nothing => operation["security"] = json!([]),
        Needs::Read => operation["x-leverframe-scope"] = json!("read"),
        Needs::Credential | Needs::Engine => {}
    }
    match &route.form.get().body {
        Body::None => {}
        Body::Stream => {
            operation["requestBody"] = json!({
                "required": true,
                "content": { "application/octet-stream": { "schema": { "type": "string", "format": "binary" } } },
            });
        }
        Body::Object(object) => {
            operation["requestBody"] = json!({
                "required": !object.required.is_empty(),
                "content": { "application/json": { "schema": body(object, route.form.get(), schemas) } },
            });
        }
    }
    operation
}

/// The schema of a type, with no more fields than the route takes.
fn body(object: &Object, form: &Form, schemas: &mut Schemas) -> Value {
    let mut schema = value((object.schema)(&mut schemas.read));
    let Some(fields) = schema.as_object_mut() else {
        return schema;
    };
    if fields.contains_key("oneOf") {
        return schema;
    }
    if let Some(Value::Object(properties)) = fields.get_mut("properties") {
        properties.retain(|name, _| object.fields.contains(name));
        for (name, value) in &form.defaults {
            if let Some(property) = properties.get_mut(*name) {
                property["default"] = value.clone();
                property["type"] = json!([property["type"].take(), "null"]);
            }
        }
    }
    if object.fields.is_empty() {
        fields.remove("properties");
    }
    fields.remove("required");
    if !object.required.is_empty() {
        fields.insert("required".to_owned(), json!(object.required));
    }
    // Unless the type says that it takes others.
    fields.entry("additionalProperties").or_insert(json!(false));
    schema
}

fn response(success: Success, schemas: &mut Schemas) -> Value {
    match success.answer {
        AnswerShape::One(schema) => {
            let schema = value(schema(&mut schemas.written));
            json!({
                "description": referred(&schema).unwrap_or("JSON"),
                "content": { "application/json": { "schema": schema } },
            })
        }
        AnswerShape::Table(schema) => {
            let schema = value(schema(&mut schemas.written));
            json!({
                "description": referred(&schema).unwrap_or("JSON"),
                "content": {
                    "application/json": { "schema": schema },
                    "text/csv": { "schema": { "type": "string" } },
                },
            })
        }
        AnswerShape::Streamed(schema) => {
            let schema = value(schema(&mut schemas.written));
            json!({
                "description": referred(&schema).unwrap_or("JSON"),
                "content": {
                    "application/json": { "schema": schema },
                    "text/event-stream": { "schema": { "type": "string" } },
                },
            })
        }
        AnswerShape::Events => json!({
            "description": "Server-Sent Events: `id` = seq, `event` = kind, `data` = the event. Kinds under \
                `x-leverframe-ephemeral` carry no `id` and no `seq`; the engine does not store them or send them \
                again on resume: `/v1/snapshot` contains their result",
            "x-leverframe-kinds": KINDS,
            "x-leverframe-ephemeral": EPHEMERAL,
            "x-leverframe-event": schemas.written.subschema_for::<Event>(),
            "content": { "text/event-stream": { "schema": { "type": "string" } } },
        }),
        AnswerShape::Text => json!({
            "description": "plain text",
            "content": { "text/plain": { "schema": { "type": "string" } } },
        }),
        AnswerShape::Content(kinds) => {
            let content: Map<String, Value> = kinds
                .iter()
                .map(|kind| {
                    let schema = json!({ "type": "string", "format": "binary" });
                    ((*kind).to_owned(), json!({ "schema": schema }))
                })
                .collect();
            json!({ "description": "the content, with its media type", "content": content })
        }
    }
}

fn shape(shape: &Shape) -> Value {
    match shape {
        Shape::Text | Shape::Time | Shape::List | Shape::Json => json!({ "type": "string" }),
        Shape::Number(range) if *range.end() >= u32::MAX.into() => {
            json!({ "type": "integer", "minimum": range.start() })
        }
        Shape::Number(range) => {
            json!({ "type": "integer", "minimum": range.start(), "maximum": range.end() })
        }
        Shape::Flag => json!({ "type": "boolean" }),
        Shape::Words(words) => json!({ "type": "string", "enum": words }),
    }
}

/// For example `get_v1_sessions_id_transcript`.
fn operation_id(route: &Route) -> String {
    let mut id = route.method.as_str().to_ascii_lowercase();
    for part in route
        .path
        .split(['/', '.', '-'])
        .filter(|part| !part.is_empty())
    {
        id.push('_');
        id.push_str(part.trim_matches(['{', '}']));
    }
    id
}
