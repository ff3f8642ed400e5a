//! The page of the HTTP interface, from the OpenAPI document.

use std::collections::BTreeMap;

use leverframe::api::{openapi, router};
use serde_json::Value;

use crate::documentation::markdown::{Page, code, codes, prose};

/// What stands before the generated part.
const INTRODUCTION: &str = "\
This page is made from the document that the daemon serves at `/openapi.json`.
[The HTTP interface](../guide/http.md) has examples.

An operation with the scope `read` needs a token with that scope.
An operation with the scope *by the engine* becomes a command, and the engine decides about the command.
Such an operation takes the header `Idempotency-Key`. A repeated request then returns the first result.
An error is `application/problem+json`.";

/// The whole page.
pub fn page() -> String {
    let document = openapi::document(router::table());
    let mut groups: BTreeMap<&str, Vec<(String, &Value)>> = BTreeMap::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        let mut parts = path.split('/').filter(|part| !part.is_empty());
        let first = parts.next().unwrap();
        let group = if first == "v1" {
            parts.next().unwrap()
        } else {
            "without a version"
        };
        for (method, operation) in methods.as_object().unwrap() {
            let name = format!("{} {path}", method.to_uppercase());
            groups.entry(group).or_default().push((name, operation));
        }
    }
    let mut page = Page::new("HTTP");
    page.paragraph(INTRODUCTION);
    for (group, operations) in groups {
        page.heading(2, group);
        for (name, operation) in operations {
            page.heading(3, &code(&name));
            describe(operation, &mut page);
        }
    }
    page.heading(2, "Problem");
    page.paragraph("The body of every refusal.");
    let problem = &document["components"]["schemas"]["Problem"];
    page.table(["field", "type", "needed", "meaning"], &fields(problem));
    page.finish()
}

fn describe(operation: &Value, page: &mut Page) {
    let scope = if operation["security"].is_array() {
        "no credential"
    } else if operation["x-leverframe-scope"].is_string() {
        "`read`"
    } else {
        "by the engine"
    };
    page.paragraph(&format!(
        "{}.\n\nScope: {scope}. Answers: {}.",
        prose(text(&operation["summary"])),
        answers(&operation["responses"])
    ));
    let parameters: Vec<[String; 4]> = operation["parameters"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|parameter| parameter["in"] != "header")
        .map(|parameter| {
            [
                code(text(&parameter["name"])),
                format!(
                    "{}, {}",
                    text(&parameter["in"]),
                    shape(&parameter["schema"])
                ),
                needed(parameter["required"] == true),
                prose(text(&parameter["description"])),
            ]
        })
        .collect();
    page.table(
        ["parameter", "where, type", "needed", "meaning"],
        &parameters,
    );
    let body = &operation["requestBody"]["content"]["application/json"]["schema"];
    page.table(["body field", "type", "needed", "meaning"], &fields(body));
}

/// `200 Session`, `200 a page of Session`.
fn answers(responses: &Value) -> String {
    let good: Vec<String> = responses
        .as_object()
        .unwrap()
        .iter()
        .filter(|(status, _)| *status != "default")
        .map(|(status, response)| {
            let what = text(&response["description"]);
            let what = what.split(": ").next().unwrap_or(what);
            format!("{status} {what}")
        })
        .collect();
    good.join(", ")
}

fn fields(schema: &Value) -> Vec<[String; 4]> {
    let Some(properties) = schema["properties"].as_object() else {
        return Vec::new();
    };
    let required = schema["required"].as_array();
    properties
        .iter()
        .map(|(name, field)| {
            let must = required.is_some_and(|names| names.iter().any(|n| n == name.as_str()));
            [
                code(name),
                shape(field),
                needed(must),
                prose(text(&field["description"])),
            ]
        })
        .collect()
}

fn needed(must: bool) -> String {
    if must { "yes" } else { "" }.to_owned()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn shape(schema: &Value) -> String {
    if let Some(path) = schema["$ref"].as_str() {
        return code(path.rsplit('/').next().unwrap_or(path));
    }
    if let Some(choices) = schema["anyOf"].as_array() {
        let choices: Vec<String> = choices
            .iter()
            .filter(|choice| choice["type"] != "null")
            .map(shape)
            .collect();
        return choices.join(" or ");
    }
    if let Some(words) = schema["enum"].as_array() {
        return codes(words.iter().filter_map(Value::as_str));
    }
    match &schema["type"] {
        Value::String(name) if name == "array" && schema["items"].is_object() => {
            format!("list of {}", shape(&schema["items"]))
        }
        Value::String(name) => name.clone(),
        Value::Array(names) => {
            let names: Vec<&str> = names
                .iter()
                .filter_map(Value::as_str)
                .filter(|name| *name != "null")
                .collect();
            names.join(" or ")
        }
        _ => "any".to_owned(),
    }
}
