//! Tables that people send: made into Parquet files, and asked.
//!
//! Nothing here knows whose a table is. Bytes from outside come in and are never trusted: no input makes this panic, and
//! memory stays bounded whatever its size. Without the feature `datasets` every function says that it is left out.

#[cfg(feature = "datasets")]
mod cell;
#[cfg(feature = "datasets")]
mod column_guess;
mod conversion;
#[cfg(feature = "datasets")]
mod convert;
#[cfg(feature = "datasets")]
mod csv_rows;
#[cfg(feature = "datasets")]
mod datum;
#[cfg(feature = "datasets")]
mod describe;
#[cfg(feature = "datasets")]
mod encoding;
mod error;
#[cfg(feature = "datasets")]
mod export;
#[cfg(feature = "datasets")]
mod filter;
#[cfg(feature = "datasets")]
mod groups;
#[cfg(feature = "datasets")]
mod json_rows;
#[cfg(feature = "datasets")]
mod parquet_file;
#[cfg(feature = "datasets")]
mod query;
#[cfg(feature = "datasets")]
mod rows;

#[cfg(not(feature = "datasets"))]
mod left_out;
#[cfg(not(feature = "datasets"))]
pub use left_out::{convert, describe, export, query};

pub use conversion::{Converted, Input};
pub use error::DatasetError;

#[cfg(feature = "datasets")]
pub use convert::convert;
#[cfg(feature = "datasets")]
pub use describe::describe;
#[cfg(feature = "datasets")]
pub use export::export;
#[cfg(feature = "datasets")]
pub use query::query;

/// Whether this program makes and asks datasets.
pub const fn is_built_in() -> bool {
    cfg!(feature = "datasets")
}
