//! Headers that the file writes down: their names, and no credential in plain text.

use crate::config::error::{ConfigError, Fault};

/// Refuses what is no name of a header, and a credential in plain text.
pub fn check_header(
    name: &str,
    has_placeholder: bool,
    fault: &dyn Fn(String) -> Fault,
) -> Result<(), ConfigError> {
    let token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    if name.is_empty() || !name.chars().all(token) {
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
