//! Attributes of spans, log records and the service.

use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, ArrayValue, KeyValue};

/// Longest name that is sent, in bytes.
const LONGEST_NAME: usize = 128;
/// What stands in place of a name that says more than a name.
const OTHER: &str = "other";

/// A text.
pub fn text(key: &str, value: impl Into<String>) -> KeyValue {
    attribute(key, any_text(value))
}

/// A number.
pub fn number(key: &str, value: u64) -> KeyValue {
    let value = i64::try_from(value).unwrap_or(i64::MAX);
    attribute(key, any(Value::IntValue(value)))
}

/// A number with a fraction.
pub fn decimal(key: &str, value: f64) -> KeyValue {
    attribute(key, any(Value::DoubleValue(value)))
}

/// A truth value.
pub fn flag(key: &str, value: bool) -> KeyValue {
    attribute(key, any(Value::BoolValue(value)))
}

/// A list with one text.
pub fn list_of_one(key: &str, value: &str) -> KeyValue {
    let values = vec![any_text(value)];
    attribute(key, any(Value::ArrayValue(ArrayValue { values })))
}

/// A text as it stands in a record.
pub fn any_text(value: impl Into<String>) -> AnyValue {
    any(Value::StringValue(value.into()))
}

fn any(value: Value) -> AnyValue {
    AnyValue { value: Some(value) }
}

fn attribute(key: &str, value: AnyValue) -> KeyValue {
    KeyValue {
        key: key.to_owned(),
        value: Some(value),
        ..KeyValue::default()
    }
}

/// A name that a model or a provider chose: it stays where it looks like a name, and holds no text otherwise.
pub fn name(given: &str) -> &str {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./:@".contains(&byte);
    if !given.is_empty() && given.len() <= LONGEST_NAME && given.bytes().all(plain) {
        given
    } else {
        OTHER
    }
}
