//! What the policy looks at beside a call: policies, grants, rules and taint, as they are at one moment.
//!
//! Nothing here judges a call.

use crate::clock::Timestamp;
use crate::engine::core::Engine;
use crate::engine::policy::PolicyInput;
use crate::protocol::enums::{RuleScope, Surface, VerdictKind};
use crate::protocol::policy::Policy;
use crate::protocol::rule::Rule;
use crate::store::input::Basis;
use crate::store::queries::approvals::{Grant, PendingApprovals};
use crate::store::queries::turn::{CallRow, TurnRows};

/// Policies, grants, rules and taint of one turn at one moment.
#[derive(Debug, Clone)]
pub struct PolicyContext {
    /// Policy of the turn's channel.
    pub policy: Policy,
    /// Policy of the surface it came through, when that is another one.
    pub also: Option<Policy>,
    pub grants: Vec<Grant>,
    /// Rules in force here, used up or not.
    pub rules: Vec<Rule>,
    /// Untrusted content in context.
    pub taint: Vec<String>,
    /// When it was read.
    pub now: Timestamp,
    /// What waits in this session and on this channel.
    pub pending: PendingApprovals,
}

impl PolicyContext {
    /// Reads the context of a turn.
    pub async fn read(
        engine: &Engine,
        rows: &TurnRows,
    ) -> Result<Self, crate::store::error::StoreError> {
        let channel = rows.channel.clone();
        let session = rows.session_id;
        let turn = rows.id;
        let now = engine.clock.now();
        let second = second_channel(engine, rows);
        let (policy, also, grants, mut rules, (taint_requesters, let_in), summary, read, pending) =
            engine
                .store
                .read_here(move |reader| {
                    let policy = reader.policy(&channel)?;
                    let also = second.map(|name| reader.policy(name)).transpose()?;
                    let grants = reader.grants(session, now)?;
                    let rules = reader.rules_in_force(&channel, Some(session), Some(turn), now)?;
                    let requesters = reader.session_requesters(session)?;
                    let let_in = reader.paired(&channel, &requesters)?;
                    let requesters = (requesters, let_in);
                    let summary = reader.summary(session)?;
                    let pending = reader.pending_approvals(session, &channel)?;
                    let read = reader.session_taint(session)?;
                    Ok((
                        policy, also, grants, rules, requesters, summary, read, pending,
                    ))
                })
                .await?;
        let mut taint: Vec<String> = match engine.settings.channels.get(&rows.channel) {
            Some(settings) => taint_requesters
                .iter()
                .filter(|requester| {
                    crate::engine::people::is_untrusted(
                        &engine.settings,
                        settings,
                        &let_in,
                        requester,
                    )
                })
                .map(crate::engine::people::taint_of)
                .collect(),
            None => Vec::new(),
        };
        // What a summary was made from is in context as long as the summary is.
        let of_summary = summary.into_iter().flat_map(|summary| summary.taint);
        for entry in of_summary.chain(read) {
            if !taint.contains(&entry) {
                taint.push(entry);
            }
        }
        // What a rule allows on one channel it does not allow on the other whose policy applies too.
        if also.is_some() {
            rules.retain(|rule| {
                rule.verdict != VerdictKind::Allow || rule.scope != RuleScope::Channel
            });
        }
        Ok(Self {
            policy,
            also,
            grants,
            rules,
            taint,
            now,
            pending,
        })
    }

    /// Counts a use, so that the calls of one answer do not share the last one.
    pub(super) fn count(&mut self, basis: Option<Basis>, by: i8) {
        if let Some(Basis::Rule(id)) = basis
            && let Some(rule) = self.rules.iter_mut().find(|rule| rule.id == id)
        {
            rule.uses = rule.uses.saturating_add_signed(by.into());
        }
    }

    /// Leaves out the use that a call has been counted with.
    pub fn without_use_of(&mut self, row: &CallRow) {
        self.count(row.rule_id.map(Basis::Rule), -1);
    }

    pub(super) fn policy_input(&self, engine: &Engine, rows: &TurnRows) -> PolicyInput {
        PolicyInput {
            rules: Vec::new(),
            now: self.now,
            continuation_id: Some(rows.id),
            policy: self.policy.clone(),
            also: self.also.clone(),
            held: engine.is_held(),
            grants: self.grants.clone(),
            requester_id: rows.requester.id.clone(),
            taint_guard_in_full: engine.has_taint_guard(&rows.channel)
                || second_channel(engine, rows).is_some_and(|name| engine.has_taint_guard(name)),
            ceiling: rows.bounds.autonomy_ceiling,
        }
    }
}

/// The channel whose policy applies too. A platform session driven over HTTP runs under the stricter of its policy and
/// `api`'s, one that a routine speaks in under the stricter of its policy and `routine`'s.
fn second_channel(engine: &Engine, rows: &TurnRows) -> Option<&'static str> {
    let second = match rows.surface {
        Surface::Http if engine.has_bridge(&rows.channel) => Some("api"),
        Surface::Engine => Some("routine"),
        Surface::Mcp if engine.has_bridge(&rows.channel) => Some("mcp"),
        Surface::Http
        | Surface::Mcp
        | Surface::Console
        | Surface::Cli
        | Surface::Chat
        | Surface::Gate
        | Surface::Scripted => None,
    };
    second.filter(|second| rows.channel != *second)
}
