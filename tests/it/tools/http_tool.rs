//! Declared tools: what of a call reaches which part of the request, and what never does.

use std::io::Write as _;
use std::sync::Arc;

use leverframe::config::environment::Environment;
use leverframe::config::flags::Flags;
use leverframe::config::layers::load;
use leverframe::protocol::approval::Preview;
use leverframe::protocol::enums::{Access, Effect, Risk};
use leverframe::runtime::start::tool_names;
use leverframe::tools::http_tool::HttpTool;
use leverframe::tools::risk::highest;
use leverframe::tools::tool::{EffectDisposition, Tool as _, ToolOutcome};
use serde_json::{Value, json};

use crate::tools::harness::Bench;
use crate::tools::http_server::{Names, Server, answer, redirect};

const TOKEN: &str = "t0p-secret-token";

/// The tool `it` of a configuration; its host `site.test` leads to loopback.
fn tool(toml: &str) -> Result<HttpTool, String> {
    let home = tempfile::tempdir().unwrap();
    let config = home.path().join("config.toml");
    std::fs::write(
        &config,
        format!("[tools.it]\nkind = \"http\"\ndescription = \"x\"\n{toml}"),
    )
    .unwrap();
    let flags = Flags {
        config: Some(config),
        data_dir: Some(home.path().join("data")),
        ..Flags::default()
    };
    let environment: Environment = [("HOME", home.path().to_str().unwrap()), ("IT_TOKEN", TOKEN)]
        .into_iter()
        .collect();
    let settings = load(&flags, &environment, tool_names()).map_err(|error| error.to_string())?;
    let secrets: Vec<&str> = settings.secrets().map(|secret| secret.expose()).collect();
    assert_eq!(
        secrets.contains(&TOKEN),
        toml.contains("secret_env"),
        "redacted everywhere"
    );
    Ok(HttpTool::with_resolver(
        "it",
        settings.http_tools["it"].clone(),
        Names::of("site.test", &[&["127.0.0.1"]]),
    ))
}

async fn run(server: &Server, toml: &str, args: Value) -> ToolOutcome {
    let toml = toml.replace("SITE", &format!("http://site.test:{}", server.port()));
    let mut bench = Bench::new();
    bench.registry.add(Arc::new(tool(&toml).unwrap())).unwrap();
    bench.registry.validate("it", &args).unwrap();
    bench.execute("it", args).await
}

fn last(server: &Server) -> String {
    server
        .requests
        .lock()
        .unwrap()
        .last()
        .cloned()
        .unwrap_or_default()
}

#[tokio::test]
async fn an_argument_stays_where_its_placeholder_stands() {
    let server = Server::saying("application/json", "{}");
    let toml = "method = 'POST'\nurl = 'SITE/items/{id}/x?a={a}'\nquery = { b = '{b}', c = 'pre-{b}' }\n\
                headers = { X-Kind = '{a}' }\nbody = { text = '{b}', list = ['{id}', 3], note = 'id={id}', deep = { n = '{n}' } }\n\
                parameters = { id = { type = 'string' }, a = { type = 'string' }, b = { type = 'string' }, n = {} }";
    let odd = "a/../b?c=d&e#f %2e\"}";
    let args = json!({"id": odd, "a": "x&y=z", "b": odd, "n": {"k": [1, null]}});
    let outcome = run(&server, toml, args).await;
    assert!(!outcome.is_error, "{}", outcome.content);
    let request = last(&server);
    let target = request.split(' ').nth(1).unwrap();
    let escaped = "a%2F..%2Fb%3Fc%3Dd%26e%23f%20%252e%22%7D";
    assert!(
        target.starts_with(&format!("/items/{escaped}/x?a=x%26y%3Dz&b=")),
        "{target}"
    );
    let url = reqwest::Url::parse(&format!("http://site.test{target}")).unwrap();
    let pairs: Vec<(String, String)> = url.query_pairs().into_owned().collect();
    assert_eq!(
        pairs[1..],
        [
            ("b".to_owned(), odd.to_owned()),
            ("c".to_owned(), format!("pre-{odd}"))
        ]
    );
    assert!(
        request
            .to_ascii_lowercase()
            .contains("\r\nx-kind: x&y=z\r\n"),
        "{request}"
    );
    let body: Value = serde_json::from_str(request.split_once("\r\n\r\n").unwrap().1).unwrap();
    assert_eq!(
        body,
        json!({"text": odd, "list": [odd, 3], "note": format!("id={odd}"), "deep": {"n": {"k": [1, null]}}})
    );
}

#[tokio::test]
async fn what_would_lead_elsewhere_is_refused() {
    let server = Server::saying("application/json", "{}");
    let path = "url = 'SITE/items/{id}/x'\nparameters = { id = { type = 'string' } }";
    for (id, says) in [
        ("..", "is `.` or `..`"),
        (".", "is `.` or `..`"),
        ("", "is empty"),
    ] {
        let outcome = run(&server, path, json!({ "id": id })).await;
        assert!(
            outcome.is_error && outcome.content.contains(says),
            "{id}: {}",
            outcome.content
        );
        assert_eq!(outcome.disposition, EffectDisposition::ConfirmedNoEffect);
    }
    // At its end a dot would lead to the collection, and next to a dot to what is above it.
    for (path, id) in [
        ("{id}", "."),
        ("{id}", ".."),
        ("x/{id}", "."),
        (".{id}", "."),
        ("%2e{id}", "."),
        ("{id}%2E", "."),
    ] {
        let toml = format!(
            "method = 'DELETE'\nurl = 'SITE/v1/items/{path}'\nparameters = {{ id = {{ type = 'string' }} }}"
        );
        let outcome = run(&server, &toml, json!({ "id": id })).await;
        assert!(
            outcome.is_error && outcome.content.contains("is `.` or `..`"),
            "{path} {id}: {}",
            outcome.content
        );
        assert_eq!(outcome.disposition, EffectDisposition::ConfirmedNoEffect);
    }
    let header =
        "url = 'SITE/'\nheaders = { X-A = '{a}' }\nparameters = { a = { type = 'string' } }";
    for odd in ["b\r\nX-B: c", "b\nc", "b\0"] {
        let outcome = run(&server, header, json!({ "a": odd })).await;
        assert!(
            outcome.is_error && outcome.content.contains("line break"),
            "{}",
            outcome.content
        );
    }
    assert_eq!(server.hits(), 0);
    // Where the host leads is looked at, whoever wrote it.
    let settings = tool("url = 'http://169.254.169.254/latest'").unwrap();
    let mut bench = Bench::new();
    bench.registry.add(Arc::new(settings)).unwrap();
    let outcome = bench.execute("it", json!({})).await;
    assert!(
        outcome.content.contains("cloud metadata"),
        "{}",
        outcome.content
    );
}

#[tokio::test]
async fn a_name_that_only_looks_like_a_dot_is_a_name() {
    let server = Server::saying("application/json", "{}");
    let toml =
        "method = 'DELETE'\nurl = 'SITE/v1/items/{id}'\nparameters = { id = { type = 'string' } }";
    for (id, sent) in [
        ("%2e", "%252e"),
        ("%2E%2e", "%252E%252e"),
        ("...", "..."),
        (".a", ".a"),
        ("./", ".%2F"),
    ] {
        let outcome = run(&server, toml, json!({ "id": id })).await;
        assert!(!outcome.is_error, "{id}: {}", outcome.content);
        let line = last(&server);
        assert!(
            line.starts_with(&format!("DELETE /v1/items/{sent} ")),
            "{line}"
        );
    }
}

#[tokio::test]
async fn the_secret_goes_to_the_service_and_nowhere_else() {
    let server = Server::saying("text/plain", "fine");
    let toml = "method = 'POST'\nurl = 'SITE/bot{secret}/send?k={secret}'\nheaders = { Authorization = 'Bearer {secret}' }\n\
                body = { token = '{secret}', text = '{text}' }\nparameters = { text = { type = 'string' } }\nsecret_env = 'IT_TOKEN'";
    let args = json!({"text": "hello {secret}"});
    let outcome = run(&server, toml, args.clone()).await;
    assert_eq!(outcome.content, "fine");
    let request = last(&server);
    assert_eq!(request.matches(TOKEN).count(), 4, "{request}");
    // What a call says is no placeholder.
    assert!(request.contains("hello {secret}"), "{request}");
    let toml = toml.replace("SITE", "http://site.test");
    let bench = Bench::new();
    let plan = tool(&toml)
        .unwrap()
        .prepare(&bench.context(), &args)
        .unwrap();
    assert!(!format!("{plan:?}").contains(TOKEN), "{plan:?}");
    let Preview::Text { text } = &plan.preview else {
        panic!("{plan:?}")
    };
    assert_eq!(
        text,
        "POST http://site.test/bot…/send?k=…\nauthorization: Bearer …\ncontent-type: application/json\n\n\
         {\n  \"text\": \"hello {secret}\",\n  \"token\": \"…\"\n}"
    );
    // What cannot be reached is told without it.
    let gone = tool(&toml.replace("site.test", "site.test:1")).unwrap();
    let mut bench = Bench::new();
    bench.registry.add(Arc::new(gone)).unwrap();
    let outcome = bench.execute("it", args).await;
    assert_eq!(outcome.disposition, EffectDisposition::ConfirmedNoEffect);
    assert!(!outcome.content.contains(TOKEN), "{}", outcome.content);
}

#[tokio::test]
async fn what_is_left_out_takes_its_place_with_it() {
    let server = Server::saying("application/json", "{}");
    let toml = "method = 'POST'\nurl = 'SITE/x'\nquery = { a = '{a}', b = 'fixed' }\nheaders = { X-A = '{a}' }\n\
                body = { a = '{a}', list = ['{a}', 1] }\nparameters = { a = { type = 'string' } }\noptional = ['a']";
    run(&server, toml, json!({})).await;
    let request = last(&server).to_ascii_lowercase();
    assert!(request.starts_with("post /x?b=fixed http"), "{request}");
    assert!(!request.contains("x-a:"), "{request}");
    assert!(request.ends_with("{\"list\":[1]}"), "{request}");
}

#[tokio::test]
async fn a_pointer_names_what_is_read() {
    let server = Server::saying(
        "application/json",
        r#"{"data":{"items":[{"name":"one"}],"text":"plain"}}"#,
    );
    let of = |pointer: &str| format!("url = 'SITE/'\nresult = '{pointer}'");
    assert_eq!(
        run(&server, &of("/data/text"), json!({})).await.content,
        "plain"
    );
    let items = run(&server, &of("/data/items/0"), json!({})).await;
    assert_eq!(items.content, "{\n  \"name\": \"one\"\n}");
    let nothing = run(&server, &of("/data/none"), json!({})).await;
    assert!(nothing.is_error);
    assert_eq!(nothing.content, "the answer has nothing at `/data/none`");
    let text = Server::saying("text/plain", "no json");
    assert!(
        run(&text, &of("/a"), json!({}))
            .await
            .content
            .contains("is no JSON")
    );
}

#[tokio::test]
async fn a_status_says_what_is_known_of_the_effect() {
    let of_status = |status: u16| {
        Server::start(move |_, stream| {
            let head = format!(
                "HTTP/1.1 {status} X\r\ncontent-type: text/plain\r\ncontent-length: 3\r\nconnection: close\r\n\r\nwhy"
            );
            let _ = stream.write_all(head.as_bytes());
        })
    };
    let post = "method = 'POST'\nurl = 'SITE/'";
    for (status, toml, disposition, content) in [
        (201, post, EffectDisposition::Done, "why"),
        (400, post, EffectDisposition::Done, "HTTP 400\n\nwhy"),
        (500, post, EffectDisposition::Unknown, "HTTP 500\n\nwhy"),
        (
            503,
            "url = 'SITE/'",
            EffectDisposition::Done,
            "HTTP 503\n\nwhy",
        ),
    ] {
        let outcome = run(&of_status(status), toml, json!({})).await;
        assert_eq!(outcome.disposition, disposition, "{status}");
        assert_eq!(outcome.is_error, status >= 300, "{status}");
        assert_eq!(outcome.content, content);
    }
    // Nothing of ours is sent to where a service redirects.
    let server = Server::start(|_, stream| {
        let _ = stream.write_all(&redirect(302, "/elsewhere"));
    });
    let outcome = run(&server, "url = 'SITE/'", json!({})).await;
    assert!(
        outcome.is_error && outcome.content.contains("redirects"),
        "{}",
        outcome.content
    );
    assert_eq!(server.hits(), 1);
    // Done is done, though the answer cannot be read.
    let image = Server::start(|_, stream| {
        let _ = stream.write_all(&answer("content-type: image/png\r\n", &[1, 0, 2]));
    });
    let outcome = run(&image, post, json!({})).await;
    assert!(!outcome.is_error, "{}", outcome.content);
    assert!(run(&image, "url = 'SITE/'", json!({})).await.is_error);
}

#[test]
fn classes_follow_the_method_unless_they_are_declared() {
    let of = |toml: &str| {
        let found = tool(&format!("url = 'http://site.test/'\n{toml}")).unwrap();
        let bench = Bench::new();
        let plan = found.prepare(&bench.context(), &json!({})).unwrap();
        (
            found.spec().access,
            found.spec().effect,
            highest(&plan.risk_reasons),
        )
    };
    assert_eq!(of(""), (Access::ReadOpen, Effect::ReadOnly, Risk::Low));
    assert_eq!(
        of("method = 'PUT'"),
        (Access::Send, Effect::Idempotent, Risk::Medium)
    );
    assert_eq!(
        of("method = 'POST'"),
        (Access::Send, Effect::NonIdempotent, Risk::Medium)
    );
    assert_eq!(
        of("method = 'POST'\naccess = 'read_local'\neffect = 'read_only'"),
        (Access::ReadLocal, Effect::ReadOnly, Risk::Low)
    );
    let tainting = |toml: &str| {
        tool(&format!("url = 'http://site.test:81/'\n{toml}"))
            .unwrap()
            .untrusted(&json!({}))
    };
    assert_eq!(tainting("").as_deref(), Some("an answer of site.test:81"));
    assert_eq!(tainting("trusted = true"), None);
    assert_eq!(
        tool("url = 'http://site.test:81/'").unwrap().source(),
        "http site.test:81"
    );
}

#[test]
fn what_was_allowed_is_bound_to_the_request_and_not_only_to_the_arguments() {
    let plan = |path: &str| {
        let bench = Bench::new();
        let found = tool(&format!("url = 'http://site.test/{path}'")).unwrap();
        found
            .prepare(&bench.context(), &json!({}))
            .unwrap()
            .operands
    };
    assert_eq!(plan("a"), plan("a"));
    assert_ne!(plan("a"), plan("b"));
}

#[test]
fn a_declaration_that_cannot_be_used_names_its_key() {
    let url = "url = 'https://site.test/'\n";
    for (toml, says) in [
        (
            "url = 'https://{host}/'\nparameters = { host = {} }",
            "tools.it.url: a parameter would choose the host",
        ),
        (
            "url = 'https://a{x}.site.test/'\nparameters = { x = {} }",
            "tools.it.url: a parameter would choose",
        ),
        (
            "url = '{base}/items'\nparameters = { base = {} }",
            "tools.it.url: is no address",
        ),
        ("url = 'ftp://site.test/'", "tools.it.url: is no address"),
        (
            "url = 'https://user:pass@site.test/'",
            "tools.it.url: has no plain host",
        ),
        ("url = 'https://site.test/a b'", "tools.it.url: has a space"),
        (
            "url = 'https://site.test/{a'",
            "tools.it.url: a `{` belongs to no placeholder",
        ),
        (
            "url = 'https://site.test/{a}'",
            "tools.it.parameters: `{a}` is no parameter",
        ),
        (
            "url = 'https://site.test/{a}'\nparameters = { a = {} }\noptional = ['a']",
            "tools.it.url: `{a}` is optional",
        ),
        (
            &format!("{url}parameters = {{ a = {{}} }}"),
            "tools.it.parameters: `a` is used nowhere",
        ),
        (
            &format!("{url}query = {{ q = '{{a}}' }}\nparameters = {{ a = {{ type = 'strin' }} }}"),
            "tools.it.parameters: are no JSON Schema",
        ),
        (
            &format!(
                "{url}query = {{ q = 'x{{a}}' }}\nparameters = {{ a = {{}} }}\noptional = ['a']"
            ),
            "tools.it.optional: `a` has other text beside it",
        ),
        (
            &format!("{url}headers = {{ Authorization = 'Bearer abc' }}"),
            "tools.it.headers: `Authorization` holds a credential in plain text",
        ),
        (
            &format!("{url}headers = {{ X-A = '{{secret}}' }}"),
            "tools.it.secret_env: `{secret}` is used, and nothing says where",
        ),
        (
            &format!("{url}headers = {{ X-A = '{{secret}}' }}\nsecret_env = 'NOT_THERE'"),
            "tools.it.secret_env: the environment variable NOT_THERE is not set",
        ),
        (
            &format!("{url}secret_env = 'IT_TOKEN'"),
            "tools.it: the secret is used nowhere",
        ),
        (
            &format!("{url}body = {{}}"),
            "tools.it.body: GET takes no body",
        ),
        (
            &format!("{url}method = 'get'"),
            "tools.it.method: `get` is no method",
        ),
        (
            &format!("{url}effect = 'reconcilable'"),
            "tools.it.effect: the engine cannot verify",
        ),
        (
            &format!("{url}access = 'exec'"),
            "tools.it.access: a request is no `exec`",
        ),
        (
            &format!("{url}key_header = 'X'"),
            "tools.it.key_header: the tool is read_only",
        ),
        (
            &format!("{url}result = 'items'"),
            "tools.it.result: `items` is no JSON pointer",
        ),
        (
            &format!("{url}allow = ['a']"),
            "tools.it.allow: `it` has no such setting",
        ),
        (
            &format!("{url}parameters = {{ secret = {{}} }}"),
            "tools.it.parameters: `secret` cannot be a parameter",
        ),
    ] {
        match tool(toml) {
            Ok(_) => panic!("taken: {toml}"),
            Err(said) => assert!(said.contains(says), "{toml}: {said}"),
        }
    }
}
