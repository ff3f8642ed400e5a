//! Tables and what is asked of them.

string_enum!(/// What the cells of a column are.
    ColumnType as "column type" {
    /// Whole numbers of 64 bits.
    Integer = "integer",
    /// Numbers with a fraction.
    Number = "number",
    /// True or false.
    Boolean = "boolean",
    /// Days, YYYY-MM-DD.
    Date = "date",
    /// Dates with a time of day and no zone.
    Datetime = "datetime",
    /// Moments, in UTC.
    Timestamp = "timestamp",
    /// Anything else.
    Text = "text",
});

string_enum!(/// How a cell is compared.
    Comparison as "comparison" {
    /// The same.
    Equal = "=",
    /// Not the same.
    NotEqual = "!=",
    /// Smaller.
    Less = "<",
    /// Smaller or the same.
    LessOrEqual = "<=",
    /// Larger.
    Greater = ">",
    /// Larger or the same.
    GreaterOrEqual = ">=",
    /// The text has it in it, capital letters or not.
    Contains = "contains",
    /// One of a list.
    In = "in",
    /// There is no value.
    IsNull = "is_null",
});

string_enum!(/// What is computed of a group of rows.
    AggregateFunction as "aggregate function" {
    /// Rows, or cells with a value.
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
    /// Different values.
    CountDistinct = "count_distinct",
});

string_enum!(/// What a dataset is written as.
    DatasetFormat as "dataset format" {
    /// Text in UTF-8, columns apart by commas.
    Csv = "csv",
    /// The file as it is kept.
    Parquet = "parquet",
});
