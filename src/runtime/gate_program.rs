//! The real programs that a gate is proved with: how one starts with a home, a folder and a model of its own.
//!
//! Nothing of the person's own settings, keys or sessions is seen by it: its environment is empty but for what is here.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::Context as _;
use serde_json::json;
use tokio::io::AsyncReadExt as _;

use crate::protocol::enums::ExternalAgent;
use crate::text::untrusted::reveal;
pub use crate::tools::process::RunningProcess;

/// Longest time a program may take to say its version.
const VERSION: Duration = Duration::from_secs(20);
/// Most bytes that are read of it.
const VERSION_BYTES: u64 = 4096;

/// A program of another maker on this machine.
#[derive(Debug, Clone)]
pub struct AgentProgram {
    /// Whose it is.
    pub agent: ExternalAgent,
    /// The program.
    pub path: PathBuf,
    /// `PATH` for it and for what it starts.
    pub search: String,
}

/// What one run has of its own.
#[derive(Debug, Clone, Copy)]
pub struct Surroundings<'a> {
    /// `HOME`.
    pub home: &'a Path,
    /// Where it works.
    pub folder: &'a Path,
    /// Where its model is.
    pub model: &'a str,
    /// Whether it runs hooks that nobody trusted yet.
    pub trusting: bool,
}

impl AgentProgram {
    /// The program that `PATH` leads to; none = it is not installed.
    pub fn find(agent: ExternalAgent, search: &str) -> Option<Self> {
        let path = std::env::split_paths(search)
            .map(|folder| folder.join(agent.as_str()))
            .find(|path| path.is_file())?;
        Some(Self {
            agent,
            path,
            search: search.to_owned(),
        })
    }

    /// What it says to `--version`.
    ///
    /// # Errors
    /// Where it does not start, does not end, or says nothing.
    pub async fn version(&self) -> anyhow::Result<String> {
        let name = self.path.display();
        let mut command = Command::new(&self.path);
        command.arg("--version").env_clear();
        command
            .env("PATH", &self.search)
            .env("HOME", std::env::temp_dir());
        let mut process =
            RunningProcess::start(&command, Stdio::null(), Stdio::piped(), Stdio::null())
                .await
                .with_context(|| format!("starting {name}"))?;
        let output = process.child().stdout.take().context("no output")?;
        let mut said = String::new();
        let read = tokio::time::timeout(VERSION, async {
            output.take(VERSION_BYTES).read_to_string(&mut said).await
        });
        read.await
            .with_context(|| format!("{name} --version does not end"))?
            .with_context(|| format!("reading the output of {name} --version"))?;
        let line = said.lines().find(|line| !line.trim().is_empty());
        let line = line.with_context(|| format!("{name} --version says nothing"))?;
        // `2.1.332 (Claude Code)`, `codex-cli 0.171.0`, `0.61.0`.
        let number = |word: &&str| word.starts_with(|c: char| c.is_ascii_digit());
        let word = line.split_whitespace().find(number).unwrap_or(line);
        Ok(reveal(word.trim()).into_owned())
    }

    /// Settings that let it start without a person, and let every call run that no hook stops. Hooks come beside them.
    ///
    /// # Errors
    /// Where they cannot be written.
    pub fn write_settings(&self, around: Surroundings<'_>) -> anyhow::Result<()> {
        let (file, text) = match self.agent {
            ExternalAgent::Claude => (
                ".claude/settings.json",
                json!({"permissions": {"allow": ["Bash", "Write"]}}).to_string(),
            ),
            ExternalAgent::Codex => (
                ".codex/config.toml",
                format!(
                    "model_provider = \"test\"\n\n[model_providers.test]\nname = \"test\"\nbase_url = \"{}/v1\"\n\
                     wire_api = \"responses\"\nenv_key = \"TEST_KEY\"\n",
                    around.model
                ),
            ),
            ExternalAgent::Gemini => (
                ".gemini/settings.json",
                json!({"security": {"auth": {"selectedType": "gemini-api-key"}}}).to_string(),
            ),
        };
        let file = around.home.join(file);
        let folder = file.parent().context("a file has a folder")?;
        std::fs::create_dir_all(folder)
            .and_then(|()| std::fs::write(&file, text))
            .with_context(|| format!("writing {}", file.display()))
    }

    /// Starts it on one task. It, and everything below it, ends with what is returned.
    ///
    /// # Errors
    /// Where it does not start.
    pub async fn start(&self, around: Surroundings<'_>) -> anyhow::Result<RunningProcess> {
        let mut command = Command::new(&self.path);
        command.current_dir(around.folder).env_clear();
        command
            .env("PATH", &self.search)
            .env("HOME", around.home)
            .env("TERM", "dumb");
        let task = "Test the gate.";
        match self.agent {
            ExternalAgent::Claude => command
                .env("ANTHROPIC_BASE_URL", around.model)
                .env("ANTHROPIC_API_KEY", "test")
                .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
                .args(["-p", task]),
            ExternalAgent::Codex => {
                command.env("TEST_KEY", "test").args([
                    "exec",
                    "--skip-git-repo-check",
                    "--sandbox",
                    "danger-full-access",
                ]);
                if around.trusting {
                    command.arg("--dangerously-bypass-hook-trust");
                }
                command.arg(task)
            }
            ExternalAgent::Gemini => {
                if around.trusting {
                    command.env("GEMINI_CLI_TRUST_WORKSPACE", "true");
                }
                command
                    .env("GEMINI_API_KEY", "test")
                    .env("GOOGLE_GEMINI_BASE_URL", around.model)
                    .args(["-m", "gemini-2.5-flash", "--approval-mode", "yolo"])
                    .args(["-p", task])
            }
        };
        RunningProcess::start(&command, Stdio::null(), Stdio::null(), Stdio::null())
            .await
            .with_context(|| format!("starting {}", self.path.display()))
    }
}
