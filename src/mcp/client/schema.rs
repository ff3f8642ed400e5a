//! Whether a JSON Schema of a server can be used at all. Pure.
//!
//! No reference of a schema is ever fetched, and no schema gets through whose references go in a circle or multiply
//! beyond measure.

use std::collections::HashMap;

use serde_json::Value;

/// Most bytes of a schema.
const MAX_BYTES: usize = 64 * 1024;
/// Deepest nesting.
const MAX_DEPTH: usize = 32;
/// Most nodes of a schema with its references in place.
const MAX_NODES: usize = 20_000;

/// Why a schema cannot be used; `what` is how it is called.
pub fn check(what: &str, schema: &Value) -> Result<(), String> {
    let bytes = schema.to_string().len();
    if bytes > MAX_BYTES {
        return Err(format!(
            "{what} has {bytes} bytes, and {MAX_BYTES} are the most"
        ));
    }
    if depth(schema) > MAX_DEPTH {
        return Err(format!("{what} nests deeper than {MAX_DEPTH}"));
    }
    let mut references = References {
        root: schema,
        open: Vec::new(),
        sizes: HashMap::new(),
    };
    references
        .size(schema)
        .map_err(|why| format!("{what} {why}"))?;
    jsonschema::validator_for(schema)
        .map(|_| ())
        .map_err(|error| format!("{what} is no JSON Schema: {}", error.masked()))
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(map) => 1 + map.values().map(depth).max().unwrap_or(0),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

/// What the references of a schema lead to.
struct References<'a> {
    root: &'a Value,
    /// Those that are being followed.
    open: Vec<&'a str>,
    /// Nodes behind those that were followed.
    sizes: HashMap<&'a str, usize>,
}

impl<'a> References<'a> {
    /// Nodes of a part, with its references in place.
    fn size(&mut self, part: &'a Value) -> Result<usize, String> {
        let mut nodes: usize = 1;
        match part {
            Value::Array(items) => {
                for item in items {
                    nodes = nodes.saturating_add(self.size(item)?);
                }
            }
            Value::Object(map) => {
                for (key, item) in map {
                    let more = match (key.as_str(), item) {
                        ("$ref" | "$dynamicRef" | "$recursiveRef", Value::String(target)) => {
                            self.behind(target)?
                        }
                        _ => self.size(item)?,
                    };
                    nodes = nodes.saturating_add(more);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
        if nodes > MAX_NODES {
            return Err("is too large with its references in place".to_owned());
        }
        Ok(nodes)
    }

    fn behind(&mut self, target: &'a str) -> Result<usize, String> {
        let shown: String = target.chars().take(80).collect();
        let Some(pointer) = target.strip_prefix('#') else {
            return Err(format!("refers to `{shown}`, and nothing is fetched"));
        };
        if self.open.contains(&target) {
            return Err(format!("refers to itself by `{shown}`"));
        }
        if let Some(size) = self.sizes.get(target) {
            return Ok(*size);
        }
        let Some(part) = self.root.pointer(pointer) else {
            return Err(format!("refers to `{shown}`, which is not in it"));
        };
        self.open.push(target);
        let size = self.size(part)?;
        self.open.pop();
        self.sizes.insert(target, size);
        Ok(size)
    }
}
