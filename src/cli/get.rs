//! `leverframe get RESOURCE`: any list of the daemon, as the console shows it with `:RESOURCE`.

use crate::cli::exit::{Failure, usage};
use crate::cli::table;
use crate::cli::terminal::{Cli, Format};
use crate::client::listing::{RESOURCES, Resource, resource};

/// Lists a resource; without a name, which resources there are.
pub async fn run(cli: &mut Cli<'_>, name: Option<&str>) -> Result<(), Failure> {
    let names: Vec<&str> = RESOURCES.iter().map(|one| one.name).collect();
    let Some(name) = name else {
        return cli.terminal.show(&names, |terminal, _| {
            let row = |one: &Resource| vec![one.name.to_owned(), one.about.to_owned()];
            let rows: Vec<Vec<String>> = RESOURCES.iter().map(row).collect();
            table::print(terminal, &["RESOURCE", "WHAT"], &rows, "")
        });
    };
    let Some(resource) = resource(name) else {
        return Err(usage!(
            "`{}` is not a resource: expected one of {}",
            name.chars().take(64).collect::<String>(),
            names.join(", ")
        ));
    };
    let answer = cli.client.query((resource.query)()).await?;
    let rows = (resource.rows)(&answer).unwrap_or_default();
    match cli.terminal.format {
        Format::Json => rows
            .iter()
            .try_for_each(|row| cli.terminal.json(&row.object)),
        Format::Human => {
            let cells: Vec<Vec<String>> = rows.into_iter().map(|row| row.cells).collect();
            table::print(&mut cli.terminal, resource.heads, &cells, resource.nothing)
        }
    }
}
