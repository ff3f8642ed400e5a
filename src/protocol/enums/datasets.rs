//! Values about datasets and queries.

string_enum!(/// Type of the cells of a column.
    ColumnType as "column type" {
    /// 64-bit integers.
    Integer = "integer",
    /// Numbers with a fraction.
    Number = "number",
    /// True or false.
    Boolean = "boolean",
    /// Dates, YYYY-MM-DD.
    Date = "date",
    /// Dates with a time of day and no time zone.
    Datetime = "datetime",
    /// Points in time, in UTC.
    Timestamp = "timestamp",
    /// Any other text.
    Text = "text",
});

string_enum!(/// How a query compares a cell with a value.
    Comparison as "comparison" {
    /// Equal.
    Equal = "=",
    /// Not equal.
    NotEqual = "!=",
    /// Less than.
    Less = "<",
    /// Less than or equal.
    LessOrEqual = "<=",
    /// Greater than.
    Greater = ">",
    /// Greater than or equal.
    GreaterOrEqual = ">=",
    /// The text contains the value; case does not matter.
    Contains = "contains",
    /// Equal to one of a list.
    In = "in",
    /// The cell has no value.
    IsNull = "is_null",
});

string_enum!(/// What a query computes for a group of rows.
    AggregateFunction as "aggregate function" {
    /// Number of rows, or of cells with a value.
    Count = "count",
    /// Sum of numbers.
    Sum = "sum",
    /// The smallest value.
    Min = "min",
    /// The largest value.
    Max = "max",
    /// The mean of numbers.
    Avg = "avg",
    /// The median of numbers.
    Median = "median",
    /// Number of distinct values.
    CountDistinct = "count_distinct",
});

string_enum!(/// Format of a dataset export.
    DatasetFormat as "dataset format" {
    /// UTF-8 text, separated by commas.
    Csv = "csv",
    /// Parquet, the stored file.
    Parquet = "parquet",
});
