//! Sums of tokens and money.

use crate::clock::Timestamp;
use crate::protocol::session::Usage;
use crate::store::error::StoreError;
use crate::store::reader::Reader;

impl Reader<'_> {
    /// Usage of model calls reserved since this time; calls under way count with their estimate.
    pub fn usage_since(&self, since: Timestamp) -> Result<Usage, StoreError> {
        // Summed here and not in SQL because an unpriced call makes the whole sum unpriced.
        let mut statement = self.conn.prepare_cached(
            "SELECT coalesce(input_tokens, estimated_tokens), coalesce(output_tokens, 0),
                coalesce(cached_tokens, 0), coalesce(cache_write_tokens, 0),
                CASE WHEN settled_at IS NULL THEN estimated_cost_usd ELSE cost_usd END
             FROM model_attempts WHERE started_at >= ?1",
        )?;
        let mut rows = statement.query([since.as_millis()])?;
        // Nothing spent costs nothing, which is not the same as an unknown price.
        let mut sum = Usage {
            cost_usd: Some(0.0),
            ..Usage::default()
        };
        while let Some(row) = rows.next()? {
            sum = sum.plus(crate::store::rows::usage(row, 0)?);
        }
        Ok(sum)
    }
}
