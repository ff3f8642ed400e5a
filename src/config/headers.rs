//! Headers that the file writes down: their names, and no credential in plain text.

use std::collections::BTreeMap;

use crate::config::error::{ConfigError, Fault};
use crate::config::inputs::{Inputs, Section};
use crate::config::placeholders::SECRET;
use crate::config::secret::Secret;
use crate::config::secrets::SecretSource;

/// Headers with the secret in its place.
#[derive(Debug, Default)]
pub struct SecretHeaders {
    /// Values by name.
    pub headers: BTreeMap<String, Secret>,
    /// The secret in them.
    pub secret: Option<Secret>,
}

/// The headers of the table at these keys. `{secret}` stands for the secret that the same table names.
pub fn resolve(
    inputs: &Inputs<'_>,
    table: &[&str],
    given: Option<&BTreeMap<String, String>>,
    source: SecretSource<'_>,
) -> Result<SecretHeaders, ConfigError> {
    let fault = |key: &str, problem: String| inputs.fault(&[table, &[key]].concat(), problem);
    let placeholder = format!("{{{SECRET}}}");
    let given = given.into_iter().flatten();
    let mut used = false;
    for (name, text) in given.clone() {
        let fault = |problem| fault("headers", problem);
        check_header(name, text.contains(&placeholder), &fault)?;
        used |= text.contains(&placeholder);
        if text.chars().any(char::is_control) {
            return Err(fault(format!("`{name}` has a line break or control character")).into());
        }
    }
    if used && source.count() == 0 {
        let problem = "`{secret}` is used, and nothing says where it is".to_owned();
        let expected = "secret_env, secret_file or secret_command";
        return Err(fault("headers", problem).expected(expected).into());
    }
    if !used && source.count() > 0 {
        let fault = inputs.fault(table, "the secret is used nowhere");
        let expected = "headers = { Authorization = \"Bearer {secret}\" }";
        return Err(fault.expected(expected).into());
    }
    let secret = Section::new(inputs, table, &()).secret("secret", source)?;
    let value = secret.as_ref().map_or("", Secret::expose);
    let headers = given
        .map(|(name, text)| (name.clone(), Secret::new(text.replace(&placeholder, value))))
        .collect();
    Ok(SecretHeaders { headers, secret })
}

/// Whether it is the name of a header.
pub fn is_header_name(name: &str) -> bool {
    let token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    !name.is_empty() && name.chars().all(token)
}

/// Refuses what is no name of a header, and a credential in plain text.
pub fn check_header(
    name: &str,
    has_placeholder: bool,
    fault: &dyn Fn(String) -> Fault,
) -> Result<(), ConfigError> {
    if !is_header_name(name) {
        return Err(fault(format!("`{name}` is no name of a header")).into());
    }
    if holds_credential(name) && !has_placeholder {
        let fault = fault(format!("`{name}` holds a credential in plain text"));
        let step = "Write {secret} in its place, and name it with secret_env or secret_file";
        return Err(fault.next_step(step).into());
    }
    Ok(())
}

/// Whether the name of a header or variable says that its value is a secret.
pub fn holds_credential(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let words = [
        "authorization",
        "cookie",
        "key",
        "token",
        "secret",
        "password",
    ];
    words.iter().any(|word| lower.ends_with(word))
}
