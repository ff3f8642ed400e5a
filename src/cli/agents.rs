//! `leverframe agents run|list|show|cancel`: jobs of agents of other makers that the daemon starts.

use std::path::{Path, PathBuf};

use clap::Subcommand;
use futures_util::StreamExt as _;

use crate::cli::ask::text;
use crate::cli::exit::{Failure, usage};
use crate::cli::find::{self, submit};
use crate::cli::list::{self, ListArguments};
use crate::cli::terminal::{Cli, Format, Terminal, cell};
use crate::protocol::agent_job::AgentJob;
use crate::protocol::enums::{AgentJobState, ExternalAgent};
use crate::protocol::event::EventFilter;
use crate::protocol::ids::SessionId;
use crate::protocol::problem::{Problem, ProblemKind};
use crate::protocol::request::{CancelAgentJob, GetAgentJob, ListAgentJobs, RunAgent};
use crate::text::untrusted::reveal;

/// `agents`.
#[derive(Debug, Subcommand)]
pub enum AgentCommands {
    /// Start an agent on a task; it stops while a call waits for approval, and resumes after the decision
    Run {
        /// claude
        agent: ExternalAgent,
        /// The task; `-` reads standard input
        #[arg(required = true)]
        task: Vec<String>,
        /// Its working directory; by default this one
        #[arg(long, value_name = "DIR")]
        dir: Option<PathBuf>,
        /// Follow the job to its end, and print the answer
        #[arg(long)]
        wait: bool,
    },
    /// List jobs, newest change first
    List {
        /// How it is shown
        #[command(flatten)]
        list: ListArguments,
    },
    /// Show the state and the answer of a job
    Show {
        /// Id, or unique prefix of it
        id: String,
        /// Follow the job to its end, and print the answer
        #[arg(long)]
        wait: bool,
    },
    /// End a job, its program and its open question
    Cancel {
        /// Id, or unique prefix of it
        id: String,
    },
}

/// Carries out the command.
pub async fn run(cli: &mut Cli<'_>, command: AgentCommands) -> Result<(), Failure> {
    match command {
        AgentCommands::Run {
            agent,
            task,
            dir,
            wait,
        } => {
            let job = RunAgent {
                agent,
                directory: directory(dir.as_deref())?,
                task: text(&mut cli.terminal, &task)?,
            };
            let job = submit(cli.client, job).await?;
            if wait {
                cli.terminal.note(&format!("job {}", job.id))?;
                return follow(cli, job.id).await;
            }
            cli.terminal.show(&job, |terminal, _| {
                terminal.line(&job.id.to_string())?;
                terminal.note(&format!(
                    "`leverframe agents show {}` shows its state",
                    job.id
                ))
            })
        }
        AgentCommands::List { list } => {
            let query = ListAgentJobs { page: list.page() };
            list::run(cli, query, list.watch).await
        }
        AgentCommands::Show { id, wait } => {
            let id = find::session(cli.client, &id).await?;
            if wait {
                return follow(cli, id).await;
            }
            cli.query(GetAgentJob { id }, show).await
        }
        AgentCommands::Cancel { id } => {
            let id = find::session(cli.client, &id).await?;
            cli.submit(CancelAgentJob { id }, show).await
        }
    }
}

fn directory(given: Option<&Path>) -> Result<String, Failure> {
    let given = given.unwrap_or(Path::new("."));
    let fault = |problem: String| usage!("--dir {}: {problem}", given.display());
    let real = given
        .canonicalize()
        .map_err(|error| fault(error.to_string()))?;
    let real = real.to_str().map(str::to_owned);
    real.ok_or_else(|| fault("the path is not UTF-8".to_owned()))
}

fn show(terminal: &mut Terminal<'_>, job: &AgentJob) -> Result<(), Failure> {
    terminal.line(&format!("{}  {}", job.id, job.state))?;
    terminal.line(&cell(&job.meaning()))?;
    let product = job.agent.product();
    terminal.line(&format!(
        "agent      {product}, session {}",
        cell(&job.session)
    ))?;
    terminal.line(&format!("directory  {}", cell(&job.directory)))?;
    terminal.line(&format!("task       {}", cell(&job.task)))?;
    terminal.line(&format!("runs       {}", job.runs))?;
    if let Some(answer) = &job.answer {
        terminal.line("")?;
        terminal.line(&reveal(answer))?;
    }
    Ok(())
}

/// Follows a job to its end and prints its answer. Subscribes before it reads, and again after a lost connection, once.
async fn follow(cli: &mut Cli<'_>, id: SessionId) -> Result<(), Failure> {
    let mut told = None;
    let mut lost = 0;
    loop {
        let mut events = cli.client.events(EventFilter::default()).await?;
        loop {
            let job = cli.client.call(GetAgentJob { id }).await?;
            if job.state.is_over() || job.state == AgentJobState::Interrupted {
                return end(&mut cli.terminal, &job);
            }
            if told != Some(job.state) {
                told = Some(job.state);
                cli.terminal
                    .note(&format!("{}: {}", job.state, cell(&job.meaning())))?;
            }
            match events.next().await {
                Some(Ok(_)) => {}
                Some(Err(problem)) if problem.kind != ProblemKind::Unavailable => {
                    return Err(problem.into());
                }
                Some(Err(_)) | None if lost < 1 => {
                    lost += 1;
                    break;
                }
                Some(Err(problem)) => return Err(problem.into()),
                None => {
                    let ended = "the event stream ended";
                    return Err(
                        Problem::new(ProblemKind::Unavailable, "connection lost", ended).into(),
                    );
                }
            }
        }
    }
}

fn end(terminal: &mut Terminal<'_>, job: &AgentJob) -> Result<(), Failure> {
    if terminal.format == Format::Json {
        terminal.json(job)?;
    }
    match (job.state, &job.answer) {
        (AgentJobState::Completed, Some(answer)) if terminal.format == Format::Human => {
            terminal.line(&reveal(answer))
        }
        (AgentJobState::Completed, _) => Ok(()),
        _ => Err(Failure::Ended(format!(
            "{} is {}: {}",
            job.id,
            job.state,
            cell(&job.meaning())
        ))),
    }
}
