//! Logins at servers: a person's consent over OAuth, the tokens in a file, and their renewal.
//!
//! No token is sent anywhere but to the server that it was given for and to the issuer that gave it, and none is
//! written anywhere but into its file.

pub mod attempt;
pub mod callback;
pub mod error;
pub mod http;
pub mod issuer;
pub mod token_file;
pub mod tokens;

pub use crate::mcp::client::login::attempt::{LoginAttempt, LoginOptions};
pub use crate::mcp::client::login::callback::Callback;
pub use crate::mcp::client::login::error::LoginError;
pub use crate::mcp::client::login::http::LoginClient;
pub use crate::mcp::client::login::token_file::TokenFile;
pub use crate::mcp::client::login::tokens::LoginTokens;
