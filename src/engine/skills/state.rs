//! What operators trust, as prompts need it. Reads no file and no database.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use crate::config::settings::ChannelSettings;
use crate::engine::context::prefix::Prefix;

/// What prompts hold of it.
#[derive(Debug, Default)]
pub struct TrustedTexts {
    /// Instructions by channel.
    pub instructions: BTreeMap<String, String>,
    /// Skills by name, with what each is for.
    pub skills: BTreeMap<String, String>,
}

/// What is trusted, as prompts need it.
#[derive(Debug, Default)]
pub struct Skills {
    trusted: RwLock<Arc<TrustedTexts>>,
    /// What is trusted is read and put into use by one at a time.
    pub refresh: tokio::sync::Mutex<()>,
}

impl Skills {
    /// What is trusted now.
    pub fn trusted(&self) -> Arc<TrustedTexts> {
        Arc::clone(&self.trusted.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// This is trusted from now on.
    pub fn set(&self, texts: TrustedTexts) {
        *self.trusted.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(texts);
    }

    /// The prefix of a channel with what is trusted for it.
    pub fn extend(
        &self,
        name: &str,
        channel: &ChannelSettings,
        prefix: &Arc<Prefix>,
    ) -> Arc<Prefix> {
        let trusted = self.trusted();
        let instructions = trusted.instructions.get(name);
        let skills = trusted
            .skills
            .iter()
            .filter(|(name, _)| offers(channel, name));
        let skills: Vec<(&str, &str)> = skills
            .map(|(name, about)| (name.as_str(), about.as_str()))
            .collect();
        if instructions.is_none() && skills.is_empty() {
            return Arc::clone(prefix);
        }
        Arc::new(prefix.with_instructions(instructions.map(String::as_str), &skills))
    }
}

pub fn offers(channel: &ChannelSettings, skill: &str) -> bool {
    let named = channel.skills.as_ref();
    named.is_none_or(|names| names.iter().any(|name| name == skill))
}
