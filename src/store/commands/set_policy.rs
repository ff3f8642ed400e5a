//! Changes a channel's policy.

use crate::clock::Timestamp;
use crate::protocol::enums::Autonomy;
use crate::protocol::policy::Policy;
use crate::store::command::{WriteCommand, WriteTx};
use crate::store::error::StoreError;
use crate::store::input::ActorRef;
use crate::store::queries::channels::load_policy;

/// A policy change. Durable; answers the policy now in force. Absent fields stay.
#[derive(Debug, Clone)]
pub struct SetPolicy {
    pub channel: String,
    /// New level.
    pub autonomy: Option<Autonomy>,
    /// When the new level ends and the one before it returns; none = permanent.
    pub expires_at: Option<Timestamp>,
    /// New list.
    pub auto_approve: Option<Vec<String>>,
    /// New list.
    pub block: Option<Vec<String>>,
    /// New list.
    pub always_ask: Option<Vec<String>>,
    /// Only when the policy still has this version.
    pub if_version: Option<u64>,
    pub by: ActorRef,
}

impl WriteCommand for SetPolicy {
    type Output = Policy;

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<Policy, StoreError> {
        let mut policy = load_policy(tx.conn, &self.channel)?;
        if self
            .if_version
            .is_some_and(|version| version != policy.version)
        {
            return Err(StoreError::VersionConflict {
                current: policy.version,
            });
        }
        policy.version += 1;
        if let Some(autonomy) = self.autonomy {
            // A temporary level on top of a temporary one goes back to the permanent one below both.
            let permanent = policy.reverts_to.unwrap_or(policy.autonomy);
            policy.autonomy = autonomy;
            policy.expires_at = self.expires_at;
            policy.reverts_to = self.expires_at.map(|_| permanent);
        }
        if let Some(list) = &self.auto_approve {
            policy.auto_approve.clone_from(list);
        }
        if let Some(list) = &self.block {
            policy.block.clone_from(list);
        }
        if let Some(list) = &self.always_ask {
            policy.always_ask.clone_from(list);
        }
        tx.put_policy(&self.channel, &policy, &self.by, "changed")?;
        Ok(policy)
    }
}
