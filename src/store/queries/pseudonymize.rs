//! Where a person's id stands in any text of any table: to put another name there, and to count what is left.
//!
//! Tables and columns come from the schema, so that no table can be left out here.

use crate::store::sql::{Value, columns};

use crate::store::error::StoreError;
use crate::store::queries::erase::UNDER_WAY;
use crate::store::reader::Reader;
use crate::store::sql::Statements;

/// A row that names a person, with what its texts would be without the name.
#[derive(Debug, Clone, PartialEq)]
pub struct Mention {
    /// Its key, in the order of the table's key columns.
    pub key: Vec<Value>,
    /// Columns that change; empty = the key itself names the person.
    pub texts: Vec<(String, String)>,
}

/// A table, as the database describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    pub name: String,
    /// Columns of its key, in order.
    pub key: Vec<String>,
    /// Columns of text.
    texts: Vec<String>,
}

/// What stays: the audit, which is append-only.
const KEPT: [&str; 2] = ["audit", "audit_segments"];

/// Where `id` stands in the text as a name of its own, not as a part of a longer one.
fn mentions(text: &str, id: &str) -> Vec<usize> {
    let part = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    text.match_indices(id)
        .map(|(at, _)| at)
        .filter(|at| {
            let before = text.get(..*at).and_then(|text| text.chars().next_back());
            let after = text
                .get(at + id.len()..)
                .and_then(|text| text.chars().next());
            !before.is_some_and(part) && !after.is_some_and(part)
        })
        .collect()
}

/// The text with another name.
pub(crate) fn renamed(text: &str, id: &str, other: &str) -> Option<String> {
    let found = mentions(text, id);
    if found.is_empty() {
        return None;
    }
    let mut new = String::with_capacity(text.len());
    let mut from = 0;
    for at in found {
        new.push_str(text.get(from..at).unwrap_or_default());
        new.push_str(other);
        from = at + id.len();
    }
    new.push_str(text.get(from..).unwrap_or_default());
    Some(new)
}

impl Reader<'_> {
    /// Every table that may hold a name.
    pub fn tables_with_text(&self) -> Result<Vec<Table>, StoreError> {
        let names = self.conn.rows(
            "SELECT name, wr FROM pragma_table_list
             WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name",
            [],
            columns!(name: String, wr),
        )?;
        let mut tables = Vec::new();
        for (name, without_rowid) in names {
            if KEPT.contains(&name.as_str()) {
                continue;
            }
            let columns: Vec<(String, String, u32)> = self.conn.rows(
                "SELECT name, type, pk FROM pragma_table_info(?1)",
                [&name],
                columns!(name, type, pk),
            )?;
            let mut key: Vec<(u32, String)> = columns
                .iter()
                .filter(|(_, _, pk)| *pk > 0)
                .map(|(column, _, pk)| (*pk, column.clone()))
                .collect();
            key.sort_unstable();
            tables.push(Table {
                key: if without_rowid {
                    key.into_iter().map(|(_, column)| column).collect()
                } else {
                    vec!["rowid".to_owned()]
                },
                texts: columns
                    .into_iter()
                    .filter(|(_, kind, _)| kind == "TEXT")
                    .map(|(column, _, _)| column)
                    .collect(),
                name,
            });
        }
        tables.retain(|table| !table.texts.is_empty());
        Ok(tables)
    }

    /// At most `limit` rows after a key that name a person.
    pub fn mentions(
        &self,
        table: &Table,
        person: &str,
        other: &str,
        after: Option<&[Value]>,
        limit: usize,
    ) -> Result<Vec<Mention>, StoreError> {
        let key = table.key.join(", ");
        let columns = [&table.key[..], &table.texts[..]].concat();
        // A number of the row has the name of the column that stands for it.
        let columns: Vec<String> = columns.iter().map(|c| format!("{c} AS {c}")).collect();
        let columns = columns.join(", ");
        let any: Vec<String> = table
            .texts
            .iter()
            .map(|column| format!("instr({column}, ?1) > 0"))
            .collect();
        let mut values = vec![Value::from(person.to_owned())];
        let mut from = String::new();
        if let Some(after) = after {
            // The first one is the name.
            let marks: Vec<String> = (0..after.len()).map(|n| format!("?{}", n + 2)).collect();
            let marks = marks.join(", ");
            from = format!("({key}) > ({marks}) AND ");
            values.extend(after.iter().cloned());
        }
        let query = format!(
            "SELECT {columns} FROM {} WHERE {from}({}) ORDER BY {key}",
            table.name,
            any.join(" OR ")
        );
        let mut found = Vec::new();
        self.conn.each_while(&query, values.as_slice(), |row| {
            let key = table.key.iter().map(|column| row.get(column));
            let mut mention = Mention {
                key: key.collect::<Result<_, _>>()?,
                texts: Vec::new(),
            };
            if table.name == "meta" && mention.key == [Value::from(UNDER_WAY.to_owned())] {
                // Whoever dies half-way has to know afterwards whom it was about; goes at the end.
                return Ok(true);
            }
            let mut in_key = false;
            for column in &table.texts {
                let text = row.text_opt(column)?;
                let Some(new) = text.and_then(|text| renamed(text, person, other)) else {
                    continue;
                };
                in_key |= table.key.contains(column);
                mention.texts.push((column.clone(), new));
            }
            if in_key {
                mention.texts.clear();
            } else if mention.texts.is_empty() {
                return Ok(true);
            }
            found.push(mention);
            Ok(found.len() < limit)
        })?;
        Ok(found)
    }
}
