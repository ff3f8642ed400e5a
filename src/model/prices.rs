//! What tokens cost. An unknown model has no price: the answer is "not known", never zero.

use std::sync::LazyLock;

use crate::config::model_tables::{OwnTables, Prices, Rates, row_for};
use crate::config::settings::{ProviderKind, ProviderSettings};
use crate::config::toml_text::TomlText;
use crate::protocol::session::Usage;

/// The shipped table, embedded at build time.
const TABLE: &str = include_str!("prices.toml");

static SHIPPED: LazyLock<Result<Prices, String>> = LazyLock::new(|| {
    let text = TomlText::new(std::path::Path::new("prices.toml"), TABLE);
    Prices::parse(&text, None).map_err(|error| error.to_string())
});

/// The date of the shipped prices, `YYYY-MM-DD`.
pub fn as_of() -> &'static str {
    SHIPPED.as_ref().map_or("", |table| table.as_of.as_str())
}

/// Where a price is from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PriceSource {
    /// The shipped table.
    Shipped,
    /// The operator's table, by its file.
    File(String),
    /// Set under the provider.
    Provider,
}

#[derive(Debug, Clone, PartialEq)]
pub struct KnownPrice {
    /// US dollars per million tokens.
    pub rates: Rates,
    /// The day it was collected on, `YYYY-MM-DD`; none where the operator set it.
    pub as_of: Option<String>,
    /// Where it is from.
    pub source: PriceSource,
}

/// The price of a model: set under its provider, else in the operator's table, else in the shipped one, else not known.
pub fn price_of(provider: &ProviderSettings, own: &OwnTables, model: &str) -> Option<KnownPrice> {
    let set = |rates| KnownPrice {
        rates,
        as_of: None,
        source: PriceSource::Provider,
    };
    if provider.kind == ProviderKind::Scripted {
        return Some(set(Rates::default()));
    }
    let exact = |_: &Rates| false;
    if let Some(rates) = row_for(&provider.prices, model, exact) {
        return Some(set(*rates));
    }
    if provider.tuning.free {
        return Some(set(Rates::default()));
    }
    if let Some(own) = &own.prices
        && let Some(rates) = row_for(&own.table.rows, model, exact)
    {
        return Some(KnownPrice {
            rates: *rates,
            as_of: Some(own.table.as_of.clone()),
            source: PriceSource::File(own.file.clone()),
        });
    }
    let table = SHIPPED.as_ref().ok()?;
    let rates = row_for(&table.rows, model, exact)?;
    Some(KnownPrice {
        rates: *rates,
        as_of: Some(table.as_of.clone()),
        source: PriceSource::Shipped,
    })
}

/// US dollars for the `usage` of one call at `rates`, or none where they are not for a call of that size. What the
/// provider itself reported (`usage.cost_usd`) is preferred.
pub fn cost(price: Option<&Rates>, usage: &Usage) -> Option<f64> {
    if usage.cost_usd.is_some() {
        return usage.cost_usd;
    }
    let price = price?;
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
