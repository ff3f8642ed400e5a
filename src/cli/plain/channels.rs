//! Channels in lines: how each is, and how much it may do by itself.

use crate::cli::exit::Failure;
use crate::cli::plain::shell::Shell;
use crate::cli::terminal::cell;
use crate::console::format;
use crate::protocol::channel::Channel;
use crate::protocol::enums::Autonomy;
use crate::protocol::policy::PolicyPatch;
use crate::protocol::request::{Command, GetWhatIf, PauseChannel, ResumeChannel, SetPolicy};
use crate::text::untrusted::limit_line;
use crate::tui::state::autonomy_selector::{self, WHAT_IF_CALLS};
use crate::tui::view::autonomy_selector::{lasting, meaning};

impl Shell<'_> {
    /// `channels`.
    pub fn list_channels(&mut self) -> Result<(), Failure> {
        let now = self.model.now.wall;
        let mut rows = Vec::new();
        for channel in self.model.world().channels.values() {
            let state = if channel.paused {
                "paused"
            } else {
                channel.health.state.as_str()
            };
            let until = channel
                .policy
                .expires_at
                .map_or_else(String::new, |at| format!(" for {}", format::left(now, at)));
            let detail = channel
                .health
                .detail
                .as_deref()
                .map_or_else(String::new, |detail| format!("; {}", cell(detail)));
            rows.push(format!(
                "{}  {}, {state}, {}{until}, {} waiting for you, {} to send, {} sessions{detail}",
                cell(&channel.name),
                channel.kind,
                channel.level_text(channel.policy.autonomy),
                channel.pending_approvals,
                channel.backlog,
                channel.active_sessions,
            ));
        }
        for row in rows {
            self.out.line(&row)?;
        }
        self.out
            .line("`autonomy NAME` shows what each level would have allowed, and sets one.")
    }

    fn channel(&mut self, named: &str) -> Result<Option<Channel>, Failure> {
        let found = self.model.world().channels.get(named).cloned();
        if found.is_none() {
            let names: Vec<String> = self
                .model
                .world()
                .channels
                .keys()
                .map(|n| cell(n))
                .collect();
            self.out.line(&format!(
                "no channel {}; there are {}",
                limit_line(named, 64),
                names.join(", ")
            ))?;
        }
        Ok(found)
    }

    /// `autonomy NAME`: the autonomy selector.
    pub async fn autonomy(&mut self, named: &str) -> Result<(), Failure> {
        let Some(channel) = self.channel(named)? else {
            return Ok(());
        };
        let policy = &channel.policy;
        let mut labels = Vec::new();
        for level in Autonomy::ALL {
            let query = GetWhatIf {
                channel: channel.name.clone(),
                patch: PolicyPatch::level(*level),
                limit: Some(WHAT_IF_CALLS),
            };
            let what_if = self.engine().call(query).await?;
            let meaning = meaning(*level, channel.taint_guard_in_full);
            self.out.line(&format!("{level}: {meaning}"))?;
            if what_if.considered == 0 {
                self.out
                    .line("  this level would have changed no call on this channel yet")?;
            } else {
                self.out.line(&format!(
                    "  {} of the last {} calls would have run without you; {} of them asked then",
                    what_if.would_run, what_if.considered, what_if.newly_unattended
                ))?;
            }
            for call in &what_if.calls {
                if call.was == call.would_be.decision {
                    continue;
                }
                self.out.line(&format!(
                    "  {} -> {}  {} risk  {} {}",
                    call.was,
                    call.would_be.decision,
                    call.risk,
                    cell(&call.tool),
                    limit_line(&call.preview, 60)
                ))?;
            }
            let now = if *level == policy.autonomy {
                " (as it is)"
            } else {
                ""
            };
            labels.push(format!("{level}{now}"));
        }
        let Some(chosen) = self.choose("Which level?", &labels).await? else {
            return Ok(());
        };
        let Some(level) = Autonomy::ALL.get(chosen - 1).copied() else {
            return Ok(());
        };
        if level == policy.autonomy && policy.expires_at.is_none() {
            return self.out.line("nothing was changed");
        }
        let mut seconds = None;
        if autonomy_selector::raises(policy, level) {
            let lasts = autonomy_selector::lasts(level);
            let labels: Vec<String> = lasts.iter().map(|lasts| lasting(*lasts)).collect();
            let Some(lasts) = self
                .choose("How long?", &labels)
                .await?
                .and_then(|chosen| lasts.get(chosen - 1))
            else {
                return Ok(());
            };
            seconds = *lasts;
            let question = format!(
                "Raise {} from {} to {level} {}. Type yes to do so:",
                cell(&channel.name),
                policy.autonomy,
                lasting(seconds)
            );
            if !self.sure(&question, "yes").await? {
                return Ok(());
            }
        }
        let patch = PolicyPatch {
            autonomy: Some(level),
            expires_in_seconds: seconds,
            if_version: Some(policy.version),
            ..PolicyPatch::default()
        };
        self.act(Command::SetPolicy(SetPolicy {
            channel: channel.name,
            patch,
        }))
        .await?;
        Ok(())
    }

    /// `pause NAME`, `unpause NAME`.
    pub async fn pause_channel(&mut self, named: &str, paused: bool) -> Result<(), Failure> {
        let Some(channel) = self.channel(named)? else {
            return Ok(());
        };
        let name = channel.name;
        if !paused {
            self.act(Command::ResumeChannel(ResumeChannel { channel: name }))
                .await?;
            return Ok(());
        }
        let question = format!(
            "Until you unpause it, nothing is received from or sent to {}. Type pause to do so:",
            cell(&name)
        );
        if !self.sure(&question, "pause").await? {
            return Ok(());
        }
        self.act(Command::PauseChannel(PauseChannel { channel: name }))
            .await?;
        Ok(())
    }
}
