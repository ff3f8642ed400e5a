//! The last drill of each channel's escalation.

use crate::protocol::escalation::EscalationDrill;
use crate::store::error::StoreError;
use crate::store::meta;
use crate::store::reader::Reader;
use crate::store::sql::Connection;

/// Where they are kept, as JSON; in the table `meta`.
pub(crate) const DRILLS: &str = "escalation_drills";

pub(crate) fn drills(conn: &Connection) -> Result<Vec<EscalationDrill>, StoreError> {
    let stored = meta::get(conn, DRILLS)?;
    let drills = stored.map(|text| serde_json::from_str(&text)).transpose()?;
    Ok(drills.unwrap_or_default())
}

impl Reader<'_> {
    /// The last drill of each channel, in no order.
    pub fn escalation_drills(&self) -> Result<Vec<EscalationDrill>, StoreError> {
        drills(self.conn)
    }
}
