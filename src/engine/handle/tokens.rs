//! Making and revoking named tokens. The value of one leaves with the answer that made it, and is kept nowhere.

use crate::clock::Timestamp;
use crate::config::error::nearest;
use crate::engine::caller::Caller;
use crate::engine::core::Engine;
use crate::engine::people;
use crate::engine::tokens::{self, first_missing};
use crate::protocol::enums::Scope;
use crate::protocol::problem::Problem;
use crate::protocol::request::CreateToken;
use crate::protocol::token::{
    ADMIN, MAX_NAME_CHARS, NewToken, Token, generate, hash_token, is_token_name,
};
use crate::store::commands::put_token::{PutToken, RevokeToken};

/// Makes a token.
pub async fn create(
    engine: &Engine,
    caller: &Caller,
    wanted: CreateToken,
) -> Result<NewToken, Problem> {
    let CreateToken {
        name,
        mut scopes,
        person,
        expires_at,
    } = wanted;
    if !is_token_name(&name) {
        let shown: String = name.chars().take(MAX_NAME_CHARS).collect();
        return Err(Problem::invalid(format!(
            "`{shown}` cannot name a token: use 1 to {MAX_NAME_CHARS} letters, digits, `.`, `_` or `-`, and not `{ADMIN}`"
        )));
    }
    scopes.sort_unstable();
    scopes.dedup();
    if scopes.is_empty() {
        return Err(Problem::invalid(format!(
            "`scopes` is empty: expected one or more of {}",
            words(Scope::ALL)
        )));
    }
    if let Some(missing) = first_missing(&caller.actor, &scopes) {
        return Err(Problem::forbidden(
            "not allowed",
            format!(
                "{} lacks the scope `{missing}`, and gives no more than it has",
                caller.actor.label()
            ),
        ));
    }
    if let Some(person) = &person {
        check_person(engine, person, &scopes)?;
    }
    check_end(engine, expires_at)?;
    let value = generate().map_err(|error| Problem::internal(error.to_string()))?;
    let put = PutToken {
        name,
        hash: hash_token(&value),
        scopes,
        person,
        expires_at,
        by: caller.reference(),
    };
    let token = engine.write(put).await?;
    tokens::load(engine).await?;
    Ok(NewToken { token, value })
}

fn words(scopes: &[Scope]) -> String {
    let words: Vec<&str> = scopes.iter().map(|scope| scope.as_str()).collect();
    words.join(", ")
}

/// Refuses a person who is nobody of the configuration, or whose role gives less.
fn check_person(engine: &Engine, name: &str, scopes: &[Scope]) -> Result<(), Problem> {
    let people = &engine.settings.people;
    let Some(person) = people.get(name) else {
        let shown: String = name.chars().take(MAX_NAME_CHARS).collect();
        let near = nearest(name, people.keys().map(String::as_str))
            .map_or_else(String::new, |near| format!("did you mean `{near}`? "));
        let known: Vec<&str> = people.keys().map(String::as_str).collect();
        return Err(
            Problem::invalid(format!("`{shown}` is nobody under [people]"))
                .hint(format!("{near}known: {}", known.join(", "))),
        );
    };
    let missing = scopes
        .iter()
        .find(|scope| !people::gives(person.role, **scope));
    missing.map_or(Ok(()), |missing| {
        Err(Problem::invalid(format!(
            "{name} has the role {}, which does not give the scope `{missing}`",
            person.role
        ))
        .hint("raise the role under [people], or leave the scope out"))
    })
}

/// Refuses an end that is over.
fn check_end(engine: &Engine, expires_at: Option<Timestamp>) -> Result<(), Problem> {
    match expires_at {
        Some(at) if at <= engine.clock.now() => Err(Problem::invalid(format!(
            "`expires_at` is {at}, which is in the past: the token could never be used"
        ))
        .hint("name a time to come, or leave it out for a token that does not end")),
        Some(_) | None => Ok(()),
    }
}

/// Ends a token: its streams end within a second.
pub async fn revoke(engine: &Engine, caller: &Caller, name: String) -> Result<Token, Problem> {
    if name == ADMIN {
        return Err(Problem::invalid(
            "the token `admin` is the file `token` in the data directory, and no named token",
        )
        .hint("remove that file and start the daemon again: it makes a new one"));
    }
    let by = caller.reference();
    let revoked = engine.store.write(RevokeToken { name, by }).await;
    let revoked = revoked.map_err(|error| {
        Problem::from(error).hint("`leverframe token list` shows the names of those that there are")
    })?;
    tokens::load(engine).await?;
    Ok(revoked)
}
