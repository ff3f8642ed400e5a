//! Files of any kind, encoding and shape become a table with what was done, or a sentence that says why not.

use std::path::PathBuf;

use leverframe::datasets::{Converted, DatasetError, Input, convert, describe, export, query};
use leverframe::protocol::dataset::{DatasetQuery, MAX_COLUMNS};
use leverframe::protocol::enums::DatasetFormat;
use proptest::prelude::*;
use serde_json::{Value, json};

/// A file, and what became of it.
pub struct Table {
    _dir: tempfile::TempDir,
    pub path: PathBuf,
    pub made: Converted,
}

const MIB: u64 = 1024 * 1024;

pub fn made(name: &str, content: &[u8]) -> Result<Table, DatasetError> {
    let dir = tempfile::tempdir().unwrap();
    let (from, path) = (dir.path().join("in"), dir.path().join("out.parquet"));
    std::fs::write(&from, content).unwrap();
    let input = Input {
        path: &from,
        name,
        max_bytes: 16 * MIB,
    };
    let made = convert(input, &path)?;
    assert_eq!(std::fs::metadata(&path).unwrap().len(), made.bytes);
    let whole = std::fs::read(&path).unwrap();
    assert_eq!(crate::datasets::convert::sha256(&whole), made.sha256);
    Ok(Table {
        _dir: dir,
        path,
        made,
    })
}

pub fn sha256(bytes: &[u8]) -> String {
    use sha2::Digest as _;
    leverframe::protocol::hex::hex(&sha2::Sha256::digest(bytes))
}

impl Table {
    /// `name type` of each column.
    fn columns(&self) -> Vec<String> {
        let column = |column: &leverframe::protocol::dataset::DatasetColumn| {
            format!("{} {}", column.name, column.kind)
        };
        self.made.columns.iter().map(column).collect()
    }

    fn rows(&self) -> Vec<Value> {
        let all = DatasetQuery {
            limit: Some(1000),
            ..DatasetQuery::default()
        };
        let answer = query(&self.path, &all).unwrap();
        answer.rows.into_iter().map(Value::from).collect()
    }
}

fn utf16(text: &str, little: bool) -> Vec<u8> {
    let bytes = |unit: u16| {
        if little {
            unit.to_le_bytes()
        } else {
            unit.to_be_bytes()
        }
    };
    text.encode_utf16().flat_map(bytes).collect()
}

struct Case {
    name: &'static str,
    content: Vec<u8>,
    columns: &'static [&'static str],
    rows: Value,
    notes: &'static [&'static str],
}

fn case(
    name: &'static str,
    content: impl AsRef<[u8]>,
    columns: &'static [&'static str],
    rows: Value,
    notes: &'static [&'static str],
) -> Case {
    Case {
        name,
        content: content.as_ref().to_vec(),
        columns,
        rows,
        notes,
    }
}

#[test]
fn every_hostile_table_has_a_defined_result() {
    let cases = [
        case(
            "plain.csv",
            "a,b\n1,x\n2,y\n",
            &["a integer", "b text"],
            json!([[1, "x"], [2, "y"]]),
            &[],
        ),
        case(
            "types.csv",
            "i,n,t,d,l,z\n-1,1.5,true,2024-02-29,2024-01-02 03:04:05,2024-01-02T03:04:05.25+02:00\n",
            &[
                "i integer",
                "n number",
                "t boolean",
                "d date",
                "l datetime",
                "z timestamp",
            ],
            json!([[
                -1,
                1.5,
                true,
                "2024-02-29",
                "2024-01-02T03:04:05",
                "2024-01-02T01:04:05.25Z"
            ]]),
            &[],
        ),
        case(
            "bom.csv",
            b"\xef\xbb\xbfa\n1\n",
            &["a integer"],
            json!([[1]]),
            &[],
        ),
        case(
            "cp1252.csv",
            b"Stra\xdfe;Preis \x80\nM\xfcnchen;5\n",
            &["Straße text", "Preis € integer"],
            json!([["München", 5]]),
            &["encoding Windows-1252", "delimiter ;"],
        ),
        case(
            "utf16le.csv",
            [b"\xff\xfe".to_vec(), utf16("a,b\n1,ü\n", true)].concat(),
            &["a integer", "b text"],
            json!([[1, "ü"]]),
            &["encoding UTF-16LE"],
        ),
        case(
            "utf16be.csv",
            [b"\xfe\xff".to_vec(), utf16("a,b\n1,ü\n", false)].concat(),
            &["a integer", "b text"],
            json!([[1, "ü"]]),
            &["encoding UTF-16BE"],
        ),
        case(
            "bare.csv",
            utf16("name,b\nhello,1\n", true),
            &["name text", "b integer"],
            json!([["hello", 1]]),
            &["encoding UTF-16LE"],
        ),
        case(
            "t.tsv",
            "a\tb, c\n1\t2\n",
            &["a integer", "b, c integer"],
            json!([[1, 2]]),
            &["delimiter tab"],
        ),
        case(
            "pipe.csv",
            "a|b\n1|2\n",
            &["a integer", "b integer"],
            json!([[1, 2]]),
            &["delimiter |"],
        ),
        case(
            "ragged.csv",
            "a,b,c\n1,2,3\n4\n5,6,7,8\n",
            &["a integer", "b integer", "c integer", "column_4 integer"],
            json!([[1, 2, 3, null], [4, null, null, null], [5, 6, 7, 8]]),
            &[
                "1 short row filled",
                "1 long row: 1 column added",
                "names of columns made unique and plain",
            ],
        ),
        case(
            "names.csv",
            "a,a,,\"b\n b\",a_2\n1,2,3,4,5\n",
            &[
                "a integer",
                "a_2 integer",
                "column_3 integer",
                "b b integer",
                "a_2_2 integer",
            ],
            json!([[1, 2, 3, 4, 5]]),
            &["names of columns made unique and plain"],
        ),
        case(
            "quoted.csv",
            "a,b\n\"x\ny\",\"say \"\"hi\"\", now\"\n",
            &["a text", "b text"],
            json!([["x\ny", "say \"hi\", now"]]),
            &[],
        ),
        case(
            "crlf.csv",
            "a,b\r\n1,2\r\n\r\n3,4",
            &["a integer", "b integer"],
            json!([[1, 2], [3, 4]]),
            &[],
        ),
        case(
            "nul.csv",
            b"a,b\n1\x00,x\x00y\n",
            &["a integer", "b text"],
            json!([[1, "xy"]]),
            &["2 NUL characters left out"],
        ),
        case(
            "ids.csv",
            "id,zip\n1,007\n2,12345\n",
            &["id integer", "zip text"],
            json!([[1, "007"], [2, "12345"]]),
            &[],
        ),
        case(
            "long_ids.csv",
            "id\n12345678901234567890\n",
            &["id text"],
            json!([["12345678901234567890"]]),
            &[],
        ),
        case(
            "exact.csv",
            "a\n9007199254740993\n0.5\n",
            &["a text"],
            json!([["9007199254740993"], ["0.5"]]),
            &[],
        ),
        case(
            "formula.csv",
            "a,b\n=cmd|'/c calc'!A0,+1\n@x,-x\n",
            &["a text", "b text"],
            json!([["=cmd|'/c calc'!A0", "+1"], ["@x", "-x"]]),
            &[],
        ),
        case(
            "missing.csv",
            "a,b\n,\n1, \n",
            &["a integer", "b text"],
            json!([[null, null], [1, null]]),
            &[],
        ),
        case(
            "dates.csv",
            "d\n2024-02-30\n",
            &["d text"],
            json!([["2024-02-30"]]),
            &[],
        ),
        case(
            "header.csv",
            "a,b\n",
            &["a text", "b text"],
            json!([]),
            &["names only, no rows"],
        ),
        case(
            "bare_rows.csv",
            "1,2\n3,4\n",
            &["column_1 integer", "column_2 integer"],
            json!([[1, 2], [3, 4]]),
            &[
                "no names in the first row",
                "names of columns made unique and plain",
            ],
        ),
        case(
            "open.csv",
            "a\n\"never closed\n",
            &["a text"],
            json!([["never closed\n"]]),
            &[],
        ),
        case(
            "list.json",
            r#"[{"a":1,"b":"007","c":true},{"b":"x","d":{"e":[1]},"a":2.5},null]"#,
            &["a number", "b text", "c boolean", "d text", "value text"],
            json!([
                [1.0, "007", true, null, null],
                [2.5, "x", null, "{\"e\":[1]}", null],
                [null, null, null, null, null]
            ]),
            &[],
        ),
        case(
            "lines.jsonl",
            "{\"d\":\"2024-01-01\",\"n\":18446744073709551615}\n\n{\"d\":null,\"n\":1}",
            &["d date", "n text"],
            json!([["2024-01-01", "18446744073709551615"], [null, "1"]]),
            &[],
        ),
        case(
            "big.ndjson",
            b"\xef\xbb\xbf{\"a\":1}\n{\"a\":null}\n",
            &["a integer"],
            json!([[1], [null]]),
            &[],
        ),
        case(
            "untold",
            "a;b\n1;2\n",
            &["a integer", "b integer"],
            json!([[1, 2]]),
            &["delimiter ;"],
        ),
    ];
    for case in cases {
        let table =
            made(case.name, &case.content).unwrap_or_else(|error| panic!("{}: {error}", case.name));
        assert_eq!(table.columns(), case.columns, "{}", case.name);
        assert_eq!(Value::from(table.rows()), case.rows, "{}", case.name);
        assert_eq!(table.made.notes, case.notes, "{}", case.name);
        let (columns, sample) = describe(&table.path, &table.made.columns).unwrap();
        assert_eq!(columns.len(), case.columns.len(), "{}", case.name);
        assert_eq!(sample.len() as u64, table.made.rows.min(5), "{}", case.name);
    }
}

#[test]
fn what_cannot_be_a_table_is_refused_with_a_sentence() {
    let wide = |columns: usize| {
        let names: Vec<String> = (0..columns).map(|at| format!("c{at}")).collect();
        format!("{}\n", names.join(",")).into_bytes()
    };
    let long = format!("a\n\"{}", "x".repeat(3 << 20)).into_bytes();
    let long_json = format!("[{{\"a\":\"{}\"}}]", "x".repeat(3 << 20)).into_bytes();
    let cases: [(&str, Vec<u8>, &str); 15] = [
        ("e.csv", Vec::new(), "the file is empty"),
        ("e.csv", b"\n\n\n".to_vec(), "the file is empty"),
        ("e.json", b"  \n ".to_vec(), "the file is empty"),
        ("e.json", b"[]".to_vec(), "it has no columns"),
        ("z.csv", b"\x1f\x8b\x08\x00".to_vec(), "a gzip file: unpack"),
        ("z.csv", b"PK\x03\x04....".to_vec(), "a zip file"),
        ("p.csv", b"PAR1....".to_vec(), "a Parquet file"),
        (
            "b.csv",
            (0..=255).cycle().take(4096).collect(),
            "this is no text",
        ),
        ("w.csv", wide(10_000), "more than 2000 columns"),
        (
            "w.csv",
            [b"a\n".to_vec(), wide(10_000)].concat(),
            "more than 2000 columns",
        ),
        ("l.csv", long, "is a quote not closed?"),
        ("l.json", long_json, "row 1 has more than 1 MiB"),
        (
            "j.json",
            b"[{\"a\":1},{\"a\":}]".to_vec(),
            "no JSON in row 2",
        ),
        ("j.jsonl", b"{\"a\":1}\n{\"a\"".to_vec(), "no JSON in row 2"),
        (
            "big.csv",
            vec![b'a'; (16 * MIB + 1) as usize],
            "at most 16 MiB become a dataset",
        ),
    ];
    for (name, content, said) in cases {
        match made(name, &content) {
            Ok(table) => panic!("{name}, {said}: {:?}", table.made),
            Err(error) => assert!(error.to_string().contains(said), "{name}, {said}: {error}"),
        }
    }
    let table = made("w.csv", &wide(MAX_COLUMNS)).unwrap();
    assert_eq!(table.made.columns.len(), MAX_COLUMNS);
}

#[test]
fn a_cell_that_comes_late_makes_its_column_text_and_loses_nothing() {
    let mut text = String::from("a,b\n");
    for row in 0..200_000 {
        text.push_str(&format!("{row},{row}.5\n"));
    }
    text.push_str("n/a,x\n");
    let table = made("late.csv", text.as_bytes()).unwrap();
    assert_eq!(table.columns(), ["a text", "b text"]);
    assert_eq!(table.made.rows, 200_001);
    // Several groups of rows: each cell stands where it stood, and a copy is the file that came.
    let mut copy = Vec::new();
    let mut piece = Some(0);
    while let Some(number) = piece {
        let (bytes, next) = export(&table.path, DatasetFormat::Csv, number).unwrap();
        copy.extend(bytes);
        piece = next;
    }
    assert_eq!(String::from_utf8(copy).unwrap(), text);
}

#[test]
fn different_values_are_counted_and_then_estimated() {
    let mut text = String::from("few,many\n");
    for row in 0..50_000 {
        text.push_str(&format!("{},{row}\n", row % 700));
    }
    let table = made("d.csv", text.as_bytes()).unwrap();
    let (columns, _) = describe(&table.path, &table.made.columns).unwrap();
    assert_eq!(columns[0].distinct, 700);
    let many = columns[1].distinct as f64;
    assert!((many - 50_000.0).abs() < 50_000.0 * 0.06, "{many}");
    assert_eq!(
        (&columns[1].min, &columns[1].max),
        (&Some(json!(0)), &Some(json!(49_999)))
    );
}

/// Bytes that look like tables more often than others do.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        4 => proptest::collection::vec(any::<u8>(), 0..12),
        8 => proptest::sample::select(vec![
            &b","[..], b";", b"\t", b"\n", b"\r\n", b"\"", b"1", b"-2.5e3", b"007", b"true", b"2024-01-31",
            b"2024-01-31T10:00:00Z", b"{", b"}", b"[", b"]", b":", b"\"a\"", b"null", b"\x00", b"\xff\xfe", b"\xfe\xff",
            b"\xef\xbb\xbf", b"\xc3\xa4", b"\xe4", b"name", b" ", b"{\"a\":1}",
        ]).prop_map(<[u8]>::to_vec),
    ];
    proptest::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn no_bytes_make_it_panic_and_a_table_can_always_be_read(
        content in bytes(),
        name in proptest::sample::select(vec!["a.csv", "a.tsv", "a.json", "a.jsonl", "a"]),
    ) {
        match made(name, &content) {
            Err(DatasetError::Refused(why)) => prop_assert!(!why.is_empty()),
            Err(other) => prop_assert!(false, "{other}"),
            Ok(table) => {
                let rows = table.rows();
                prop_assert_eq!(rows.len() as u64, table.made.rows.min(1000));
                describe(&table.path, &table.made.columns).unwrap();
                let (csv, _) = export(&table.path, DatasetFormat::Csv, 0).unwrap();
                prop_assert!(std::str::from_utf8(&csv).is_ok());
            }
        }
    }
}
