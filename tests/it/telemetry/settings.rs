//! `[telemetry]` and the standard variables: what is refused, what comes first, and what the doctor says of it.

use leverframe::config::settings::Secret;
use leverframe::engine::telemetry::configured;
use leverframe::protocol::doctor::Standing;

use crate::config_files::Case;

const ENDPOINT: &str = "[telemetry]\nendpoint = \"https://collector.example:4318/\"\n";

#[test]
fn the_file_and_the_variables_name_a_collector() {
    assert_eq!(Case::new("").settings().telemetry, None);
    let found = Case::new(ENDPOINT).settings().telemetry.unwrap();
    assert_eq!(found.endpoint, "https://collector.example:4318");
    assert_eq!(found.service_name, "leverframe");
    assert!((found.sample_ratio - 1.0).abs() < f64::EPSILON);

    let file = format!(
        "{ENDPOINT}headers = {{ api-key = \"{{secret}}\" }}\nsecret_env = \"KEY\"\nservice_name = \"bots\"\nsample_ratio = 0.5"
    );
    let settings = Case::new(&file).env("KEY", "a-key-of-the-file").settings();
    let found = settings.telemetry.clone().unwrap();
    assert_eq!(found.headers["api-key"], Secret::new("a-key-of-the-file"));
    assert_eq!(found.service_name, "bots");
    let known: Vec<&str> = settings.secrets().map(Secret::expose).collect();
    assert!(known.contains(&"a-key-of-the-file"));

    let settings = Case::new(&file)
        .env("KEY", "a-key-of-the-file")
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318")
        .env(
            "OTEL_EXPORTER_OTLP_HEADERS",
            "Authorization=Bearer%20a-token",
        )
        .env("OTEL_SERVICE_NAME", "others")
        .settings();
    let found = settings.telemetry.clone().unwrap();
    assert_eq!(found.endpoint, "http://127.0.0.1:4318");
    assert_eq!(found.service_name, "others");
    assert_eq!(found.headers.len(), 1);
    assert_eq!(found.headers["Authorization"].expose(), "Bearer a-token");
    let known: Vec<&str> = settings.secrets().map(Secret::expose).collect();
    assert!(known.contains(&"a-token"), "{known:?}");

    let off = Case::new(ENDPOINT).env("OTEL_SDK_DISABLED", "TRUE");
    assert_eq!(off.settings().telemetry, None);
    let on = Case::new(ENDPOINT).env("OTEL_SDK_DISABLED", "false");
    assert!(on.settings().telemetry.is_some());
}

#[test]
fn what_cannot_be_used_is_refused() {
    for (text, part) in [
        ("endpoint = \"collector:4318\"", "does not start with http"),
        ("sample_ratio = 1.5", "1.5 is out of range"),
        ("service_name = \" \"", "is not a name for a service"),
        (
            "headers = { Authorization = \"Bearer abc\" }",
            "credential in plain text",
        ),
        ("headers = { a = \"{secret}\" }", "nothing says where it is"),
        ("secret_env = \"KEY\"", "the secret is used nowhere"),
        (
            "endpoint = \"http://collector.example:4318\"\nheaders = { a = \"b\" }",
            "sends the headers unencrypted",
        ),
        ("endpoints = \"x\"", "endpoints"),
    ] {
        let error = Case::new(&format!("[telemetry]\n{text}"))
            .env("KEY", "a-key")
            .error()
            .to_string();
        assert!(error.contains(part), "{text}: {error}");
    }
    for (name, value, part) in [
        (
            "OTEL_EXPORTER_OTLP_ENDPOINT",
            "collector:4318",
            "does not start with http",
        ),
        (
            "OTEL_EXPORTER_OTLP_HEADERS",
            "hush-hush",
            "a header without a value",
        ),
        (
            "OTEL_EXPORTER_OTLP_HEADERS",
            "a b=hush-hush",
            "no name of a header",
        ),
        ("OTEL_EXPORTER_OTLP_HEADERS", "a=hush%0Ahush", "line break"),
    ] {
        let error = Case::new(ENDPOINT).env(name, value).error().to_string();
        assert!(error.contains(part) && error.contains(name), "{error}");
        assert!(!error.contains("hush"), "{error}");
    }
}

#[test]
fn the_doctor_warns_where_the_program_has_no_exporter() {
    let settings = Case::new(ENDPOINT).settings().telemetry.unwrap();
    let with = configured(&settings, true);
    assert_eq!(with.verdict, Standing::Ok);
    let without = configured(&settings, false);
    assert_eq!(without.verdict, Standing::Warn);
    assert!(without.detail.contains("built without OpenTelemetry"));
    assert!(without.fix.unwrap().contains("--features otel"));
}
