//! What a rule may compare a host or an address with.
//!
//! No rule is made that fits other hosts than it seems to name.

use crate::protocol::enums::RuleMatcher;
use crate::protocol::problem::Problem;
use crate::protocol::rule::{FETCH, HOST, URL};
use crate::tools::http::url;

/// The value of a rule about hosts or addresses as it is compared; any other as it is.
pub fn checked(
    tool: &str,
    field: Option<&str>,
    matcher: RuleMatcher,
    value: String,
) -> Result<String, Problem> {
    if tool != FETCH {
        return Ok(value);
    }
    match (field, matcher) {
        (Some(HOST), RuleMatcher::Prefix) => Err(Problem::invalid(
            "`matcher`: a host is not compared by how it begins: `docs.` would fit `docs.evil.example`",
        )
        .hint("take `exact`, or `pattern` with `*.example.org` for all hosts below one")),
        (Some(HOST), RuleMatcher::Exact | RuleMatcher::Pattern) => {
            let host = value.trim().to_ascii_lowercase();
            let simple = |c: char| c.is_ascii_alphanumeric() || "-._*?:".contains(c);
            if host.chars().all(simple) && !host.contains("://") {
                return Ok(host);
            }
            Err(Problem::invalid("`value` is no host")
                .hint("only the host: `example.org`, not the address"))
        }
        (Some(URL), RuleMatcher::Exact | RuleMatcher::Prefix) => url::parse(&value)
            .map(|url| url.to_string())
            .map_err(|why| Problem::invalid(format!("`value`: {why}"))),
        (Some(URL), RuleMatcher::Pattern) if !value.contains("://") => {
            Err(Problem::invalid("`value` is no pattern of addresses")
                .hint("begin with `https://`; `*` in the host stays in the host"))
        }
        (Some(_) | None, _) => Ok(value),
    }
}
