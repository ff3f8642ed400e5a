//! `leverframe memory export|import`. An import changes nothing unless every line of it can be taken.

use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use crate::cli::exit::Failure;
use crate::cli::find::submit;
use crate::cli::terminal::{Format, Terminal, json_line, read};
use crate::client::console_client::ConsoleClient;
use crate::client::memory_lines;
use crate::protocol::memory::MemoryFilter;
use crate::protocol::request::{ImportMemories, ListMemories};
use crate::protocol::snapshot::PageRequest;

/// Most bytes of one import: a request holds no more.
const MOST: u64 = 900_000;

/// Writes everything that is recalled, one object a line.
pub async fn export(
    client: &dyn ConsoleClient,
    terminal: &mut Terminal<'_>,
    file: &Path,
    filter: &MemoryFilter,
) -> Result<(), Failure> {
    let broken = |error: std::io::Error| Failure::Usage(format!("{}: {error}", file.display()));
    let mut written = None;
    if file != Path::new("-") {
        let new = std::fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(file)
            .map_err(broken)?;
        written = Some(std::io::BufWriter::new(new));
    }
    let (mut cursor, mut count) = (None, 0);
    loop {
        let query = ListMemories {
            filter: filter.clone(),
            page: PageRequest {
                limit: Some(500),
                cursor,
            },
        };
        let page = client.call(query).await?;
        for item in page.items.into_iter().filter_map(memory_lines::item) {
            count += 1;
            match &mut written {
                None => terminal.json(&item)?,
                Some(file) => {
                    let line = json_line(&item)?;
                    writeln!(file, "{line}").map_err(broken)?;
                }
            }
        }
        cursor = page.next_cursor;
        if cursor.is_none() {
            break;
        }
    }
    if let Some(mut written) = written {
        written.flush().map_err(broken)?;
        terminal.note(&format!("{count} memories written to {}", file.display()))?;
    }
    Ok(())
}

/// Remembers what an export holds.
pub async fn import(
    client: &dyn ConsoleClient,
    terminal: &mut Terminal<'_>,
    format: Format,
    file: &Path,
) -> Result<(), Failure> {
    let bytes = read(terminal, file, MOST)?;
    if bytes.len() as u64 > MOST {
        return Err(Failure::Usage(format!(
            "{}: an import has at most {MOST} bytes; nothing was imported: split the file at the end of a line",
            file.display()
        )));
    }
    let items = memory_lines::parse(&bytes).map_err(|error| {
        Failure::Usage(format!(
            "{}, {error}: expected lines as `leverframe memory export` writes them; nothing was imported",
            file.display()
        ))
    })?;
    let order = ImportMemories { items };
    let done = submit(client, order).await?;
    match format {
        Format::Json => terminal.json(&done),
        Format::Human => terminal.line(&format!(
            "{} imported, {} already known",
            done.added, done.known
        )),
    }
}
