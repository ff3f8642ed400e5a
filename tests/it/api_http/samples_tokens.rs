//! Samples of named tokens.

use leverframe::protocol::enums::Scope;
use leverframe::protocol::request::{Command, CreateToken, Outcome, RevokeToken};
use leverframe::protocol::token::{NewToken, Token};

use crate::api_http::samples::{NASTY, at};

pub fn token() -> Token {
    Token {
        name: "laptop".to_owned(),
        scopes: vec![Scope::Read],
        person: Some("anna".to_owned()),
        created_at: at(),
        created_by: NASTY.to_owned(),
        expires_at: Some(at()),
        revoked_at: Some(at()),
        last_used_at: None,
    }
}

pub fn commands() -> Vec<Command> {
    vec![
        Command::CreateToken(CreateToken {
            name: "laptop".to_owned(),
            scopes: vec![Scope::Read],
            person: Some("anna".to_owned()),
            expires_at: Some(at()),
        }),
        Command::RevokeToken(RevokeToken {
            name: "laptop".to_owned(),
        }),
    ]
}

pub fn outcomes() -> Vec<Outcome> {
    vec![
        Outcome::CreateToken(NewToken {
            token: token(),
            value: "lf_0".to_owned(),
        }),
        Outcome::RevokeToken(token()),
    ]
}
