//! Datasets over HTTP and the command line, with the real program, and what a kill leaves of them.

use std::os::unix::fs::PermissionsExt as _;
use std::process::Output;

use serde_json::{Value, json};

use crate::support::daemon::{Daemon, Home, client};

const SALES: &str = "city,amount,day\nBonn,1,2024-01-01\nKöln,2.5,2024-01-02\nBonn,3,\n";

/// Uploads a file over HTTP as it is.
pub async fn upload(
    daemon: &Daemon,
    query: &str,
    content: impl Into<reqwest::Body>,
) -> (u16, Value) {
    let url = format!("{}/v1/datasets?{query}", daemon.base);
    let sent = client()
        .post(url)
        .bearer_auth(&daemon.token)
        .header("content-type", "text/csv")
        .body(content)
        .send();
    let Ok(answer) = sent.await else {
        return (0, Value::Null);
    };
    let status = answer.status().as_u16();
    (status, answer.json().await.unwrap_or_default())
}

pub async fn command(home: &Home, words: &[&str]) -> Output {
    let mut command = home.command();
    command.args(words);
    tokio::task::spawn_blocking(move || command.output())
        .await
        .unwrap()
        .expect("the binary runs")
}

fn said(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

async fn content(daemon: &Daemon, path: &str) -> (u16, String, Vec<u8>) {
    let got = client()
        .get(format!("{}{path}", daemon.base))
        .bearer_auth(&daemon.token)
        .send()
        .await
        .unwrap();
    let status = got.status().as_u16();
    let kind = got.headers()["content-type"].to_str().unwrap().to_owned();
    (status, kind, got.bytes().await.unwrap().to_vec())
}

#[tokio::test]
async fn a_table_over_http_is_listed_asked_copied_and_removed() {
    let home = Home::new("");
    let daemon = home.daemon();
    let (status, made) = upload(&daemon, "channel=api&file=My+Sales.csv", SALES).await;
    assert_eq!(status, 201, "{made:#}");
    assert_eq!(
        (made["name"].as_str(), made["rows"].as_u64()),
        (Some("my_sales"), Some(3))
    );
    assert_eq!(
        made["columns"][1],
        json!({"name": "amount", "type": "number"})
    );
    assert_eq!(made["taint"], Value::Null);
    let id = made["id"].as_str().unwrap();
    // The path is what the sandbox of programs relies on.
    assert!(home.data().join("datasets/api/my_sales.parquet").is_file());

    // The same content is the same dataset; another one of the same name gets a number.
    let (_, again) = upload(&daemon, "channel=api&file=sales_2.csv", SALES).await;
    assert_eq!(again["id"], id);
    let (_, other) = upload(&daemon, "channel=api&file=my-sales.tsv", "a\tb\n1\t2\n").await;
    assert_eq!(other["name"], "my_sales_2");
    let (status, taken) = upload(&daemon, "channel=api&file=x.csv&name=my_sales", "a\n1\n").await;
    assert_eq!(
        (status, taken["title"].as_str()),
        (409, Some("the name is taken"))
    );

    let list = daemon.get("/v1/datasets?channel=api").await;
    assert_eq!(list["items"].as_array().unwrap().len(), 2, "{list:#}");
    assert_eq!(
        daemon.get("/v1/datasets?channel=cli").await["items"],
        json!([])
    );
    let shown = daemon.get(&format!("/v1/datasets/{id}")).await;
    assert_eq!(shown["columns"][2]["missing"], 1, "{shown:#}");
    assert_eq!(shown["columns"][0]["distinct"], 2);
    assert_eq!(shown["sample"][1], json!(["Köln", 2.5, "2024-01-02"]));
    let asked = json!({"where": [{"column": "amount", "op": ">=", "value": 1}], "group_by": ["city"],
        "aggregate": [{"fn": "sum", "column": "amount", "as": "total"}], "order_by": "total", "descending": true});
    let answer = daemon.post("/v1/datasets/my_sales/query", asked).await;
    assert_eq!(
        answer["rows"],
        json!([["Bonn", 4.0], ["Köln", 2.5]]),
        "{answer:#}"
    );
    let (status, wrong) = daemon
        .request(
            "POST",
            "/v1/datasets/my_sales/query",
            Some(json!({"select": ["citi"]})),
        )
        .await;
    assert_eq!(status, 400);
    assert!(
        wrong["detail"]
            .as_str()
            .unwrap()
            .contains("did you mean `city`?"),
        "{wrong:#}"
    );

    let (status, kind, csv) = content(&daemon, "/v1/datasets/my_sales/content").await;
    assert_eq!((status, kind.as_str()), (200, "text/csv; charset=utf-8"));
    assert_eq!(
        String::from_utf8(csv).unwrap(),
        "city,amount,day\nBonn,1.0,2024-01-01\nKöln,2.5,2024-01-02\nBonn,3.0,\n"
    );
    let (_, _, parquet) = content(
        &daemon,
        &format!("/v1/datasets/{id}/content?format=parquet"),
    )
    .await;
    assert_eq!(
        crate::datasets::convert::sha256(&parquet),
        made["sha256"].as_str().unwrap()
    );

    let (status, _) = daemon
        .request("DELETE", &format!("/v1/datasets/{id}"), None)
        .await;
    assert_eq!(status, 200);
    assert!(!home.data().join("datasets/api/my_sales.parquet").exists());
    let (status, _) = daemon
        .request("GET", &format!("/v1/datasets/{id}"), None)
        .await;
    assert_eq!(status, 404);
    let audit = daemon.get("/v1/audit?limit=50").await;
    let actions: Vec<&str> = audit["items"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|row| {
            row["action"]
                .as_str()
                .filter(|action| action.starts_with("dataset."))
        })
        .collect();
    assert_eq!(
        actions,
        [
            "dataset.deleted",
            "dataset.exported",
            "dataset.exported",
            "dataset.added",
            "dataset.added"
        ]
    );
}

#[tokio::test]
async fn what_is_no_table_or_too_large_leaves_nothing_behind() {
    let home = Home::new("[datasets]\nmax_mib = 1\nmax_total_mib = 1\n");
    let daemon = home.daemon();
    for (query, content, status, said) in [
        ("channel=api&file=a.csv", Vec::new(), 400, "empty"),
        ("channel=api&file=a.csv", b"\x1f\x8bx".to_vec(), 400, "gzip"),
        (
            "channel=nobody&file=a.csv",
            b"a\n1\n".to_vec(),
            404,
            "nobody",
        ),
        ("channel=api&file=", b"a\n1\n".to_vec(), 400, "`file`"),
        ("channel=api", b"a\n1\n".to_vec(), 400, "file"),
        (
            "channel=api&file=a.csv",
            vec![b'a'; 6 << 20],
            400,
            "more than 1 MiB",
        ),
    ] {
        let (got, problem) = upload(&daemon, query, content).await;
        assert_eq!(got, status, "{query}: {problem:#}");
        assert!(
            problem["detail"].as_str().unwrap().contains(said),
            "{said}: {problem:#}"
        );
    }
    // Numbers that do not repeat, so that they take their room.
    let rows = |from: u64| {
        let mut text = String::from("a,b\n");
        for row in 0..24_000_u64 {
            let number = (row + from).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 2;
            text.push_str(&format!("{number},{}\n", number.rotate_left(13) >> 2));
        }
        text
    };
    assert_eq!(
        upload(&daemon, "channel=api&file=a.csv", rows(0)).await.0,
        201
    );
    assert_eq!(
        upload(&daemon, "channel=api&file=b.csv", rows(50_000))
            .await
            .0,
        201
    );
    let (status, full) = upload(&daemon, "channel=api&file=c.csv", rows(100_000)).await;
    assert_eq!(
        (status, full["title"].as_str()),
        (409, Some("no room for the dataset")),
        "{full:#}"
    );
    // Another channel has its own room.
    assert_eq!(
        upload(&daemon, "channel=cli&file=c.csv", rows(100_000))
            .await
            .0,
        201
    );
    let mut left = Vec::new();
    for folder in std::fs::read_dir(home.data().join("datasets"))
        .unwrap()
        .flatten()
    {
        for file in std::fs::read_dir(folder.path()).unwrap().flatten() {
            left.push(file.file_name().to_string_lossy().into_owned());
        }
    }
    left.sort();
    assert_eq!(left, ["a.parquet", "b.parquet", "c.parquet"]);
}

#[tokio::test]
async fn the_command_line_does_all_of_it() {
    let home = Home::new("");
    let _daemon = home.daemon();
    let file = home.path().join("sales.csv");
    std::fs::write(&file, SALES).unwrap();
    let file = file.to_str().unwrap();
    let made = said(&command(&home, &["datasets", "upload", file, "--channel", "cli"]).await);
    assert_eq!(
        made,
        "dataset sales: 3 rows, 3 columns (city text, amount number, day date)\n"
    );
    let listed = said(&command(&home, &["datasets", "list"]).await);
    assert!(
        listed.starts_with("NAME   CHANNEL  ROWS  COLUMNS  SIZE"),
        "{listed}"
    );
    assert_eq!(listed, said(&command(&home, &["get", "datasets"]).await));
    let shown = said(&command(&home, &["datasets", "show", "sales"]).await);
    assert!(
        shown.contains("amount  number  0        3         1.0         3.0"),
        "{shown}"
    );
    assert!(shown.contains("Köln  2.5     2024-01-02"), "{shown}");
    let asked = command(
        &home,
        &[
            "datasets",
            "query",
            "cli/sales",
            "--where",
            "city = Bonn",
            "--aggregate",
            "sum amount as total",
            "--aggregate",
            "count",
        ],
    )
    .await;
    assert_eq!(said(&asked), "total  count\n4.0    2\n");
    assert_eq!(
        String::from_utf8_lossy(&asked.stderr),
        "1 of 1 rows; 2 of 3 rows of the dataset fit\n"
    );
    let object: Value = serde_json::from_str(&said(
        &command(
            &home,
            &["--json", "datasets", "query", "sales", "--limit", "1"],
        )
        .await,
    ))
    .unwrap();
    assert_eq!(object["rows"], json!([["Bonn", 1.0, "2024-01-01"]]));
    let out = home.path().join("copy.csv");
    let exported = command(
        &home,
        &["datasets", "export", "sales", out.to_str().unwrap()],
    )
    .await;
    assert!(exported.status.success(), "{exported:?}");
    let mode = std::fs::metadata(&out).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert!(
        std::fs::read_to_string(&out)
            .unwrap()
            .starts_with("city,amount,day\nBonn,1.0,")
    );
    let again = command(
        &home,
        &["datasets", "export", "sales", out.to_str().unwrap()],
    )
    .await;
    assert_eq!(again.status.code(), Some(2), "{again:?}");
    let piped = said(&command(&home, &["datasets", "export", "sales"]).await);
    assert_eq!(piped, std::fs::read_to_string(&out).unwrap());
    assert_eq!(
        said(&command(&home, &["datasets", "delete", "sales"]).await),
        "removed cli/sales\n"
    );
    let gone = command(&home, &["datasets", "show", "sales"]).await;
    assert!(
        !gone.status.success() && String::from_utf8_lossy(&gone.stderr).contains("no such dataset"),
        "{gone:?}"
    );
}

/// Files of datasets, of any name, below the data directory.
fn files(home: &Home) -> Vec<String> {
    let mut found = Vec::new();
    for folder in std::fs::read_dir(home.data().join("datasets"))
        .into_iter()
        .flatten()
        .flatten()
    {
        for file in std::fs::read_dir(folder.path()).unwrap().flatten() {
            found.push(file.file_name().to_string_lossy().into_owned());
        }
    }
    found
}

#[tokio::test]
async fn a_kill_while_one_is_made_leaves_the_whole_or_nothing() {
    for (point, is_there) in [
        ("dataset.pre_rename", false),
        ("dataset.pre_row", false),
        ("dataset.post", true),
    ] {
        let home = Home::new("");
        let mut daemon = home.daemon_with(&[("LEVERFRAME_CRASH", &format!("{point}:1"))]);
        let (status, _) = upload(&daemon, "channel=api&file=sales.csv", SALES).await;
        assert_eq!(status, 0, "{point}");
        assert!(daemon.wait_exit().is_some(), "{point} was not reached");
        assert!(!files(&home).is_empty(), "{point}");

        let daemon = home.daemon();
        let list = daemon.get("/v1/datasets").await;
        let expected = usize::from(is_there);
        assert_eq!(
            list["items"].as_array().unwrap().len(),
            expected,
            "{point}: {list:#}"
        );
        let left: &[&str] = if is_there { &["sales.parquet"] } else { &[] };
        assert_eq!(files(&home), left, "{point}");
        let (status, made) = upload(&daemon, "channel=api&file=sales.csv", SALES).await;
        assert_eq!(
            (status, made["name"].as_str()),
            (201, Some("sales")),
            "{point}: {made:#}"
        );
        let report = daemon.get("/v1/doctor?check=true").await;
        assert!(
            !report
                .to_string()
                .contains("dataset whose file is not there or has another content\",\"found\":[\""),
            "{point}"
        );
    }
}

#[tokio::test]
async fn a_kill_while_one_is_removed_removes_it() {
    let home = Home::new("");
    let mut daemon = home.daemon_with(&[("LEVERFRAME_CRASH", "dataset.pre_unlink:1")]);
    assert_eq!(
        upload(&daemon, "channel=api&file=sales.csv", SALES).await.0,
        201
    );
    let _ = daemon
        .try_request("DELETE", "/v1/datasets/sales", None)
        .await;
    assert!(daemon.wait_exit().is_some());
    assert_eq!(files(&home), ["sales.parquet"]);
    let daemon = home.daemon();
    assert_eq!(daemon.get("/v1/datasets").await["items"], json!([]));
    assert_eq!(files(&home), [""; 0]);
}
