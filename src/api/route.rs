//! What a route is: the data that the router is built from and that `/openapi.json` shows.

use std::sync::Arc;

use axum::response::Response;
use axum::routing::MethodFilter;
use futures_util::future::BoxFuture;
use schemars::{JsonSchema, Schema, SchemaGenerator};

use crate::api::error::Refusal;
use crate::api::request::Call;
use crate::api::state::Api;
use crate::protocol::snapshot::Page;

/// HTTP method of a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Reads.
    Get,
    /// Does something.
    Post,
    /// Changes fields.
    Patch,
    /// Ends something.
    Delete,
    /// Says how something is.
    Put,
}

impl Method {
    /// As it stands in a request line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
            Self::Put => "PUT",
        }
    }

    /// For axum.
    pub fn filter(self) -> MethodFilter {
        match self {
            Self::Get => MethodFilter::GET,
            Self::Post => MethodFilter::POST,
            Self::Patch => MethodFilter::PATCH,
            Self::Delete => MethodFilter::DELETE,
            Self::Put => MethodFilter::PUT,
        }
    }
}

/// The shape of a parameter or field.
#[derive(Debug, Clone, Copy)]
pub enum Shape {
    /// Text.
    Text,
    /// A whole number.
    Number,
    /// true or false.
    Flag,
    /// One of a closed vocabulary.
    Words(fn() -> Vec<&'static str>),
}

/// Whether something has to be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// It has to.
    Required,
    /// It may be left out.
    Optional,
}

/// A query parameter or a field of a body.
#[derive(Debug, Clone, Copy)]
pub struct Field {
    /// Name.
    pub name: &'static str,
    /// Shape.
    pub shape: Shape,
    /// Whether it has to be there.
    pub presence: Presence,
    /// What it means.
    pub about: &'static str,
}

/// An optional field.
pub const fn optional(name: &'static str, shape: Shape, about: &'static str) -> Field {
    Field {
        name,
        shape,
        presence: Presence::Optional,
        about,
    }
}

/// A required field.
pub const fn required(name: &'static str, shape: Shape, about: &'static str) -> Field {
    Field {
        name,
        shape,
        presence: Presence::Required,
        about,
    }
}

/// How the schema of a type gets into a document.
pub type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

/// The body of a request.
#[derive(Debug, Clone, Copy)]
pub enum Body {
    /// The route takes none.
    None,
    /// A JSON object of a type that refuses fields that it does not know; may be left out when nothing is required.
    Object {
        /// Of the type.
        schema: SchemaOf,
        /// Fields that this route needs and the type does not.
        required: &'static [&'static str],
    },
}

/// A body of this type.
pub fn body<T: JsonSchema>() -> Body {
    body_with::<T>(&[])
}

/// A body of this type in which more fields have to be there than the type says.
pub fn body_with<T: JsonSchema>(required: &'static [&'static str]) -> Body {
    Body::Object {
        schema: T::json_schema,
        required,
    }
}

/// Who may call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    /// Anybody who can connect.
    Nothing,
    /// The scope `read`.
    Read,
    /// The engine judges the command it becomes.
    Engine,
}

/// A successful answer.
#[derive(Debug, Clone, Copy)]
pub struct Success {
    /// HTTP status.
    pub status: u16,
    /// What the body is.
    pub answer: AnswerShape,
}

/// What an answer's body is.
#[derive(Debug, Clone, Copy)]
pub enum AnswerShape {
    /// JSON of one type.
    One(SchemaOf),
    /// An event stream.
    Events,
    /// Content of any type, as it is stored.
    Content,
}

/// What a handler returns.
pub type Answered = BoxFuture<'static, Result<Response, Refusal>>;

/// One route.
#[derive(Clone)]
pub struct Route {
    /// Method.
    pub method: Method,
    /// Path in axum's notation, which is OpenAPI's too.
    pub path: &'static str,
    /// One line.
    pub about: &'static str,
    /// Query parameters; others are refused.
    pub query: Vec<Field>,
    /// Body.
    pub body: Body,
    /// Who may call.
    pub needs: Needs,
    /// Good answers.
    pub answers: Vec<Success>,
    /// What it does.
    pub handler: fn(Arc<Api>, Call) -> Answered,
}

/// A status with JSON of this type.
pub fn success<T: JsonSchema>(status: u16) -> Success {
    Success {
        status,
        answer: AnswerShape::One(|generator| generator.subschema_for::<T>()),
    }
}

/// 200 with JSON of this type.
pub fn ok<T: JsonSchema>() -> Success {
    success::<T>(200)
}

/// 200 with a page of this type.
pub fn page<T: JsonSchema>() -> Success {
    ok::<Page<T>>()
}

/// A reading route without body.
pub fn get(
    path: &'static str,
    about: &'static str,
    query: &[Field],
    answers: &[Success],
    handler: fn(Arc<Api>, Call) -> Answered,
) -> Route {
    Route {
        method: Method::Get,
        path,
        about,
        query: query.to_vec(),
        body: Body::None,
        needs: Needs::Read,
        answers: answers.to_vec(),
        handler,
    }
}

/// A route that becomes a command.
pub fn command(
    method: Method,
    path: &'static str,
    about: &'static str,
    body: Body,
    answers: &[Success],
    handler: fn(Arc<Api>, Call) -> Answered,
) -> Route {
    Route {
        method,
        path,
        about,
        query: Vec::new(),
        body,
        needs: Needs::Engine,
        answers: answers.to_vec(),
        handler,
    }
}

/// Defines a function that names every word of a vocabulary, for [`Shape::Words`].
#[macro_export]
macro_rules! words_of {
    ($name:ident, $type:ty) => {
        fn $name() -> Vec<&'static str> {
            <$type>::ALL.iter().map(|word| word.as_str()).collect()
        }
    };
}
