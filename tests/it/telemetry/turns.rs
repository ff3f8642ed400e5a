//! Whole turns of the real binary, as a collector gets them.

use leverframe::protocol::ids::ContinuationId;
use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;

use crate::support::daemon::Home;
use crate::telemetry::collector::{Collector, Exports, body, map};

pub const TOKEN: &str = "collector-token-0123456789";
/// What the model writes into a file.
const CONTENT: &str = "nobody-else-reads-this";

pub fn home(collector: &Collector) -> Home {
    Home::new(&format!(
        "[telemetry]\nendpoint = \"{}/\"\nheaders = {{ Authorization = \"Bearer {{secret}}\" }}\n\
         secret_env = \"COLLECTOR_TOKEN\"\nservice_name = \"bots\"\n\n[log]\nfilter = \"leverframe=debug\"",
        collector.url()
    ))
}

fn write(content: &str) -> String {
    format!("TOOL:write_file {{\"path\": \"a.txt\", \"content\": \"{content}\"}}")
}

fn one<'a>(seen: &'a Exports, name: &str) -> &'a Span {
    let named = seen.named(name);
    assert_eq!(named.len(), 1, "{name}: {:#?}", seen.spans);
    named[0]
}

pub fn trace_of(turn: &str) -> Vec<u8> {
    let id: ContinuationId = turn.parse().unwrap();
    id.to_bytes().to_vec()
}

fn is_error(span: &Span) -> bool {
    let code = span.status.as_ref().map(|status| status.code);
    code == Some(StatusCode::Error.into())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_is_a_trace_without_a_word_of_its_content() {
    let collector = Collector::start();
    let home = home(&collector);
    let mut daemon = home.daemon_with(&[("COLLECTOR_TOKEN", TOKEN)]);
    let session = daemon.session().await;
    let turn = daemon.send(&session, &write(CONTENT)).await;
    let approval = daemon.wait_approval().await;
    daemon.decide(&approval, "approve").await;
    daemon.wait_state(&turn, "completed").await;
    let failed = daemon.send(&session, "FAIL:auth").await;
    daemon.wait_state(&failed, "failed").await;
    // What is left goes out at the end.
    assert!(daemon.terminate().success());
    let seen = collector.seen();

    let of_turn = |name| {
        let spans = seen.named(name).into_iter();
        let spans: Vec<&Span> = spans
            .filter(|span| span.trace_id == trace_of(&turn))
            .collect();
        spans
    };
    let roots = of_turn("invoke_agent api");
    assert_eq!(roots.len(), 1, "{:#?}", seen.spans);
    let root = roots[0];
    assert!(root.parent_span_id.is_empty() && !is_error(root));
    assert_eq!(root.kind, i32::from(SpanKind::Internal));
    let said = map(&root.attributes);
    assert_eq!(said["gen_ai.operation.name"], "invoke_agent");
    assert_eq!(said["gen_ai.agent.name"], "api");
    assert_eq!(said["gen_ai.conversation.id"], session);
    assert_eq!(said["leverframe.turn.state"], "completed");

    let chats = of_turn("chat demo");
    assert_eq!(chats.len(), 2, "{:#?}", seen.spans);
    let mut tokens = 0;
    for chat in &chats {
        let said = map(&chat.attributes);
        assert_eq!(chat.kind, i32::from(SpanKind::Client));
        assert_eq!(said["gen_ai.operation.name"], "chat");
        assert_eq!(said["gen_ai.provider.name"], "scripted");
        assert_eq!(said["gen_ai.request.model"], "demo");
        assert_eq!(said["gen_ai.conversation.id"], session);
        tokens += said["gen_ai.usage.input_tokens"].parse::<u64>().unwrap();
        said["gen_ai.usage.output_tokens"].parse::<u64>().unwrap();
    }
    assert_eq!(said["gen_ai.usage.input_tokens"], tokens.to_string());
    let stops = chats
        .iter()
        .map(|chat| map(&chat.attributes)["gen_ai.response.finish_reasons"].clone());
    assert_eq!(stops.collect::<Vec<_>>(), ["[tool_use]", "[end_turn]"]);

    let tool = one(&seen, "execute_tool write_file");
    let said = map(&tool.attributes);
    assert_eq!(said["gen_ai.operation.name"], "execute_tool");
    assert_eq!(said["gen_ai.tool.name"], "write_file");
    assert_eq!(said["leverframe.tool.state"], "succeeded");
    assert_eq!(
        said["gen_ai.tool.call.id"],
        approval["tool_call_id"].as_str().unwrap()
    );
    let wait = one(&seen, "wait_for_approval write_file");
    let said = map(&wait.attributes);
    assert_eq!(said["leverframe.approval.decision"], "approve");
    assert_eq!(said["leverframe.approval.surface"], "http");
    assert!(wait.end_time_unix_nano <= tool.end_time_unix_nano);

    for span in chats.iter().chain([&tool, &wait]) {
        assert_eq!(span.trace_id, trace_of(&turn));
        assert_eq!(span.parent_span_id, root.span_id, "{span:#?}");
        assert!(span.start_time_unix_nano >= root.start_time_unix_nano);
        assert!(span.end_time_unix_nano >= span.start_time_unix_nano);
        assert!(span.end_time_unix_nano <= root.end_time_unix_nano);
    }

    let roots = seen.named("invoke_agent api").into_iter();
    let mut roots = roots.filter(|span| span.trace_id == trace_of(&failed));
    let root = roots.next().expect("the turn that failed");
    assert!(is_error(root));
    assert!(!map(&root.attributes)["error.type"].is_empty());

    // The line about it names its trace.
    let line = |record: &&_| body(record).starts_with("turn failed");
    let record = seen.records.iter().find(line).expect("the line");
    assert_eq!(record.trace_id, trace_of(&failed));
    assert_eq!(record.span_id, root.span_id);
    assert_eq!(record.severity_text, "WARN");
    assert!(
        seen.resources
            .iter()
            .all(|one| one["service.name"] == "bots")
    );
    for request in &seen.requests {
        assert_eq!(request.authorization, format!("Bearer {TOKEN}"));
    }
    for secret in [TOKEN, CONTENT, "a.txt", daemon.token.as_str()] {
        assert!(!seen.holds(secret), "{secret} was sent");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_goes_on_in_its_trace_after_a_crash() {
    let collector = Collector::start();
    let home = home(&collector);
    let mut daemon = home.daemon_with(&[("COLLECTOR_TOKEN", TOKEN)]);
    let session = daemon.session().await;
    let turn = daemon.send(&session, &write(CONTENT)).await;
    daemon.wait_approval().await;
    collector
        .wait("the first model call", |seen| {
            seen.named("chat demo").len() == 1
        })
        .await;
    daemon.kill();
    let mut daemon = home.daemon_with(&[("COLLECTOR_TOKEN", TOKEN)]);
    let approval = daemon.wait_approval().await;
    daemon.decide(&approval, "deny").await;
    daemon.wait_state(&turn, "completed").await;
    assert!(daemon.terminate().success());
    let seen = collector.seen();
    let root = one(&seen, "invoke_agent api");
    assert_eq!(seen.named("chat demo").len(), 2);
    let denied = one(&seen, "execute_tool write_file");
    assert!(is_error(denied));
    assert_eq!(map(&denied.attributes)["error.type"], "denied");
    let wait = one(&seen, "wait_for_approval write_file");
    for span in &seen.spans {
        assert_eq!(span.trace_id, trace_of(&turn));
        assert!(span.start_time_unix_nano >= root.start_time_unix_nano);
    }
    assert!(wait.start_time_unix_nano < wait.end_time_unix_nano);
}

#[tokio::test(flavor = "multi_thread")]
async fn standard_variables_name_the_collector_or_switch_it_off() {
    let collector = Collector::start();
    let home = Home::new("");
    let variables = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url()),
        ("OTEL_EXPORTER_OTLP_HEADERS", "x-team=ops%20night, x-b=c"),
        ("OTEL_SERVICE_NAME", "from-a-variable"),
    ];
    let disabled = [variables.as_slice(), &[("OTEL_SDK_DISABLED", "true")]].concat();
    let mut daemon = home.daemon_with(&disabled);
    let session = daemon.session().await;
    let turn = daemon.send(&session, "SAY:hello").await;
    daemon.wait_state(&turn, "completed").await;
    assert!(daemon.terminate().success());
    assert!(collector.seen().requests.is_empty());

    let mut daemon = home.daemon_with(&variables);
    let turn = daemon.send(&session, "SAY:hello").await;
    daemon.wait_state(&turn, "completed").await;
    assert!(daemon.terminate().success());
    let seen = collector.seen();
    one(&seen, "invoke_agent api");
    assert!(!seen.records.is_empty());
    let name = |one: &std::collections::BTreeMap<String, String>| one["service.name"].clone();
    assert!(
        seen.resources
            .iter()
            .all(|one| name(one) == "from-a-variable")
    );
    for request in &seen.requests {
        assert_eq!(request.headers["x-team"], "ops night");
        assert_eq!(request.headers["x-b"], "c");
    }
}
