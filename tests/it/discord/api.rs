//! What an answer of the API means.

use std::sync::Arc;
use std::time::Duration;

use leverframe::channels::discord::api::{Api, CLOUDFLARE_REST, Route};
use leverframe::channels::http::{Answer, CallError, HttpTimes};
use leverframe::config::settings::Secret;
use serde_json::{Value, json};

fn judged(status: u16, headers: &[(&'static str, &str)], body: Value) -> CallError {
    let times = HttpTimes {
        connect: Duration::from_secs(1),
        request: Duration::from_secs(1),
        ..HttpTimes::default()
    };
    let api = Api::new(
        "http://127.0.0.1:9",
        Secret::new("a-token"),
        Arc::default(),
        times,
    )
    .unwrap();
    let headers = headers
        .iter()
        .map(|(name, value)| {
            let name = reqwest::header::HeaderName::from_static(name);
            (name, value.parse().unwrap())
        })
        .collect();
    let answer = Answer {
        status,
        headers,
        body,
    };
    api.judge(&Route::send("1"), answer).unwrap_err()
}

#[test]
fn a_limit_is_that_of_a_route_unless_everything_is_meant() {
    let own = json!({ "message": "slow", "retry_after": 1.25, "global": false });
    assert_eq!(
        judged(429, &[], own),
        CallError::Limited {
            retry_after: Duration::from_millis(1_250),
            everything: false
        }
    );
    let global = json!({ "retry_after": 0.5, "global": true });
    assert_eq!(
        judged(429, &[("retry-after", "2")], global),
        CallError::Limited {
            retry_after: Duration::from_secs(2),
            everything: true
        }
    );
    // The network before Discord speaks no JSON.
    assert_eq!(
        judged(429, &[], Value::Null),
        CallError::Limited {
            retry_after: CLOUDFLARE_REST,
            everything: true
        }
    );
    let odd = json!({ "retry_after": -3 });
    assert_eq!(
        judged(429, &[], odd),
        CallError::Limited {
            retry_after: Duration::from_secs(1),
            everything: false
        }
    );
}

#[test]
fn a_refusal_names_its_number_and_the_field() {
    let body = json!({ "code": 50035, "message": "Invalid Form Body", "errors": {
        "content": { "_errors": [{ "code": "BASE_TYPE_MAX_LENGTH", "message": "Must be 2000 or fewer in length." }] },
    } });
    assert_eq!(
        judged(400, &[], body),
        CallError::Refused {
            code: 400,
            name: "50035".to_owned(),
            detail: "Invalid Form Body (content: Must be 2000 or fewer in length.)".to_owned(),
            moved_to: None
        }
    );
    assert!(matches!(
        judged(404, &[], Value::Null),
        CallError::Refused { code: 404, .. }
    ));
    assert!(matches!(
        judged(503, &[], Value::Null),
        CallError::Server { status: 503, .. }
    ));
}
