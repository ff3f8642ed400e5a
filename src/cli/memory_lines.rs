//! `leverframe memory export|import`. An import changes nothing unless every line of it can be taken.

use std::io::Write as _;
use std::path::Path;

use crate::cli::exit::{Failure, usage};
use crate::cli::find::submit;
use crate::cli::terminal::{Cli, create, json_line, read};
use crate::client::memory_lines;
use crate::protocol::memory::MemoryFilter;
use crate::protocol::request::{ImportMemories, ListMemories};
use crate::protocol::snapshot::PageRequest;

/// Most bytes of one import: a request holds no more.
const MOST: u64 = 900_000;

/// Writes everything that is recalled, one object a line.
pub async fn export(cli: &mut Cli<'_>, file: &Path, filter: &MemoryFilter) -> Result<(), Failure> {
    let broken = |error: std::io::Error| usage!("{}: {error}", file.display());
    let mut written = match file {
        file if file == Path::new("-") => None,
        file => Some(std::io::BufWriter::new(create(file)?)),
    };
    let (mut cursor, mut count) = (None, 0);
    loop {
        let query = ListMemories {
            filter: filter.clone(),
            page: PageRequest {
                limit: Some(500),
                cursor,
            },
        };
        let page = cli.client.call(query).await?;
        for item in page.items.into_iter().filter_map(memory_lines::item) {
            count += 1;
            match &mut written {
                None => cli.terminal.json(&item)?,
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
        cli.terminal
            .note(&format!("{count} memories written to {}", file.display()))?;
    }
    Ok(())
}

/// Remembers what an export holds.
pub async fn import(cli: &mut Cli<'_>, file: &Path) -> Result<(), Failure> {
    let bytes = read(&mut cli.terminal, file, MOST)?;
    if bytes.len() as u64 > MOST {
        return Err(usage!(
            "{}: an import has at most {MOST} bytes; nothing was imported: split the file at the end of a line",
            file.display()
        ));
    }
    let items = memory_lines::parse(&bytes).map_err(|error| {
        usage!(
            "{}, {error}: expected lines as `leverframe memory export` writes them; nothing was imported",
            file.display()
        )
    })?;
    let order = ImportMemories { items };
    let done = submit(cli.client, order).await?;
    cli.terminal.show_line(&done, || {
        format!("{} imported, {} already known", done.added, done.known)
    })
}
