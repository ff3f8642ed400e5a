//! Canonical JSON and the digests that approvals and recovery are bound to.
//!
//! No digest here depends on the order of object keys, on whitespace, on the clock or on chance, and no
//! two different inputs share the bytes that are hashed: every field carries its length.

use std::fmt::Write as _;

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::protocol::hex::hex;
use crate::protocol::ids::ContinuationId;
use crate::tools::tool::{Plan, ToolSpec};

/// Layout of the hashed bytes of [`plan_digest`]; a changed layout gets a new word.
const PLAN_LAYOUT: &str = "leverframe plan 1";
/// The same for [`shape_digest`].
const SHAPE_LAYOUT: &str = "leverframe call shape 1";
/// The same for [`definition_digest`].
const DEFINITION_LAYOUT: &str = "leverframe tool definition 1";
/// The same for [`idempotency_key`].
const KEY_LAYOUT: &str = "leverframe idempotency key";

/// JSON with object keys sorted by their UTF-8 bytes and without whitespace.
pub fn canonical_json(value: &Value) -> String {
    let mut out = String::new();
    write_canonical(value, &mut out);
    out
}

fn write_canonical(value: &Value, out: &mut String) {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            // The scalar writer of serde_json: one spelling for each value.
            let _ = write!(out, "{value}");
        }
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_canonical(item, out);
            }
            out.push(']');
        }
        Value::Object(map) => {
            let mut entries: Vec<(&String, &Value)> = map.iter().collect();
            entries.sort_unstable_by(|left, right| left.0.cmp(right.0));
            out.push('{');
            for (index, (key, item)) in entries.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                let _ = write!(out, "{}:", Value::from(key.as_str()));
                write_canonical(item, out);
            }
            out.push('}');
        }
    }
}

/// Lower-case hex SHA-256 of bytes.
pub fn sha256_hex(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// Lower-case hex SHA-256 of the canonical arguments.
pub fn args_digest(args: &Value) -> String {
    sha256_hex(canonical_json(args).as_bytes())
}

/// Lower-case hex SHA-256 of a call's shape: the canonical arguments, and where they lead. What a permission for the
/// shape covers. It is that of the arguments alone where they lead nowhere.
pub fn shape_digest(args: &Value, plan: &Plan) -> String {
    let facts = &plan.facts;
    let mut names: Vec<&str> = plan
        .operands
        .iter()
        .map(|(name, _)| name.as_str())
        .collect();
    names.sort_unstable();
    let places = [&facts.cwd, &facts.executable, &facts.path];
    if places.iter().all(|place| place.is_none()) && names.is_empty() {
        return args_digest(args);
    }
    let mut fields = Fields::new(SHAPE_LAYOUT);
    fields.text(&canonical_json(args));
    for place in places {
        fields.optional(place.as_deref());
    }
    fields.count(names.len());
    for name in names {
        fields.text(name);
    }
    fields.finish()
}

/// Feeds a hash so that the boundaries between fields cannot move.
struct Fields(Sha256);

impl Fields {
    fn new(layout: &str) -> Self {
        let mut fields = Self(Sha256::new());
        fields.text(layout);
        fields
    }

    fn count(&mut self, count: usize) {
        self.number(count as u64);
    }

    fn number(&mut self, number: u64) {
        self.0.update(number.to_be_bytes());
    }

    fn text(&mut self, text: &str) {
        self.count(text.len());
        self.0.update(text.as_bytes());
    }

    /// `None` and an empty text differ.
    fn optional(&mut self, text: Option<&str>) {
        match text {
            None => self.count(0),
            Some(text) => {
                self.count(1);
                self.text(text);
            }
        }
    }

    fn pairs(&mut self, pairs: &[(String, String)]) {
        self.count(pairs.len());
        for (left, right) in pairs {
            self.text(left);
            self.text(right);
        }
    }

    fn finish(self) -> String {
        hex(&self.0.finalize())
    }
}

/// Lower-case hex SHA-256 of everything a tool declares about itself. Approvals are bound to it, so a
/// tool that changes between question and start is noticed.
pub fn definition_digest(spec: &ToolSpec) -> String {
    let mut fields = Fields::new(DEFINITION_LAYOUT);
    fields.text(&spec.name);
    fields.text(&spec.description);
    fields.text(&canonical_json(&spec.input_schema));
    fields.text(spec.access.as_str());
    fields.text(spec.effect.as_str());
    fields.number(u64::try_from(spec.max_duration.as_millis()).unwrap_or(u64::MAX));
    // Absent it adds nothing, so tools without keys keep the digest that older approvals are bound to.
    if let Some(lifetime) = spec.key_lifetime {
        fields.number(u64::try_from(lifetime.as_millis()).unwrap_or(u64::MAX));
    }
    if let Some(cacheable) = spec.cacheable {
        fields.text("cacheable");
        fields.number(u64::try_from(cacheable.ttl.as_millis()).unwrap_or(u64::MAX));
        fields.text(cacheable.depends_on.as_str());
    }
    fields.finish()
}

/// Lower-case hex SHA-256 of the full plan of a call: what an approval allows, and nothing else.
///
/// Fields, each with its length: tool, canonical arguments, working directory, executable, environment
/// pairs, sandbox word, operands with their digests, definition digest, policy version, the path that is led to.
pub fn plan_digest(
    tool: &str,
    args: &Value,
    plan: &Plan,
    definition_digest: &str,
    policy_version: u64,
) -> String {
    let mut fields = Fields::new(PLAN_LAYOUT);
    fields.text(tool);
    fields.text(&canonical_json(args));
    fields.optional(plan.facts.cwd.as_deref());
    fields.optional(plan.facts.executable.as_deref());
    fields.pairs(&plan.facts.env);
    fields.optional(plan.facts.sandbox.as_deref());
    fields.pairs(&plan.operands);
    fields.text(definition_digest);
    fields.number(policy_version);
    // Absent it adds nothing, so calls without a path keep the digest that older approvals are bound to.
    if let Some(path) = &plan.facts.path {
        fields.text(path);
    }
    fields.finish()
}

/// The idempotency key of a call: the first 24 hex digits of a SHA-256 over where the call stands in its
/// continuation and what it says. Derived by us, never by the model; the same after a restart.
pub fn idempotency_key(
    version: u32,
    continuation: ContinuationId,
    step: u32,
    index: u32,
    tool: &str,
    args_digest: &str,
) -> String {
    let mut fields = Fields::new(KEY_LAYOUT);
    fields.number(u64::from(version));
    fields.text(&continuation.to_string());
    fields.number(u64::from(step));
    fields.number(u64::from(index));
    fields.text(tool);
    fields.text(args_digest);
    let mut key = fields.finish();
    key.truncate(24);
    key
}

/// Lower-case hex SHA-256 over length-prefixed parts: for questions that no tool call is behind.
pub fn digest(parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part.as_bytes());
    }
    hex(&hash.finalize())
}
