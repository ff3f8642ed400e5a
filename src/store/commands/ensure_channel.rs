//! Makes a configured channel known and reconciles its baseline policy.

use serde::{Deserialize, Serialize};

use crate::protocol::approval::{Preview, Requester};
use crate::protocol::enums::{ApprovalKind, ApprovalState, DecisionKind, Surface};
use crate::protocol::enums::{Autonomy, ChannelKind};
use crate::protocol::hex::hex;
use crate::protocol::policy::Policy;
use crate::store::command::{WriteCommand, WriteTx};
use crate::store::error::StoreError;
use crate::store::input::{ActorRef, NewApproval};
use crate::store::queries::channels::load_policy;
use crate::store::rows::to_json;
use crate::store::sql::{Json, Statements, columns, params};
use crate::store::tx::approvals::{ApprovalSite, Subject};
use crate::store::tx::questions::question;
use sha2::{Digest, Sha256};

/// A channel of the configuration. Durable.
///
/// The first time it gets policy version 1 from the baseline. Later the stored policy wins, except: what
/// became stricter than the recorded baseline applies at once; what became looser waits as one
/// `policy_raise` approval.
#[derive(Debug, Clone)]
pub struct EnsureChannel {
    pub name: String,
    pub kind: ChannelKind,
    /// Policy of the configuration.
    pub baseline: Baseline,
}

/// The policy the configuration gives a channel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Baseline {
    /// Level.
    pub autonomy: Autonomy,
    /// Tools that run without asking.
    pub auto_approve: Vec<String>,
    /// Tools that never run.
    pub block: Vec<String>,
    /// Tools that always ask.
    pub always_ask: Vec<String>,
}

/// The names of one list that are not in another.
fn beyond(list: &[String], other: &[String]) -> Vec<String> {
    list.iter()
        .filter(|name| !other.contains(name))
        .cloned()
        .collect()
}

fn without(list: &mut Vec<String>, names: &[String]) {
    list.retain(|name| !names.contains(name));
}

fn with(list: &mut Vec<String>, names: &[String]) {
    for name in names {
        if !list.contains(name) {
            list.push(name.clone());
        }
    }
}

impl Baseline {
    /// What is stricter in either of two.
    fn stricter(&self, other: &Baseline) -> Baseline {
        let mut merged = Baseline {
            autonomy: self.autonomy.min(other.autonomy),
            ..self.clone()
        };
        merged
            .auto_approve
            .retain(|name| other.auto_approve.contains(name));
        with(&mut merged.block, &other.block);
        with(&mut merged.always_ask, &other.always_ask);
        merged
    }

    /// In words, what `next` allows beyond this; empty = nothing.
    fn raised_by(&self, next: &Baseline) -> Vec<String> {
        let mut words = Vec::new();
        if next.autonomy > self.autonomy {
            words.push(format!("autonomy {} to {}", self.autonomy, next.autonomy));
        }
        for (what, names) in [
            (
                "auto_approve",
                beyond(&next.auto_approve, &self.auto_approve),
            ),
            ("no longer blocked", beyond(&self.block, &next.block)),
            (
                "no longer always_ask",
                beyond(&self.always_ask, &next.always_ask),
            ),
        ] {
            if !names.is_empty() {
                words.push(format!("{what}: {}", names.join(", ")));
            }
        }
        words
    }
}

fn configuration() -> ActorRef {
    ActorRef {
        label: "configuration".to_owned(),
        id: "configuration".to_owned(),
        surface: Surface::Engine,
    }
}

fn recorded(tx: &WriteTx<'_>, channel: &str) -> Result<Option<Baseline>, StoreError> {
    tx.conn.row_opt(
        "SELECT baseline FROM channel_accounts WHERE name = ?1",
        [channel],
        |row| row.json("baseline"),
    )
}

fn record_baseline(tx: &WriteTx<'_>, channel: &str, baseline: &Baseline) -> Result<(), StoreError> {
    tx.conn.run(
        "UPDATE channel_accounts SET baseline = ?2, updated_at = ?3 WHERE name = ?1",
        params![channel, Json(baseline), tx.now],
    )?;
    Ok(())
}

/// Closes the question about a raised baseline: taken over into the policy, or only remembered, so that it
/// is not asked again at every start.
pub(crate) fn settle_raise(
    tx: &mut WriteTx<'_>,
    channel: &str,
    raised: &Baseline,
    accepted: bool,
    by: &ActorRef,
) -> Result<(), StoreError> {
    let before = recorded(tx, channel)?.ok_or_else(|| StoreError::not_found("channel", channel))?;
    if accepted {
        let mut policy = load_policy(tx.conn, channel)?;
        policy.version += 1;
        if raised.autonomy > policy.autonomy {
            policy.autonomy = raised.autonomy;
            policy.expires_at = None;
            policy.reverts_to = None;
        } else {
            // The temporary level ends in the one that was approved now.
            policy.reverts_to = policy.reverts_to.map(|level| level.max(raised.autonomy));
        }
        with(
            &mut policy.auto_approve,
            &beyond(&raised.auto_approve, &before.auto_approve),
        );
        without(&mut policy.block, &beyond(&before.block, &raised.block));
        without(
            &mut policy.always_ask,
            &beyond(&before.always_ask, &raised.always_ask),
        );
        tx.put_policy(
            channel,
            &policy,
            by,
            "the configuration's raise was approved",
        )?;
    }
    record_baseline(tx, channel, raised)
}

impl EnsureChannel {
    fn create(&self, tx: &mut WriteTx<'_>) -> Result<(), StoreError> {
        tx.conn.run(
            "INSERT INTO channel_accounts (name, kind, baseline, created_at, updated_at) VALUES (?1, ?2, ?3, ?4, ?4)",
            params![self.name, self.kind, Json(&self.baseline), tx.now],
        )?;
        let policy = Policy {
            version: 1,
            autonomy: self.baseline.autonomy,
            expires_at: None,
            reverts_to: None,
            auto_approve: self.baseline.auto_approve.clone(),
            block: self.baseline.block.clone(),
            always_ask: self.baseline.always_ask.clone(),
        };
        tx.put_policy(&self.name, &policy, &configuration(), "first seen")
    }

    /// Applies what became stricter than the recorded baseline.
    fn tighten(&self, tx: &mut WriteTx<'_>, before: &Baseline) -> Result<(), StoreError> {
        let old = load_policy(tx.conn, &self.name)?;
        let mut policy = old.clone();
        if self.baseline.autonomy < before.autonomy && policy.autonomy > self.baseline.autonomy {
            policy.autonomy = self.baseline.autonomy;
            policy.expires_at = None;
            policy.reverts_to = None;
        }
        if self.baseline.autonomy < before.autonomy {
            policy.reverts_to = policy
                .reverts_to
                .map(|level| level.min(self.baseline.autonomy));
        }
        without(
            &mut policy.auto_approve,
            &beyond(&before.auto_approve, &self.baseline.auto_approve),
        );
        with(
            &mut policy.block,
            &beyond(&self.baseline.block, &before.block),
        );
        with(
            &mut policy.always_ask,
            &beyond(&self.baseline.always_ask, &before.always_ask),
        );
        if policy != old {
            policy.version += 1;
            tx.put_policy(
                &self.name,
                &policy,
                &configuration(),
                "the configuration became stricter",
            )?;
        }
        Ok(())
    }

    /// Asks about what became looser, once.
    fn ask_raise(&self, tx: &mut WriteTx<'_>, accepted: &Baseline) -> Result<(), StoreError> {
        let raises = accepted.raised_by(&self.baseline);
        let wanted = to_json(&self.baseline)?;
        let waiting = tx.conn.rows(
            "SELECT id, baseline FROM approvals WHERE channel = ?1 AND state = 'pending' AND kind = 'policy_raise'",
            [&self.name],
            columns!(id, baseline: String),
        )?;
        let mut asked = false;
        for (id, baseline) in waiting {
            if !raises.is_empty() && baseline == wanted {
                asked = true;
            } else {
                tx.close_gate(id, ApprovalState::Revoked)?;
            }
        }
        if raises.is_empty() || asked {
            return Ok(());
        }
        let question = question(
            ApprovalKind::PolicyRaise,
            hex(&Sha256::digest(wanted.as_bytes())),
            vec![DecisionKind::Approve, DecisionKind::Deny],
            format!(
                "The configuration raises the policy of `{}`: {}",
                self.name,
                raises.join("; ")
            ),
        );
        tx.ask_at(
            &ApprovalSite {
                channel: &self.name,
                conversation: "",
                session_id: None,
                continuation_id: None,
                requester: &Requester {
                    id: "configuration".to_owned(),
                    display: "configuration file".to_owned(),
                    person: None,
                },
            },
            &NewApproval {
                preview: Preview::Text {
                    text: raises.join("\n"),
                },
                ..question
            },
            &Subject {
                baseline: Some(wanted),
                ..Subject::default()
            },
        )
    }
}

impl WriteCommand for EnsureChannel {
    type Output = ();

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<(), StoreError> {
        let Some(before) = recorded(tx, &self.name)? else {
            return self.create(tx);
        };
        tx.conn.run(
            "UPDATE channel_accounts SET kind = ?2, updated_at = ?3 WHERE name = ?1",
            params![self.name, self.kind, tx.now],
        )?;
        self.tighten(tx, &before)?;
        let accepted = before.stricter(&self.baseline);
        record_baseline(tx, &self.name, &accepted)?;
        self.ask_raise(tx, &accepted)
    }
}
