//! Questions of `init` and `channels add`: each answer is checked where it is given, and `<` goes back to the question before.
//!
//! Nothing here writes a file, and nothing reads a key but to ask the server that it belongs to.

use std::path::Path;

use crate::cli::exit::{Failure, usage};
use crate::cli::terminal::{Terminal, cell};
use crate::config::environment::Environment;

/// How a question was answered.
pub enum Reply<T> {
    /// By this.
    Answer(T),
    /// The person wants the question before.
    Back,
}

/// Asks until an answer holds or the input ends. `check` says what is wrong with one.
pub fn ask<T>(
    terminal: &mut Terminal<'_>,
    question: &str,
    mut check: impl FnMut(&str) -> Result<T, String>,
) -> Result<Reply<T>, Failure> {
    loop {
        let Some(answer) = terminal.ask_if_open(question)? else {
            return Err(usage!("the input ends before this is answered: {question}"));
        };
        if answer == "<" {
            return Ok(Reply::Back);
        }
        match check(&answer) {
            Ok(answer) => return Ok(Reply::Answer(answer)),
            Err(wrong) => terminal.note(&wrong)?,
        }
    }
}

/// The name of a variable; none for an empty answer. A secret in place of a name is refused and not repeated.
pub fn variable(
    answer: &str,
    environment: &Environment,
    shape: Option<fn(&str) -> bool>,
) -> Result<Option<String>, String> {
    if answer.is_empty() {
        return Ok(None);
    }
    let name = answer.strip_prefix('$').unwrap_or(answer);
    let letters = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let starts = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    if !starts || !name.chars().all(letters) || name.len() > 64 {
        return Err(
            "that is not the name of a variable (letters, digits and _); if it is the secret itself, put it into a \
             variable: the file only names its place"
                .to_owned(),
        );
    }
    if let (Some(shape), Some(value)) = (shape, environment.secret(name))
        && !shape(value)
    {
        return Err(format!(
            "the variable {name} is set, but what it holds is no such secret"
        ));
    }
    Ok(Some(name.to_owned()))
}

/// A note where a variable is not set.
pub fn missing_variable(name: &str, environment: &Environment) -> Option<String> {
    let is_missing = environment.get(name).is_none();
    is_missing.then(|| {
        format!(
            "note: the variable {} is not set here; set it before starting",
            cell(name)
        )
    })
}

/// A note where the file of a secret does not exist.
pub fn missing_file(file: &str) -> Option<String> {
    let is_missing = !Path::new(file).exists();
    is_missing.then(|| {
        format!(
            "note: {} does not exist yet; make it with mode 0600 before starting",
            cell(file)
        )
    })
}

/// Whether a text has the form of a Telegram bot token: digits, a colon and a long rest.
pub fn is_bot_token(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
    text.split_once(':').is_some_and(|(id, rest)| {
        !id.is_empty()
            && id.bytes().all(|b| b.is_ascii_digit())
            && rest.len() >= 20
            && rest.chars().all(plain)
    })
}

/// Yes or no; none for an empty answer.
pub fn yes_or_no(answer: &str) -> Result<Option<bool>, String> {
    match answer.to_ascii_lowercase().as_str() {
        "" => Ok(None),
        "y" | "yes" => Ok(Some(true)),
        "n" | "no" => Ok(Some(false)),
        _ => Err("answer y or n".to_owned()),
    }
}

/// A numeric Telegram id; none for an empty answer.
pub fn telegram_id(answer: &str) -> Result<Option<String>, String> {
    let id = answer.strip_prefix("telegram:").unwrap_or(answer);
    if id.bytes().all(|byte| byte.is_ascii_digit()) {
        return Ok(Some(id.to_owned()).filter(|id| !id.is_empty()));
    }
    Err(format!(
        "`{}` is not a numeric Telegram id (a name can be taken over, an id cannot)",
        cell(answer)
    ))
}
