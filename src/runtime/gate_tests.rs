//! What the tests of a gate showed: a file of the data directory, and what `doctor` says of it.
//!
//! A test is of one version of a program. It covers no other version.

use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;

use anyhow::Context as _;

pub use crate::engine::gate_tests::load;

use crate::engine::gate_tests::file;
use crate::protocol::doctor::{Finding, Standing};
use crate::protocol::enums::ExternalAgent;
use crate::protocol::gate_test::GateTest;
use crate::runtime::private_file::write_private;

/// Keeps the newest test of an agent.
///
/// # Errors
/// Where the file cannot be read or written.
pub fn keep(data_dir: &Path, test: GateTest) -> anyhow::Result<()> {
    // As a start makes it: the daemon refuses one that others can open.
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(data_dir)
        .with_context(|| format!("creating {}", data_dir.display()))?;
    let mut tests = load(data_dir)?;
    tests.retain(|other| other.agent != test.agent);
    tests.push(test);
    tests.sort_by_key(|test| test.agent);
    let text = serde_json::to_string_pretty(&tests).context("the result of the test")?;
    let file = file(data_dir);
    let fresh = file.with_extension(format!("json.{}", std::process::id()));
    write_private(&fresh, &text)?;
    std::fs::rename(&fresh, &file).with_context(|| format!("writing {}", file.display()))
}

/// What `doctor` says about the test of an agent whose hooks are installed. `version`: of the program that is
/// installed, where it says one.
pub fn finding(agent: ExternalAgent, test: Option<&GateTest>, version: Option<&str>) -> Finding {
    let product = agent.product();
    let fix = format!("run `leverframe gate test {agent}`");
    let (verdict, detail) = match (test, version) {
        (None, _) => (
            Standing::Warn,
            format!("nobody tested whether a no stops {product} here"),
        ),
        (Some(test), _) if test.failed().next().is_some() => {
            let failed: Vec<&str> = test.failed().collect();
            let failed = failed.join(", ");
            (
                Standing::Fail,
                format!("the test of the gate of {product} failed: {failed}"),
            )
        }
        (Some(test), Some(version)) if test.version != version => (
            Standing::Warn,
            format!(
                "tested with {product} {}; {version} is installed",
                test.version
            ),
        ),
        (Some(test), _) => (
            Standing::Ok,
            format!("a no stops {product} {} (tested {})", test.version, test.at),
        ),
    };
    Finding {
        verdict,
        about: format!("gate {agent}"),
        detail,
        fix: (verdict != Standing::Ok).then_some(fix),
    }
}
