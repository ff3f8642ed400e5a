//! Asking a dataset: which rows, which columns, which groups. Group of rows after group of rows, never the whole.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::path::Path;

use crate::datasets::datum::Datum;
use crate::datasets::error::DatasetError;
use crate::datasets::filter::{Filter, place};
use crate::datasets::groups::Groups;
use crate::datasets::parquet_file::DatasetFile;
use crate::protocol::dataset::{DEFAULT_ROWS, DatasetColumn, DatasetQuery, DatasetRows, MAX_ROWS};

/// The values of the columns that are read, by place; empty = the column is not read.
type Group = Vec<Vec<Datum>>;

/// Answers a question.
pub fn query(path: &Path, query: &DatasetQuery) -> Result<DatasetRows, DatasetError> {
    let file = DatasetFile::open(path)?;
    let limit = query.limit.unwrap_or(DEFAULT_ROWS);
    if !(1..=MAX_ROWS).contains(&limit) {
        return Err(DatasetError::refused(format!(
            "`limit` must be 1 to {MAX_ROWS}"
        )));
    }
    let filters: Result<Vec<Filter>, DatasetError> = query
        .conditions
        .iter()
        .map(|condition| Filter::new(condition, &file.columns))
        .collect();
    let question = Question {
        file,
        filters: filters?,
        limit: limit as usize,
    };
    if query.group_by.is_empty() && query.aggregate.is_empty() {
        question.rows(query)
    } else if query.select.is_empty() {
        question.groups(query)
    } else {
        Err(DatasetError::refused(
            "`select` does not go with `group_by` and `aggregate`: they say what the answer has",
        ))
    }
}

struct Question {
    file: DatasetFile,
    filters: Vec<Filter>,
    limit: usize,
}

impl Question {
    /// The values of a group of rows, of these columns and of those that are filtered by.
    fn read(&self, group: usize, columns: &BTreeSet<usize>) -> Result<Group, DatasetError> {
        let filtered = self.filters.iter().map(|filter| filter.column);
        let wanted: BTreeSet<usize> = columns.iter().copied().chain(filtered).collect();
        let mut read = vec![Vec::new(); self.file.columns.len()];
        for column in wanted {
            read[column] = self.file.read(group, column)?;
        }
        Ok(read)
    }

    fn fits(&self, group: &Group, row: usize) -> bool {
        let fits = |filter: &Filter| filter.fits(&group[filter.column][row]);
        self.filters.iter().all(fits)
    }

    fn rows(&self, query: &DatasetQuery) -> Result<DatasetRows, DatasetError> {
        let all = &self.file.columns;
        let selected: Vec<usize> = if query.select.is_empty() {
            (0..all.len()).collect()
        } else {
            let places = query.select.iter().map(|name| place(name, all));
            places.collect::<Result<_, _>>()?
        };
        let order = query.order_by.as_ref().map(|name| place(name, all));
        let order = order.transpose()?;
        let columns: BTreeSet<usize> = selected.iter().copied().chain(order).collect();
        let none = BTreeSet::new();
        let mut matched = 0;
        // The value it is sorted by, and the row.
        let mut kept: Vec<(Datum, Vec<Datum>)> = Vec::new();
        for number in 0..self.file.groups() {
            let is_enough = order.is_none() && kept.len() >= self.limit;
            if is_enough && self.filters.is_empty() {
                matched = self.file.rows;
                break;
            }
            let group = self.read(number, if is_enough { &none } else { &columns })?;
            for row in 0..self.file.group_rows(number) {
                if !self.fits(&group, row) {
                    continue;
                }
                matched += 1;
                if order.is_none() && kept.len() >= self.limit {
                    continue;
                }
                let key = order.map_or(Datum::Missing, |column| group[column][row].clone());
                let values = selected.iter().map(|column| group[*column][row].detached());
                kept.push((key.detached(), values.collect()));
                if kept.len() >= self.limit * 2 + 1000 {
                    self.cut(&mut kept, query);
                }
            }
        }
        if order.is_some() {
            self.cut(&mut kept, query);
        }
        let columns = selected.iter().map(|column| all[*column].clone());
        let rows = kept.into_iter().map(|(_, row)| row).collect();
        Ok(self.answer(columns.collect(), rows, matched, matched))
    }

    /// Keeps the rows that come first.
    fn cut(&self, kept: &mut Vec<(Datum, Vec<Datum>)>, query: &DatasetQuery) {
        kept.sort_by(|left, right| order_of(&left.0, &right.0, query.descending));
        kept.truncate(self.limit);
    }

    fn groups(&self, query: &DatasetQuery) -> Result<DatasetRows, DatasetError> {
        let mut groups = Groups::new(query, &self.file.columns)?;
        let order = query
            .order_by
            .as_ref()
            .map(|name| place(name, &groups.columns));
        let order = order.transpose()?;
        let columns: BTreeSet<usize> = groups.reads().collect();
        let mut matched = 0;
        let mut key = Vec::new();
        for number in 0..self.file.groups() {
            let group = self.read(number, &columns)?;
            for row in 0..self.file.group_rows(number) {
                if self.fits(&group, row) {
                    matched += 1;
                    groups.take(|column| &group[column][row], &mut key)?;
                }
            }
        }
        let columns = groups.columns.clone();
        let mut rows = groups.rows();
        if let Some(order) = order {
            rows.sort_by(|left, right| order_of(&left[order], &right[order], query.descending));
        }
        let total = rows.len() as u64;
        rows.truncate(self.limit);
        Ok(self.answer(columns, rows, total, matched))
    }

    fn answer(
        &self,
        columns: Vec<DatasetColumn>,
        rows: Vec<Vec<Datum>>,
        total: u64,
        matched: u64,
    ) -> DatasetRows {
        DatasetRows {
            columns,
            rows: rows
                .iter()
                .map(|row| row.iter().map(Datum::to_json).collect())
                .collect(),
            total,
            matched,
            scanned: self.file.rows,
        }
    }
}

/// What has no value comes last, whichever way it is sorted.
fn order_of(left: &Datum, right: &Datum, descending: bool) -> Ordering {
    match (left.is_missing(), right.is_missing()) {
        (false, false) if descending => right.cmp(left),
        (left_missing, right_missing) if left_missing != right_missing => {
            left_missing.cmp(&right_missing)
        }
        (..) => left.cmp(right),
    }
}
