//! What tests of the real binary plug in: a service on loopback that the tools for tests post to. Exists only with the
//! feature `test-hooks`.

use std::sync::OnceLock;
use std::time::Duration;

use crate::config::environment::Environment;

/// The service of the tools for tests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestService {
    /// `http://127.0.0.1:PORT`.
    pub url: String,
    /// How long it remembers keys; none = for ever.
    pub key_lifetime: Option<Duration>,
}

static SERVICE: OnceLock<TestService> = OnceLock::new();

/// Takes the service from the environment, once per process: `LEVERFRAME_TEST_SERVICE`, and
/// `LEVERFRAME_TEST_KEY_MS` for the life of its keys.
pub fn plug_in(environment: &Environment) {
    panic_on_demand(environment);
    let Some(url) = environment
        .test_service()
        .filter(|url| url.starts_with("http://127.0.0.1:"))
    else {
        return;
    };
    let _ = SERVICE.set(TestService {
        url: url.to_owned(),
        key_lifetime: environment
            .test_key_ms()
            .and_then(|text| text.parse().ok())
            .map(Duration::from_millis),
    });
}

/// Lets a thread panic as soon as a file is there, for what must then be put right.
#[allow(clippy::panic)] // that is what is asked for
fn panic_on_demand(environment: &Environment) {
    let Some(file) = environment.test_panic_file() else {
        return;
    };
    std::thread::spawn(move || {
        while !file.exists() {
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("panicked because a test asked for it");
    });
}

/// The service, when one is plugged in.
pub fn service() -> Option<&'static TestService> {
    SERVICE.get()
}
