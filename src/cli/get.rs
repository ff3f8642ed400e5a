//! `leverframe get RESOURCE`: any list of the daemon, as the console shows it with `:RESOURCE`.

use crate::cli::exit::Failure;
use crate::cli::table;
use crate::cli::terminal::{Format, Terminal};
use crate::client::console_client::ConsoleClient;
use crate::client::listing::{RESOURCES, resource};

/// Lists a resource; without a name, which resources there are.
pub async fn run(
    client: &dyn ConsoleClient,
    terminal: &mut Terminal<'_>,
    format: Format,
    name: Option<&str>,
) -> Result<(), Failure> {
    let Some(name) = name else {
        let rows: Vec<Vec<String>> = RESOURCES
            .iter()
            .map(|one| vec![one.name.to_owned(), one.about.to_owned()])
            .collect();
        return match format {
            Format::Json => {
                terminal.json(&RESOURCES.iter().map(|one| one.name).collect::<Vec<_>>())
            }
            Format::Human => table::print(terminal, &["RESOURCE", "WHAT"], &rows, ""),
        };
    };
    let Some(resource) = resource(name) else {
        let names: Vec<&str> = RESOURCES.iter().map(|one| one.name).collect();
        return Err(Failure::Usage(format!(
            "`{}` is not a resource: expected one of {}",
            name.chars().take(64).collect::<String>(),
            names.join(", ")
        )));
    };
    let answer = client.query((resource.query)()).await?;
    let rows = (resource.rows)(&answer).unwrap_or_default();
    match format {
        Format::Json => rows.iter().try_for_each(|row| terminal.json(&row.object)),
        Format::Human => {
            let cells: Vec<Vec<String>> = rows.into_iter().map(|row| row.cells).collect();
            table::print(terminal, resource.heads, &cells, resource.nothing)
        }
    }
}
