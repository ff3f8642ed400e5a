//! `[memory]`: when and by whom long sessions are shortened.

use std::collections::BTreeMap;

use crate::config::error::ConfigError;
use crate::config::layers::{Inputs, number};
use crate::config::providers;
use crate::config::settings::{MemorySettings, ProviderSettings};

/// The table. A model that compacts must be usable as the default is.
pub fn resolve(
    inputs: &Inputs<'_>,
    all: &BTreeMap<String, ProviderSettings>,
) -> Result<MemorySettings, ConfigError> {
    let config = inputs.config();
    let table = &config.memory;
    let key = |name| ["memory", name];
    if let Some(model) = &table.compaction_model {
        providers::usable(model, all, &|problem| {
            inputs.fault(&key("compaction_model"), problem)
        })?;
    }
    Ok(MemorySettings {
        compaction: table.compaction.unwrap_or(true),
        compaction_model: table.compaction_model.clone(),
        compaction_share: number(
            inputs,
            &key("compaction_share"),
            table.compaction_share,
            70,
            10..=95,
        )?,
        compaction_exchanges: number(
            inputs,
            &key("compaction_exchanges"),
            table.compaction_exchanges,
            40,
            1..=10_000,
        )?,
    })
}
