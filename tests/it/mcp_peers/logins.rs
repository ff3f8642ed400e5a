//! Logins through the library, against an issuer that checks, and against issuers that lie.

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::time::Duration;

use leverframe::clock::Clock;
use leverframe::config::mcp::{McpAddress, McpLogin};
use leverframe::config::settings::Secret;
use leverframe::mcp::client::login::{
    Callback, LoginAttempt, LoginError, LoginOptions, LoginTokens,
};
use leverframe::text::redact::Redactor;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::mcp_peers::issuer::{Behaviour, Issuer};

/// A server in the configuration.
struct Configured {
    dir: TempDir,
    address: McpAddress,
    login: McpLogin,
    redactor: Redactor,
}

impl Configured {
    fn of(url: &str) -> Self {
        let dir = TempDir::new().expect("a directory");
        let login = McpLogin {
            file: dir.path().join("logins/home.json"),
            client_id: None,
            scopes: Vec::new(),
        };
        Self {
            address: McpAddress {
                url: url.to_owned(),
                headers: std::collections::BTreeMap::new(),
                login: Some(login.clone()),
            },
            dir,
            login,
            redactor: Redactor::new(),
        }
    }

    async fn begin(&self) -> Result<LoginAttempt, LoginError> {
        let options = LoginOptions {
            redirect: "http://127.0.0.1:1/callback".to_owned(),
            ..LoginOptions::default()
        };
        LoginAttempt::begin(&self.address, &self.login, options, self.redactor.clone()).await
    }

    async fn log_in(&self) -> Result<(), LoginError> {
        let attempt = self.begin().await?;
        let answer = Issuer::consent(attempt.page()).await;
        attempt.finish(&answer).await
    }

    fn tokens(&self) -> LoginTokens {
        self.tokens_at(Clock::System)
    }

    fn tokens_at(&self, clock: Clock) -> LoginTokens {
        LoginTokens::new(&self.address, &self.login, self.redactor.clone(), clock)
            .expect("an address")
    }

    fn kept(&self) -> Value {
        let text = std::fs::read_to_string(&self.login.file).expect("a file");
        serde_json::from_str(&text).expect("JSON")
    }
}

fn refused(result: Result<impl Sized, LoginError>) -> String {
    match result.map(|_| ()) {
        Err(LoginError::Refused(why) | LoginError::Failed(why)) => why,
        other => panic!("expected a refusal: {other:?}"),
    }
}

#[tokio::test]
async fn a_login_leaves_its_tokens_in_a_closed_file_and_nowhere_else() {
    let issuer = Issuer::start().await;
    issuer.behaviour().gives_secrets = true;
    let server = Configured::of(&issuer.server());
    let callback = Callback::listen(0).await.expect("a port");
    let options = LoginOptions {
        redirect: callback.redirect(),
        ..LoginOptions::default()
    };
    let attempt = LoginAttempt::begin(
        &server.address,
        &server.login,
        options,
        server.redactor.clone(),
    )
    .await
    .expect("an issuer");
    assert_eq!(attempt.issuer(), Some(issuer.base.as_str()));
    let back = Issuer::consent(attempt.page()).await;
    let state = attempt.state().to_owned();
    let waiting =
        tokio::spawn(async move { callback.answer(&state, Duration::from_secs(20)).await });
    let browser = crate::support::daemon::client();
    // What others of this machine send to the port ends nothing.
    let other = back.replace("state=", "state=x");
    let reply = browser.get(other).send().await.expect("a reply");
    assert_eq!(reply.status(), 404);
    let reply = browser.get(&back).send().await.expect("a reply");
    assert_eq!(reply.status(), 200);
    let page = reply.text().await.expect("a text");
    assert!(!page.contains("code-"), "{page}");
    let answer = waiting.await.expect("no panic").expect("an answer");
    attempt.finish(&answer).await.expect("tokens");

    let token = server.tokens().token().await.expect("a token");
    assert_eq!(token.expose(), "access-1");
    let mode = |path: PathBuf| {
        std::fs::metadata(path)
            .expect("it is there")
            .permissions()
            .mode()
            & 0o777
    };
    assert_eq!(mode(server.login.file.clone()), 0o600);
    assert_eq!(mode(server.dir.path().join("logins")), 0o700);
    assert_eq!(server.kept()["client_secret"], "client-secret-1");
    let told = "access-1 refresh-1 client-secret-1";
    assert_eq!(
        server.redactor.redact(told),
        "[redacted] [redacted] [redacted]"
    );
    assert!(!format!("{token:?}").contains("access"), "{token:?}");
}

#[tokio::test]
async fn tokens_are_renewed_once_whoever_asks() {
    let issuer = Issuer::start().await;
    issuer.behaviour().expires_in = Some(100);
    issuer.behaviour().gives_secrets = true;
    let server = Configured::of(&issuer.server());
    server.log_in().await.expect("a login");
    let clock = Clock::manual(Clock::System.now());
    // Each has its own view of the file, as another process has.
    let tokens: Vec<_> = (0..8).map(|_| server.tokens_at(clock.clone())).collect();
    assert_eq!(
        tokens[0].token().await.expect("a token").expose(),
        "access-1"
    );
    assert_eq!(issuer.behaviour().renewals, 0);
    clock.advance_millis(80_000);
    let mut given = tokio::task::JoinSet::new();
    for tokens in &tokens {
        let tokens = tokens.clone();
        given.spawn(async move { tokens.token().await.expect("a token").expose().to_owned() });
    }
    let given = given.join_all().await;
    assert!(given.iter().all(|token| token == "access-2"), "{given:?}");
    assert_eq!(issuer.behaviour().renewals, 1);
    assert_eq!(server.kept()["tokens"]["refresh_token"], "refresh-2");
    assert_eq!(
        server.redactor.redact("access-2 refresh-2"),
        "[redacted] [redacted]"
    );
}

#[tokio::test]
async fn a_refused_token_is_renewed_once_and_not_again_by_those_who_had_the_old_one() {
    let issuer = Issuer::start().await;
    let server = Configured::of(&issuer.server());
    server.log_in().await.expect("a login");
    let old = Secret::new("access-1");
    let tokens = server.tokens();
    let first = tokens.replace(&old).await.expect("a token");
    let second = tokens.replace(&old).await.expect("a token");
    assert_eq!((first.expose(), second.expose()), ("access-2", "access-2"));
    assert_eq!(issuer.behaviour().renewals, 1);
}

#[tokio::test]
async fn a_withdrawn_login_needs_a_person() {
    let issuer = Issuer::start().await;
    issuer.behaviour().expires_in = Some(1);
    let server = Configured::of(&issuer.server());
    assert!(matches!(
        server.tokens().token().await,
        Err(LoginError::NeedsLogin(_))
    ));
    server.log_in().await.expect("a login");
    issuer.behaviour().revoked = true;
    let clock = Clock::manual(Clock::System.now().plus_seconds(60));
    let tokens = server.tokens_at(clock);
    let ended = tokens.token().await;
    assert!(matches!(ended, Err(LoginError::NeedsLogin(_))), "{ended:?}");
    assert_eq!(server.kept()["tokens"], Value::Null);
    // Nobody is asked in vain after that.
    let asked = issuer.behaviour().asked.len();
    assert!(matches!(
        tokens.token().await,
        Err(LoginError::NeedsLogin(_))
    ));
    assert_eq!(issuer.behaviour().asked.len(), asked);
}

#[tokio::test]
async fn tokens_go_to_no_other_server_and_to_no_other_issuer() {
    let issuer = Issuer::start().await;
    issuer.behaviour().expires_in = Some(1);
    let server = Configured::of(&issuer.server());
    server.log_in().await.expect("a login");
    let late = Clock::manual(Clock::System.now().plus_seconds(60));

    let elsewhere = Issuer::start().await;
    let mut moved = Configured::of(&elsewhere.server());
    moved.login = server.login.clone();
    let given = moved.tokens_at(late.clone()).token().await;
    assert!(matches!(given, Err(LoginError::NeedsLogin(_))), "{given:?}");
    assert_eq!(elsewhere.behaviour().asked, Vec::<String>::new());

    // The server names another issuer than the one that gave the tokens.
    let other = json!([elsewhere.base.clone()]);
    issuer.behaviour().resource = json!({ "authorization_servers": other });
    let given = server.tokens_at(late).token().await;
    assert!(matches!(given, Err(LoginError::NeedsLogin(_))), "{given:?}");
    let asked = elsewhere.behaviour().asked.join(", ");
    assert!(!asked.contains("/token"), "{asked}");
}

#[tokio::test]
async fn an_answer_to_another_login_or_of_another_issuer_is_refused() {
    let issuer = Issuer::start().await;
    let server = Configured::of(&issuer.server());
    let attempt = server.begin().await.expect("an issuer");
    let answer = Issuer::consent(attempt.page()).await;
    let why = refused(attempt.finish(&answer.replace("state=", "state=x")).await);
    assert!(why.contains("not the answer to this login"), "{why}");

    issuer.behaviour().iss = Some("https://elsewhere.example".to_owned());
    let why = refused(server.log_in().await);
    assert!(why.contains("issuer mismatch"), "{why}");

    let attempt = server.begin().await.expect("an issuer");
    let denied = format!(
        "http://127.0.0.1:1/callback?error=access_denied&error_description=%1b%5b31mno&state={}",
        attempt.state()
    );
    let why = refused(attempt.finish(&denied).await);
    assert!(
        why.contains("access_denied") && !why.contains('\u{1b}'),
        "{why}"
    );
    assert!(!server.login.file.exists());
    let asked = issuer.behaviour().asked.join(", ");
    assert!(!asked.contains("/token"), "{asked}");
}

/// A login at a server that lies; why it is refused.
async fn lied(lie: impl FnOnce(&mut Behaviour, &Issuer)) -> (String, Issuer) {
    let issuer = Issuer::start().await;
    lie(&mut issuer.behaviour(), &issuer);
    let server = Configured::of(&issuer.server());
    let why = refused(server.log_in().await);
    assert!(!server.login.file.exists(), "{why}");
    (why, issuer)
}

#[tokio::test]
async fn endpoints_that_are_not_safe_are_refused_before_anything_is_sent_there() {
    for (field, address) in [
        ("token_endpoint", "http://login.example/token"),
        ("authorization_endpoint", "javascript:alert(1)"),
        ("authorization_endpoint", "file:///etc/passwd"),
        ("registration_endpoint", "http://10.0.0.1/register"),
        ("token_endpoint", "https://user:word@login.example/token"),
    ] {
        let (why, issuer) = lied(|behaviour, _| behaviour.issuer = json!({ field: address })).await;
        assert!(why.contains(field) && why.contains(address), "{why}");
        let asked = issuer.behaviour().asked.join(", ");
        assert!(
            !asked.contains("/register") && !asked.contains("/authorize"),
            "{asked}"
        );
    }
}

#[tokio::test]
async fn an_issuer_at_an_address_of_the_machine_or_the_network_around_it_is_refused() {
    for address in [
        "http://169.254.169.254/latest",
        "https://169.254.169.254",
        "https://10.0.0.1",
        "https://metadata.google.internal",
        "https://[fe80::1]",
    ] {
        let lie = |behaviour: &mut Behaviour, _: &Issuer| {
            behaviour.resource = json!({ "authorization_servers": [address] });
        };
        let (why, _) = lied(lie).await;
        assert!(
            why.contains("none published usable metadata"),
            "{address}: {why}"
        );
    }
    // A challenge that points there is passed over, and the honest place is asked.
    let issuer = Issuer::start().await;
    issuer.behaviour().challenge =
        Some("Bearer resource_metadata=\"http://169.254.169.254/prm\"".to_owned());
    let server = Configured::of(&issuer.server());
    server.log_in().await.expect("a login at the honest issuer");
}

#[tokio::test]
async fn metadata_of_another_issuer_or_of_another_resource_is_refused() {
    let lie = |behaviour: &mut Behaviour, _: &Issuer| {
        behaviour.issuer = json!({ "issuer": "https://elsewhere.example" });
    };
    let (why, _) = lied(lie).await;
    assert!(why.contains("issuer mismatch"), "{why}");
    let lie = |behaviour: &mut Behaviour, _: &Issuer| {
        behaviour.resource = json!({ "resource": "https://elsewhere.example/mcp" });
    };
    let (why, _) = lied(lie).await;
    assert!(why.contains("resource mismatch"), "{why}");
    let lie = |behaviour: &mut Behaviour, _: &Issuer| {
        behaviour.issuer = json!({ "code_challenge_methods_supported": ["plain"] });
    };
    let (why, _) = lied(lie).await;
    assert!(why.contains("S256"), "{why}");
}

#[tokio::test]
async fn no_redirect_takes_metadata_or_codes_elsewhere() {
    let elsewhere = Issuer::start().await;
    let to = format!(
        "{}/.well-known/oauth-protected-resource/mcp",
        elsewhere.base
    );
    let (why, _) = lied(|behaviour, _| behaviour.metadata_moved = Some(to)).await;
    assert!(why.contains("redirect"), "{why}");
    let to = format!("{}/token", elsewhere.base);
    let (why, issuer) = lied(|behaviour, _| behaviour.tokens_moved = Some(to)).await;
    assert!(why.contains("no token"), "{why}");
    let asked = issuer.behaviour().asked.join(", ");
    assert!(asked.contains("POST /token"), "{asked}");
    assert_eq!(elsewhere.behaviour().asked, Vec::<String>::new());
}

#[tokio::test]
async fn a_file_that_others_can_read_is_not_used() {
    let issuer = Issuer::start().await;
    let server = Configured::of(&issuer.server());
    server.log_in().await.expect("a login");
    let open = std::fs::Permissions::from_mode(0o644);
    std::fs::set_permissions(&server.login.file, open).expect("a mode");
    let why = refused(server.tokens().token().await);
    assert!(why.contains("0600"), "{why}");
}

#[tokio::test]
async fn nobody_waits_for_a_consent_for_ever() {
    let callback = Callback::listen(0).await.expect("a port");
    let why = refused(callback.answer("state", Duration::from_millis(50)).await);
    assert!(why.contains("nobody consented"), "{why}");
}
