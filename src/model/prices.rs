//! What tokens cost. An unknown model has no price: the answer is "not known", never zero.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use crate::protocol::session::Usage;

/// The shipped table, embedded at build time.
const TABLE: &str = include_str!("prices.toml");

/// US dollars per million tokens of one model, whatever its date suffix.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// The model id without its date.
    pub model: String,
    /// Input that was not cached.
    pub input: f64,
    /// Output.
    pub output: f64,
    /// Input read from the prompt cache; the input price where absent.
    pub cache_read: Option<f64>,
    /// Input written to the prompt cache; the input price where absent.
    pub cache_write: Option<f64>,
    /// Most input tokens of one call that this price is for.
    pub max_input: Option<u64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    as_of: String,
    price: Vec<Price>,
}

static SHIPPED: LazyLock<Result<Table, String>> =
    LazyLock::new(|| toml::from_str(TABLE).map_err(|error| error.to_string()));

/// The date of the shipped prices, `YYYY-MM-DD`.
pub fn as_of() -> &'static str {
    SHIPPED.as_ref().map_or("", |table| table.as_of.as_str())
}

/// The price that applies to a model id: the provider's own overrides first, then the shipped table.
/// A path before the id (`anthropic/claude-…`) is ignored when the whole id is not listed.
pub fn price_of(overrides: &BTreeMap<String, (f64, f64)>, model: &str) -> Option<Price> {
    if let Some((input, output)) = overrides.get(model) {
        return Some(Price {
            model: model.to_owned(),
            input: *input,
            output: *output,
            cache_read: None,
            cache_write: None,
            max_input: None,
        });
    }
    let table = SHIPPED.as_ref().ok()?;
    let bare = model.rsplit('/').next().unwrap_or(model);
    table
        .price
        .iter()
        .filter(|price| applies(&price.model, bare))
        .max_by_key(|price| price.model.len())
        .cloned()
}

/// `gpt-5` prices `gpt-5-2025-08-07` and `gpt-5-latest`, but neither `gpt-5.6` nor `gpt-5-pro`: a sibling's
/// price is not a guess we may make.
fn applies(listed: &str, model: &str) -> bool {
    let Some(rest) = model.strip_prefix(listed) else {
        return false;
    };
    let Some(suffix) = rest.strip_prefix(['-', '@']) else {
        return rest.is_empty() || rest.starts_with(':');
    };
    let digits: String = suffix.chars().filter(|c| *c != '-').collect();
    suffix == "latest" || digits.len() == 8 && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// US dollars for the `usage` of one call of `model`, or none when its price is not known. What the provider itself
/// reported (`usage.cost_usd`) is preferred.
pub fn cost(overrides: &BTreeMap<String, (f64, f64)>, model: &str, usage: &Usage) -> Option<f64> {
    if usage.cost_usd.is_some() {
        return usage.cost_usd;
    }
    let price = price_of(overrides, model)?;
    if price
        .max_input
        .is_some_and(|most| usage.input_tokens > most)
    {
        return None;
    }
    let cached = usage.cached_input_tokens.min(usage.input_tokens);
    let written = usage.cache_write_tokens.min(usage.input_tokens - cached);
    let plain = usage.input_tokens - cached - written;
    let dollars = plain as f64 * price.input
        + cached as f64 * price.cache_read.unwrap_or(price.input)
        + written as f64 * price.cache_write.unwrap_or(price.input)
        + usage.output_tokens as f64 * price.output;
    Some(dollars / 1_000_000.0)
}
