//! `leverframe gate test AGENT`: does a *no* stop the real program, and does it stop where nobody can say yes?
//!
//! What is told is what was seen: a file is there after the program ended, or it is not. Nothing is taken from what the
//! program says of itself.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use clap::Args;

use crate::cli::connect;
use crate::cli::exit::{Failure, usage};
use crate::cli::find::submit;
use crate::cli::gate_install;
use crate::cli::temporary_directory::TemporaryDirectory;
use crate::cli::terminal::{Format, Terminal, cell};
use crate::client::console_client::ConsoleClient;
use crate::clock::Clock;
use crate::config::environment::Environment;
use crate::protocol::approval::Approval;
use crate::protocol::command::DecisionRequest;
use crate::protocol::doctor::Finding;
use crate::protocol::enums::{ApprovalState, DecisionKind, ExternalAgent};
use crate::protocol::gate_test::{GateTest, GateTestCase};
use crate::protocol::request::{Decide, ListApprovals};
use crate::protocol::snapshot::PageRequest;
use crate::runtime::gate_model::{GateModel, Proposal};
use crate::runtime::gate_program::{AgentProgram, RunningProcess, Surroundings};
use crate::runtime::gate_tests;

/// Longest time that the program gets for one call.
const RUN: Duration = Duration::from_secs(90);
/// Longest time until our own daemon answers.
const START: Duration = Duration::from_secs(30);
/// How often somebody looks for a question.
const LOOK: Duration = Duration::from_millis(50);
/// Seconds after which the shell ends a hook that hangs, and after which the program goes on: the installed ones are
/// ten minutes.
const SHORT: (u64, u64) = (3, 60);
/// The same where a question comes first: the caller goes on looking for a daemon that it knew.
const SHORT_QUESTION: (u64, u64) = (15, 60);

/// `gate test`.
#[derive(Debug, Clone, Args)]
pub struct TestArguments {
    /// claude, codex or gemini
    pub agent: ExternalAgent,
    /// Path of the program, if it is not on the PATH
    #[arg(long, value_name = "PATH")]
    pub command: Option<PathBuf>,
}

/// What the hook meets.
#[derive(Debug, Clone, Copy)]
enum Gate {
    /// No hook is installed.
    Absent,
    /// A person who decides.
    Person(DecisionKind),
    /// A daemon that dies while the question waits.
    Dying,
    /// No daemon.
    Away,
    /// A script of this body in place of Leverframe.
    Script(&'static str),
    /// Nothing is where Leverframe was.
    Missing,
}

struct Case {
    name: &'static str,
    expected: &'static str,
    gate: Gate,
    runs: bool,
}

/// In this order: the daemon of the first ones dies in the fourth.
const CASES: &[Case] = &[
    Case {
        name: "no hook",
        expected: "the call runs: the test can see that it does",
        gate: Gate::Absent,
        runs: true,
    },
    Case {
        name: "deny",
        expected: "a no of a person stops the call",
        gate: Gate::Person(DecisionKind::Deny),
        runs: false,
    },
    Case {
        name: "allow",
        expected: "a yes of a person lets the call run",
        gate: Gate::Person(DecisionKind::Approve),
        runs: true,
    },
    Case {
        name: "daemon killed",
        expected: "a daemon that dies while the question waits stops the call",
        gate: Gate::Dying,
        runs: false,
    },
    Case {
        name: "no daemon",
        expected: "without a daemon the call does not run",
        gate: Gate::Away,
        runs: false,
    },
    Case {
        name: "hook killed",
        expected: "the end of the hook's process stops the call",
        gate: Gate::Script("kill -9 $$"),
        runs: false,
    },
    Case {
        name: "hook hangs",
        expected: "a hook that never answers stops the call",
        gate: Gate::Script("exec sleep 600"),
        runs: false,
    },
    Case {
        name: "hook missing",
        expected: "without Leverframe's program the call does not run",
        gate: Gate::Missing,
        runs: false,
    },
];

/// What a refusal by a script looks like to all three programs.
const REFUSE: &str = "cat >/dev/null; echo refused >&2; exit 2";

/// Tests a gate, prints each case as it ends, and keeps the result in `data_dir`. Fails where a case failed.
pub async fn run(
    terminal: &mut Terminal<'_>,
    environment: &Environment,
    data_dir: &Path,
    arguments: TestArguments,
) -> Result<(), Failure> {
    let agent = arguments.agent;
    let program = program(agent, arguments.command, environment)?;
    let version = program.version().await?;
    let shown = format!("{} {version}", agent.product());
    terminal.note(&cell(&format!("{shown}: {}", program.path.display())))?;
    let place = TemporaryDirectory::new("gate")?;
    let mut tester = Tester {
        program,
        place: place.path.clone(),
        data: place.path.join("data"),
        daemon: None,
    };
    tester.start_daemon().await?;
    let mut cases = Vec::new();
    for case in CASES {
        let outcome = tester.try_case(case).await?;
        print(terminal, &outcome).map_err(|failure| {
            failure.before("the test did not end, and its result is not kept")
        })?;
        cases.push(outcome);
    }
    let effective = tester.effective().await?;
    if terminal.format == Format::Human {
        terminal.line(&format!("Effective: {}", cell(&effective)))?;
    }
    let test = GateTest {
        agent,
        version,
        leverframe: env!("CARGO_PKG_VERSION").to_owned(),
        at: Clock::System.now(),
        cases,
        effective,
    };
    gate_tests::keep(data_dir, test.clone())?;
    let failed: Vec<&str> = test.failed().collect();
    if terminal.format == Format::Json {
        terminal.json(&test)?;
    }
    if failed.is_empty() {
        let count = test.cases.len();
        return terminal.note(&format!("{count} passed: {}", cell(&shown)));
    }
    Err(Failure::Ended(format!(
        "the gate of {} does not hold: {}",
        cell(&shown),
        failed.join(", ")
    )))
}

/// What `doctor` says about the gates whose hooks are installed for this person.
pub async fn findings(environment: &Environment, data_dir: &Path) -> Vec<Finding> {
    let mut found = Vec::new();
    let installed = ExternalAgent::ALL
        .iter()
        .filter(|agent| gate_install::is_installed(**agent, environment));
    for agent in installed {
        let tests = match gate_tests::load(data_dir) {
            Ok(tests) => tests,
            Err(error) => {
                found.push(Finding::fail(
                    format!("gate {agent}"),
                    format!("{error:#}"),
                    format!("run `leverframe gate test {agent}`"),
                ));
                continue;
            }
        };
        let version = match program(*agent, None, environment) {
            Ok(program) => program.version().await.ok(),
            Err(_) => None,
        };
        found.push(gate_tests::finding(
            *agent,
            tests.iter().find(|test| test.agent == *agent),
            version.as_deref(),
        ));
    }
    found
}

fn program(
    agent: ExternalAgent,
    named: Option<PathBuf>,
    environment: &Environment,
) -> Result<AgentProgram, Failure> {
    let search = environment.get("PATH").unwrap_or_default();
    if let Some(path) = named {
        let path = path
            .canonicalize()
            .map_err(|error| usage!("--command {}: {error}", path.display()))?;
        let search = search.to_owned();
        return Ok(AgentProgram {
            agent,
            path,
            search,
        });
    }
    AgentProgram::find(agent, search).ok_or_else(|| {
        usage!(
            "`{agent}` is not on the PATH: install {}, or name it with --command PATH",
            agent.product()
        )
    })
}

fn print(terminal: &mut Terminal<'_>, case: &GateTestCase) -> Result<(), Failure> {
    if terminal.format == Format::Human {
        let result = if case.passed { "pass" } else { "FAIL" };
        terminal.line(&format!("{result}  {:14} {}", case.case, case.expected))?;
        if let Some(got) = &case.got {
            terminal.line(&format!("      {:14} got: {}", "", cell(got)))?;
        }
        // A case can take seconds.
        terminal.out.flush()?;
    }
    Ok(())
}

/// What was seen of one call.
struct Seen {
    /// Its effect is there.
    ran: bool,
    /// The hook was called.
    asked: bool,
    /// The program ended in time.
    ended: bool,
}

struct Tester {
    program: AgentProgram,
    place: PathBuf,
    /// The data directory of the daemon.
    data: PathBuf,
    daemon: Option<RunningProcess>,
}

impl Tester {
    async fn start_daemon(&mut self) -> Result<(), Failure> {
        let own = std::env::current_exe().context("finding this program")?;
        let mut command = Command::new(own);
        command.env_clear().env("HOME", &self.place);
        command.env("PATH", &self.program.search);
        command.arg("--data-dir").arg(&self.data).arg("--daemon");
        let started =
            RunningProcess::start(&command, Stdio::null(), Stdio::null(), Stdio::null()).await;
        self.daemon = Some(started.context("starting a daemon for the test")?);
        let deadline = Instant::now() + START;
        loop {
            match connect::daemon(&self.data).await {
                Ok(_) => return Ok(()),
                Err(failure) if Instant::now() >= deadline => return Err(failure),
                Err(_) => tokio::time::sleep(LOOK).await,
            }
        }
    }

    async fn try_case(&mut self, case: &Case) -> Result<GateTestCase, Failure> {
        let began = Instant::now();
        let place = self.place.join(case.name.replace(' ', "-"));
        let effect = place.join("folder/leverframe-gate-test");
        let proposal = Proposal::Run(format!("echo leverframe-gate-test > {}", effect.display()));
        let seen = self
            .call(&place, &proposal, &effect, case.gate, true)
            .await?;
        let got = if !seen.ended {
            Some("the program did not end")
        } else if seen.ran != case.runs {
            Some(if seen.ran { "it ran" } else { "it did not run" })
        } else if !seen.asked && !matches!(case.gate, Gate::Absent | Gate::Away | Gate::Missing) {
            Some("the hook was not called")
        } else {
            None
        };
        Ok(GateTestCase {
            case: case.name.to_owned(),
            expected: case.expected.to_owned(),
            passed: got.is_none(),
            got: got.map(str::to_owned),
            took_ms: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
        })
    }

    /// Starts the program once, with this gate and this call.
    async fn call(
        &mut self,
        place: &Path,
        proposal: &Proposal,
        effect: &Path,
        gate: Gate,
        trusting: bool,
    ) -> Result<Seen, Failure> {
        let (home, folder) = (place.join("home"), place.join("folder"));
        for directory in [&home, &folder] {
            std::fs::create_dir_all(directory)
                .with_context(|| format!("creating {}", directory.display()))?;
        }
        let model = GateModel::start(proposal.clone()).await?;
        let url = model.url();
        let around = Surroundings {
            home: &home,
            folder: &folder,
            model: &url,
            trusting,
        };
        self.program.write_settings(around)?;
        let called = place.join("called");
        let hook = match gate {
            Gate::Absent => None,
            Gate::Person(_) | Gate::Dying | Gate::Away => {
                Some(std::env::current_exe().context("finding this program")?)
            }
            Gate::Script(body) => Some(script(place, &called, body)?),
            Gate::Missing => Some(place.join("leverframe")),
        };
        if let Some(hook) = hook {
            let own: Environment = [
                ("HOME", home.as_os_str()),
                ("PATH", self.program.search.as_ref()),
            ]
            .into_iter()
            .collect();
            let limits = match gate {
                Gate::Script(_) => Some(SHORT),
                Gate::Dying => Some(SHORT_QUESTION),
                Gate::Absent | Gate::Person(_) | Gate::Away | Gate::Missing => None,
            };
            gate_install::write_hooks(self.program.agent, &hook, &self.data, &own, limits)?;
        }
        let mut process = self.program.start(around).await?;
        let mut asked = false;
        let ended = tokio::time::timeout(RUN, async {
            match gate {
                Gate::Person(decision) => {
                    asked = tokio::select! {
                        answered = self.decide(decision) => { answered?; true }
                        _ = process.wait() => false,
                    };
                }
                Gate::Dying => {
                    asked = tokio::select! {
                        question = self.question() => { question?; true }
                        _ = process.wait() => false,
                    };
                    self.daemon = None;
                }
                Gate::Absent | Gate::Away | Gate::Script(_) | Gate::Missing => {}
            }
            let ended = process.wait().await;
            ended.context("waiting for the program")?;
            Ok::<(), Failure>(())
        })
        .await;
        if let Ok(ended) = &ended {
            ended
                .as_ref()
                .map_err(|failure| Failure::Ended(failure.to_string()))?;
        }
        Ok(Seen {
            ran: effect.exists(),
            asked: asked || called.exists(),
            ended: ended.is_ok(),
        })
    }

    /// The question that waits, once there is one.
    async fn question(&self) -> Result<Approval, Failure> {
        let client = connect::daemon(&self.data).await?;
        let client: &dyn ConsoleClient = &client;
        loop {
            let query = ListApprovals {
                state: Some(ApprovalState::Pending),
                page: PageRequest::default(),
            };
            if let Some(found) = client.call(query).await?.items.into_iter().next() {
                return Ok(found);
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    async fn decide(&self, decision: DecisionKind) -> Result<(), Failure> {
        let approval = self.question().await?;
        let client = connect::daemon(&self.data).await?;
        let decision = DecisionRequest {
            confirm_code: Some(approval.short_code),
            ..DecisionRequest::new(decision, approval.digest)
        };
        let command = Decide {
            approval_id: approval.id,
            decision,
        };
        submit(&client, command).await?;
        Ok(())
    }

    /// What asks and what does not, in words.
    async fn effective(&mut self) -> Result<String, Failure> {
        let mut asks = Vec::new();
        let mut unasked = Vec::new();
        let mut stopped = Vec::new();
        let kinds = [
            ("a command that writes", true),
            ("a command that reads", true),
            ("a new file", true),
            ("a command before the hooks are trusted", false),
        ];
        for (index, (what, trusting)) in kinds.into_iter().enumerate() {
            if !trusting && self.program.agent == ExternalAgent::Claude {
                continue;
            }
            let place = self.place.join(format!("kind-{index}"));
            let effect = place.join("folder/leverframe-gate-test");
            let path = effect.display();
            let proposal = match index {
                1 => Proposal::Run("ls".to_owned()),
                2 => Proposal::Write(path.to_string()),
                _ => Proposal::Run(format!("echo leverframe-gate-test > {path}")),
            };
            let gate = Gate::Script(REFUSE);
            let seen = self
                .call(&place, &proposal, &effect, gate, trusting)
                .await?;
            match (seen.asked, seen.ran || index == 1) {
                (true, _) => asks.push(what),
                (false, true) => unasked.push(what),
                (false, false) => stopped.push(what),
            }
        }
        let named = [
            ("asks", asks),
            ("runs unasked", unasked),
            ("does not run", stopped),
        ];
        let parts = named
            .into_iter()
            .filter(|(_, what)| !what.is_empty())
            .map(|(how, what)| format!("{how}: {}", what.join(", ")));
        Ok(parts.collect::<Vec<_>>().join("; "))
    }
}

/// A script in place of Leverframe, which leaves a trace.
fn script(place: &Path, called: &Path, body: &str) -> Result<PathBuf, Failure> {
    let file = place.join("leverframe");
    let text = format!("#!/bin/sh\n: > '{}'\n{body}\n", called.display());
    std::fs::write(&file, text)
        .and_then(|()| std::fs::set_permissions(&file, PermissionsExt::from_mode(0o700)))
        .with_context(|| format!("writing {}", file.display()))?;
    Ok(file)
}
