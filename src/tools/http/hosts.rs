//! Lists of hosts. Pure.
//!
//! A host is compared by whole labels, never by the letters it begins or ends with.

/// Whether an entry (`example.org`, `*.example.org`, `*`) covers a host. `*.example.org` covers what is below, not
/// `example.org` itself.
pub fn covers(entry: &str, host: &str) -> bool {
    match entry.strip_prefix('*') {
        Some("") => true,
        // The dot stays with the rest, so that a label is never cut.
        Some(below) => host
            .strip_suffix(below)
            .is_some_and(|label| !label.is_empty()),
        None => entry == host,
    }
}

/// Whether any entry covers a host.
pub fn any_covers(entries: &[String], host: &str) -> bool {
    entries.iter().any(|entry| covers(entry, host))
}
