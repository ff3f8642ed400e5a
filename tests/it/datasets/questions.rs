//! Questions of a table against a plain reading of the same rows.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use leverframe::datasets::query;
use leverframe::protocol::dataset::{Aggregate, Condition, DatasetQuery};
use leverframe::protocol::enums::{AggregateFunction, Comparison};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::datasets::convert::{Table, made};

/// City, amount, share, day; each may be missing.
type Row = (Option<&'static str>, Option<i64>, Option<f64>, Option<i32>);

const CITIES: [&str; 4] = ["Bonn", "Köln", "aachen", "Ulm, West"];

fn rows() -> impl Strategy<Value = Vec<Row>> {
    let row = (
        proptest::option::weighted(0.9, proptest::sample::select(&CITIES[..])),
        proptest::option::weighted(0.9, -3_i64..4),
        proptest::option::weighted(0.9, (-8_i32..8).prop_map(|n| f64::from(n) / 4.0 + 0.125)),
        proptest::option::weighted(0.9, 1..6),
    );
    proptest::collection::vec(row, 1..40)
}

fn table(rows: &[Row]) -> Table {
    let mut text = String::from("city,amount,share,day\n");
    // So that the types are always the same.
    text.push_str("first,9,9.5,2024-01-09\n");
    for (city, amount, share, day) in rows {
        let text_of = |value: Option<String>| value.unwrap_or_default();
        text.push_str(&format!(
            "{},{},{},{}\n",
            text_of(city.map(|city| format!("\"{city}\""))),
            text_of(amount.map(|amount| amount.to_string())),
            text_of(share.map(|share| share.to_string())),
            text_of(day.map(|day| format!("2024-01-0{day}"))),
        ));
    }
    made("t.csv", text.as_bytes()).unwrap()
}

fn all(rows: &[Row]) -> Vec<Row> {
    std::iter::once((Some("first"), Some(9), Some(9.5), Some(9)))
        .chain(rows.iter().copied())
        .collect()
}

fn condition(column: &str, op: Comparison, value: Value) -> Condition {
    Condition {
        column: column.to_owned(),
        op,
        value,
    }
}

fn aggregate(function: AggregateFunction, column: Option<&str>) -> Aggregate {
    Aggregate {
        function,
        column: column.map(str::to_owned),
        name: None,
    }
}

fn compared<T: PartialOrd>(op: Comparison, left: T, right: T) -> bool {
    match op {
        Comparison::Equal => left == right,
        Comparison::NotEqual => left != right,
        Comparison::Less => left < right,
        Comparison::LessOrEqual => left <= right,
        Comparison::Greater => left > right,
        Comparison::GreaterOrEqual => left >= right,
        _ => unreachable!(),
    }
}

const ORDERS: [Comparison; 6] = [
    Comparison::Equal,
    Comparison::NotEqual,
    Comparison::Less,
    Comparison::LessOrEqual,
    Comparison::Greater,
    Comparison::GreaterOrEqual,
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn filters_keep_what_a_plain_reading_keeps(
        rows in rows(),
        op in proptest::sample::select(&ORDERS[..]),
        amount in -3_i64..4,
        half in any::<bool>(),
        share in -8_i32..8,
        day in 1..6_i32,
        city in proptest::sample::select(&CITIES[..]),
    ) {
        let table = table(&rows);
        let all = all(&rows);
        let share = f64::from(share) / 4.0 + 0.125;
        // A whole number against one with a half: no cell is equal to it.
        let (number, value) = if half {
            (amount as f64 + 0.5, json!(amount as f64 + 0.5))
        } else {
            (amount as f64, json!(amount.to_string()))
        };
        type Fits = Box<dyn Fn(&Row) -> bool>;
        let cases: Vec<(Condition, Fits)> = vec![
            (condition("amount", op, value), Box::new(move |row| row.1.is_some_and(|cell| compared(op, cell as f64, number)))),
            (condition("share", op, json!(share)), Box::new(move |row| row.2.is_some_and(|cell| compared(op, cell, share)))),
            (condition("day", op, json!(format!("2024-01-0{day}"))), Box::new(move |row| row.3.is_some_and(|cell| compared(op, cell, day)))),
            (condition("city", op, json!(city)), Box::new(move |row| row.0.is_some_and(|cell| compared(op, cell, city)))),
            (condition("city", Comparison::Contains, json!("A")), Box::new(|row| row.0.is_some_and(|cell| cell.to_lowercase().contains('a')))),
            (condition("city", Comparison::In, json!(["Bonn", "Köln"])), Box::new(|row| row.0.is_some_and(|cell| ["Bonn", "Köln"].contains(&cell)))),
            (condition("amount", Comparison::IsNull, Value::Null), Box::new(|row| row.1.is_none())),
            (condition("amount", Comparison::IsNull, json!(false)), Box::new(|row| row.1.is_some())),
        ];
        for (asked, fits) in &cases {
            let question = DatasetQuery { conditions: vec![asked.clone()], limit: Some(1000), ..DatasetQuery::default() };
            let answer = query(&table.path, &question).unwrap();
            let expected: Vec<&Row> = all.iter().filter(|row| fits(row)).collect();
            prop_assert_eq!(answer.matched, expected.len() as u64, "{:?}", asked);
            let amounts: Vec<Value> = answer.rows.iter().map(|row| row[1].clone()).collect();
            let plain: Vec<Value> = expected.iter().map(|row| json!(row.1)).collect();
            prop_assert_eq!(amounts, plain, "{:?}", asked);
        }
        // All conditions at once.
        let both: Vec<Condition> = cases[..2].iter().map(|(asked, _)| asked.clone()).collect();
        let question = DatasetQuery { conditions: both, ..DatasetQuery::default() };
        let expected = all.iter().filter(|row| cases[..2].iter().all(|(_, fits)| fits(row))).count();
        prop_assert_eq!(query(&table.path, &question).unwrap().matched, expected as u64);
    }

    #[test]
    fn groups_have_what_a_plain_reading_computes(rows in rows(), descending in any::<bool>()) {
        let table = table(&rows);
        let functions = [
            aggregate(AggregateFunction::Count, None),
            aggregate(AggregateFunction::Count, Some("amount")),
            aggregate(AggregateFunction::Sum, Some("amount")),
            aggregate(AggregateFunction::Min, Some("day")),
            aggregate(AggregateFunction::Max, Some("amount")),
            aggregate(AggregateFunction::Avg, Some("share")),
            aggregate(AggregateFunction::Median, Some("amount")),
            aggregate(AggregateFunction::CountDistinct, Some("day")),
        ];
        let question = DatasetQuery {
            group_by: vec!["city".to_owned()],
            aggregate: functions.to_vec(),
            order_by: Some("city".to_owned()),
            descending,
            ..DatasetQuery::default()
        };
        let answer = query(&table.path, &question).unwrap();
        let mut groups: BTreeMap<Option<&str>, Vec<Row>> = BTreeMap::new();
        for row in all(&rows) {
            groups.entry(row.0).or_default().push(row);
        }
        let mut expected: Vec<Vec<Value>> = Vec::new();
        for (city, rows) in &groups {
            let mut amounts: Vec<i64> = rows.iter().filter_map(|row| row.1).collect();
            let shares: Vec<f64> = rows.iter().filter_map(|row| row.2).collect();
            let mut days: Vec<i32> = rows.iter().filter_map(|row| row.3).collect();
            amounts.sort_unstable();
            days.sort_unstable();
            let first_day = days.first().map(|day| format!("2024-01-0{day}"));
            days.dedup();
            let middle = amounts.len() / 2;
            let median = (!amounts.is_empty()).then(|| if amounts.len() % 2 == 1 {
                amounts[middle] as f64
            } else {
                (amounts[middle - 1] + amounts[middle]) as f64 / 2.0
            });
            expected.push(vec![
                json!(city),
                json!(rows.len()),
                json!(amounts.len()),
                if amounts.is_empty() { Value::Null } else { json!(amounts.iter().sum::<i64>()) },
                json!(first_day),
                json!(amounts.last()),
                if shares.is_empty() { Value::Null } else { json!(shares.iter().sum::<f64>() / shares.len() as f64) },
                json!(median),
                json!(days.len()),
            ]);
        }
        // What has no value comes last, whichever way it is sorted.
        let none = expected.iter().position(|row| row[0].is_null()).map(|at| expected.remove(at));
        if descending {
            expected.reverse();
        }
        expected.extend(none);
        prop_assert_eq!(answer.rows, expected);
        prop_assert_eq!(answer.total as usize, groups.len());
    }

    #[test]
    fn sorted_rows_are_the_first_of_all(rows in rows(), limit in 1..8_u32, descending in any::<bool>()) {
        let table = table(&rows);
        let question = DatasetQuery {
            select: vec!["amount".to_owned()],
            order_by: Some("amount".to_owned()),
            descending,
            limit: Some(limit),
            ..DatasetQuery::default()
        };
        let answer = query(&table.path, &question).unwrap();
        let mut amounts: Vec<Option<i64>> = all(&rows).iter().map(|row| row.1).collect();
        amounts.sort_by_key(|amount| match amount {
            None => (1, 0),
            Some(amount) if descending => (0, -amount),
            Some(amount) => (0, *amount),
        });
        let expected: Vec<Vec<Value>> = amounts.iter().take(limit as usize).map(|amount| vec![json!(amount)]).collect();
        prop_assert_eq!(answer.rows, expected);
        prop_assert_eq!(answer.total as usize, amounts.len());
    }
}

static SALES: LazyLock<Table> = LazyLock::new(|| {
    made(
        "sales.csv",
        b"City,amount,day,note\nBonn,1,2024-01-01,x\nUlm,2,2024-01-02,\n",
    )
    .unwrap()
});

#[test]
fn a_question_that_makes_no_sense_is_answered_with_what_would() {
    let cases = [
        (
            json!({"select": ["citty"]}),
            "no column `citty`; did you mean `City`? Columns: City, amount",
        ),
        (
            json!({"where": [{"column": "CITY", "op": "="}]}),
            "did you mean `City`?",
        ),
        (
            json!({"where": [{"column": "City", "op": "="}]}),
            "`=` needs a value: `is_null`",
        ),
        (
            json!({"where": [{"column": "day", "op": "<", "value": "soon"}]}),
            "`soon` is not a day, YYYY-MM-DD",
        ),
        (
            json!({"where": [{"column": "amount", "op": ">", "value": "much"}]}),
            "`much` is not a number",
        ),
        (
            json!({"where": [{"column": "amount", "op": "in", "value": 1}]}),
            "`in` takes a list",
        ),
        (
            json!({"aggregate": [{"fn": "sum", "column": "City"}]}),
            "`sum` needs numbers, and `City` holds",
        ),
        (
            json!({"aggregate": [{"fn": "max"}]}),
            "`max` needs a `column`",
        ),
        (
            json!({"aggregate": [{"fn": "count"}, {"fn": "count"}]}),
            "the answer has `count` twice",
        ),
        (
            json!({"select": ["City"], "group_by": ["City"]}),
            "`select` does not go with",
        ),
        (json!({"order_by": "nothing"}), "no column `nothing`"),
        (
            json!({"group_by": ["City"], "order_by": "amount"}),
            "no column `amount`",
        ),
        (json!({"limit": 0}), "`limit` must be 1 to 1000"),
        (json!({"limit": 1001}), "`limit` must be 1 to 1000"),
    ];
    for (question, said) in cases {
        let asked: DatasetQuery = serde_json::from_value(question.clone()).unwrap();
        match query(&SALES.path, &asked) {
            Ok(answer) => panic!("{question}: {answer:?}"),
            Err(error) => assert!(error.to_string().contains(said), "{question}: {error}"),
        }
    }
    // Without groups there is one row, also of nothing.
    let nothing = json!({"where": [{"column": "amount", "op": ">", "value": 5}],
        "aggregate": [{"fn": "count"}, {"fn": "sum", "column": "amount"}]});
    let answer = query(&SALES.path, &serde_json::from_value(nothing).unwrap()).unwrap();
    assert_eq!(answer.rows, [[json!(0), Value::Null]]);
    assert_eq!((answer.total, answer.matched, answer.scanned), (1, 0, 2));
}

#[test]
fn conditions_and_aggregates_are_read_as_people_write_them() {
    use leverframe::client::dataset_lines::{aggregate, condition};
    for (text, expected) in [
        (
            "amount >= 10",
            json!({"column": "amount", "op": ">=", "value": "10"}),
        ),
        (
            "home town = Bad Ems",
            json!({"column": "home town", "op": "=", "value": "Bad Ems"}),
        ),
        (
            "city in Bonn, Ulm",
            json!({"column": "city", "op": "in", "value": ["Bonn", "Ulm"]}),
        ),
        (
            "city is_null",
            json!({"column": "city", "op": "is_null", "value": true}),
        ),
        (
            "city is_null false",
            json!({"column": "city", "op": "is_null", "value": false}),
        ),
    ] {
        assert_eq!(
            serde_json::to_value(condition(text).unwrap()).unwrap(),
            expected,
            "{text}"
        );
    }
    for text in [
        "",
        "amount",
        "amount >",
        "> 5",
        "city like x",
        "city is_null perhaps",
    ] {
        assert!(condition(text).is_err(), "{text}");
    }
    for (text, expected) in [
        ("count", json!({"fn": "count"})),
        ("sum amount", json!({"fn": "sum", "column": "amount"})),
        (
            "avg net price as mean",
            json!({"fn": "avg", "column": "net price", "as": "mean"}),
        ),
        ("count as rows", json!({"fn": "count", "as": "rows"})),
    ] {
        assert_eq!(
            serde_json::to_value(aggregate(text).unwrap()).unwrap(),
            expected,
            "{text}"
        );
    }
    assert!(aggregate("total amount").is_err());
}
