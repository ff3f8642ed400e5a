//! The schemas of the OpenAPI document: each described, each reference leads somewhere, and what a daemon answers is
//! what they say.

use std::collections::BTreeSet;

use leverframe::api::{openapi, router};
use serde_json::{Value, json};

use crate::support::daemon::Home;

fn document() -> Value {
    openapi::document(router::table())
}

/// Every object in a value, with where it is.
fn walk(value: &Value, at: &str, visit: &mut dyn FnMut(&str, &Value)) {
    visit(at, value);
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                walk(field, &format!("{at}/{name}"), visit);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                walk(item, &format!("{at}/{index}"), visit);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn every_reference_leads_to_a_schema_and_every_schema_is_used() {
    let document = document();
    let schemas = document["components"]["schemas"].as_object().unwrap();
    let mut used = BTreeSet::new();
    walk(&document, "", &mut |at, value| {
        if let Some(path) = value.get("$ref").and_then(Value::as_str) {
            let name = path
                .strip_prefix("#/components/schemas/")
                .unwrap_or_else(|| panic!("{at}: {path}"));
            assert!(
                schemas.contains_key(name),
                "{at}: there is no schema {name}"
            );
            used.insert(name.to_owned());
        }
    });
    let unused: Vec<_> = schemas
        .keys()
        .filter(|name| !used.contains(*name))
        .collect();
    assert!(unused.is_empty(), "{unused:?}");
    assert!(schemas.len() > 150, "{}", schemas.len());
}

#[test]
fn every_schema_and_every_field_says_what_it_means() {
    let document = document();
    let schemas = document["components"]["schemas"].as_object().unwrap();
    for (name, schema) in schemas {
        assert!(schema["description"].is_string(), "{name}: {schema:#}");
        assert_ne!(
            *schema,
            json!({ "type": "object" }),
            "{name} says nothing of its fields"
        );
        for (field, about) in schema["properties"].as_object().into_iter().flatten() {
            let described = about["description"].is_string() || about["$ref"].is_string();
            assert!(described, "{name}.{field}: {about:#}");
        }
    }
    for (path, operations) in document["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            let schema = &operation["requestBody"]["content"]["application/json"]["schema"];
            for (field, about) in schema["properties"].as_object().into_iter().flatten() {
                let described = about["description"].is_string() || about["$ref"].is_string();
                assert!(described, "{method} {path}, {field}: {about:#}");
            }
        }
    }
}

/// Why an answer is not what the document says of the route; nothing where it is.
fn problems(document: &Value, route: &str, answer: &Value) -> Vec<String> {
    let schema = &document["paths"][route]["get"]["responses"]["200"]["content"]["application/json"]
        ["schema"];
    assert!(schema.is_object(), "{route} has no schema");
    let whole = json!({ "allOf": [schema], "components": document["components"] });
    let validator =
        jsonschema::validator_for(&whole).unwrap_or_else(|error| panic!("{route}: {error}"));
    validator
        .iter_errors(answer)
        .map(|error| format!("{route}{}: {error}", error.instance_path()))
        .collect()
}

#[tokio::test]
async fn what_a_daemon_answers_is_what_the_document_says() {
    let home = Home::new("");
    let daemon = home.daemon();
    let session = daemon.session().await;
    let done = daemon.send(&session, "SAY:hello").await;
    daemon.wait_state(&done, "completed").await;
    let document = daemon.get("/openapi.json").await;
    let mut tried = 0;
    for (route, operations) in document["paths"].as_object().unwrap() {
        let get = &operations["get"];
        if !get["responses"]["200"]["content"]["application/json"].is_object()
            || route == "/openapi.json"
        {
            continue;
        }
        let needs_more = get["parameters"]
            .as_array()
            .unwrap()
            .iter()
            .any(|parameter| parameter["required"] == true && parameter["in"] == "query");
        let path = match route.as_str() {
            // Nothing was compacted; and the other needs a whole rule.
            "/v1/sessions/{id}/summary" | "/v1/rules/matches" => continue,
            path if path.starts_with("/v1/sessions/{id}") => path.replace("{id}", &session),
            path if path.starts_with("/v1/continuations/{id}") => path.replace("{id}", &done),
            path if path.contains('{') || needs_more => continue,
            path => path.to_owned(),
        };
        let answer = daemon.get(&path).await;
        assert!(answer["status"].as_u64().is_none(), "{path}: {answer:#}");
        let problems = problems(&document, route, &answer);
        assert!(problems.is_empty(), "{problems:#?}\n{answer:#}");
        tried += 1;
    }
    assert!(tried >= 20, "only {tried} routes were tried");
    // A document that says something else is noticed.
    let mut other = document;
    other["components"]["schemas"]["Session"]["required"] = json!(["no such field"]);
    let answer = daemon.get("/v1/sessions").await;
    assert!(!problems(&other, "/v1/sessions", &answer).is_empty());
}
