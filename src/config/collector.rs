//! `[telemetry]`: which collector gets traces and logs. The standard variables of OpenTelemetry come before the file.

use std::collections::BTreeMap;

use percent_encoding::percent_decode_str;

use crate::config::error::{ConfigError, ConfigLocation, Fault};
use crate::config::headers::{self, is_header_name};
use crate::config::inputs::{Inputs, Section, field};
use crate::config::providers::{is_near, web_address};
use crate::config::secret::Secret;
use crate::config::secrets::SecretSource;
use crate::config::telemetry::TelemetrySettings;

/// Address of the collector.
const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
/// Headers: `name=value`, with commas between, values percent-encoded.
const HEADERS: &str = "OTEL_EXPORTER_OTLP_HEADERS";
/// Name of the service.
const SERVICE_NAME: &str = "OTEL_SERVICE_NAME";
/// `true`: nothing is sent.
const DISABLED: &str = "OTEL_SDK_DISABLED";
/// Longest name of a service, in bytes.
const LONGEST_NAME: usize = 128;

/// Where traces and logs go; none = nowhere.
pub fn resolve(inputs: &Inputs<'_>) -> Result<Option<TelemetrySettings>, ConfigError> {
    let config = inputs.config();
    let table = &config.telemetry;
    let environment = inputs.environment;
    let (endpoint, place) = match (environment.get(ENDPOINT), &table.endpoint) {
        (Some(url), _) => (Some(url), Some(ENDPOINT)),
        (None, Some(url)) => (Some(url.as_str()), None),
        (None, None) => (None, None),
    };
    let fault = |problem: String| match place {
        Some(name) => variable(name, problem),
        None => inputs.fault(&["telemetry", "endpoint"], problem),
    };
    let source = SecretSource::of([&table.secret_env, &table.secret_file, &table.secret_command]);
    let of_file = headers::resolve(inputs, &["telemetry"], table.headers.as_ref(), source)?;
    let of_variable = environment.get(HEADERS).map(parse_headers).transpose()?;
    let section = Section::new(inputs, &["telemetry"], table);
    let ratio = section.number(field!(table.sample_ratio), 1.0, 0.0..=1.0)?;
    let service_name = environment
        .get(SERVICE_NAME)
        .or(table.service_name.as_deref());
    let service_name = service_name.unwrap_or("leverframe").trim();
    if service_name.is_empty()
        || service_name.len() > LONGEST_NAME
        || service_name.chars().any(char::is_control)
    {
        let problem = "is not a name for a service";
        let fault = match environment.get(SERVICE_NAME) {
            Some(_) => variable(SERVICE_NAME, problem.to_owned()),
            None => inputs.fault(&["telemetry", "service_name"], problem),
        };
        return Err(fault
            .expected(format!("1 to {LONGEST_NAME} bytes in one line"))
            .into());
    }
    let Some(endpoint) = endpoint else {
        return Ok(None);
    };
    let endpoint = web_address(endpoint).map_err(|problem| {
        fault(problem).expected("the address of a collector: `https://collector.example:4318`")
    })?;
    let (headers, secrets) = match of_variable {
        Some(headers) => {
            let secrets = headers.values().flat_map(parts).collect();
            (headers, secrets)
        }
        None => (of_file.headers, of_file.secret.into_iter().collect()),
    };
    if !headers.is_empty() && endpoint.starts_with("http://") && !is_near(&endpoint) {
        let fault = fault("plain http sends the headers unencrypted to another host".to_owned());
        let expected = "https://, http:// to this machine or a private network, or no headers";
        return Err(fault.expected(expected).into());
    }
    let disabled = environment.get(DISABLED);
    if disabled.is_some_and(|value| value.eq_ignore_ascii_case("true")) {
        return Ok(None);
    }
    Ok(Some(TelemetrySettings {
        endpoint,
        headers,
        secrets,
        service_name: service_name.to_owned(),
        sample_ratio: ratio,
    }))
}

fn variable(name: &str, problem: String) -> Fault {
    Fault::new(ConfigLocation::Environment(name.to_owned()), problem)
}

/// The whole value, and what stands in it after a word like `Bearer`.
fn parts(value: &Secret) -> Vec<Secret> {
    let last = value.expose().rsplit(' ').next().unwrap_or_default();
    vec![value.clone(), Secret::new(last)]
}

/// The headers of the variable. No fault quotes a value.
fn parse_headers(text: &str) -> Result<BTreeMap<String, Secret>, ConfigError> {
    let expected = "name=value, with commas between, and values percent-encoded";
    let wrong = |problem: &str| variable(HEADERS, problem.to_owned()).expected(expected);
    let mut headers = BTreeMap::new();
    for pair in text
        .split(',')
        .map(str::trim)
        .filter(|pair| !pair.is_empty())
    {
        let Some((name, value)) = pair.split_once('=') else {
            return Err(wrong("has a header without a value").into());
        };
        let name = name.trim();
        if !is_header_name(name) {
            return Err(wrong("has what is no name of a header").into());
        }
        let Ok(value) = percent_decode_str(value.trim()).decode_utf8() else {
            return Err(wrong("has a value that is not UTF-8").into());
        };
        if value.chars().any(char::is_control) {
            return Err(wrong("has a value with a line break or control character").into());
        }
        headers.insert(name.to_owned(), Secret::new(value));
    }
    Ok(headers)
}
