//! What a route is: the data that the router is built from and that `/openapi.json` shows. Nothing here computes the schema
//! of a type before somebody calls the route or reads the document.

use std::sync::Arc;

use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::MethodFilter;
use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::api::body::read_json;
use crate::api::error::{Refusal, json};
use crate::api::form::{Body, Form, LazyForm, Object, Parameter, SchemaOf, about};
use crate::api::request::{Call, Removed};
use crate::api::state::Api;
use crate::protocol::problem::Problem;
use crate::protocol::request::{Answer, Command, Outcome, Query, Request};

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

/// Who may call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    /// Anybody who can connect.
    Nothing,
    /// The scope `read`.
    Read,
    /// Any credential; the route says what it shows to whom.
    Credential,
    /// The engine judges the command it becomes.
    Engine,
}

/// A successful answer.
#[derive(Debug, Clone, Copy)]
pub struct Success {
    /// HTTP status.
    pub status: StatusCode,
    /// What the body is.
    pub answer: AnswerShape,
}

/// What an answer's body is.
#[derive(Debug, Clone, Copy)]
pub enum AnswerShape {
    /// JSON of one type.
    One(SchemaOf),
    /// JSON of one type, or CSV where that is asked for.
    Table(SchemaOf),
    /// JSON of one type, or an event stream where the request asks for that.
    Streamed(SchemaOf),
    /// An event stream.
    Events,
    /// Content of one of these media types.
    Content(&'static [&'static str]),
    /// Plain text.
    Text,
}

/// What a handler returns.
pub type Answered = BoxFuture<'static, Result<Response, Refusal>>;

/// What a route does.
pub type Handler = fn(Arc<Api>, Call) -> Answered;

/// One route.
#[derive(Clone)]
pub struct Route {
    /// Method.
    pub method: Method,
    /// Path in axum's notation, which is OpenAPI's too.
    pub path: &'static str,
    /// Who may call.
    pub needs: Needs,
    /// Good answers.
    pub answers: Vec<Success>,
    /// What it reads.
    pub form: LazyForm,
    /// What it does.
    pub handler: Handler,
}

/// A status with JSON of this type.
pub fn success<T: JsonSchema>(status: StatusCode) -> Success {
    Success {
        status,
        answer: AnswerShape::One(|generator| generator.subschema_for::<T>()),
    }
}

/// 200 with JSON of this type.
pub fn ok<T: JsonSchema>() -> Success {
    success::<T>(StatusCode::OK)
}

/// 200 with JSON of this type, or with an event stream where the request asks for that.
pub fn streamed<T: JsonSchema>() -> Success {
    content(AnswerShape::Streamed(|generator| {
        generator.subschema_for::<T>()
    }))
}

/// 200 with something that is not JSON.
pub fn content(answer: AnswerShape) -> Success {
    Success {
        status: StatusCode::OK,
        answer,
    }
}

/// A route with a handler of its own, without parameters and body.
pub fn own(
    method: Method,
    path: &'static str,
    about: &'static str,
    answers: &[Success],
    handler: Handler,
) -> Route {
    Route {
        method,
        path,
        needs: match method {
            Method::Get => Needs::Read,
            Method::Post | Method::Patch | Method::Delete | Method::Put => Needs::Engine,
        },
        answers: answers.to_vec(),
        form: LazyForm::new(move || Form {
            about: about.to_owned(),
            id: "id",
            query: Vec::new(),
            body: Body::None,
            defaults: Vec::new(),
        }),
        handler,
    }
}

/// The route of a query of the table: its fields are parameters of path and query.
pub fn query<R>(path: &'static str) -> Route
where
    R: Request<Wire = Query, Answer = Answer, Reply: Serialize + JsonSchema>,
    R: DeserializeOwned + JsonSchema + 'static,
{
    let answer = ok::<R::Reply>();
    own(Method::Get, path, "", &[answer], |api, call| {
        Box::pin(async move { api.answer(call.request::<R>()?).await })
    })
    .edit(|form| form.about = about::<R>())
    .asks::<R>()
}

/// The route of a command of the table: its fields are parameters of the path and fields of the body.
pub fn command<R>(method: Method, path: &'static str) -> Route
where
    R: Request<Wire = Command, Answer = Outcome, Reply: Serialize + JsonSchema>,
    R: DeserializeOwned + JsonSchema + 'static,
{
    let answer = ok::<R::Reply>();
    let route = own(method, path, "", &[answer], |api, call| {
        Box::pin(async move { api.execute(&call, call.request::<R>()?).await })
    })
    .edit(|form| form.about = about::<R>());
    match method {
        Method::Get | Method::Delete => route,
        Method::Post | Method::Patch | Method::Put => route.takes::<R>(),
    }
}

/// The route of a command that removes something and replies with its id.
pub fn remove<R>(path: &'static str) -> Route
where
    R: Request<Wire = Command, Answer = Outcome, Reply: Serialize + JsonSchema>,
    R: DeserializeOwned + JsonSchema + 'static,
{
    Route {
        answers: vec![ok::<Removed<R::Reply>>()],
        handler: |api, call| {
            Box::pin(async move {
                let envelope = call.envelope(call.request::<R>()?)?;
                let removed = api.client.execute(envelope).await?;
                json(call.status, &Removed { removed })
            })
        },
        ..command::<R>(Method::Delete, path)
    }
}

impl Route {
    fn edit(self, change: impl Fn(&mut Form) + Send + Sync + 'static) -> Self {
        Self {
            form: self.form.edit(change),
            ..self
        }
    }

    /// The fields of this type are query parameters, but for those in the path.
    pub fn asks<T: JsonSchema>(self) -> Self {
        let path = self.path;
        self.edit(move |form| {
            form.query = Parameter::of::<T>();
            path_names(path).for_each(|name| form.remove(name));
        })
    }

    /// The fields of this type are the body, but for those in the path.
    pub fn takes<T: JsonSchema>(self) -> Self {
        let path = self.path;
        self.edit(move |form| {
            form.body = Body::Object(Object::of::<T>());
            path_names(path).for_each(|name| form.remove(name));
        })
    }

    /// The body is the field of this name and this type.
    pub fn nested<T>(self, field: &'static str) -> Self
    where
        T: DeserializeOwned + Serialize + JsonSchema,
    {
        self.edit(move |form| {
            form.body = Body::Object(Object {
                nested: Some((field, |bytes| {
                    serde_json::to_value(read_json::<T>(bytes)?)
                        .map_err(|error| Problem::internal(error.to_string()).into())
                })),
                ..Object::of::<T>()
            });
        })
    }

    /// It takes no body.
    pub fn bodyless(self) -> Self {
        self.edit(|form| form.body = Body::None)
    }

    /// It takes bytes of any kind, and reads them as they come.
    pub fn streamed(self) -> Self {
        self.edit(|form| form.body = Body::Stream)
    }

    /// `{id}` of the path fills this field.
    pub fn id(self, field: &'static str) -> Self {
        self.edit(move |form| {
            form.id = field;
            form.remove(field);
        })
    }

    /// The parameter for this field has another name.
    pub fn named(self, name: &'static str, field: &'static str) -> Self {
        self.edit(move |form| {
            for parameter in form.query.iter_mut().filter(|one| one.name == field) {
                name.clone_into(&mut parameter.name);
            }
        })
    }

    /// These fields are not offered.
    pub fn without(self, fields: &'static [&'static str]) -> Self {
        self.edit(|form| fields.iter().for_each(|field| form.remove(field)))
    }

    /// A field may be left out, and then has this value.
    pub fn or(self, field: &'static str, value: impl Into<Value>) -> Self {
        let value = value.into();
        self.edit(move |form| {
            form.defaults.push((field, value.clone()));
            for parameter in &mut form.query {
                parameter.required &= parameter.name != field;
            }
            if let Body::Object(object) = &mut form.body {
                object.required.retain(|one| one != field);
            }
        })
    }

    /// Fields of the body that this route needs and the type does not.
    pub fn needing(self, fields: &'static [&'static str]) -> Self {
        self.edit(|form| {
            if let Body::Object(object) = &mut form.body {
                let more = fields.iter().map(|field| (*field).to_owned());
                object.required.extend(more);
            }
        })
    }

    /// A good answer has the status 201.
    pub fn created(mut self) -> Self {
        for answer in &mut self.answers {
            answer.status = StatusCode::CREATED;
        }
        self
    }
}

/// `{name}` parts of a path.
pub fn path_names(path: &str) -> impl Iterator<Item = &str> {
    path.split('/')
        .filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
}
