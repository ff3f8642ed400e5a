//! `leverframe status`: how the installation stands, for a person or for a status bar.
//!
//! A bar asks every few seconds and shows whatever is printed, so an engine that does not answer is no error there.

use clap::Args;
use serde_json::json;

use crate::cli::connect;
use crate::cli::exit::Failure;
use crate::cli::terminal::{Format, Terminal, cell};
use crate::client::console_client::ConsoleClient;
use crate::clock::Clock;
use crate::console::access::{Access, Hosting};
use crate::console::model::Model;
use crate::console::status::{Status, StatusLevel};
use crate::console::time::{Millis, Now};
use crate::console::world::World;
use crate::protocol::request::GetSnapshot;

/// `status`.
#[derive(Debug, Args)]
pub struct StatusArguments {
    /// One line with tmux's colours, for `status-right`
    #[arg(long, conflicts_with_all = ["waybar", "json"])]
    tmux: bool,
    /// The JSON object of a waybar module
    #[arg(long, conflicts_with = "json")]
    waybar: bool,
}

/// What is printed.
enum Bar {
    None,
    Tmux,
    Waybar,
}

/// Prints the status of the daemon of a data directory.
pub async fn run(
    data_dir: &std::path::Path,
    terminal: &mut Terminal<'_>,
    arguments: &StatusArguments,
) -> Result<(), Failure> {
    let bar = match (arguments.tmux, arguments.waybar) {
        (true, _) => Bar::Tmux,
        (false, true) => Bar::Waybar,
        (false, false) => Bar::None,
    };
    let now = Now {
        steady: Millis(0),
        wall: Clock::System.now(),
    };
    let status = match (connect::daemon(data_dir).await, &bar) {
        (Ok(client), _) => ask(&client, now).await?,
        (Err(Failure::NothingRunning(_)), Bar::Tmux | Bar::Waybar) => Status::off(),
        (Err(failure), _) => return Err(failure),
    };
    let words = status.words(now.wall);
    match (bar, terminal.format) {
        (Bar::Tmux, _) => terminal.line(&for_tmux(&status, &words)),
        (Bar::Waybar, _) => terminal.json(&for_waybar(&status, &words)),
        (Bar::None, Format::Json) => terminal.json(&status),
        (Bar::None, Format::Human) => terminal.line(&cell(&words.join(", "))),
    }
}

async fn ask(client: &dyn ConsoleClient, now: Now) -> Result<Status, Failure> {
    let snapshot = client.call(GetSnapshot {}).await?;
    let place = client.description();
    let mut model = Model::new(Hosting::Attached, Access::ReadOnly, place, now);
    *model.world_mut() = World::from_snapshot(snapshot);
    model.refresh_queue();
    Ok(Status::of(&model))
}

/// The line that tmux draws. Nothing is drawn where nothing needs anybody.
fn for_tmux(status: &Status, words: &[String]) -> String {
    // `#` begins a format of tmux.
    let text = cell(&words.join(", ")).replace('#', "##");
    match status.level {
        StatusLevel::Quiet => String::new(),
        StatusLevel::Off => "#[dim]leverframe off#[default]".to_owned(),
        StatusLevel::Held => format!("#[fg=red,bold]{text}#[default]"),
        StatusLevel::Waiting => format!("#[fg=yellow]{text}#[default]"),
    }
}

/// The object that waybar's custom modules read. Text and tooltip are Pango markup.
fn for_waybar(status: &Status, words: &[String]) -> serde_json::Value {
    let markup = |text: &str| {
        cell(text)
            .replace('&', "&amp;")
            .replace('<', "&lt;")
            .replace('>', "&gt;")
    };
    let text = match (status.level, status.waiting) {
        (StatusLevel::Off, _) => "off".to_owned(),
        (StatusLevel::Held, _) => "STOP".to_owned(),
        (StatusLevel::Waiting | StatusLevel::Quiet, 0) => String::new(),
        (StatusLevel::Waiting | StatusLevel::Quiet, waiting) => waiting.to_string(),
    };
    let name = status.instance.as_deref().unwrap_or("leverframe");
    json!({
        "text": text,
        "tooltip": markup(&format!("{name}: {}", words.join(", "))),
        "class": status.level.as_str(),
        "alt": status.level.as_str(),
    })
}
