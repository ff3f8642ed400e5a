//! `leverframe doctor [--check] [--database FILE]`: asks the daemon, or reads the files where nothing runs.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::cli::connect;
use crate::cli::exit::Failure;
use crate::cli::gate_test;
use crate::cli::terminal::{Cli, Terminal, cell};
use crate::client::console_client::ConsoleClient;
use crate::client::remote::connection::Limits;
use crate::config::environment::Environment;
use crate::config::flags::Flags;
use crate::protocol::doctor::{CheckReport, Doctor, Finding, RuleResult, Standing};
use crate::protocol::request::GetDoctor;
use crate::runtime::offline::{self, OfflineError};

/// Time a daemon has to verify its database.
const CHECK_TIME: Duration = Duration::from_secs(3600);

impl From<OfflineError> for Failure {
    fn from(error: OfflineError) -> Self {
        match error {
            OfflineError::Unusable(_) => Failure::Usage(error.to_string()),
            OfflineError::Disturbed(_) => Failure::Ended(error.to_string()),
            OfflineError::Other(error) => Failure::Other(error),
        }
    }
}

/// What to look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    /// Verify every invariant too.
    pub check: bool,
    /// This file instead of the data directory's.
    pub database: Option<PathBuf>,
}

/// Looks and prints; fails when something is wrong.
pub async fn run(
    terminal: &mut Terminal<'_>,
    flags: &Flags,
    environment: &Environment,
    data_dir: &Path,
    order: Order,
) -> Result<(), Failure> {
    let whole = order.database.is_none();
    let mut doctor = look(flags, environment, data_dir, order).await?;
    if whole {
        // Hooks are in the home of whoever asks, which the daemon may not see.
        let gates = gate_test::findings(environment, data_dir).await;
        doctor.findings.extend(gates);
    }
    show(terminal, &doctor)
}

/// The same through an engine that is known already.
pub async fn through(cli: &mut Cli<'_>, check: bool) -> Result<(), Failure> {
    let doctor = cli.client.call(GetDoctor { check }).await?;
    show(&mut cli.terminal, &doctor)
}

fn show(terminal: &mut Terminal<'_>, doctor: &Doctor) -> Result<(), Failure> {
    terminal.show(doctor, print)?;
    verdict(doctor)
}

async fn look(
    flags: &Flags,
    environment: &Environment,
    data_dir: &Path,
    order: Order,
) -> Result<Doctor, Failure> {
    if let Some(file) = order.database {
        return Ok(blocking(move || offline::check_file(&file)).await?);
    }
    let limits = Limits {
        request: if order.check {
            CHECK_TIME
        } else {
            Limits::default().request
        },
        ..Limits::default()
    };
    match connect::daemon_within(data_dir, limits).await {
        Ok(client) => {
            let client: &dyn ConsoleClient = &client;
            let mut doctor = client.call(GetDoctor { check: order.check }).await?;
            // The daemon tells of the file that it was started with.
            if flags.config.is_some() {
                // It has the secrets, and this shell need not.
                let (flags, environment) = (flags.clone(), environment.clone().without_secrets());
                let named = blocking(move || Ok(offline::configuration(&flags, &environment)));
                let daemons = std::mem::replace(&mut doctor.findings, named.await?);
                for finding in daemons {
                    if !doctor.findings.contains(&finding) {
                        doctor.findings.push(finding);
                    }
                }
            }
            Ok(doctor)
        }
        Err(Failure::NothingRunning(_)) => {
            let (flags, environment) = (flags.clone(), environment.clone());
            Ok(blocking(move || offline::doctor(&flags, &environment, order.check)).await?)
        }
        Err(other) => Err(other),
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, OfflineError> + Send + 'static,
) -> Result<T, OfflineError> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(anyhow::Error::from)?
}

/// Digits in groups of three.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

fn print(terminal: &mut Terminal<'_>, doctor: &Doctor) -> Result<(), Failure> {
    for finding in &doctor.findings {
        terminal.line(&cell(&finding.line()))?;
    }
    if let Some(check) = &doctor.check {
        for rule in &check.rules {
            print_rule(terminal, rule)?;
        }
        terminal.line(&format!("{}: {}", cell(&doctor.database), summary(check)))?;
    }
    Ok(())
}

/// Prints findings, one a line, or as JSON.
pub fn print_findings(terminal: &mut Terminal<'_>, findings: &[Finding]) -> Result<(), Failure> {
    terminal.show(findings, |terminal, findings| {
        let mut findings = findings.iter();
        findings.try_for_each(|finding| terminal.line(&cell(&finding.line())))
    })
}

fn print_rule(terminal: &mut Terminal<'_>, rule: &RuleResult) -> Result<(), Failure> {
    let rows = grouped(rule.rows);
    if rule.violations == 0 {
        return terminal.line(&format!(
            "{:<4}  {:<4}  {rows:>9} rows  no {}",
            Standing::Ok.as_str(),
            rule.invariant,
            cell(&rule.broken)
        ));
    }
    terminal.line(&format!(
        "{:<4}  {:<4}  {rows:>9} rows  {} × {}",
        Standing::Fail.as_str(),
        rule.invariant,
        grouped(rule.violations),
        cell(&rule.broken)
    ))?;
    for found in &rule.found {
        terminal.line(&format!("              {}", cell(found)))?;
    }
    let named = rule.found.len() as u64;
    if named < rule.violations {
        terminal.line(&format!(
            "              and {} more",
            grouped(rule.violations - named)
        ))?;
    }
    Ok(())
}

fn summary(check: &CheckReport) -> String {
    format!(
        "{} rules, {} rows, {} violations",
        check.rules.len(),
        grouped(check.rows),
        grouped(check.violations)
    )
}

fn verdict(doctor: &Doctor) -> Result<(), Failure> {
    if let Some(check) = &doctor.check
        && check.violations > 0
    {
        return Err(Failure::Ended(format!(
            "{} invariants are violated: stop the daemon, keep a copy of the directory, restore a backup",
            check
                .rules
                .iter()
                .filter(|rule| rule.violations > 0)
                .count()
        )));
    }
    let failed: Vec<&str> = doctor
        .findings
        .iter()
        .filter(|finding| finding.verdict == Standing::Fail)
        .map(|finding| finding.about.as_str())
        .collect();
    if failed.is_empty() {
        Ok(())
    } else {
        Err(Failure::Ended(format!("failed: {}", failed.join(", "))))
    }
}
