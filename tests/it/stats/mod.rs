//! Suite: cost and health over time, of a real daemon.

mod spans;

use leverframe::clock::Timestamp;
use rusqlite::Connection;
use serde_json::Value;

use crate::support::daemon::{Daemon, Home};

const WRITE: &str = "TOOL:write_file{\"path\":\"note.txt\",\"content\":\"hi\\n\"}\nSAY:done";
const DAY: i64 = 24 * 3600 * 1000;

fn group<'v>(stats: &'v Value, name: &str) -> &'v Value {
    let groups = stats["groups"].as_array().unwrap();
    let found = groups.iter().find(|group| group["name"] == name);
    found.unwrap_or_else(|| panic!("no group {name}: {stats:#}"))
}

/// The spans in which a number is not zero, with it: by the time each begins.
fn where_not_zero(stats: &Value, section: &str, number: &str) -> Vec<(String, u64)> {
    let spans = stats["spans"].as_array().unwrap();
    let points = stats["groups"][0]["points"].as_array().unwrap();
    assert_eq!(spans.len(), points.len());
    let counted = spans.iter().zip(points).filter_map(|(span, point)| {
        let count = point[section][number].as_u64().filter(|count| *count > 0)?;
        Some((span["from"].as_str().unwrap().to_owned(), count))
    });
    counted.collect()
}

/// Runs the program to its end; what it printed.
fn printed(home: &Home, arguments: &[&str]) -> String {
    let output = home.command().args(arguments).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {text}{errors}");
    text
}

async fn completed(daemon: &Daemon, text: &str) {
    let session = daemon.session().await;
    let turn = daemon.send(&session, text).await;
    daemon.wait_state(&turn, "completed").await;
}

/// A stopped daemon's database.
fn database(home: &Home) -> Connection {
    Connection::open(home.data().join("leverframe.db")).unwrap()
}

/// Moves what ended to a moment, and the beginning of everything before it.
fn all_at(home: &Home, at: Timestamp) {
    let at = at.as_millis();
    database(home)
        .execute_batch(&format!(
            "UPDATE channel_accounts SET created_at = {at} - 30 * {DAY};
             UPDATE continuations SET ended_at = {at} WHERE ended_at IS NOT NULL;
             UPDATE model_attempts SET started_at = {at}, day = {at} / {DAY};
             UPDATE spend SET day = {at} / {DAY};"
        ))
        .unwrap();
}

#[tokio::test]
async fn what_happened_is_counted_once_in_every_grouping() {
    let home = Home::new("[budgets.day]\nmax_cost_usd = 2.5\n");
    let daemon = home.daemon();
    completed(&daemon, "SAY:hello").await;
    for decision in ["approve", "deny"] {
        let session = daemon.session().await;
        let write = WRITE.replace("note", decision);
        let turn = daemon.send(&session, &write).await;
        let approval = daemon.wait_approval().await;
        assert_eq!(daemon.decide(&approval, decision).await.0, 200);
        daemon.wait_state(&turn, "completed").await;
    }
    let session = daemon.session().await;
    let turn = daemon.send(&session, WRITE).await;
    daemon.wait_approval().await;
    let cancel = format!("/v1/continuations/{turn}/cancel");
    daemon.post(&cancel, serde_json::json!({})).await;

    let all = daemon.get("/v1/stats").await;
    assert_eq!(all["spans"].as_array().unwrap().len(), 30);
    let of_all = group(&all, "all");
    assert_eq!(of_all["day_budget_usd"], 2.5);
    let total = &of_all["total"];
    assert_eq!(total["turns"]["completed"], 3, "{total:#}");
    assert_eq!(total["turns"]["stopped"], 1, "{total:#}");
    assert_eq!(total["approvals"]["asked"], 3, "{total:#}");
    assert_eq!(total["approvals"]["allowed"], 1, "{total:#}");
    assert_eq!(total["approvals"]["denied"], 1, "{total:#}");
    assert!(total["approvals"]["median_wait_ms"].is_u64(), "{total:#}");
    assert_eq!(total["tools"]["calls"], 1, "{total:#}");
    assert_eq!(total["tools"]["failed"], 0, "{total:#}");
    assert!(total["models"]["calls"].as_u64().unwrap() >= 6, "{total:#}");
    assert_eq!(total["models"]["cost_usd"], 0.0);
    // Today, and nowhere else; before the database was made nothing is known.
    let points = of_all["points"].as_array().unwrap();
    assert_eq!(points[29], *total);
    assert!(points[0]["turns"].is_null() && points[0]["models"].is_null());
    // By the hour the same calls are counted one by one.
    let hours = daemon.get("/v1/stats?step=hour").await;
    assert_eq!(group(&hours, "all")["total"]["models"], total["models"]);
    for by in ["channel", "model", "tool", "person"] {
        let grouped = daemon.get(&format!("/v1/stats?by={by}")).await;
        let groups = grouped["groups"].as_array().unwrap();
        for section in ["models", "turns", "approvals", "tools", "deliveries"] {
            let known = groups.iter().map(|one| &one["total"][section]);
            let known: Vec<&Value> = known.filter(|one| !one.is_null()).collect();
            let Some(first) = known.first() else { continue };
            let is_sum = |number: &str| !number.starts_with("median") && number != "cost_usd";
            for number in first.as_object().unwrap().keys().filter(|one| is_sum(one)) {
                let sum: u64 = known.iter().map(|one| one[number].as_u64().unwrap()).sum();
                assert_eq!(
                    total[section][number], sum,
                    "{by} {section} {number}: {grouped:#}"
                );
            }
        }
    }
    let tools = daemon.get("/v1/stats?by=tool").await;
    let tool = &group(&tools, "write_file")["total"];
    assert_eq!(tool["approvals"]["asked"], 3, "{tool:#}");
    assert!(tool["models"].is_null() && tool["turns"].is_null());

    let shown = printed(&home, &["stats", "--since", "7d"]);
    assert!(shown.contains("nothing is recorded from before"), "{shown}");
    assert!(shown.contains("TURNS"), "{shown}");
    let csv = printed(&home, &["stats", "--since", "24h", "--format", "csv"]);
    assert_eq!(csv.lines().count(), 25, "{csv}");
    let json = printed(&home, &["--json", "stats", "--by", "tool"]);
    assert_eq!(serde_json::from_str::<Value>(&json).unwrap()["by"], "tool");
    for wrong in [["stats", "--since", "soon"], ["stats", "--by", "colour"]] {
        let output = home.command().args(wrong).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{wrong:?}");
    }
}

#[tokio::test]
async fn a_day_ends_at_the_midnight_of_the_named_zone() {
    let home = Home::new("");
    let mut daemon = home.daemon();
    completed(&daemon, "SAY:hello").await;
    assert!(daemon.terminate().success());
    let now = leverframe::clock::Clock::System.now().as_millis();
    let midnight = now / DAY * DAY - 3 * DAY;
    // Half an hour before midnight in UTC, after midnight in Berlin.
    all_at(&home, Timestamp(midnight - 30 * 60_000));
    for (zone, day) in [
        ("UTC", Timestamp(midnight - DAY).to_string()),
        // In winter and in summer: an hour or two before midnight of UTC.
        ("Europe/Berlin", Timestamp(midnight).to_string()),
    ] {
        let mut daemon = home.daemon_with(&[("TZ", zone)]);
        let stats = daemon.get("/v1/stats").await;
        assert_eq!(stats["time_zone"], zone);
        let counted = where_not_zero(&stats, "turns", "completed");
        assert_eq!(counted.len(), 1, "{counted:?}");
        let (from, count) = &counted[0];
        assert_eq!(*count, 1);
        let found = from.parse::<jiff::Timestamp>().unwrap().as_millisecond();
        let wanted = day.parse::<jiff::Timestamp>().unwrap().as_millisecond();
        let hours = (wanted - found) / 3_600_000;
        let offset = if zone == "UTC" { 0..=0 } else { 1..=2 };
        assert!(offset.contains(&hours), "{zone}: {from}");
        // The hour is the same in both.
        let since = Timestamp(midnight - 5 * 3_600_000);
        let hours = daemon
            .get(&format!("/v1/stats?step=hour&since={since}"))
            .await;
        let counted = where_not_zero(&hours, "turns", "completed");
        let hour = Timestamp(midnight - 3_600_000).to_string();
        assert_eq!(counted, [(hour, 1)]);
        assert!(daemon.terminate().success());
    }
}

#[tokio::test]
async fn what_the_sweep_removed_is_unknown_and_not_zero() {
    let home = Home::new("[retention]\nsession_idle_days = 30\nhistory_days = 10\n");
    let mut daemon = home.daemon();
    completed(&daemon, "SAY:hello").await;
    completed(&daemon, "SAY:the newest stays").await;
    assert!(daemon.terminate().success());
    let now = leverframe::clock::Clock::System.now();
    all_at(&home, now.plus_millis(-20 * DAY));
    let old = now.plus_millis(-20 * DAY).as_millis();
    database(&home)
        .execute_batch(&format!(
            "UPDATE continuations SET updated_at = {old}; UPDATE sessions SET updated_at = {old};
             UPDATE outbox SET updated_at = {old}; UPDATE approvals SET updated_at = {old};
             DELETE FROM meta WHERE key = 'last_sweep';"
        ))
        .unwrap();
    let mut daemon = home.daemon_with(&[("TZ", "UTC")]);
    let swept = |stats: &Value| !stats["kept_since"].is_null();
    let stats = daemon.wait("/v1/stats", "a sweep", swept).await;
    let kept = stats["kept_since"].as_str().unwrap();
    let points = stats["groups"][0]["points"].as_array().unwrap();
    let spans = stats["spans"].as_array().unwrap();
    let mut unknown = 0;
    for (span, point) in spans.iter().zip(points) {
        let from = span["from"].as_str().unwrap();
        assert_eq!(point["turns"].is_null(), from < kept, "{from} {kept}");
        assert_eq!(point["tools"].is_null(), from < kept, "{from} {kept}");
        // What was spent on a day is never removed.
        assert!(!point["models"].is_null(), "{from}");
        unknown += usize::from(point["turns"].is_null());
    }
    assert!((19..=21).contains(&unknown), "{unknown}");
    assert_eq!(where_not_zero(&stats, "models", "calls").len(), 1);
    // By person it is: nothing says who it was for.
    let people = daemon.get("/v1/stats?by=person").await;
    let points = people["groups"].as_array().unwrap();
    let old = points
        .iter()
        .flat_map(|group| group["points"].as_array().unwrap().iter().take(19));
    assert_eq!(old.filter(|point| !point["models"].is_null()).count(), 0);
    let shown = printed(&home, &["stats"]);
    assert!(shown.contains("is no longer kept"), "{shown}");
    assert!(daemon.terminate().success());
    // A longer retention brings nothing back.
    let file = home.path().join("config/config.toml");
    std::fs::write(&file, "[retention]\nhistory_days = 300\n").unwrap();
    database(&home)
        .execute("DELETE FROM meta WHERE key = 'last_sweep'", [])
        .unwrap();
    std::fs::write(home.path().join("stderr.log"), "").unwrap();
    let daemon = home.daemon_with(&[("TZ", "UTC")]);
    crate::retention::daemon::swept_by_itself(&home).await;
    assert_eq!(daemon.get("/v1/stats").await["kept_since"], kept);
}

#[tokio::test]
async fn more_people_than_fit_are_one_group() {
    let home = Home::new("");
    let mut daemon = home.daemon();
    completed(&daemon, "SAY:hello").await;
    assert!(daemon.terminate().success());
    let conn = database(&home);
    let columns: Vec<String> = conn
        .prepare("SELECT name FROM pragma_table_info('continuations')")
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .map(Result::unwrap)
        .filter(|name: &String| {
            !["position", "id", "requester_id", "requester_person"].contains(&name.as_str())
        })
        .collect();
    let columns = columns.join(", ");
    conn.execute_batch(&format!(
        "WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 30)
         INSERT INTO continuations (id, requester_id, {columns})
            SELECT randomblob(16), 'telegram:' || n, {columns} FROM n, (SELECT * FROM continuations LIMIT 1)"
    ))
    .unwrap();
    let daemon = home.daemon();
    let stats = daemon.get("/v1/stats?by=person").await;
    let groups = stats["groups"].as_array().unwrap();
    assert_eq!(
        (groups.len(), &stats["more_groups"]),
        (21, &Value::from(11))
    );
    assert_eq!(groups[20]["name"], "(others)");
    assert_eq!(groups[20]["total"]["turns"]["completed"], 11);
    let turns = groups
        .iter()
        .map(|group| group["total"]["turns"]["completed"].as_u64().unwrap());
    assert_eq!(turns.sum::<u64>(), 31, "{stats:#}");
}
