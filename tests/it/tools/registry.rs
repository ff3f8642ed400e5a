//! Names, schemas and messages for the model.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use leverframe::protocol::enums::{Access, Effect};
use leverframe::tools::canonical::definition_digest;
use leverframe::tools::preview::one_line;
use leverframe::tools::registry::{CallError, Registry, RegistryError};
use leverframe::tools::sandbox::Sandbox;
use leverframe::tools::tool::{
    Cacheable, DependsOn, Plan, PrepareError, Tool, ToolContext, ToolOutcome, ToolSpec,
};
use serde_json::{Value, json};

fn registry() -> Registry {
    Registry::builtin(&Sandbox::none("test")).unwrap()
}

#[test]
fn the_catalogue_is_short_ordered_and_stable() {
    let all = registry();
    let names: Vec<_> = all.names().collect();
    assert_eq!(
        names,
        [
            "read_file",
            "write_file",
            "edit_file",
            "apply_patch",
            "move_file",
            "delete_file",
            "list_files",
            "search_files",
            "execute_command",
            "remember",
            "recall",
            "send_file",
            "ask_operator",
            "list_datasets",
            "describe_dataset",
            "query_dataset",
        ]
    );
    // What models are told of where nobody sent a table: most requests.
    let size: usize = registry()
        .definitions()
        .iter()
        .filter(|tool| {
            all.get(&tool.name)
                .is_some_and(|tool| tool.is_offered(false))
        })
        .map(|tool| tool.name.len() + tool.description.len() + tool.input_schema.to_string().len())
        .sum();
    assert!(
        size < 6 * 1024,
        "the definitions take {size} bytes of every request"
    );
    for tool in registry().definitions() {
        assert_eq!(tool.input_schema["type"], "object");
        assert_eq!(tool.input_schema["additionalProperties"], false);
        // Some providers refuse these at the top level.
        for word in ["oneOf", "anyOf", "allOf"] {
            assert!(
                tool.input_schema.get(word).is_none(),
                "{}: {word}",
                tool.name
            );
        }
        assert_eq!(
            registry().definition_digest(&tool.name),
            registry().definition_digest(&tool.name)
        );
        assert_eq!(registry().definition_digest(&tool.name).unwrap().len(), 64);
    }
}

#[test]
fn an_unknown_tool_is_answered_with_the_nearest_and_all() {
    let error = registry()
        .validate("reed_file", &json!({}))
        .unwrap_err()
        .to_string();
    assert!(error.contains("did you mean `read_file`?"), "{error}");
    assert!(error.contains("write_file, edit_file"), "{error}");
    let far = registry().lookup("zzz").err().unwrap().to_string();
    assert!(!far.contains("did you mean"), "{far}");
    let long = registry()
        .lookup(&"x".repeat(10_000))
        .err()
        .unwrap()
        .to_string();
    assert!(long.len() < 500);
}

#[test]
fn a_violation_names_its_place() {
    let violations = |tool: &str, args: Value| match registry().validate(tool, &args) {
        Err(CallError::Arguments { violations, .. }) => violations.join("\n"),
        other => panic!("{other:?}"),
    };
    assert!(violations("read_file", json!({})).contains("path"));
    assert!(violations("read_file", json!({"path": "a", "offset": 0})).contains("/offset"));
    assert!(violations("read_file", json!({"path": "a", "ofset": 1})).contains("ofset"));
    assert!(violations("execute_command", json!({"argv": ["ls", 3]})).contains("/argv/1"));
    assert!(
        violations(
            "write_file",
            json!({"path": "a", "content": "", "mode": "x"})
        )
        .contains("/mode")
    );
    assert!(violations("list_files", json!([])).contains("object"));
    let long = violations(
        "write_file",
        json!({"path": "a", "content": "", "mode": "x".repeat(100_000)}),
    );
    assert!(long.len() < 2000, "{}", long.len());
}

struct Odd(ToolSpec);

impl Odd {
    fn shared(name: &'static str, description: &'static str, schema: Value) -> Arc<dyn Tool> {
        Arc::new(Self(Self::spec_of(name, description, schema)))
    }

    fn spec_of(name: &'static str, description: &'static str, schema: Value) -> ToolSpec {
        ToolSpec {
            name: name.into(),
            description: description.into(),
            input_schema: schema,
            access: Access::Unknown,
            effect: Effect::NonIdempotent,
            max_duration: Duration::from_secs(1),
            key_lifetime: None,
            cacheable: None,
        }
    }
}

#[async_trait]
impl Tool for Odd {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn prepare(&self, _: &ToolContext<'_>, _: &Value) -> Result<Plan, PrepareError> {
        Err(PrepareError::Invalid("odd".to_owned()))
    }

    async fn execute(&self, _: &ToolContext<'_>, _: &Value) -> ToolOutcome {
        unreachable!("never prepared")
    }
}

#[test]
fn other_tools_come_after_and_bad_ones_not_at_all() {
    let mut registry = registry();
    registry
        .add(Odd::shared("translate", "x", json!({"type": "object"})))
        .unwrap();
    assert_eq!(registry.names().last(), Some("translate"));
    let twice = registry.add(Odd::shared("read_file", "x", json!({"type": "object"})));
    assert_eq!(twice, Err(RegistryError::Duplicate("read_file".to_owned())));
    for schema in [
        json!({"$ref": "http://127.0.0.1:1/schema.json"}),
        json!({"$ref": "file:///etc/passwd"}),
        json!({"type": "nonsense"}),
    ] {
        let refused = registry.add(Odd::shared("odd", "x", schema.clone()));
        assert!(
            matches!(refused, Err(RegistryError::Schema { .. })),
            "{schema}: {refused:?}"
        );
    }
    assert!(registry.get("odd").is_none());
}

#[test]
fn a_definition_digest_covers_the_schema_and_the_description() {
    let digest = |description: &'static str, schema: Value| {
        let mut registry = Registry::default();
        registry
            .add(Odd::shared("odd", description, schema))
            .unwrap();
        registry.definition_digest("odd").unwrap()
    };
    let base = digest(
        "x",
        json!({"type": "object", "properties": {"a": {"description": "one"}}}),
    );
    assert_eq!(
        base,
        digest(
            "x",
            json!({"properties": {"a": {"description": "one"}}, "type": "object"})
        )
    );
    assert_ne!(
        base,
        digest(
            "y",
            json!({"type": "object", "properties": {"a": {"description": "one"}}})
        )
    );
    assert_ne!(
        base,
        digest(
            "x",
            json!({"type": "object", "properties": {"a": {"description": "two"}}})
        )
    );
}

#[test]
fn only_tools_that_read_may_let_their_results_be_given_again() {
    for access in Access::ALL {
        for effect in Effect::ALL {
            let reads = matches!(access, Access::ReadLocal | Access::ReadOpen);
            let tool = Odd(ToolSpec {
                access: *access,
                effect: *effect,
                cacheable: Some(Cacheable {
                    ttl: Duration::from_secs(30),
                    depends_on: DependsOn::Workspace,
                }),
                ..Odd::spec_of("odd", "x", json!({"type": "object"}))
            });
            let mut registry = Registry::default();
            let added = registry.add(Arc::new(tool));
            if reads && *effect == Effect::ReadOnly {
                assert_eq!(added, Ok(()));
            } else {
                let refused = RegistryError::Cacheable {
                    tool: "odd".to_owned(),
                    access: *access,
                    effect: *effect,
                };
                assert_eq!(added, Err(refused));
            }
        }
    }
    let registry = Registry::builtin(&Sandbox::none("for this test")).unwrap();
    let declared = registry.specs().filter(|spec| spec.cacheable.is_some());
    let names: Vec<&str> = declared.map(|spec| spec.name.as_ref()).collect();
    assert_eq!(names, ["list_files", "search_files"]);
}

#[test]
fn how_long_results_may_be_given_again_is_part_of_the_definition() {
    let digest = |seconds: Option<u64>| {
        definition_digest(&ToolSpec {
            cacheable: seconds.map(|seconds| Cacheable {
                ttl: Duration::from_secs(seconds),
                depends_on: DependsOn::Workspace,
            }),
            ..Odd::spec_of("odd", "x", json!({"type": "object"}))
        })
    };
    assert_ne!(digest(None), digest(Some(30)));
    assert_ne!(digest(Some(31)), digest(Some(30)));
}

#[test]
fn previews_are_one_short_line() {
    let exec = |args: Value| one_line("execute_command", &args);
    assert_eq!(
        exec(json!({"argv": ["ls", "-l", "a b", "it's", ""]})),
        r"ls -l 'a b' 'it'\''s' ''"
    );
    assert_eq!(exec(json!({"script": "a\nb"})), "sh -c 'a b'");
    assert_eq!(
        one_line("read_file", &json!({"path": "src/a.rs"})),
        "src/a.rs"
    );
    assert_eq!(
        one_line("other", &json!({"b": 1, "a": [2]})),
        r#"{"a":[2],"b":1}"#
    );
    assert_eq!(
        one_line("execute_command", &json!({"nonsense": 1})),
        r#"{"nonsense":1}"#
    );
    let long = exec(json!({"argv": ["é".repeat(5000)]}));
    assert_eq!(long.chars().count(), 200);
    assert!(long.ends_with('…'));
}

#[test]
fn the_list_of_names_is_the_registry() {
    let registry = Registry::builtin(&Sandbox::none("for this test")).unwrap();
    let names: Vec<&str> = registry.names().collect();
    assert_eq!(names, leverframe::tools::registry::BUILTIN_NAMES);
}
