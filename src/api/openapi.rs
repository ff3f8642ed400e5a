//! `/openapi.json`, written from the same table the router is built from, so the two cannot disagree.

use axum::http::StatusCode;
use serde_json::{Map, Value, json};

use crate::api::events::{EPHEMERAL, KINDS};
use crate::api::route::{
    AnswerShape, Body, Field, Needs, Presence, Route, Shape, Success, get, ok,
};
use crate::api::{error, router};
use crate::client::remote::wire::PROTOCOL_HEADER;

/// The routes of this module.
pub fn routes() -> Vec<Route> {
    vec![Route {
        needs: Needs::Nothing,
        ..get(
            "/openapi.json",
            "This document; needs no credential",
            &[],
            &[ok("OpenApi")],
            |_api, _call| {
                Box::pin(async { error::json(StatusCode::OK, &document(&router::table())) })
            },
        )
    }]
}

/// The OpenAPI 3.1 document of a table of routes.
pub fn document(table: &[Route]) -> Value {
    let mut paths = Map::new();
    let mut schemas = Map::new();
    for route in table {
        let path = paths
            .entry(route.path.to_owned())
            .or_insert_with(|| json!({}));
        path[route.method.as_str().to_ascii_lowercase()] = operation(route, &mut schemas);
    }
    schemas.insert("Problem".to_owned(), problem_schema());
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

fn operation(route: &Route, schemas: &mut Map<String, Value>) -> Value {
    let mut parameters: Vec<Value> = path_names(route.path)
        .map(|name| {
            json!({ "name": name, "in": "path", "required": true, "schema": { "type": "string" } })
        })
        .collect();
    parameters.extend(route.query.iter().map(|field| {
        json!({
            "name": field.name,
            "in": "query",
            "required": field.presence == Presence::Required,
            "description": field.about,
            "schema": shape(field.shape),
        })
    }));
    match route.needs {
        Needs::Engine => parameters.push(json!({
            "name": "Idempotency-Key",
            "in": "header",
            "required": false,
            "description": "makes a repeated request return the first one's result",
            "schema": { "type": "string" },
        })),
        Needs::Nothing | Needs::Read => {}
    }
    let mut responses = Map::new();
    for success in &route.answers {
        responses.insert(success.status.to_string(), response(*success, schemas));
    }
    responses.insert(
        "default".to_owned(),
        json!({
            "description": "a problem",
            "content": { "application/problem+json": { "schema": reference("Problem") } },
        }),
    );
    let mut operation = json!({
        "operationId": operation_id(route),
        "summary": route.about,
        "parameters": parameters,
        "responses": responses,
    });
    match route.needs {
        Needs::Nothing => operation["security"] = json!([]),
        Needs::Read => operation["x-leverframe-scope"] = json!("read"),
        Needs::Engine => {}
    }
    match &route.body {
        Body::None => {}
        Body::Fields(fields) => {
            operation["requestBody"] = json!({
                "required": fields.iter().any(|field| field.presence == Presence::Required),
                "content": { "application/json": { "schema": object(route, fields) } },
            });
        }
    }
    operation
}

/// The only body that takes more fields than it lists is the serialised query, whose fields are its own.
fn object(route: &Route, fields: &[Field]) -> Value {
    let properties: Map<String, Value> = fields
        .iter()
        .map(|field| {
            let mut schema = shape(field.shape);
            schema["description"] = json!(field.about);
            (field.name.to_owned(), schema)
        })
        .collect();
    let required: Vec<&str> = fields
        .iter()
        .filter(|field| field.presence == Presence::Required)
        .map(|field| field.name)
        .collect();
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": route.path == "/v1/query",
    })
}

fn response(success: Success, schemas: &mut Map<String, Value>) -> Value {
    let mut name_it = |name: &str| {
        schemas
            .entry(name.to_owned())
            .or_insert_with(|| json!({ "type": "object" }));
        reference(name)
    };
    match success.answer {
        AnswerShape::One(name) => json!({
            "description": name,
            "content": { "application/json": { "schema": name_it(name) } },
        }),
        AnswerShape::Page(name) => json!({
            "description": format!("a page of {name}"),
            "content": { "application/json": { "schema": {
                "type": "object",
                "required": ["items", "next_cursor"],
                "properties": {
                    "items": { "type": "array", "items": name_it(name) },
                    "next_cursor": { "type": ["string", "null"] },
                },
            } } },
        }),
        AnswerShape::Events => json!({
            "description": "Server-Sent Events: `id` = seq, `event` = kind, `data` = the event. Kinds under \
                `x-leverframe-ephemeral` carry no `id` and no `seq`, are not kept, and are not sent again on resume: \
                `/v1/snapshot` has what they added up to",
            "x-leverframe-kinds": KINDS,
            "x-leverframe-ephemeral": EPHEMERAL,
            "content": { "text/event-stream": { "schema": { "type": "string" } } },
        }),
        AnswerShape::Content => json!({
            "description": "the content, with its media type",
            "content": { "*/*": { "schema": { "type": "string", "format": "binary" } } },
        }),
    }
}

fn problem_schema() -> Value {
    json!({
        "type": "object",
        "required": ["type", "title", "status", "detail", "kind"],
        "properties": {
            "type": { "type": "string" },
            "title": { "type": "string" },
            "status": { "type": "integer" },
            "detail": { "type": "string" },
            "hint": { "type": ["string", "null"] },
            "kind": { "type": "string" },
            "winner": { "type": "object", "description": "the decision that came first" },
        },
    })
}

fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}

fn shape(shape: Shape) -> Value {
    match shape {
        Shape::Text => json!({ "type": "string" }),
        Shape::Number => json!({ "type": "integer", "minimum": 0 }),
        Shape::Flag => json!({ "type": "boolean" }),
        Shape::Words(words) => json!({ "type": "string", "enum": words() }),
        Shape::Texts => json!({ "type": "array", "items": { "type": "string" } }),
        Shape::List => json!({ "type": "array" }),
        Shape::Object => json!({ "type": "object" }),
        Shape::Any => json!({}),
    }
}

/// `{name}` parts of a path.
fn path_names(path: &str) -> impl Iterator<Item = &str> {
    path.split('/')
        .filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
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
