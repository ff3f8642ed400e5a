//! What the tests of a gate showed: a file of the data directory, and what `doctor` says of it.
//!
//! A proof is of one version of a program. No other version is covered by it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::protocol::doctor::{Finding, Standing};
use crate::protocol::enums::ExternalAgent;
use crate::runtime::private_file::write_private;

/// The newest test of an agent's gate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateProof {
    /// The program's version, as it says it.
    pub version: String,
    /// Our version then.
    pub leverframe: String,
    /// When it was tested.
    pub at: Timestamp,
    /// Every case, in order.
    pub cases: Vec<ProofCase>,
    /// What asks and what runs unasked, as it was observed.
    pub effective: String,
}

/// A case of the test.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProofCase {
    /// Its name.
    pub case: String,
    /// What has to happen.
    pub expected: String,
    /// Whether it happened.
    pub passed: bool,
    /// What happened in its place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub got: Option<String>,
    /// How long it took, in milliseconds.
    pub took_ms: u64,
}

impl GateProof {
    /// The names of the cases that failed, in order.
    pub fn failed(&self) -> impl Iterator<Item = &str> {
        let failed = self.cases.iter().filter(|case| !case.passed);
        failed.map(|case| case.case.as_str())
    }
}

/// The newest test of each agent.
pub type GateProofs = BTreeMap<ExternalAgent, GateProof>;

fn file(data_dir: &Path) -> PathBuf {
    data_dir.join("gate-tests.json")
}

/// What is known about a data directory; nothing where no test ran.
///
/// # Errors
/// Where the file cannot be read, or is none of ours.
pub fn load(data_dir: &Path) -> anyhow::Result<GateProofs> {
    let file = file(data_dir);
    match std::fs::read(&file) {
        Ok(text) => serde_json::from_slice(&text)
            .with_context(|| format!("{}: delete it and test again", file.display())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(GateProofs::new()),
        Err(error) => Err(error).with_context(|| format!("reading {}", file.display())),
    }
}

/// Keeps the newest test of an agent.
///
/// # Errors
/// Where the file cannot be read or written.
pub fn keep(data_dir: &Path, agent: ExternalAgent, proof: GateProof) -> anyhow::Result<()> {
    std::fs::create_dir_all(data_dir)
        .with_context(|| format!("creating {}", data_dir.display()))?;
    let mut proofs = load(data_dir)?;
    proofs.insert(agent, proof);
    let text = serde_json::to_string_pretty(&proofs).context("the result of the test")?;
    let file = file(data_dir);
    let fresh = file.with_extension(format!("json.{}", std::process::id()));
    write_private(&fresh, &text)?;
    std::fs::rename(&fresh, &file).with_context(|| format!("writing {}", file.display()))
}

/// What `doctor` says about the proof of an agent whose hooks are installed. `version`: of the program that is
/// installed, where it says one.
pub fn finding(agent: ExternalAgent, proof: Option<&GateProof>, version: Option<&str>) -> Finding {
    let product = agent.product();
    let test = format!("run `leverframe gate test {agent}`");
    let (verdict, detail) = match (proof, version) {
        (None, _) => (
            Standing::Warn,
            format!("nobody tested whether a no stops {product} here"),
        ),
        (Some(proof), _) if proof.failed().next().is_some() => {
            let failed: Vec<&str> = proof.failed().collect();
            let failed = failed.join(", ");
            (
                Standing::Fail,
                format!("the test of the gate of {product} failed: {failed}"),
            )
        }
        (Some(proof), Some(version)) if proof.version != version => (
            Standing::Warn,
            format!(
                "tested with {product} {}; {version} is installed",
                proof.version
            ),
        ),
        (Some(proof), _) => (
            Standing::Ok,
            format!(
                "a no stops {product} {} (tested {})",
                proof.version, proof.at
            ),
        ),
    };
    Finding {
        verdict,
        about: format!("gate {agent}"),
        detail,
        fix: (verdict != Standing::Ok).then_some(test),
    }
}
