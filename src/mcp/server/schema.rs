//! The schemas of the session tools, from the table of requests: what a tool takes is what its request takes, without
//! the fields that the surface sets itself.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

/// A schema with everything in place: hosts do not follow references.
fn of<T: JsonSchema>() -> Map<String, Value> {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let schema = settings.into_generator().into_root_schema_for::<T>();
    let mut schema = schema.to_value();
    without_number_formats(&mut schema);
    match schema {
        Value::Object(mut object) => {
            object.remove("title");
            object.remove("description");
            object
        }
        _ => Map::new(),
    }
}

/// Formats of numbers are no formats of JSON Schema: hosts warn of them.
fn without_number_formats(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            let is_number = |format: &Value| {
                matches!(
                    format.as_str(),
                    Some("uint32" | "uint64" | "int64" | "double")
                )
            };
            if object.get("format").is_some_and(is_number) {
                object.remove("format");
            }
            object.values_mut().for_each(without_number_formats);
        }
        Value::Array(items) => items.iter_mut().for_each(without_number_formats),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// What a tool answers.
pub fn output<T: JsonSchema>() -> Map<String, Value> {
    of::<T>()
}

/// What a tool takes: the fields of a request, renamed and without some, and those of `More`. Nothing else is taken.
pub fn input<R: JsonSchema, More: JsonSchema>(
    without: &[&str],
    renamed: Option<(&str, &str)>,
) -> Map<String, Value> {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for mut schema in [of::<R>(), of::<More>()] {
        if let Some(Value::Object(fields)) = schema.remove("properties") {
            properties.extend(fields);
        }
        if let Some(Value::Array(names)) = schema.remove("required") {
            required.extend(names);
        }
    }
    for name in without {
        properties.remove(*name);
        required.retain(|field| field != name);
    }
    if let Some((from, to)) = renamed
        && let Some(field) = properties.remove(from)
    {
        properties.insert(to.to_owned(), field);
        for name in &mut required {
            if name == from {
                *name = Value::from(to);
            }
        }
    }
    let mut schema = Map::new();
    schema.insert("type".to_owned(), json!("object"));
    schema.insert("properties".to_owned(), Value::Object(properties));
    schema.insert("required".to_owned(), Value::Array(required));
    schema.insert("additionalProperties".to_owned(), json!(false));
    schema
}
