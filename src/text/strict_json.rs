//! JSON that has one reading. What two programs may read differently is refused: a name twice in one object, and nesting
//! that a reader may give up on.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// Levels of arrays and objects inside each other.
pub const MAX_DEPTH: usize = 64;

/// Reads a value. The error says what is wrong, and the line and column where the reader saw it.
pub fn read(bytes: &[u8]) -> Result<Value, String> {
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let read = Level(0).deserialize(&mut reader);
    let whole = read.and_then(|value| reader.end().map(|()| value));
    whole.map_err(|error| error.to_string())
}

/// Whether a value has no more than [`MAX_DEPTH`] levels.
pub fn is_shallow(value: &Value) -> bool {
    let mut level = vec![value];
    for _ in 0..=MAX_DEPTH {
        let mut below = Vec::new();
        for value in level {
            match value {
                Value::Array(items) => below.extend(items),
                Value::Object(map) => below.extend(map.values()),
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
            }
        }
        if below.is_empty() {
            return true;
        }
        level = below;
    }
    false
}

/// A value so many levels deep.
#[derive(Clone, Copy)]
struct Level(usize);

impl Level {
    fn below<E: Error>(self) -> Result<Self, E> {
        if self.0 == MAX_DEPTH {
            return Err(E::custom(format_args!(
                "more than {MAX_DEPTH} arrays and objects inside each other"
            )));
        }
        Ok(Self(self.0 + 1))
    }
}

impl<'de> DeserializeSeed<'de> for Level {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Value, D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Level {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_string<E: Error>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let below = self.below()?;
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(below)? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let below = self.below()?;
        let mut map = Map::new();
        while let Some(name) = fields.next_key::<String>()? {
            if map.contains_key(&name) {
                let shown: String = name.chars().take(64).collect();
                return Err(A::Error::custom(format_args!(
                    "the name {shown:?} stands twice in one object"
                )));
            }
            map.insert(name, fields.next_value_seed(below)?);
        }
        Ok(Value::Object(map))
    }
}
