//! What people read of the test of a gate, one row each.

use crate::client::listing::{TableRow, cell, or_dash};
use crate::protocol::gate_test::GateTest;

impl TableRow for GateTest {
    const HEADS: &'static [&'static str] = &[
        "AGENT",
        "VERSION",
        "TESTED",
        "PASSED",
        "FAILED",
        "EFFECTIVE",
    ];
    const NOTHING: &'static str =
        "nobody tested a gate with this data directory: run `leverframe gate test claude`";

    fn cells(&self) -> Vec<String> {
        let failed: Vec<&str> = self.failed().collect();
        vec![
            self.agent.to_string(),
            cell(&self.version),
            self.at.to_string(),
            format!(
                "{} of {}",
                self.cases.len() - failed.len(),
                self.cases.len()
            ),
            cell(&or_dash(failed.join(", "))),
            cell(&self.effective),
        ]
    }
}
