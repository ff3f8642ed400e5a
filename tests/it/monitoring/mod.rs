//! Suite: monitoring. What a scrape says, who may read it, and whether the dashboard and the alerts name what is there.

mod promtool;
pub mod scrape;
