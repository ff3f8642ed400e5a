//! `models list` and `models test`, with and without a daemon, and the same over HTTP.

use serde_json::{Value, json};

use crate::model_profiles::server::{Abilities, ChatServer, Ran, home, part, run};
use crate::support::daemon::Home;

fn test(home: &Home) -> (Ran, Value) {
    let ran = run(home, &["models", "test", "--json"]);
    let value = serde_json::from_str(&ran.out)
        .unwrap_or_else(|error| panic!("{error}: {}{}", ran.out, ran.err));
    (ran, value)
}

#[test]
fn everything_that_works_is_ok() {
    let server = ChatServer::start(Abilities {
        cached: 30,
        gets: vec![(
            "/props",
            json!({"default_generation_settings": {"n_ctx": 200_000}, "model_alias": "this-model"}),
        )],
        ..Abilities::default()
    });
    let home = home(server.http.url(), "");
    let (ran, value) = test(&home);
    for name in [
        "streaming",
        "cached tokens",
        "tools",
        "parallel calls",
        "context size",
    ] {
        assert_eq!(part(&value, name).0, "ok", "{name}: {value}");
    }
    assert_eq!(ran.status, Some(0), "{}", ran.err);
    assert!(
        part(&value, "streaming")
            .1
            .starts_with("3 pieces, the first after ")
    );
    assert_eq!(part(&value, "cached tokens").1, "30 of 40 input tokens");
    assert!(
        part(&value, "context size")
            .1
            .contains("200000 tokens by llama.cpp")
    );
    assert_eq!(value["calls"], 3);
    assert_eq!(value["usage"]["input_tokens"], 120);
    // Nobody said what it costs: not known, and not zero.
    assert_eq!(value["usage"]["cost_usd"], Value::Null);
    // Two equal requests, then one with the tool.
    let bodies = server.bodies();
    assert_eq!(bodies[0], bodies[1]);
    assert_eq!(bodies[2]["tools"][0]["function"]["name"], "note_number");
    let human = run(&home, &["models", "test", "house/this-model"]);
    assert!(human.out.contains("ok       streaming"), "{}", human.out);
    assert!(human.out.contains("price n/a"), "{}", human.out);
}

#[test]
fn what_does_not_work_is_named_and_the_status_is_one() {
    let with = |abilities: Abilities, more: &str| {
        let server = ChatServer::start(abilities);
        let home = home(server.http.url(), more);
        let (ran, value) = test(&home);
        (ran, value, server.bodies())
    };
    // One call where two were asked for.
    let (ran, value, _) = with(
        Abilities {
            calls: Some(1),
            ..Abilities::default()
        },
        "",
    );
    assert_eq!(part(&value, "tools").0, "ok");
    assert_eq!(part(&value, "parallel calls").0, "no");
    assert_eq!(part(&value, "cached tokens").0, "unknown");
    assert_eq!(part(&value, "context size").0, "unknown");
    assert_eq!(ran.status, Some(1));
    assert!(
        ran.err.contains("house/this-model: no parallel calls"),
        "{}",
        ran.err
    );
    // Words in place of a call.
    let (ran, value, bodies) = with(
        Abilities {
            calls: Some(0),
            ..Abilities::default()
        },
        "",
    );
    let (verdict, why) = part(&value, "tools");
    assert_eq!((verdict, bodies.len()), ("no", 4), "{why}");
    assert!(why.contains("it answered in words"), "{why}");
    assert_eq!(part(&value, "parallel calls").0, "unknown");
    assert_eq!(ran.status, Some(1));
    // A server that refuses tools, and what to write then.
    let (_, value, _) = with(
        Abilities {
            calls: None,
            ..Abilities::default()
        },
        "",
    );
    let (verdict, why) = part(&value, "tools");
    assert_eq!(verdict, "no");
    for word in [
        "does not support tools",
        "models.\"this-model\" = { tools = false }",
        "[providers.house]",
    ] {
        assert!(why.contains(word), "`{word}` is not in: {why}");
    }
    // With that written they are not asked for, and nothing has failed.
    let (ran, value, bodies) = with(
        Abilities {
            calls: None,
            ..Abilities::default()
        },
        "models.\"this-model\" = { tools = false }",
    );
    assert_eq!((part(&value, "tools").0, bodies.len()), ("unknown", 2));
    assert_eq!(ran.status, Some(0), "{}", ran.err);
    // An answer in one piece.
    let (ran, value, _) = with(
        Abilities {
            streams: false,
            ..Abilities::default()
        },
        "models.\"this-model\" = { tools = false }",
    );
    let (verdict, why) = part(&value, "streaming");
    assert_eq!((verdict, ran.status), ("no", Some(1)));
    assert!(why.contains("in one piece"), "{why}");
    // A window that is smaller than assumed, as each server tells it.
    for (path, told, by) in [
        (
            "/props",
            json!({"default_generation_settings": {"n_ctx": 4096}}),
            "llama.cpp",
        ),
        (
            "/v1/models",
            json!({"object": "list", "data": [{"id": "this-model", "max_model_len": 4096}]}),
            "its list of models",
        ),
        (
            "/api/v1/models",
            json!({"models": [{"type": "llm", "key": "this-model", "max_context_length": 99_000,
                "loaded_instances": [{"config": {"context_length": 4096}}]}]}),
            "LM Studio",
        ),
        (
            "/api/show",
            json!({"parameters": "stop \"x\"\nnum_ctx     4096", "model_info": {"qwen3.context_length": 40_960},
                "capabilities": ["completion", "tools"]}),
            "Ollama",
        ),
    ] {
        let (ran, value, _) = with(
            Abilities {
                gets: vec![(path, told)],
                ..Abilities::default()
            },
            "",
        );
        let (verdict, why) = part(&value, "context size");
        assert_eq!((verdict, ran.status), ("no", Some(1)), "{path}: {why}");
        assert!(
            why.contains(by) && why.contains("context_window = 4096"),
            "{path}: {why}"
        );
    }
    // A server whose list of what the model can do has no tools: they are not even tried.
    let (_, value, bodies) = with(
        Abilities {
            gets: vec![(
                "/api/show",
                json!({"model_info": {"gemma3.context_length": 131_072}, "capabilities": ["completion", "vision"]}),
            )],
            ..Abilities::default()
        },
        "",
    );
    assert_eq!((part(&value, "tools").0, bodies.len()), ("no", 2));
    assert!(
        part(&value, "tools").1.contains("Ollama /api/show"),
        "{value}"
    );
    // Ollama's own setting is not told on this interface.
    assert_eq!(part(&value, "context size").0, "unknown");
}

const TWO: &str = "[model]\ndefault = \"scripted/demo\"\nfallback = [\"rented/gpt-4o\"]\n[providers.local]\nkind = \"openai-chat\"\n\
    base_url = \"http://127.0.0.1:9/v1\"\nmodels.\"qwen3:8b\" = { context_window = 4096 }\n\
    [providers.rented]\nkind = \"openai-chat\"\nbase_url = \"http://rented.example/v1\"\n\
    api_key_env = \"HOUSE_KEY\"\neffort = \"low\"\n\
    prices.\"gpt-4o\" = { input = 1.0, output = 2.0 }\nmodels.\"gpt-5-mini\" = { tools = true }\n\
    [channels.api]\nmodel = \"rented/gpt-5-mini\"\n\
    [memory]\ncompaction_model = \"rented/gpt-4o\"\n[memory.embeddings]\nprovider = \"local\"\nmodel = \"nomic-embed-text\"\n";

#[tokio::test]
async fn the_list_is_the_same_with_and_without_a_daemon_and_over_http() {
    let home = Home::new(TWO);
    let alone = run(&home, &["models", "list", "--json"]);
    assert_eq!(alone.status, Some(0), "{}", alone.err);
    let providers: Vec<Value> = alone
        .out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let find = |name: &str| providers.iter().find(|p| p["provider"] == name).unwrap();
    assert_eq!(find("anthropic")["key"], "missing");
    assert_eq!(find("anthropic")["key_from"], "ANTHROPIC_API_KEY");
    assert_eq!(find("rented")["key"], "present");
    assert_eq!(find("rented")["key_from"], "HOUSE_KEY");
    assert_eq!(find("rented")["local"], false);
    assert_eq!(
        (&find("local")["key"], &find("local")["local"]),
        (&json!("none"), &json!(true))
    );
    let embeds = &find("local")["models"][0];
    assert_eq!(embeds["model"], "local/nomic-embed-text");
    assert_eq!(embeds["used_for"], json!(["embeddings of memory"]));
    let qwen = &find("local")["models"][1];
    assert_eq!(qwen["model"], "local/qwen3:8b");
    assert_eq!(qwen["profile"]["context_window"], 4096);
    assert_eq!(qwen["profile"]["tools"], true, "from the shipped table");
    assert_eq!(
        qwen["price"],
        Value::Null,
        "a local model has no price until somebody says so"
    );
    let mini = &find("rented")["models"][1];
    assert_eq!(mini["used_for"], json!(["channel api"]));
    assert_eq!(
        find("rented")["models"][0]["used_for"],
        json!(["fallback 1", "compaction"])
    );
    assert_eq!(mini["profile"]["effort"], "low");
    assert_eq!(mini["price"]["input"], 0.25);
    assert_eq!(mini["price"]["as_of"].as_str().unwrap().len(), 10);
    assert_eq!(
        find("scripted")["models"][0]["used_for"],
        json!(["default"])
    );

    let human = run(&home, &["models", "list"]).out;
    let row = |name: &str| {
        let found = human.lines().find(|line| line.starts_with(name));
        found
            .unwrap_or_else(|| panic!("no {name} in {human}"))
            .to_owned()
    };
    assert!(row("local/qwen3:8b").contains(" n/a "), "{human}");
    assert!(row("rented/gpt-4o").contains("1/2"), "{human}");
    assert!(
        row("anthropic ").contains("missing (ANTHROPIC_API_KEY)"),
        "{human}"
    );
    assert!(row("scripted/demo").contains("default"), "{human}");

    let daemon = home.daemon_with(&[("HOUSE_KEY", crate::model_profiles::server::KEY)]);
    let attached = run(&home, &["models", "list", "--json"]);
    assert_eq!(attached.out, alone.out);
    let listed = daemon.get("/v1/models").await;
    assert_eq!(listed["items"], json!(providers));
}

#[tokio::test]
async fn a_daemon_tests_a_model_unless_work_is_held() {
    let home = Home::new("");
    let daemon = home.daemon();
    let tested = daemon.post("/v1/models/test", json!({})).await;
    assert_eq!(tested["model"], "scripted/demo");
    assert_eq!(part(&tested, "tools").0, "ok", "{tested}");
    assert_eq!(part(&tested, "parallel calls").0, "ok", "{tested}");
    assert_eq!(tested["usage"]["cost_usd"], 0.0);
    // The scripted model is no LLM and needs no yes.
    let ran = run(&home, &["models", "test"]);
    assert_eq!(ran.status, Some(0), "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("no cost"), "{}", ran.out);

    let (status, problem) = daemon
        .request(
            "POST",
            "/v1/models/test",
            Some(json!({"model": "scriptd/demo"})),
        )
        .await;
    assert_eq!(status, 400, "{problem}");
    let said = problem["detail"].as_str().unwrap();
    assert!(said.contains("did you mean \"scripted\""), "{said}");

    daemon.post("/v1/emergency-stop", json!({})).await;
    let (status, problem) = daemon
        .request("POST", "/v1/models/test", Some(json!({})))
        .await;
    assert_eq!(status, 409, "{problem}");
    assert_eq!(run(&home, &["models", "test"]).status, Some(5));
}

#[test]
fn what_may_cost_money_wants_a_yes() {
    let home = Home::new(TWO);
    for model in ["rented/gpt-5-mini", "local/gpt-oss:120b-cloud"] {
        let ran = run(&home, &["models", "test", model]);
        assert_eq!(ran.status, Some(2), "{}{}", ran.out, ran.err);
        assert!(
            ran.err.contains("cost money") && ran.err.contains("--yes"),
            "{}",
            ran.err
        );
        assert!(ran.out.is_empty(), "{}", ran.out);
    }
    // What stays on this machine is asked at once (and is not there).
    let ran = run(&home, &["models", "test", "local/qwen3:8b"]);
    assert_eq!(ran.status, Some(1), "{}{}", ran.out, ran.err);
}

#[tokio::test]
async fn a_model_without_tools_is_sent_none_and_the_step_says_so() {
    let server = ChatServer::start(Abilities::default());
    let home = home(
        server.http.url(),
        "models.\"this-model\" = { tools = false, context_window = 20000 }",
    );
    let daemon = home.daemon_with(&[("HOUSE_KEY", crate::model_profiles::server::KEY)]);
    let session = daemon.session().await;
    let id = daemon.send(&session, "hello").await;
    daemon.wait_state(&id, "completed").await;
    let steps = daemon.get(&format!("/v1/continuations/{id}/steps")).await;
    let notes = steps["items"]
        .as_array()
        .unwrap()
        .iter()
        .find_map(|step| {
            step["body"]["notes"]
                .as_array()
                .or(step["notes"].as_array())
                .cloned()
        })
        .unwrap_or_else(|| panic!("no notes: {steps:#}"));
    let said = notes[0].as_str().unwrap();
    assert!(
        said.contains("house/this-model") && said.contains("tool"),
        "{said}"
    );
    let body = &server.bodies()[0];
    assert!(body.get("tools").is_none(), "{body}");
}

#[test]
fn a_broken_price_file_stops_the_start_with_its_line() {
    let home = Home::new("[model]\nprices_file = \"prices.toml\"\n");
    let file = home.path().join("config/prices.toml");
    std::fs::write(
        &file,
        "as_of = \"2026-11-01\"\n[[price]]\nmodel = \"m\"\ninput = -2\noutput = 1\n",
    )
    .unwrap();
    let ran = run(&home, &["models", "list"]);
    assert_eq!(ran.status, Some(2), "{}{}", ran.out, ran.err);
    assert!(home.try_daemon_with(&[]).is_none(), "it started");
    for said in [ran.err, home.log()] {
        assert!(
            said.contains("prices.toml:4:") && said.contains("is not a price"),
            "{said}"
        );
    }
}
