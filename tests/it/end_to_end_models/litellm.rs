//! The stories through litellm's proxy, which translates between wire formats, in front of aimock: what the daemon
//! reads is written by a translator that nobody made for it.
//!
//! Checks nothing, loudly, where one of the two is not installed.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

use tokio::process::{Child, Command};

use crate::end_to_end_models::stories;
use crate::support::aimock::Aimock;
use crate::support::daemon::client;
use crate::support::requirement::peers;

/// Longest wait for the proxy; it takes about twenty seconds on an idle machine.
const START: Duration = Duration::from_mins(4);
/// What the proxy wants from its callers: the daemon's key.
const MASTER_KEY: &str = stories::KEY;

struct Proxy {
    base: String,
    _process: Child,
    _dir: tempfile::TempDir,
}

fn installed() -> Option<PathBuf> {
    let program = peers().join("litellm/bin/litellm");
    if program.is_file() {
        return Some(program);
    }
    eprintln!("!!! SKIPPED: litellm is not installed; run tests/peers/install.sh litellm");
    None
}

impl Proxy {
    async fn start(program: PathBuf, peer: &Aimock) -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let config = dir.path().join("config.yaml");
        // The model's name says which format stands behind: always another one than the daemon speaks.
        let text = format!(
            "model_list:\n\
             - model_name: behind-chat\n  litellm_params: {{model: openai/test-model, api_base: '{0}/v1', api_key: upstream}}\n\
             - model_name: behind-messages\n  litellm_params: {{model: anthropic/test-model, api_base: '{0}', api_key: upstream}}\n\
             litellm_settings: {{num_retries: 0, telemetry: false}}\n",
            peer.base
        );
        std::fs::write(&config, text).expect("the configuration");
        let port = {
            let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
            free.local_addr().expect("an address").port()
        };
        let log = std::fs::File::create(dir.path().join("log")).expect("a log");
        let process = Command::new(program)
            .arg("--config")
            .arg(&config)
            .args(["--host", "127.0.0.1", "--port", &port.to_string()])
            .env("LITELLM_LOCAL_MODEL_COST_MAP", "True")
            .env("LITELLM_TELEMETRY", "False")
            .env("NO_DOCS", "True")
            .env("LITELLM_MASTER_KEY", MASTER_KEY)
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("a log"))
            .stderr(log)
            .kill_on_drop(true)
            .spawn()
            .expect("litellm starts");
        let base = format!("http://127.0.0.1:{port}");
        let deadline = Instant::now() + START;
        let client = client();
        loop {
            let alive = client.get(format!("{base}/health/liveliness")).send().await;
            if alive.is_ok_and(|response| response.status().is_success()) {
                break;
            }
            if Instant::now() >= deadline {
                let log = std::fs::read_to_string(dir.path().join("log")).unwrap_or_default();
                panic!("litellm does not answer: {log}");
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        Self {
            base,
            _process: process,
            _dir: dir,
        }
    }
}

#[tokio::test]
async fn approvals_work_through_a_translating_proxy() {
    let Some(program) = installed() else {
        return;
    };
    let Some(peer) = Aimock::start().await else {
        return;
    };
    let proxy = Proxy::start(program, &peer).await;
    for (kind, model, base) in [
        ("anthropic", "behind-chat", proxy.base.clone()),
        (
            "openai-chat",
            "behind-messages",
            format!("{}/v1", proxy.base),
        ),
    ] {
        let home = stories::home_with_model(kind, &base, model);
        let daemon = stories::start(&home);
        // Its usage is its own: it counts, it does not repeat what aimock says.
        stories::plain(&daemon, false).await;
        stories::gated(&daemon, &home, true).await;
        stories::mixed(&daemon, &home, true).await;
        assert!(
            !home.log().contains(stories::KEY),
            "{kind}: the key in the log"
        );
    }
}
