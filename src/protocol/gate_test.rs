//! What the test of a gate showed, of one version of a program.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::protocol::enums::ExternalAgent;

/// The newest test of an agent's gate. It covers no other version of the program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GateTest {
    /// Whose gate it is.
    pub agent: ExternalAgent,
    /// The program's version, as it says it.
    pub version: String,
    /// The version of Leverframe then.
    pub leverframe: String,
    /// When it was tested.
    pub at: Timestamp,
    /// Every case, in order.
    pub cases: Vec<GateTestCase>,
    /// What asks and what runs unasked, as it was observed.
    pub effective: String,
}

/// A case of the test.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GateTestCase {
    /// Its name.
    pub case: String,
    /// What has to happen.
    pub expected: String,
    /// Whether it happened.
    pub passed: bool,
    /// What happened in its place; none = it passed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub got: Option<String>,
    /// How long it took, in milliseconds.
    pub took_ms: u64,
}

impl GateTest {
    /// The names of the cases that failed, in order.
    pub fn failed(&self) -> impl Iterator<Item = &str> {
        let failed = self.cases.iter().filter(|case| !case.passed);
        failed.map(|case| case.case.as_str())
    }
}
