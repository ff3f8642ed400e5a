//! Kept results of tools that only read. They live for seconds, in this process only, and nobody misses one: each
//! names the process that made it and how often its workspace had changed by then, and is worth nothing once either
//! differs.

use crate::clock::Timestamp;
use crate::store::response_cache::ResponseCache;
use crate::store::response_cache::file::Fault;
use crate::store::response_cache::result_rows::{look, make_room, put};
use crate::store::response_cache::types::{Key, Made, NewResult, ResultLookup};
use crate::store::response_cache::worker::Worker;

impl ResponseCache {
    /// Looks for the result of a call, made under the same circumstances and not older than `ttl_ms`.
    pub async fn look_for_result(
        &self,
        key: Key,
        asked: Key,
        made: Made,
        ttl_ms: u64,
        now: Timestamp,
    ) -> ResultLookup {
        self.look_with(
            move |worker| worker.look_for_result(&key, &asked, made, ttl_ms, now),
            ResultLookup::Unusable,
        )
        .await
    }

    /// Keeps the result of a call, in place of one with the same key. Whoever looks from now on finds it.
    pub fn keep_result(&self, result: NewResult) {
        self.tell(move |worker| worker.keep_result(&result));
    }
}

impl Worker {
    fn look_for_result(
        &mut self,
        key: &Key,
        asked: &Key,
        made: Made,
        ttl_ms: u64,
        now: Timestamp,
    ) -> ResultLookup {
        self.with(|worker| Ok(look(worker.conn()?, key, asked, made, ttl_ms, now)?))
            .unwrap_or(ResultLookup::Unusable)
    }

    fn keep_result(&mut self, result: &NewResult) {
        let (most, most_bytes) = (self.options.max_results, self.options.max_result_bytes);
        // A fault was noted, and the result is kept nowhere.
        let _ = self.with(|worker| {
            worker.conn()?.execute_batch("BEGIN IMMEDIATE")?;
            put(worker.conn()?, result)?;
            make_room(worker.conn()?, most, most_bytes)?;
            Ok::<(), Fault>(worker.conn()?.execute_batch("COMMIT")?)
        });
    }
}
