//! A table becomes a variable of a session's Python, by its name.

use serde_json::{Value, json};

use crate::datasets::surfaces::upload;
use crate::support::daemon::Home;
use crate::tools::harness::sandbox;
use crate::tools::python::program;

const CONFIG: &str =
    "[tools.python]\n\n[channels.api]\nautonomy = \"full\"\npermanent_full = true\n";

fn results(turn: &Value) -> Vec<String> {
    let calls = turn["tool_calls"].as_array().unwrap().iter();
    let result = |call: &Value| call["result"].as_str().unwrap_or_default().to_owned();
    calls.map(result).collect()
}

#[tokio::test]
async fn a_table_is_a_variable_of_python_and_its_copy_does_not_stay() {
    if sandbox().is_none() || program().is_none() {
        return;
    }
    let home = Home::new(CONFIG);
    let daemon = home.daemon();
    let table = "city,people\nBonn,330000\n\"Bad, Ems\",9700\n";
    upload(&daemon, "channel=api&file=cities-2026.csv", table).await;
    let session = daemon.session().await;
    let text = format!(
        "TOOL:load_dataset{}\nTHEN TOOL:load_dataset{}\nTHEN TOOL:load_dataset{}\nTHEN TOOL:python{}\nSAY:done",
        json!({"name": "cities_2026"}),
        json!({"name": "cities_2026", "as": "import"}),
        json!({"name": "town"}),
        json!({"code": "print(len(cities_2026), 'Bad, Ems' in str(cities_2026))"}),
    );
    let turn = daemon.send(&session, &text).await;
    let done = daemon.wait_state(&turn, "completed").await;
    let said = results(&done);
    assert!(said[0].contains("`cities_2026` is a "), "{said:#?}");
    assert!(
        said[1].contains("cannot be the name of a variable"),
        "{said:#?}"
    );
    assert!(said[2].contains("town"), "{said:#?}");
    assert!(said[3].contains("2 True"), "{said:#?}");
    let folder = home.data().join("datasets/api");
    let names: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(names, ["cities_2026.parquet"]);
}

#[tokio::test]
async fn loading_asks_like_everything_that_runs() {
    if sandbox().is_none() || program().is_none() {
        return;
    }
    let home = Home::new("[tools.python]\n\n[channels.api]\nautonomy = \"semi_auto\"\n");
    let daemon = home.daemon();
    upload(&daemon, "channel=api&file=cities.csv", "city\nBonn\n").await;
    let session = daemon.session().await;
    let text = format!("TOOL:load_dataset{}\nSAY:done", json!({"name": "cities"}));
    daemon.send(&session, &text).await;
    let asked = daemon.wait_approval().await;
    assert_eq!(
        (asked["tool"].as_str(), asked["risk"].as_str()),
        (Some("load_dataset"), Some("medium")),
        "{asked:#}"
    );
    assert_eq!(asked["preview"]["text"], "cities = the rows of cities");
}
