//! Reading the JSON body of a request, alone or together with fields that its path and query fill.

use serde::de::value::StrDeserializer;
use serde::de::{DeserializeOwned, Deserializer, Error, IntoDeserializer as _, MapAccess, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::Value;

use crate::api::error::Refusal;
use crate::api::form::{Body, Form, Object, parameter};
use crate::protocol::problem::Problem;

/// Fields that a request has besides those of its body.
pub type Given = Vec<(String, Value)>;

/// Reads JSON strictly; the refusal names line, column and field.
pub fn read_json<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Refusal> {
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let value = serde_path_to_error::deserialize(&mut reader)
        .map_err(|error| body_problem(&error.path().to_string(), error.inner()))?;
    reader.end().map_err(|error| body_problem(".", &error))?;
    Ok(value)
}

/// Reads a request from what its path and query gave, and from its body.
pub fn read_request<T>(form: &Form, mut given: Given, bytes: &[u8]) -> Result<T, Refusal>
where
    T: DeserializeOwned,
{
    // One way for all requests: each further one costs a copy of its code for each of them.
    let nothing = Object {
        schema: |_| schemars::Schema::default(),
        fields: Vec::new(),
        required: Vec::new(),
        nested: None,
    };
    let (object, bytes, has_body) = match &form.body {
        Body::None | Body::Stream => (&nothing, &b"{}"[..], false),
        Body::Object(Object {
            nested: Some((name, read)),
            required,
            ..
        }) => {
            let value = read(bytes)?;
            if let Some(name) = required.iter().find(|name| value[*name].is_null()) {
                return Err(Problem::invalid(format!("missing field `{name}`")).into());
            }
            given.push(((*name).to_owned(), value));
            (&nothing, &b"{}"[..], false)
        }
        Body::Object(object) => (object, bytes, true),
    };
    let names = given.iter().map(|(name, _)| name.clone());
    let names: Vec<String> = names.filter(|name| !object.fields.contains(name)).collect();
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let whole = Whole {
        body: &mut reader,
        object,
        given,
    };
    let value = serde_path_to_error::deserialize(whole).map_err(|error| {
        let path = error.path().to_string();
        let is_given = |name: &String| path.split('.').next() == Some(name);
        if !has_body || names.iter().any(is_given) {
            given_problem(form, &path, error.inner())
        } else {
            body_problem(&path, error.inner())
        }
    })?;
    reader.end().map_err(|error| body_problem(".", &error))?;
    Ok(value)
}

fn body_problem(path: &str, error: &serde_json::Error) -> Refusal {
    // `.` is the whole body, `?` a place whose name was not taken.
    let what = if [".", "?"].contains(&path) {
        format!("request body: {error}")
    } else {
        format!("request body, field `{path}`: {error}")
    };
    let hint = match error.classify() {
        serde_json::error::Category::Data => "`/openapi.json` lists the fields of each route",
        serde_json::error::Category::Io
        | serde_json::error::Category::Syntax
        | serde_json::error::Category::Eof => "send one JSON object",
    };
    Problem::invalid(what).hint(hint).into()
}

/// A refused value of the path or the query, which has no line and no column.
fn given_problem(form: &Form, path: &str, error: &serde_json::Error) -> Refusal {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    let text = text.strip_suffix(&place).unwrap_or(&text);
    match form.query.iter().find(|one| one.field.join(".") == path) {
        Some(one) => parameter(&one.name, &text),
        None => Problem::invalid(text).into(),
    }
}

/// An object that has the fields of a body, and those that are given.
struct Whole<'a, D> {
    body: D,
    object: &'a Object,
    given: Given,
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Whole<'_, D> {
    type Error = D::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.body.deserialize_map(Joint {
            visitor,
            object: self.object,
            given: self.given,
        })
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

struct Joint<'a, V> {
    visitor: V,
    object: &'a Object,
    given: Given,
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Joint<'_, V> {
    type Value = V::Value;

    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, body: A) -> Result<V::Value, A::Error> {
        self.visitor.visit_map(Fields {
            body,
            object: self.object,
            given: self.given,
            missing: self.object.required.iter().collect(),
            value: None,
        })
    }
}

/// First the fields of the body, then those that are given and that the body did not have.
struct Fields<'a, A> {
    body: A,
    object: &'a Object,
    given: Given,
    missing: Vec<&'a String>,
    value: Option<Value>,
}

impl<'de, A: MapAccess<'de>> Fields<'_, A> {
    fn next_name(&mut self) -> Result<Option<String>, A::Error> {
        while let Some(name) = self.body.next_key::<String>()? {
            if !self.object.fields.contains(&name) {
                return Err(unknown(&name, &self.object.fields));
            }
            self.missing.retain(|missing| **missing != name);
            let Some(default) = self.given.iter().position(|(given, _)| *given == name) else {
                return Ok(Some(name));
            };
            let value = self.body.next_value::<Value>()?;
            if !value.is_null() {
                self.given.swap_remove(default);
                self.value = Some(value);
                return Ok(Some(name));
            }
        }
        if let Some(name) = self.missing.first() {
            return Err(A::Error::custom(format!("missing field `{name}`")));
        }
        Ok(self.given.pop().map(|(name, value)| {
            self.value = Some(value);
            name
        }))
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Fields<'_, A> {
    type Error = A::Error;

    fn next_key_seed<K>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error>
    where
        K: serde::de::DeserializeSeed<'de>,
    {
        let Some(name) = self.next_name()? else {
            return Ok(None);
        };
        let name: StrDeserializer<'_, A::Error> = name.as_str().into_deserializer();
        seed.deserialize(name).map(Some)
    }

    fn next_value_seed<V>(&mut self, seed: V) -> Result<V::Value, A::Error>
    where
        V: serde::de::DeserializeSeed<'de>,
    {
        match self.value.take() {
            Some(value) => seed.deserialize(value).map_err(A::Error::custom),
            None => self.body.next_value_seed(seed),
        }
    }
}

fn unknown<E: Error>(name: &str, fields: &[String]) -> E {
    let allowed = match fields {
        [] => "there are no fields".to_owned(),
        [..] => format!("expected one of `{}`", fields.join("`, `")),
    };
    E::custom(format!("unknown field `{name}`, {allowed}"))
}
