//! `leverframe datasets list|upload|show|query|export|delete`: tables that agents can ask.

use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};

use crate::cli::exit::Failure;
use crate::cli::find::{envelope, submit};
use crate::cli::list;
use crate::cli::table;
use crate::cli::terminal::{Cli, Format, Terminal, cell, create};
use crate::client::dataset_lines::{self, aggregate, condition};
use crate::client::dataset_upload::FileUpload;
use crate::client::listing::{TableRow as _, size};
use crate::protocol::dataset::{Aggregate, Condition, Dataset, DatasetDescription, DatasetQuery};
use crate::protocol::enums::{DatasetFormat, Surface};
use crate::protocol::request::{
    DeleteDataset, ExportDataset, GetDataset, ListDatasets, QueryDataset,
};
use crate::text::untrusted::limit_line;

/// `datasets`.
#[derive(Debug, Subcommand)]
pub enum DatasetCommands {
    /// List datasets by channel and name
    List {
        /// Only of this channel
        #[arg(long)]
        channel: Option<String>,
    },
    /// Make a dataset from a file: CSV, TSV, JSON or JSON lines
    Upload {
        /// The file
        file: PathBuf,
        /// Channel whose agents can query it
        #[arg(long)]
        channel: String,
        /// Its name; by default that of the file
        #[arg(long)]
        name: Option<String>,
    },
    /// Show the columns and the first rows of a dataset
    Show {
        /// Its id, its name, or CHANNEL/NAME
        dataset: String,
    },
    /// Query one: `datasets query sales --where "amount > 10" --group-by city --aggregate "sum amount"`
    Query {
        /// Its id, its name, or CHANNEL/NAME
        dataset: String,
        /// What is asked
        #[command(flatten)]
        question: QuestionFlags,
    },
    /// Write a dataset to a new file or to standard output
    Export {
        /// Its id, its name, or CHANNEL/NAME
        dataset: String,
        /// New file; standard output when left out or `-`
        file: Option<PathBuf>,
        /// csv or parquet; by default from the file's extension, else csv
        #[arg(long = "as", value_name = "FORMAT")]
        wanted: Option<DatasetFormat>,
    },
    /// Delete a dataset for good
    Delete {
        /// Its id, its name, or CHANNEL/NAME
        dataset: String,
    },
}

/// What is asked of a dataset.
#[derive(Debug, Args)]
pub struct QuestionFlags {
    /// Columns, separated by commas
    #[arg(long, value_delimiter = ',')]
    select: Vec<String>,
    /// COLUMN OP VALUE, with = != < <= > >= contains in is_null; can be given again, and all must match
    #[arg(long = "where", value_name = "CONDITION", value_parser = condition)]
    conditions: Vec<Condition>,
    /// Columns to group by, separated by commas
    #[arg(long, value_delimiter = ',')]
    group_by: Vec<String>,
    /// FN, FN COLUMN or FN COLUMN as NAME, with count sum min max avg median count_distinct; can be given again
    #[arg(long, value_name = "AGGREGATE", value_parser = aggregate)]
    aggregate: Vec<Aggregate>,
    /// Column of the result to sort by
    #[arg(long)]
    order_by: Option<String>,
    /// Largest first
    #[arg(long)]
    descending: bool,
    /// At most this many rows
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: Option<u32>,
}

/// Carries one out.
pub async fn run(cli: &mut Cli<'_>, command: DatasetCommands) -> Result<(), Failure> {
    match command {
        DatasetCommands::List { channel } => list::run(cli, ListDatasets { channel }, false).await,
        DatasetCommands::Upload {
            file,
            channel,
            name,
        } => {
            let dataset = upload(cli, &file, channel, name).await?;
            cli.terminal.show(&dataset, told)
        }
        DatasetCommands::Show { dataset } => cli.query(GetDataset { dataset }, show).await,
        DatasetCommands::Query { dataset, question } => {
            let query = question.into();
            let rows = cli.client.call(QueryDataset { dataset, query }).await?;
            if cli.terminal.format == Format::Json {
                return cli.terminal.json(&rows);
            }
            let (heads, cells) = dataset_lines::table(&rows);
            let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
            table::print(&mut cli.terminal, &heads, &cells, "no rows")?;
            cli.terminal.note(&dataset_lines::counts(&rows))
        }
        DatasetCommands::Export {
            dataset,
            file,
            wanted,
        } => export(cli, dataset, file.as_deref(), wanted).await,
        DatasetCommands::Delete { dataset } => {
            let dataset = submit(cli.client, DeleteDataset { dataset }).await?;
            cli.terminal.show_line(&dataset, || {
                format!("removed {}/{}", dataset.channel, dataset.name)
            })
        }
    }
}

impl From<QuestionFlags> for DatasetQuery {
    fn from(flags: QuestionFlags) -> Self {
        let QuestionFlags {
            select,
            conditions,
            group_by,
            aggregate,
            order_by,
            descending,
            limit,
        } = flags;
        Self {
            select,
            conditions,
            group_by,
            aggregate,
            order_by,
            descending,
            limit,
        }
    }
}

/// Sends a file; where somebody is there, they see how far it is.
async fn upload(
    cli: &mut Cli<'_>,
    file: &Path,
    channel: String,
    name: Option<String>,
) -> Result<Dataset, Failure> {
    let mut upload = FileUpload::open(file, channel, name).map_err(Failure::Usage)?;
    let actor = envelope((), None).actor;
    let is_watched = cli.terminal.is_attended();
    let mut told = 0;
    loop {
        let made = upload.next(cli.client, &actor, Surface::Cli).await?;
        if let Some(dataset) = made {
            return Ok(dataset);
        }
        let percent = upload.sent.saturating_mul(100) / upload.size.max(1);
        if is_watched && percent >= told + 10 {
            told = percent;
            cli.terminal.note(&format!(
                "{percent:>3} %  {} of {}",
                size(upload.sent),
                size(upload.size)
            ))?;
        }
    }
}

/// A dataset that was just made.
fn told(terminal: &mut Terminal<'_>, dataset: &Dataset) -> Result<(), Failure> {
    terminal.line(&cell(&dataset.line()))?;
    for note in &dataset.notes {
        terminal.line(&cell(note))?;
    }
    Ok(())
}

fn show(terminal: &mut Terminal<'_>, description: &DatasetDescription) -> Result<(), Failure> {
    let dataset = &description.dataset;
    for (name, value) in Dataset::HEADS.iter().zip(dataset.cells()) {
        terminal.line(&format!("{:<10}  {value}", name.to_lowercase()))?;
    }
    terminal.line(&format!("{:<10}  {}", "id", dataset.id))?;
    terminal.line(&format!(
        "{:<10}  {}",
        "file",
        limit_line(&dataset.source, 100)
    ))?;
    if let Some(taint) = &dataset.taint {
        terminal.line(&format!("{:<10}  {}", "untrusted", cell(taint)))?;
    }
    for note in &dataset.notes {
        terminal.line(&format!("{:<10}  {}", "note", cell(note)))?;
    }
    terminal.line("")?;
    let columns = dataset_lines::columns(description);
    table::print(terminal, &dataset_lines::COLUMN_HEADS, &columns, "")?;
    let (heads, rows) = dataset_lines::sample(description);
    if rows.is_empty() {
        return Ok(());
    }
    terminal.line("")?;
    let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
    table::print(terminal, &heads, &rows, "")
}

async fn export(
    cli: &mut Cli<'_>,
    dataset: String,
    file: Option<&Path>,
    wanted: Option<DatasetFormat>,
) -> Result<(), Failure> {
    let path = file.filter(|path| *path != Path::new("-"));
    let by_name = path.and_then(Path::extension).and_then(|end| end.to_str());
    let format = wanted.unwrap_or(match by_name {
        Some("parquet") => DatasetFormat::Parquet,
        Some(_) | None => DatasetFormat::Csv,
    });
    let piece = |dataset: String, part: u64| ExportDataset {
        dataset,
        format,
        part,
    };
    // Asked before a file is made.
    let mut next = submit(cli.client, piece(dataset, 0)).await?;
    let mut to: Box<dyn std::io::Write> = match path {
        None => Box::new(&mut *cli.terminal.out),
        Some(path) => Box::new(BufWriter::new(create(path)?)),
    };
    let whole = async {
        loop {
            to.write_all(&next.data.0)?;
            let Some(part) = next.next else { break };
            next = submit(cli.client, piece(next.dataset.id.to_string(), part)).await?;
        }
        Ok::<(), Failure>(to.flush()?)
    };
    let written = whole.await;
    drop(to);
    let Some(path) = path else { return written };
    if let Err(failure) = written {
        // Half a table looks like a whole one. It is ours: it was made a moment ago.
        if let Err(error) = std::fs::remove_file(path) {
            cli.terminal
                .note(&format!("{} is not whole: {error}", path.display()))?;
        }
        return Err(failure);
    }
    cli.terminal.note(&cell(&format!(
        "{}/{} in {}",
        next.dataset.channel,
        next.dataset.name,
        path.display()
    )))
}
