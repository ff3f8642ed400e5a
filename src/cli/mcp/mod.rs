//! `leverframe mcp`: tool servers on the command line. Only `add`, `remove` and `import` change the configuration file.

mod import;
mod show;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::{Args, Subcommand};
use serde::Serialize;

use crate::cli::config_file;
use crate::cli::connect;
use crate::cli::exit::{Failure, usage};
use crate::cli::find::submit;
use crate::cli::list;
use crate::cli::mcp_login::{self, LoginArguments};
use crate::cli::mcp_serve;
use crate::cli::terminal::{Cli, Format, Terminal, cell, read};
use crate::config::edit::{NewServer, add_server, remove_server};
use crate::config::flags::Flags;
use crate::config::mcp::is_server_name;
use crate::config::settings::Paths;
use crate::protocol::mcp::McpServerReview;
use crate::protocol::request::{
    DistrustMcpServer, GetMcpPrompt, GetMcpServer, ListMcpPrompts, ListMcpResources,
    ListMcpServers, ReadMcpResource, ReloadConfiguration, StartMcpServer, StopMcpServer,
    TestMcpServer, TrustMcpServer,
};
use crate::text::untrusted::{escape_line, reveal_line};

/// Largest file of another host that is read, in bytes.
const MAX_IMPORT: u64 = 1 << 20;

/// `mcp`.
#[derive(Debug, Subcommand)]
pub enum McpCommands {
    /// List the tool servers, their state, and the tools that agents get
    List,
    /// Show a server with its tools, and how its offer differs from the trusted one
    Show {
        /// Its name in the configuration
        name: String,
    },
    /// Add a server to the configuration file; the rest of the file stays
    Add(AddArguments),
    /// Remove a server from the configuration file
    Remove {
        /// Its name in the configuration
        name: String,
    },
    /// Import the servers of another host's JSON file into the configuration file; copies no secret
    Import {
        /// The file, or - for standard input
        file: PathBuf,
        /// Only these entries, by their names there
        #[arg(long, value_name = "NAME")]
        only: Vec<String>,
        /// Only show what it would write
        #[arg(long)]
        preview: bool,
    },
    /// Log in at a server: prints the page to open, and waits for your consent
    Login(LoginArguments),
    /// Forget the login at a server, without telling its issuer
    Logout {
        /// Its name in the configuration
        name: String,
    },
    /// Connect to a server now, and list what it offers
    Test {
        /// Its name in the configuration
        name: String,
    },
    /// Trust the current offer of a server: agents get its tools
    Trust {
        /// Its name in the configuration
        name: String,
        /// Do not ask; trust the offer if it still has this digest, as `show` prints it
        #[arg(long, value_name = "SHA256")]
        sha256: Option<String>,
        /// Only this tool, by its name on the server; can be given again
        #[arg(long, value_name = "TOOL")]
        tool: Vec<String>,
    },
    /// Stop trusting a server: agents get none of its tools
    Distrust {
        /// Its name in the configuration
        name: String,
    },
    /// Connect to a server, or reconnect
    Start {
        /// Its name in the configuration
        name: String,
    },
    /// Disconnect a server; its tools fail until you start it
    Stop {
        /// Its name in the configuration
        name: String,
    },
    /// List the resources of a server, or print one of them
    Resources {
        /// Its name in the configuration
        name: String,
        /// Address of a resource
        uri: Option<String>,
    },
    /// List the prompts of a server, or print one of them with its arguments filled in
    Prompts {
        /// Its name in the configuration
        name: String,
        /// Name of a prompt
        prompt: Option<String>,
        /// Its arguments
        #[arg(value_name = "NAME=VALUE")]
        arguments: Vec<String>,
    },
    /// Serve MCP on standard input and output, for a host that starts this program
    Serve {
        /// Name of this host; hosts with other names do not see its sessions
        #[arg(long, value_name = "NAME")]
        client: Option<String>,
    },
}

/// `mcp add`.
#[derive(Debug, Args)]
pub struct AddArguments {
    /// Its name: 1 to 32 of a-z, 0-9, _ and -
    name: String,
    /// Address of a server over streamable HTTP
    #[arg(long, conflicts_with = "command")]
    url: Option<String>,
    /// Header of every request; {secret} is replaced by the secret
    #[arg(long, value_name = "NAME=VALUE")]
    header: Vec<String>,
    /// Variable of the daemon that holds the secret of the headers
    #[arg(long, value_name = "NAME")]
    secret_env: Option<String>,
    /// The server wants a login
    #[arg(long)]
    login: bool,
    /// Variable of the daemon that the program gets; NAME=VALUE writes a plain value, no secret
    #[arg(long, value_name = "NAME")]
    env: Vec<String>,
    /// Directory or file that the program reads
    #[arg(long, value_name = "PATH")]
    read: Vec<String>,
    /// Directory that the program changes
    #[arg(long, value_name = "DIR")]
    write: Vec<String>,
    /// The program has the network
    #[arg(long)]
    network: bool,
    /// Trust what the server claims about its tools
    #[arg(long)]
    trusted: bool,
    /// Program and arguments of a server of this machine, behind --
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// What an import did with an entry, as `--json` prints it.
#[derive(Debug, Serialize)]
struct ImportRow<'a> {
    original: &'a str,
    name: &'a str,
    written: bool,
    problem: Option<&'a str>,
    notes: &'a [String],
}

/// Runs one of them.
pub async fn run(
    command: McpCommands,
    terminal: &mut Terminal<'_>,
    flags: &Flags,
    paths: &Paths,
) -> Result<(), Failure> {
    match command {
        McpCommands::Add(arguments) => add(terminal, flags, paths, arguments).await,
        McpCommands::Remove { name } => remove(terminal, flags, paths, &name),
        McpCommands::Login(arguments) => mcp_login::login(terminal, flags, paths, arguments).await,
        McpCommands::Logout { name } => mcp_login::logout(terminal, flags, &name),
        McpCommands::Import {
            file,
            only,
            preview,
        } => import_file(terminal, flags, paths, &file, &only, preview),
        McpCommands::Serve { client } => mcp_serve::run(&paths.data_dir, client).await,
        McpCommands::List => {
            let client = connect::daemon(&paths.data_dir).await?;
            list::run(&mut terminal.with(&client), ListMcpServers {}, false).await
        }
        command => {
            let client = connect::daemon(&paths.data_dir).await?;
            through(command, &mut terminal.with(&client)).await
        }
    }
}

/// Those that ask a daemon.
async fn through(command: McpCommands, cli: &mut Cli<'_>) -> Result<(), Failure> {
    match command {
        McpCommands::Add(_)
        | McpCommands::Remove { .. }
        | McpCommands::Import { .. }
        | McpCommands::Login(_)
        | McpCommands::Logout { .. }
        | McpCommands::Serve { .. }
        | McpCommands::List => Ok(()),
        McpCommands::Show { name } => cli.query(GetMcpServer { name }, show::review).await,
        McpCommands::Test { name } => test(cli, name).await.map(|_| ()),
        McpCommands::Trust { name, sha256, tool } => trust(cli, name, sha256, tool).await,
        McpCommands::Distrust { name } => {
            let review = submit(cli.client, DistrustMcpServer { name }).await?;
            cli.terminal.show(&review.server, show::server)
        }
        McpCommands::Start { name } => cli.submit(StartMcpServer { name }, show::server).await,
        McpCommands::Stop { name } => cli.submit(StopMcpServer { name }, show::server).await,
        McpCommands::Resources { name, uri: None } => {
            let page = submit(cli.client, ListMcpResources { name }).await?;
            show::resources(&mut cli.terminal, &page.items)
        }
        McpCommands::Resources {
            name,
            uri: Some(uri),
        } => {
            let text = submit(cli.client, ReadMcpResource { name, uri }).await?;
            say(&mut cli.terminal, &text.text, &text)
        }
        McpCommands::Prompts {
            name, prompt: None, ..
        } => {
            let page = submit(cli.client, ListMcpPrompts { name }).await?;
            show::prompts(&mut cli.terminal, &page.items)
        }
        McpCommands::Prompts {
            name,
            prompt: Some(prompt),
            arguments,
        } => {
            let arguments = pairs("argument", &arguments)?;
            let order = GetMcpPrompt {
                name,
                prompt,
                arguments,
            };
            let text = submit(cli.client, order).await?;
            say(&mut cli.terminal, &text.text, &text)
        }
    }
}

/// A text of a server: on a terminal what it would act on is shown, elsewhere it is as it came.
fn say(terminal: &mut Terminal<'_>, text: &str, object: &impl Serialize) -> Result<(), Failure> {
    terminal.show(object, |terminal, _| {
        for line in text.lines() {
            terminal.line(&escape_line(line))?;
        }
        Ok(())
    })
}

pub(super) fn pairs(what: &str, given: &[String]) -> Result<BTreeMap<String, String>, Failure> {
    let pair = |text: &String| {
        let (name, value) = text
            .split_once('=')
            .ok_or_else(|| usage!("{what} `{}`: expected NAME=VALUE", cell(text)))?;
        Ok((name.trim().to_owned(), value.to_owned()))
    };
    given.iter().map(pair).collect()
}

async fn test(cli: &mut Cli<'_>, name: String) -> Result<McpServerReview, Failure> {
    let began = Instant::now();
    let review = submit(cli.client, TestMcpServer { name }).await?;
    cli.terminal.show(&review, show::review)?;
    if cli.terminal.format == Format::Human {
        let millis = began.elapsed().as_millis();
        cli.terminal
            .line(&format!("{:<15} {millis} ms", "answered in"))?;
    }
    Ok(review)
}

/// Trusts what the digest names, or shows it and asks.
async fn trust(
    cli: &mut Cli<'_>,
    name: String,
    sha256: Option<String>,
    tools: Vec<String>,
) -> Result<(), Failure> {
    let sha256 = match sha256 {
        Some(sha256) => sha256,
        None => {
            let name = name.clone();
            let review = cli.client.call(GetMcpServer { name }).await?;
            read_first(&mut cli.terminal, &review)?
        }
    };
    let order = TrustMcpServer {
        name,
        sha256,
        tools: (!tools.is_empty()).then_some(tools),
    };
    let review = submit(cli.client, order).await?;
    cli.terminal.show(&review.server, show::server)
}

/// Shows what would be trusted and asks; the digest of what was shown.
fn read_first(terminal: &mut Terminal<'_>, review: &McpServerReview) -> Result<String, Failure> {
    terminal.show(review, show::review)?;
    let name = cell(&review.server.name);
    let Some(sha256) = review.offered_sha256.clone() else {
        return Err(Failure::Ended(format!(
            "{name} was never seen: `leverframe mcp test {name}` connects it"
        )));
    };
    if !terminal.is_attended() {
        terminal.note(&format!(
            "Nothing was trusted: add --sha256 {sha256} to trust this."
        ))?;
        return Err(Failure::Waiting);
    }
    let typed =
        terminal.ask("Agents read these texts and call these tools. Type yes to trust them:")?;
    if typed.trim() != "yes" {
        terminal.note("Nothing was trusted.")?;
        return Err(Failure::Waiting);
    }
    Ok(sha256)
}

async fn add(
    terminal: &mut Terminal<'_>,
    flags: &Flags,
    paths: &Paths,
    arguments: AddArguments,
) -> Result<(), Failure> {
    let name = arguments.name.clone();
    if !is_server_name(&name) {
        return Err(usage!(
            "`{}` is not a name for a server: 1 to 32 of a-z, 0-9, _ and -, with no _ at an end and no __",
            cell(&name)
        ));
    }
    if arguments.url.is_none() && arguments.command.is_empty() {
        return Err(Failure::usage(
            "name the server: --url ADDRESS, or -- COMMAND ARGUMENTS",
        ));
    }
    let (plain, passed): (Vec<String>, Vec<String>) =
        arguments.env.into_iter().partition(|one| one.contains('='));
    let server = NewServer {
        command: arguments.command,
        directory: None,
        environment: pairs("--env", &plain)?,
        environment_env: passed,
        read: arguments.read.iter().map(|path| absolute(path)).collect(),
        write: arguments.write.iter().map(|path| absolute(path)).collect(),
        network: arguments.network,
        url: arguments.url,
        headers: pairs("--header", &arguments.header)?,
        secret_env: arguments.secret_env,
        secret_file: None,
        login: arguments.login,
        trusted: arguments.trusted,
    };
    let old = config_file::read(&paths.config_file)?;
    let new = add_server(&old, &name, &server).map_err(Failure::Usage)?;
    config_file::replace(&paths.config_file, &old, &new, flags)?;
    terminal.line(&format!(
        "wrote [mcp.{name}] into {}",
        paths.config_file.display()
    ))?;
    if terminal.is_attended() && offer(terminal, paths, &name).await? {
        return Ok(());
    }
    terminal.note(&format!(
        "`leverframe reload` loads it; then `leverframe mcp test {name}` and `leverframe mcp trust {name}`"
    ))
}

/// Offers to have the running daemon read, connect and trust it right away; whether it was done.
async fn offer(terminal: &mut Terminal<'_>, paths: &Paths, name: &str) -> Result<bool, Failure> {
    // Without a daemon there is nothing to offer.
    let Ok(client) = connect::daemon(&paths.data_dir).await else {
        return Ok(false);
    };
    let typed = terminal.ask("Connect it now, to see what it offers? Type yes:")?;
    if typed.trim() != "yes" {
        return Ok(false);
    }
    submit(&client, ReloadConfiguration { preview: false }).await?;
    let review = test(&mut terminal.with(&client), name.to_owned()).await?;
    let Some(sha256) = review.offered_sha256 else {
        return Ok(true);
    };
    let typed =
        terminal.ask("Agents read these texts and call these tools. Type yes to trust them:")?;
    if typed.trim() != "yes" {
        terminal.note(&format!(
            "Nothing was trusted; `leverframe mcp trust {name}` asks again."
        ))?;
        return Ok(true);
    }
    let order = TrustMcpServer {
        name: name.to_owned(),
        sha256,
        tools: None,
    };
    let review = submit(&client, order).await?;
    terminal.show(&review.server, show::server)?;
    Ok(true)
}

/// A path as the shell means it: from the directory where the person is.
pub(super) fn absolute(path: &str) -> String {
    if path.starts_with('~') {
        return path.to_owned();
    }
    let absolute = std::path::absolute(path).map(|path| path.display().to_string());
    absolute.unwrap_or_else(|_| path.to_owned())
}

fn remove(
    terminal: &mut Terminal<'_>,
    flags: &Flags,
    paths: &Paths,
    name: &str,
) -> Result<(), Failure> {
    let old = config_file::read(&paths.config_file)?;
    let new = remove_server(&old, name).map_err(Failure::Usage)?;
    config_file::replace(&paths.config_file, &old, &new, flags)?;
    terminal.line(&format!(
        "took [mcp.{}] out of {}",
        cell(name),
        paths.config_file.display()
    ))?;
    terminal.note(&format!(
        "`leverframe reload` makes the daemon disconnect it; `leverframe mcp distrust {}` ends the trust",
        cell(name)
    ))
}

fn import_file(
    terminal: &mut Terminal<'_>,
    flags: &Flags,
    paths: &Paths,
    path: &Path,
    only: &[String],
    preview: bool,
) -> Result<(), Failure> {
    let wrong = |problem: String| usage!("{} {problem}", path.display());
    let bytes = read(terminal, path, MAX_IMPORT)?;
    if bytes.len() as u64 > MAX_IMPORT {
        return Err(wrong("is larger than 1 MiB".to_owned()));
    }
    let text = String::from_utf8(bytes).map_err(|_| wrong("is no UTF-8 text".to_owned()))?;
    let mut entries = import::entries(&text).map_err(wrong)?;
    entries.retain(|entry| only.is_empty() || only.contains(&entry.original));
    let old = config_file::read(&paths.config_file)?;
    let mut new = old.clone();
    for entry in &mut entries {
        if let Ok(server) = &entry.server {
            match add_server(&new, &entry.name, server) {
                Ok(text) => new = text,
                Err(why) => entry.server = Err(why),
            }
        }
    }
    let written = entries.iter().filter(|entry| entry.server.is_ok()).count();
    if written > 0 && !preview {
        config_file::replace(&paths.config_file, &old, &new, flags)?;
    }
    for entry in &entries {
        let row = ImportRow {
            original: &entry.original,
            name: &entry.name,
            written: entry.server.is_ok() && !preview,
            problem: entry.server.as_ref().err().map(String::as_str),
            notes: &entry.notes,
        };
        match terminal.format {
            Format::Json => terminal.json(&row)?,
            Format::Human => show_entry(terminal, entry)?,
        }
    }
    if written == 0 {
        return Err(Failure::ended("nothing was imported"));
    }
    if preview {
        return terminal.note("Nothing was written.");
    }
    terminal.note(&format!(
        "wrote {written} of {} servers into {}; `leverframe reload` loads them, and none is trusted yet",
        entries.len(),
        paths.config_file.display()
    ))
}

fn show_entry(terminal: &mut Terminal<'_>, entry: &import::Entry) -> Result<(), Failure> {
    let original = cell(&entry.original);
    match &entry.server {
        Ok(server) => {
            let place = import::place(server);
            terminal.line(&format!("{original}: {}", reveal_line(&place)))?;
        }
        Err(why) => terminal.line(&format!("{original}: left out: {}", cell(why)))?,
    }
    for note in &entry.notes {
        terminal.line(&format!("  {}", cell(note)))?;
    }
    Ok(())
}
