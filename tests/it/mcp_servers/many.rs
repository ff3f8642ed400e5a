//! A thousand tools of servers: requests stay small, and find_tools finds them.

use serde_json::Value;

use crate::mcp_servers::scripted::{Scripted, table, tool, trust, turn};
use crate::model_calls::server::{ModelServer, ask, home};
use crate::support::daemon::Home;

/// Servers with 250 tools each; the first has two that are special.
const SERVERS: [&str; 4] = ["big", "crm", "shop", "wiki"];

fn thousand(home: &Home) -> Vec<Scripted> {
    let verbs = ["create", "list", "remove", "update", "search"];
    let things = [
        "issue", "invoice", "contact", "event", "page", "order", "file", "ticket",
    ];
    let tools = |server: usize| -> Vec<Value> {
        let mut tools = Vec::new();
        for number in server * 250..(server + 1) * 250 {
            let verb = verbs[number % verbs.len()];
            let thing = things[number / verbs.len() % things.len()];
            let name = format!("{verb}_{thing}_{number}");
            let about = format!(
                "Can {verb} one {thing} of the company, number {number} of many such tools."
            );
            tools.push(tool(&name, &about));
        }
        if server == 0 {
            tools[0] = tool(
                "measure_seismograph",
                "Reads the needle of the earthquake station.",
            );
            tools[1] = tool("always", "Is always there.");
        }
        tools
    };
    let servers = SERVERS.iter().enumerate();
    servers
        .map(|(number, name)| Scripted::new(home, name, &tools(number)))
        .collect()
}

fn names(request: &Value) -> Vec<String> {
    let tools = request["tools"].as_array().unwrap().iter();
    let names = tools.map(|tool| tool["function"]["name"].as_str().unwrap().to_owned());
    names.collect()
}

#[tokio::test]
async fn a_request_with_a_thousand_tools_configured_has_at_most_eight_kib() {
    let models = ModelServer::chat(vec![]);
    let tables: String = SERVERS.iter().map(|name| table(name, "")).collect();
    let config = format!(
        "[model]\ndefault = \"one/m\"\n[channels.api]\nauto_approve = [\"find_tools\", \"mcp__big__measure*\"]\n\
         {tables}[mcp.big.tools.always]\nalways_offered = true\n"
    );
    let home = home(&config, &[("one", &models)]);
    let scripted = thousand(&home);
    let mut daemon = home.daemon();
    for server in SERVERS {
        trust(&daemon, server).await;
    }
    let session = daemon.session().await;
    ask(&daemon, &session, "hello", "completed").await;
    let request = models.seen().last().unwrap().clone();
    let bytes = request.to_string().len();
    assert!(bytes <= 8 * 1024, "{bytes} bytes");
    let offered = names(&request);
    assert!(offered.contains(&"find_tools".to_owned()), "{offered:?}");
    let of_server: Vec<&String> = offered
        .iter()
        .filter(|name| name.starts_with("mcp__"))
        .collect();
    assert_eq!(of_server, ["mcp__big__always"]);

    // What was found is there from the next request on, over a kill too, and can be called.
    let calls = turn(
        &daemon,
        &session,
        "TOOL:find_tools{\"query\":\"earthquake needle\",\"limit\":2}\nTHEN TOOL:mcp__big__measure_seismograph{}\nSAY:done",
    )
    .await;
    assert!(
        calls[0]
            .1
            .starts_with("Found: mcp__big__measure_seismograph"),
        "{calls:?}"
    );
    assert!(calls[0].1.contains("arguments: {"), "{calls:?}");
    assert_eq!(calls[1].0, "succeeded", "{calls:?}");
    assert_eq!(scripted[0].calls().len(), 1);
    daemon.kill();
    let daemon = home.daemon();
    ask(&daemon, &session, "again", "completed").await;
    let offered = names(models.seen().last().unwrap());
    assert!(
        offered.contains(&"mcp__big__measure_seismograph".to_owned()),
        "{offered:?}"
    );
    let another = daemon.session().await;
    ask(&daemon, &another, "hello", "completed").await;
    let offered = names(models.seen().last().unwrap());
    assert!(
        !offered.contains(&"mcp__big__measure_seismograph".to_owned()),
        "{offered:?}"
    );

    // Words that nothing has, beginnings, and the best first.
    let calls = turn(
        &daemon,
        &another,
        "TOOL:find_tools{\"query\":\"xylophone\"}\nTOOL:find_tools{\"query\":\"seismo\"}\n\
         TOOL:find_tools{\"query\":\"create an invoice\",\"limit\":20}\nSAY:done",
    )
    .await;
    assert_eq!(calls[0].0, "failed", "{calls:?}");
    assert!(
        calls[1]
            .1
            .starts_with("Found: mcp__big__measure_seismograph\n"),
        "{}",
        calls[1].1
    );
    let first = calls[2].1.lines().next().unwrap();
    assert!(
        first
            .split(", ")
            .all(|name| name.contains("create_invoice")),
        "{first}"
    );
    assert_eq!(first.split(", ").count(), 20);
}

#[tokio::test]
async fn a_few_tools_are_all_offered_and_nothing_searches() {
    let models = ModelServer::chat(vec![]);
    let config = format!("[model]\ndefault = \"one/m\"\n{}", table("few", ""));
    let home = home(&config, &[("one", &models)]);
    let _scripted = Scripted::new(&home, "few", &[tool("a", "A."), tool("b", "B.")]);
    let daemon = home.daemon();
    let session = daemon.session().await;
    ask(&daemon, &session, "hello", "completed").await;
    let before = names(models.seen().last().unwrap());
    trust(&daemon, "few").await;
    ask(&daemon, &session, "hello", "completed").await;
    let after = names(models.seen().last().unwrap());
    let new: Vec<&String> = after.iter().filter(|name| !before.contains(name)).collect();
    assert_eq!(new, ["mcp__few__a", "mcp__few__b"]);
    assert_eq!(
        after[..before.len()],
        before,
        "the rest stays as it was, for prompt caches"
    );
}
