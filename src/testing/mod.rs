//! What tests of the real binary plug in: a crash point, a rule that is off, a clock that jumps, tools that post to a
//! service on loopback, and a bridge to a platform on loopback. Exists only with the feature `test-hooks`.

pub mod bridge;
pub mod tools;

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

/// Takes from the environment what a test wants of this process, once per process. `LEVERFRAME_TEST_SERVICE` is the
/// service, and `LEVERFRAME_TEST_KEY_MS` the life of its keys.
pub fn plug_in(environment: &Environment) {
    if let Some(point) = environment.crash() {
        crate::crash::arm(point);
    }
    if let Some(rule) = environment.mutant() {
        crate::crash::switch_off(rule);
    }
    if let Some(file) = environment.clock_offset_file() {
        crate::clock::jump::follow(file);
    }
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
