//! What the fleet board counts of each channel.

use std::collections::BTreeMap;

use crate::clock::Timestamp;
use crate::protocol::enums::ContinuationState;
use crate::protocol::fleet::HOURS;
use crate::store::error::StoreError;
use crate::store::reader::Reader;
use crate::store::sql::{Statements, columns};

/// Milliseconds of an hour.
const HOUR_MS: i64 = 3_600_000;

/// Turns by the hour they began in, the oldest hour first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TurnsByHour {
    /// All.
    pub turns: [u64; HOURS],
    /// Those that failed.
    pub errors: [u64; HOURS],
}

impl Reader<'_> {
    /// The turns of each channel in the clock hour of this time and in those before it, by channel.
    pub fn turns_by_hour(
        &self,
        now: Timestamp,
    ) -> Result<BTreeMap<String, TurnsByHour>, StoreError> {
        let hour = |at: Timestamp| at.as_millis().div_euclid(HOUR_MS);
        let first = hour(now) + 1 - i64::try_from(HOURS).unwrap_or(i64::MAX);
        let mut channels: BTreeMap<String, TurnsByHour> = BTreeMap::new();
        self.conn.each_while(
            "SELECT s.channel, c.state, c.created_at FROM continuations c JOIN sessions s ON s.id = c.session_id
             ORDER BY c.position DESC",
            [],
            |row| {
                let channel: String = row.get("channel")?;
                let state: ContinuationState = row.get("state")?;
                let hour = hour(row.get("created_at")?);
                // Rows are in the order of time: what is before the first one that is too old is older.
                if hour < first {
                    return Ok(false);
                }
                let counts = channels.entry(channel).or_default();
                let at = usize::try_from(hour - first).unwrap_or(HOURS).min(HOURS - 1);
                if let Some(turns) = counts.turns.get_mut(at) {
                    *turns += 1;
                }
                if let Some(errors) = counts.errors.get_mut(at)
                    && state == ContinuationState::Failed
                {
                    *errors += 1;
                }
                Ok(true)
            },
        )?;
        Ok(channels)
    }

    /// Since when the oldest question of each channel waits.
    pub fn oldest_waiting(&self) -> Result<BTreeMap<String, Timestamp>, StoreError> {
        let rows = self.conn.rows(
            "SELECT channel, min(requested_at) AS since FROM approvals WHERE state = 'pending' GROUP BY channel",
            [],
            columns!(channel, since),
        )?;
        Ok(rows.into_iter().collect())
    }
}
