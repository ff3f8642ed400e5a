//! `--demo`: scripted channels and their workspaces, in a temporary place, through the real engine. With `--fleet` there
//! are twelve channels, and everybody there asks at once.

use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;

use crate::channels::channel::Bridge;
use crate::channels::scripted::{Schedule, ScriptedBridge};
use crate::clock::Clock;
use crate::config::settings::{ChannelSettings, Settings};
use crate::model::scripted::demo::{DemoChannel, demo_files, demo_visitors, fleet_visitors};
use crate::protocol::enums::{Autonomy, CacheScope, ChannelKind};
use crate::runtime::demo_repository;

/// Who visits, and how often.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Visitors {
    /// Three channels, at leisure.
    Few,
    /// Twelve channels.
    Fleet,
}

impl Visitors {
    fn channels(self) -> &'static [DemoChannel] {
        match self {
            Self::Few => demo_visitors(),
            Self::Fleet => fleet_visitors(),
        }
    }

    /// When the visitors of a channel speak, by its position.
    fn schedule(self, index: u64, seed: u64) -> Schedule {
        let seed = seed.wrapping_add(index);
        match self {
            Self::Few => Schedule::gentle(
                Duration::from_secs(2 + index),
                Duration::from_secs(9 + 2 * index),
                seed,
            ),
            Self::Fleet => Schedule::gentle(Duration::from_secs(2), Duration::from_secs(5), seed),
        }
    }
}

/// Adds the demo's channels to settings whose data directory is `root/data`.
pub fn add_channels(
    settings: &mut Settings,
    root: &Path,
    visitors: Visitors,
) -> anyhow::Result<()> {
    let desk = settings
        .channels
        .get("desk")
        .context("the built-in channel `desk` is missing")?
        .clone();
    settings
        .channels
        .retain(|_, channel| channel.kind != ChannelKind::Scripted);
    for channel in visitors.channels() {
        let workspace = root.join("workspaces").join(channel.name);
        write_files(&workspace)?;
        settings.channels.insert(
            channel.name.to_owned(),
            ChannelSettings {
                kind: ChannelKind::Scripted,
                autonomy: Autonomy::SemiAuto,
                auto_approve: channel
                    .auto_approve
                    .iter()
                    .map(|tool| (*tool).to_owned())
                    .collect(),
                allowed_users: channel.visitors().into_iter().map(str::to_owned).collect(),
                workspace,
                // What several visitors ask in the same words is answered once.
                response_cache: CacheScope::Channel,
                ..desk.clone()
            },
        );
    }
    if let Some(desk) = settings.channels.get("desk") {
        write_files(&desk.workspace)?;
    }
    settings.demo = true;
    "demo".clone_into(&mut settings.instance);
    Ok(())
}

fn write_files(workspace: &Path) -> anyhow::Result<()> {
    for (name, content) in demo_files() {
        let path = workspace.join(name);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)
                .with_context(|| format!("creating {}", parent.display()))?;
        }
        std::fs::write(&path, content).with_context(|| format!("writing {}", path.display()))?;
    }
    demo_repository::create(workspace, demo_files())
}

/// The bridges of the demo's visitors, by channel.
pub fn bridges(clock: &Clock, seed: u64, visitors: Visitors) -> Vec<(String, Box<dyn Bridge>)> {
    visitors
        .channels()
        .iter()
        .zip(0_u64..)
        .map(|(channel, index)| {
            let script = channel
                .lines
                .iter()
                .map(|(visitor, phrase)| ((*visitor).to_owned(), (*phrase).to_owned()))
                .collect();
            let schedule = visitors.schedule(index, seed);
            let bridge: Box<dyn Bridge> =
                Box::new(ScriptedBridge::new(script, schedule, clock.clone()));
            (channel.name.to_owned(), bridge)
        })
        .collect()
}
