//! What is in the columns of a dataset.

use std::collections::HashSet;
use std::hash::{BuildHasher as _, Hash};
use std::path::Path;

use foldhash::quality::FixedState;
use serde_json::Value;

use crate::datasets::datum::Datum;
use crate::datasets::error::DatasetError;
use crate::datasets::parquet_file::DatasetFile;
use crate::protocol::dataset::{ColumnSummary, DatasetColumn, SAMPLE_ROWS};

/// Different values that are counted one by one; more are estimated.
const EXACT: usize = 1024;
/// Bits of a hash that choose a register.
const BITS: u32 = 12;

/// Columns in order, and the first rows.
pub fn describe(
    path: &Path,
    expected: &[DatasetColumn],
) -> Result<(Vec<ColumnSummary>, Vec<Vec<Value>>), DatasetError> {
    let file = DatasetFile::open(path)?;
    if file.columns != expected {
        return Err(DatasetError::Damaged(
            "its columns are not those it was made with".to_owned(),
        ));
    }
    let shown = file.rows.min(u64::from(SAMPLE_ROWS)) as usize;
    let mut sample = vec![Vec::with_capacity(file.columns.len()); shown];
    let mut columns = Vec::with_capacity(file.columns.len());
    for (at, column) in file.columns.iter().enumerate() {
        let mut summary = Summary::default();
        let mut row = 0;
        for group in 0..file.groups() {
            for value in file.read(group, at)? {
                if let Some(cells) = sample.get_mut(row) {
                    cells.push(value.to_json());
                }
                row += 1;
                summary.see(&value);
            }
        }
        columns.push(ColumnSummary {
            name: column.name.clone(),
            kind: column.kind,
            missing: summary.missing,
            min: summary.min.map(|value| value.to_json()),
            max: summary.max.map(|value| value.to_json()),
            distinct: summary.distinct.count(),
        });
    }
    Ok((columns, sample))
}

#[derive(Default)]
struct Summary {
    missing: u64,
    min: Option<Datum>,
    max: Option<Datum>,
    distinct: Distinct,
}

impl Summary {
    fn see(&mut self, value: &Datum) {
        if value.is_missing() {
            self.missing += 1;
            return;
        }
        if self.min.as_ref().is_none_or(|min| value < min) {
            self.min = Some(value.detached());
        }
        if self.max.as_ref().is_none_or(|max| value > max) {
            self.max = Some(value.detached());
        }
        self.distinct.see(value);
    }
}

/// How many different values there are: exactly while they are few, then by `HyperLogLog`, 2 % off.
#[derive(Default)]
struct Distinct {
    few: HashSet<u64>,
    /// Leading zeros by register; empty = they are few.
    registers: Vec<u8>,
}

impl Distinct {
    fn see(&mut self, value: &impl Hash) {
        let hash = FixedState::with_seed(0).hash_one(value);
        if !self.registers.is_empty() {
            return self.register(hash);
        }
        self.few.insert(hash);
        if self.few.len() > EXACT {
            self.registers = vec![0; 1 << BITS];
            for hash in std::mem::take(&mut self.few) {
                self.register(hash);
            }
        }
    }

    fn register(&mut self, hash: u64) {
        let register = &mut self.registers[(hash >> (64 - BITS)) as usize];
        let zeros = (hash << BITS).leading_zeros().min(64 - BITS) as u8 + 1;
        *register = (*register).max(zeros);
    }

    fn count(&self) -> u64 {
        if self.registers.is_empty() {
            return self.few.len() as u64;
        }
        let number = self.registers.len() as f64;
        let sum: f64 = self
            .registers
            .iter()
            .map(|zeros| (-f64::from(*zeros)).exp2())
            .sum();
        let estimate = 0.7213 / (1.0 + 1.079 / number) * number * number / sum;
        let empty = self
            .registers
            .iter()
            .map(|zeros| usize::from(*zeros == 0))
            .sum::<usize>();
        if estimate <= 2.5 * number && empty > 0 {
            return (number * (number / empty as f64).ln()).round() as u64;
        }
        estimate.round() as u64
    }
}
