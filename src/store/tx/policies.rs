//! Policies: one new version for every change, with its author.

use serde_json::json;

use crate::protocol::event::EventBody;
use crate::protocol::policy::Policy;
use crate::store::command::WriteTx;
use crate::store::error::StoreError;
use crate::store::input::ActorRef;
use crate::store::sql::{Json, Statements, params};

impl WriteTx<'_> {
    /// Puts a policy in force, under the version it carries, and announces it.
    pub(crate) fn put_policy(
        &mut self,
        channel: &str,
        policy: &Policy,
        by: &ActorRef,
        why: &str,
    ) -> Result<(), StoreError> {
        self.conn.run(
            "INSERT INTO policies (channel, version, autonomy, expires_at, reverts_to, auto_approve, block, always_ask,
                updated_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
             ON CONFLICT (channel) DO UPDATE SET version = excluded.version, autonomy = excluded.autonomy,
                expires_at = excluded.expires_at, reverts_to = excluded.reverts_to,
                auto_approve = excluded.auto_approve, block = excluded.block, always_ask = excluded.always_ask,
                updated_at = excluded.updated_at",
            params![
                channel,
                policy.version,
                policy.autonomy,
                policy.expires_at,
                policy.reverts_to,
                Json(&policy.auto_approve),
                Json(&policy.block),
                Json(&policy.always_ask),
                self.now
            ],
        )?;
        self.conn.run(
            "INSERT INTO policy_versions (channel, version, policy, by_label, by_id, surface, at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            params![
                channel,
                policy.version,
                Json(policy),
                by.label,
                by.id,
                by.surface,
                self.now
            ],
        )?;
        let detail = json!({ "why": why, "policy": policy });
        self.audit("policy.changed", by, Some(channel), channel, &detail)?;
        self.emit(
            None,
            None,
            EventBody::PolicyChanged {
                channel: channel.to_owned(),
                policy: policy.clone(),
                by: by.label.clone(),
            },
        )
    }
}
