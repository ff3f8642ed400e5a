//! What `init` offers, what it takes only after a yes, and what it writes.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use leverframe::cli::arguments::InitArguments;
use leverframe::cli::exit::Failure;
use leverframe::cli::init::{self, AfterInit};
use leverframe::cli::terminal::{Attendance, Format, Terminal};
use leverframe::config::environment::Environment;
use serde_json::json;

use crate::support::daemon::Home;
use crate::support::fake_http::{FakeHttp, Reply};
use crate::support::pty::Pty;

const SECRET: &str = "sk-ant-0123456789abcdefghij";

struct Done {
    result: Result<AfterInit, Failure>,
    said: String,
    file: PathBuf,
    _dir: tempfile::TempDir,
}

impl Done {
    fn written(&self) -> String {
        assert!(self.result.is_ok(), "{:?}\n{}", self.result, self.said);
        std::fs::read_to_string(&self.file).unwrap()
    }
}

async fn init(pairs: &[(&str, &str)], keys: &str, arguments: InitArguments) -> Done {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("config.toml");
    let environment: Environment = pairs.iter().copied().collect();
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut input = keys.as_bytes();
    let mut terminal = Terminal {
        out: &mut out,
        err: &mut err,
        input: &mut input,
        attended: Attendance::Person,
        format: Format::Human,
    };
    let result = init::run(&mut terminal, &file, &arguments, None, &environment).await;
    let said = format!(
        "{}{}",
        String::from_utf8(err).unwrap(),
        String::from_utf8(out).unwrap()
    );
    assert!(!said.contains(SECRET), "a key was shown: {said}");
    if let Ok(text) = std::fs::read_to_string(&file) {
        assert!(!text.contains(SECRET), "a key was written: {text}");
        toml::from_str::<toml::Table>(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    }
    Done {
        result,
        said,
        file,
        _dir: dir,
    }
}

pub(crate) fn ollama() -> (FakeHttp, Arc<AtomicUsize>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let server = FakeHttp::start(move |_| {
        count.fetch_add(1, Ordering::SeqCst);
        let models = json!([
            {"name": "qwen3:8b", "capabilities": ["completion", "tools"]},
            {"name": "gemma3:4b", "capabilities": ["completion"]},
            {"name": "big:cloud"},
            {"name": "evil\u{1b}[31m:1b"},
        ]);
        Reply::Json(200, json!({"models": models}))
    });
    (server, asked)
}

#[tokio::test]
async fn a_key_is_offered_by_name_and_used_only_after_a_yes() {
    let environment = [
        ("ANTHROPIC_API_KEY", SECRET),
        ("LEVERFRAME_TEST_SERVERS", ""),
    ];
    let done = init(&environment, "1\ny\n\n\n", InitArguments::default()).await;
    let text = done.written();
    assert!(
        done.said
            .contains("the key in ANTHROPIC_API_KEY (calls cost money)"),
        "{}",
        done.said
    );
    assert!(text.contains("\ndefault = \"anthropic/claude-"), "{text}");
    for no in ["1\n\n\n", "1\nn\n\n", "\n\n"] {
        let done = init(&environment, no, InitArguments::default()).await;
        assert!(
            !done.written().contains("\ndefault ="),
            "{no:?}: {}",
            done.written()
        );
    }
    let typed = init(
        &environment,
        "1\nyes\nclaude-next\n\n",
        InitArguments::default(),
    )
    .await;
    assert!(
        typed
            .written()
            .contains("default = \"anthropic/claude-next\"")
    );
    // Nonsense is asked again, but not for ever.
    let lost = init(&environment, "7\nx\n0\n1\n", InitArguments::default()).await;
    assert_eq!(lost.result.unwrap_err().status(), 2);
}

#[tokio::test]
async fn a_server_on_this_machine_is_offered_with_what_it_says() {
    let (server, _) = ollama();
    let hanging = FakeHttp::start(|_| Reply::Hang);
    let list = format!("ollama={},vllm={}", server.url(), hanging.url());
    let environment = [("LEVERFRAME_TEST_SERVERS", list.as_str())];
    let done = init(&environment, "1\n\n\n", InitArguments::default()).await;
    let text = done.written();
    for word in [
        "default = \"ollama/qwen3:8b\"",
        "[providers.ollama]",
        server.url(),
    ] {
        assert!(text.contains(word), "`{word}` is not in: {text}");
    }
    assert!(!text.contains("tools = false"), "{text}");
    for word in [
        "4 models",
        "big:cloud (runs in the cloud, not here)",
        "gemma3:4b (no tools)",
    ] {
        assert!(
            done.said.contains(word),
            "`{word}` is not in: {}",
            done.said
        );
    }
    assert!(!done.said.contains('\u{1b}'), "{}", done.said);
    assert!(
        done.said.contains("does not answer within 300 ms"),
        "{}",
        done.said
    );
    // A model whose list has no tools gets none, and that is written down where it can be changed.
    let done = init(&environment, "1\n2\n\n", InitArguments::default()).await;
    let text = done.written();
    assert!(
        text.contains("[providers.ollama.models.\"gemma3:4b\"]") && text.contains("tools = false"),
        "{text}"
    );
    assert!(done.said.contains("will be withheld"), "{}", done.said);
    for wrong in ["1\n9\n", "1\n0\n"] {
        assert_eq!(
            init(&environment, wrong, InitArguments::default())
                .await
                .result
                .unwrap_err()
                .status(),
            2
        );
    }
}

#[tokio::test]
async fn nothing_found_is_said_and_a_model_can_be_typed() {
    let gone = FakeHttp::start(|_| Reply::Hang);
    gone.refuse(true);
    let list = format!("ollama={},lm-studio={}", gone.url(), gone.url());
    let environment = [("LEVERFRAME_TEST_SERVERS", list.as_str())];
    let done = init(&environment, "\n\n", InitArguments::default()).await;
    assert!(
        done.said.contains("no model server on this machine"),
        "{}",
        done.said
    );
    assert!(!done.written().contains("\ndefault ="));
    let other = init(&environment, "openai\ngpt-x\n\n", InitArguments::default()).await;
    assert!(other.written().contains("default = \"openai/gpt-x\""));
}

#[tokio::test]
async fn flags_and_yes_probe_nothing() {
    let (server, asked) = ollama();
    let list = format!("ollama={}", server.url());
    let environment = [
        ("LEVERFRAME_TEST_SERVERS", list.as_str()),
        ("OPENAI_API_KEY", SECRET),
    ];
    let yes = InitArguments {
        yes: true,
        ..InitArguments::default()
    };
    let done = init(&environment, "1\ny\n", yes).await;
    assert!(
        !done.written().contains("\ndefault ="),
        "{}",
        done.written()
    );
    let named = InitArguments {
        provider: Some("openai".to_owned()),
        ..InitArguments::default()
    };
    let done = init(&environment, "gpt-x\n\n", named).await;
    assert!(done.written().contains("openai/gpt-x"));
    assert_eq!(asked.load(Ordering::SeqCst), 0, "a server was asked");
}

#[test]
fn the_program_offers_it_on_a_terminal() {
    let (server, _) = ollama();
    let home = Home::new("");
    std::fs::remove_file(home.path().join("config/config.toml")).unwrap();
    let mut command = home.command();
    command.arg("init").env(
        "LEVERFRAME_TEST_SERVERS",
        format!("ollama={}", server.url()),
    );
    let mut pty = Pty::start(&command, 120, 30);
    pty.see("Which one?");
    pty.send("1\r");
    pty.see("Which model?");
    pty.send("2\r");
    pty.see("Platform to connect");
    pty.send("\r");
    pty.see("start the console now?");
    pty.send("n\r");
    assert_eq!(pty.wait_exit(), Some(0));
    let text = std::fs::read_to_string(home.path().join("config/config.toml")).unwrap();
    assert!(text.contains("ollama/gemma3:4b"), "{text}");
    // What was written loads.
    let listed = home
        .command()
        .args(["models", "list", "--json"])
        .output()
        .unwrap();
    let out = String::from_utf8(listed.stdout).unwrap();
    assert!(
        listed.status.success(),
        "{}",
        String::from_utf8_lossy(&listed.stderr)
    );
    assert!(out.contains("\"tools\":false"), "{out}");
}

/// A server that lists its models under `/v1` to whoever has the key.
fn keyed() -> FakeHttp {
    FakeHttp::start(|request| {
        if request.path != "/v1/models" {
            return Reply::Json(404, json!({}));
        }
        if request.authorization != format!("Bearer {SECRET}") {
            return Reply::Json(401, json!({"error": "no key"}));
        }
        Reply::Json(
            200,
            json!({"object": "list", "data": [
                {"id": "small-1", "context_length": 32000},
                {"id": "large-1"},
            ]}),
        )
    })
}

#[tokio::test]
async fn an_address_comes_first_and_its_server_lists_the_models() {
    let server = keyed();
    let environment = [("LEVERFRAME_TEST_SERVERS", ""), ("SERVER_KEY", SECRET)];
    let nonsense = "127.0.0.1\n";
    let keys = format!("{nonsense}{}\n$SERVER_KEY\n2\n\n", server.url());
    let done = init(&environment, &keys, InitArguments::default()).await;
    for word in [
        "`127.0.0.1` is no address: an address begins with http:// or https://",
        "wants a key",
        "1  small-1",
        "2  large-1",
    ] {
        assert!(
            done.said.contains(word),
            "`{word}` is not in: {}",
            done.said
        );
    }
    let text = done.written();
    for word in [
        "default = \"local/large-1\"",
        "api_key_env = \"SERVER_KEY\"",
        &format!("base_url = \"{}/v1\"", server.url()),
    ] {
        assert!(text.contains(word), "`{word}` is not in: {text}");
    }
    // The flags name the server; its models are listed all the same, and its name is the one of the flags.
    let named = InitArguments {
        provider: Some("mine".to_owned()),
        base_url: Some(format!("{}/v1", server.url())),
        api_key_env: Some("SERVER_KEY".to_owned()),
        ..InitArguments::default()
    };
    let done = init(&environment, "small-1\n\n", named).await;
    assert!(done.written().contains("default = \"mine/small-1\""));
}

#[tokio::test]
async fn a_server_that_is_away_leaves_its_model_to_the_person() {
    let gone = FakeHttp::start(|_| Reply::Hang);
    gone.refuse(true);
    let environment = [("LEVERFRAME_TEST_SERVERS", "")];
    let keys = format!("{}\n\nsome-model\n\n", gone.url());
    let done = init(&environment, &keys, InitArguments::default()).await;
    assert!(
        done.said
            .contains("cannot be reached now, so its models are not listed")
    );
    assert!(done.written().contains("default = \"local/some-model\""));
}

#[tokio::test]
async fn a_person_goes_back_and_answers_again() {
    let (server, _) = ollama();
    let list = format!("ollama={}", server.url());
    let environment = [("LEVERFRAME_TEST_SERVERS", list.as_str())];
    // From the list of models to the servers, and from the bot to the model.
    let done = init(
        &environment,
        "1\n<\n1\n2\n<\n1\n1\n\n",
        InitArguments::default(),
    )
    .await;
    assert!(
        done.written().contains("ollama/qwen3:8b"),
        "{}",
        done.written()
    );
    // From the last question, before anything is written.
    let keys = "1\n1\ntelegram\n\nBOT\n12x\n12\n\n<\n<\n34\n\ny\n";
    let done = init(&environment, keys, InitArguments::default()).await;
    assert!(
        done.said.contains("`12x` is not a numeric Telegram id"),
        "{}",
        done.said
    );
    let text = done.written();
    assert!(
        text.contains("\"34\"") && !text.contains("\"12\""),
        "{text}"
    );
    let first = init(&environment, "<\n\n\n", InitArguments::default()).await;
    assert!(
        first.said.contains("this is the first question"),
        "{}",
        first.said
    );
    let none = init(&environment, "1\n1\n\nq\n", InitArguments::default()).await;
    assert!(none.result.is_err() && !none.file.exists());
}

#[tokio::test]
async fn a_secret_in_place_of_its_variable_is_refused_and_not_repeated() {
    let token = "123456:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
    let environment = [
        ("LEVERFRAME_TEST_SERVERS", ""),
        ("WRONG", "no token"),
        ("BOT", token),
    ];
    let keys = format!("\ntelegram\n\n{token}\nWRONG\nBOT\n7\n\nn\n");
    let done = init(&environment, &keys, InitArguments::default()).await;
    assert!(
        done.said.contains("that is not the name of a variable"),
        "{}",
        done.said
    );
    assert!(
        done.said
            .contains("WRONG is set, but what it holds is no such secret")
    );
    assert!(!done.said.contains(token), "{}", done.said);
    let text = done.written();
    assert!(
        text.contains("token_env = \"BOT\"") && !text.contains(token),
        "{text}"
    );
    assert_eq!(done.result.unwrap(), AfterInit::End);
}

#[test]
fn the_last_answer_starts_the_console() {
    let home = Home::new("");
    std::fs::remove_file(home.path().join("config/config.toml")).unwrap();
    let mut command = home.command();
    command.arg("init").env("LEVERFRAME_TEST_SERVERS", "");
    let mut pty = Pty::start(&command, 120, 30);
    pty.see("Address of a model server");
    pty.send("\r");
    pty.see("Platform to connect");
    pty.send("\r");
    pty.see("start the console now?");
    pty.send("\r");
    pty.see("Queue");
    assert!(home.path().join("config/config.toml").exists());
}

#[tokio::test]
async fn every_platform_is_offered_and_several_go_into_one_file() {
    let environment = [
        ("LEVERFRAME_TEST_SERVERS", ""),
        ("APP", "xapp-1"),
        ("BOT", "xoxb-1"),
    ];
    let keys = [
        // The scripted model.
        "",
        // No platform is called that, and nothing that was answered before is lost by it.
        "fax",
        "discord",
        "",
        "",
        "12a",
        "80351110224678912",
        "slack",
        "team",
        "APP",
        "BOT",
        "APP",
        "U042ABC",
        "matrix",
        "",
        "matrix.org",
        "http://127.0.0.1:1",
        "",
        "anna",
        "@anna:example.org",
        // A second one of the same kind has another name.
        "discord",
        "discord",
        "",
        "OTHER_TOKEN",
        "",
        "webhook",
        "shop",
        "",
        "",
        "ada",
        "process",
        "irc",
        "python3 'an irc.py",
        "python3 'an irc.py' --nick lever",
        "",
        "",
        "n",
    ];
    let keys = format!("{}\n", keys.join("\n"));
    let done = init(&environment, &keys, InitArguments::default()).await;
    for word in [
        "expected one of telegram, discord, slack, matrix, webhook, process",
        "https://discord.com/developers/applications",
        "a Discord id is a number",
        "APP is set, but what it holds is no such secret",
        "an address begins with https://",
        "a Matrix id looks like @anna:example.org",
        "there is a channel `discord` already",
        "a ' is never closed",
        "note: the variable MATRIX_ACCESS_TOKEN is not set here",
        "team on slack: answers you",
        "irc on process: answers nobody until you let people in",
        "team: asking the platform",
    ] {
        assert!(
            done.said.contains(word),
            "`{word}` is not in: {}",
            done.said
        );
    }
    let text = done.written();
    for word in [
        "[channels.discord]\nkind = \"discord\"\ntoken_env = \"DISCORD_BOT_TOKEN\"",
        "[channels.team]\nkind = \"slack\"\ntoken_env = \"BOT\"\napp_token_env = \"APP\"\nallowed_users = [\"U042ABC\"]",
        "api_base = \"http://127.0.0.1:1\"",
        "[channels.discord-2]\nkind = \"discord\"\ntoken_env = \"OTHER_TOKEN\"",
        "secret_env = \"WEBHOOK_SECRET\"",
        "command = [\"python3\", \"an irc.py\", \"--nick\", \"lever\"]",
        "ids = [\"discord:80351110224678912\", \"matrix:@anna:example.org\", \"slack:U042ABC\"]",
    ] {
        assert!(text.contains(word), "`{word}` is not in: {text}");
    }
    // Who writes to a webhook is a claim: it gives no role.
    assert!(!text.contains("webhook/shop"), "{text}");
}

#[tokio::test]
async fn going_back_from_a_platform_drops_only_that_one() {
    let environment = [("LEVERFRAME_TEST_SERVERS", "")];
    // Back from the first question of Matrix, then to the last one of Discord and on.
    let keys = "\ndiscord\n\n\n7\nmatrix\n<\n<\n8\n\nn\n";
    let done = init(&environment, keys, InitArguments::default()).await;
    let text = done.written();
    assert!(text.contains("allowed_users = [\"8\"]"), "{text}");
    assert!(!text.contains("kind = \"matrix\""), "{text}");
    // A bot of the flags is not asked about again, and stays.
    let flags = InitArguments {
        telegram_token_env: Some("BOT".to_owned()),
        ..InitArguments::default()
    };
    let done = init(&environment, "\n<\n\n9\nmatrix\n<\n\nn\n", flags).await;
    let text = done.written();
    assert!(
        text.contains("[channels.telegram]") && text.contains("token_env = \"BOT\""),
        "{text}"
    );
    assert!(text.contains("ids = [\"telegram:9\"]"), "{text}");
    // The input ends in the middle: nothing is written.
    let lost = init(&environment, "\ndiscord\n\n", InitArguments::default()).await;
    assert!(lost.result.is_err() && !lost.file.exists());
}

#[test]
fn an_interrupt_leaves_no_file() {
    let home = Home::new("");
    let directory = home.path().join("config");
    std::fs::remove_file(directory.join("config.toml")).unwrap();
    let mut command = home.command();
    command.arg("init").env("LEVERFRAME_TEST_SERVERS", "");
    let mut pty = Pty::start(&command, 120, 30);
    pty.see("Address of a model server");
    pty.send("\r");
    pty.see("Platform to connect");
    pty.send("discord\r");
    pty.see("Name of the channel");
    pty.send("\r");
    pty.see("developers/applications");
    pty.send("\x03");
    assert_ne!(pty.wait_exit(), Some(0));
    let left: Vec<_> = std::fs::read_dir(&directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .filter(|name| name.to_string_lossy().contains("toml"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}
