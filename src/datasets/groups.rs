//! Groups of rows, and what is computed of each.

use std::collections::{HashMap, HashSet};
use std::hash::BuildHasher as _;

use foldhash::quality::FixedState;

use crate::datasets::datum::Datum;
use crate::datasets::error::DatasetError;
use crate::datasets::filter::place;
use crate::protocol::dataset::{Aggregate, DatasetColumn, DatasetQuery};
use crate::protocol::enums::{AggregateFunction, ColumnType};

/// Most groups of an answer.
const MAX_GROUPS: usize = 100_000;
/// Most values that medians and different values keep in memory, of all groups.
const MAX_KEPT: usize = 4_000_000;

/// What is computed.
struct Computed {
    function: AggregateFunction,
    column: Option<usize>,
}

/// Groups as they grow.
pub struct Groups {
    keys: Vec<usize>,
    computed: Vec<Computed>,
    /// The columns of the answer.
    pub columns: Vec<DatasetColumn>,
    places: HashMap<Vec<Datum>, usize>,
    groups: Vec<(Vec<Datum>, Vec<State>)>,
    kept: usize,
}

/// What is known of a group so far.
enum State {
    Count(u64),
    Sum { whole: i128, real: f64, any: bool },
    Least(Option<Datum>),
    Greatest(Option<Datum>),
    Mean { sum: f64, count: u64 },
    Median(Vec<f64>),
    Distinct(HashSet<u64>),
}

impl Groups {
    /// What a question asks for; the error says what is wrong with it.
    pub fn new(query: &DatasetQuery, columns: &[DatasetColumn]) -> Result<Self, DatasetError> {
        let keys: Result<Vec<usize>, DatasetError> = query
            .group_by
            .iter()
            .map(|name| place(name, columns))
            .collect();
        let keys = keys?;
        let count = [Aggregate {
            function: AggregateFunction::Count,
            column: None,
            name: None,
        }];
        let asked = if query.aggregate.is_empty() {
            &count[..]
        } else {
            &query.aggregate
        };
        let mut answer: Vec<DatasetColumn> = keys.iter().map(|key| columns[*key].clone()).collect();
        let mut computed = Vec::new();
        for one in asked {
            let (of, column) = compute(one, columns)?;
            computed.push(of);
            answer.push(column);
        }
        let mut names = HashSet::new();
        if let Some(twice) = answer.iter().find(|column| !names.insert(&column.name)) {
            return Err(DatasetError::refused(format!(
                "the answer has `{}` twice: name one of them with `as`",
                twice.name
            )));
        }
        let mut groups = Self {
            keys,
            computed,
            columns: answer,
            places: HashMap::new(),
            groups: Vec::new(),
            kept: 0,
        };
        // Without keys all rows are one group, also where there are none.
        if groups.keys.is_empty() {
            groups.group(&[])?;
        }
        Ok(groups)
    }

    /// The columns that it reads.
    pub fn reads(&self) -> impl Iterator<Item = usize> {
        let of = self.computed.iter().filter_map(|one| one.column);
        self.keys.iter().copied().chain(of)
    }

    fn group(&mut self, key: &[Datum]) -> Result<usize, DatasetError> {
        if let Some(place) = self.places.get(key) {
            return Ok(*place);
        }
        if self.groups.len() == MAX_GROUPS {
            return Err(DatasetError::refused(format!(
                "more than {MAX_GROUPS} groups: group by fewer columns, or filter with `where`"
            )));
        }
        let key: Vec<Datum> = key.iter().map(Datum::detached).collect();
        let place = self.groups.len();
        let states = self.computed.iter().map(|one| State::new(one.function));
        self.groups.push((key.clone(), states.collect()));
        self.places.insert(key, place);
        Ok(place)
    }

    /// Takes a row, given the value of each column.
    pub fn take<'a>(
        &mut self,
        value: impl Fn(usize) -> &'a Datum,
        key: &mut Vec<Datum>,
    ) -> Result<(), DatasetError> {
        key.clear();
        key.extend(self.keys.iter().map(|column| value(*column).clone()));
        let place = self.group(key)?;
        for (one, state) in self.computed.iter().zip(&mut self.groups[place].1) {
            match one.column {
                Some(column) => self.kept += state.see(value(column)),
                None => state.count(),
            }
        }
        if self.kept > MAX_KEPT {
            return Err(DatasetError::refused(format!(
                "`median` and `count_distinct` would keep more than {MAX_KEPT} values: filter with `where`"
            )));
        }
        Ok(())
    }

    /// The rows of the answer, in the order in which the groups came.
    pub fn rows(self) -> Vec<Vec<Datum>> {
        let row = |(key, states): (Vec<Datum>, Vec<State>)| {
            key.into_iter()
                .chain(states.into_iter().map(State::value))
                .collect()
        };
        self.groups.into_iter().map(row).collect()
    }
}

fn compute(
    asked: &Aggregate,
    columns: &[DatasetColumn],
) -> Result<(Computed, DatasetColumn), DatasetError> {
    let function = asked.function;
    let column = asked
        .column
        .as_ref()
        .map(|name| place(name, columns))
        .transpose()?;
    let of = column.map(|place| &columns[place]);
    let kind = match (function, of) {
        (AggregateFunction::Count, _) => ColumnType::Integer,
        (_, None) => {
            return Err(DatasetError::refused(format!(
                "`{function}` needs a `column`"
            )));
        }
        (AggregateFunction::CountDistinct, Some(_)) => ColumnType::Integer,
        (AggregateFunction::Min | AggregateFunction::Max, Some(column)) => column.kind,
        (
            AggregateFunction::Sum | AggregateFunction::Avg | AggregateFunction::Median,
            Some(column),
        ) => match (column.kind, function) {
            (ColumnType::Integer, AggregateFunction::Sum) => ColumnType::Integer,
            (ColumnType::Integer | ColumnType::Number, _) => ColumnType::Number,
            (kind, _) => {
                return Err(DatasetError::refused(format!(
                    "`{function}` needs numbers, and `{}` holds values of the type {kind}",
                    column.name
                )));
            }
        },
    };
    let name = asked.name.clone().unwrap_or_else(|| match of {
        Some(column) => format!("{function}_{}", column.name),
        None => function.to_string(),
    });
    Ok((Computed { function, column }, DatasetColumn { name, kind }))
}

impl State {
    fn new(function: AggregateFunction) -> Self {
        match function {
            AggregateFunction::Count => Self::Count(0),
            AggregateFunction::Sum => Self::Sum {
                whole: 0,
                real: 0.0,
                any: false,
            },
            AggregateFunction::Min => Self::Least(None),
            AggregateFunction::Max => Self::Greatest(None),
            AggregateFunction::Avg => Self::Mean { sum: 0.0, count: 0 },
            AggregateFunction::Median => Self::Median(Vec::new()),
            AggregateFunction::CountDistinct => Self::Distinct(HashSet::new()),
        }
    }

    fn count(&mut self) {
        if let Self::Count(count) = self {
            *count += 1;
        }
    }

    /// Takes a value; how many more values are kept for it.
    fn see(&mut self, value: &Datum) -> usize {
        if value.is_missing() {
            return 0;
        }
        match self {
            Self::Count(count) => *count += 1,
            Self::Sum { whole, real, any } => {
                *any = true;
                match value {
                    Datum::Integer(number) => *whole += i128::from(*number),
                    other => *real += other.as_number().unwrap_or(0.0),
                }
            }
            Self::Least(least) => {
                if least.as_ref().is_none_or(|least| value < least) {
                    *least = Some(value.detached());
                }
            }
            Self::Greatest(greatest) => {
                if greatest.as_ref().is_none_or(|greatest| value > greatest) {
                    *greatest = Some(value.detached());
                }
            }
            Self::Mean { sum, count } => {
                *sum += value.as_number().unwrap_or(0.0);
                *count += 1;
            }
            Self::Median(values) => {
                values.extend(value.as_number());
                return 1;
            }
            Self::Distinct(seen) => {
                return usize::from(seen.insert(FixedState::with_seed(0).hash_one(value)));
            }
        }
        0
    }

    fn value(self) -> Datum {
        match self {
            Self::Count(count) => Datum::Integer(i64::try_from(count).unwrap_or(i64::MAX)),
            Self::Distinct(seen) => Datum::Integer(seen.len() as i64),
            Self::Sum { any: false, .. } => Datum::Missing,
            Self::Sum { whole, real, .. } => match i64::try_from(whole) {
                Ok(whole) if real == 0.0 => Datum::Integer(whole),
                Ok(_) | Err(_) => real_or_missing(whole as f64 + real),
            },
            Self::Least(value) | Self::Greatest(value) => value.unwrap_or(Datum::Missing),
            Self::Mean { count: 0, .. } => Datum::Missing,
            Self::Mean { sum, count } => real_or_missing(sum / count as f64),
            Self::Median(mut values) => {
                values.sort_unstable_by(f64::total_cmp);
                let middle = values.len() / 2;
                match (values.get(middle), middle.checked_sub(1)) {
                    (None, _) => Datum::Missing,
                    (Some(value), Some(before)) if values.len() % 2 == 0 => {
                        real_or_missing(values[before] / 2.0 + value / 2.0)
                    }
                    (Some(value), _) => real_or_missing(*value),
                }
            }
        }
    }
}

/// A sum of large numbers may be none.
fn real_or_missing(number: f64) -> Datum {
    if number.is_finite() {
        Datum::Number(number)
    } else {
        Datum::Missing
    }
}
