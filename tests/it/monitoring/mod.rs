//! Suite: monitoring. What a scrape says, who may read it, and whether the dashboard and the alerts name what is there.

mod log_lines;
mod promtool;
pub mod scrape;
