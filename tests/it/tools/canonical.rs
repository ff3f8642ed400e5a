//! Digests: what changes them, what does not.

use leverframe::protocol::approval::{PlanFacts, Preview};
use leverframe::protocol::enums::Access;
use leverframe::protocol::ids::ContinuationId;
use leverframe::tools::canonical::{args_digest, canonical_json, idempotency_key, plan_digest};
use leverframe::tools::tool::Plan;
use proptest::prelude::*;
use serde_json::{Value, json};

/// Everything that a plan's digest covers.
#[derive(Debug, Clone, PartialEq)]
struct Bound {
    tool: String,
    args: Value,
    cwd: Option<String>,
    executable: Option<String>,
    env: Vec<(String, String)>,
    sandbox: Option<String>,
    operands: Vec<(String, String)>,
    definition: String,
    policy: u64,
}

impl Bound {
    fn digest(&self) -> String {
        let plan = Plan {
            access: Access::Exec,
            risk_reasons: Vec::new(),
            preview: Preview::None,
            facts: PlanFacts {
                cwd: self.cwd.clone(),
                executable: self.executable.clone(),
                env: self.env.clone(),
                sandbox: self.sandbox.clone(),
                ..PlanFacts::default()
            },
            operands: self.operands.clone(),
            always_asks: None,
        };
        plan_digest(&self.tool, &self.args, &plan, &self.definition, self.policy)
    }
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "\\PC{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec(("[a-c]{0,2}", inner), 0..4)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
        ]
    })
}

// Short alphabets, so that values that only move a boundary are met often.
fn bound() -> impl Strategy<Value = Bound> {
    let text = || "[ab]{0,3}";
    let pairs = || prop::collection::vec((text(), text()), 0..3);
    (
        (
            text(),
            json_value(),
            prop::option::of(text()),
            prop::option::of(text()),
            pairs(),
        ),
        (prop::option::of(text()), pairs(), text(), 0_u64..3),
    )
        .prop_map(
            |((tool, args, cwd, executable, env), (sandbox, operands, definition, policy))| Bound {
                tool,
                args,
                cwd,
                executable,
                env,
                sandbox,
                operands,
                definition,
                policy,
            },
        )
}

fn reversed(value: &Value) -> Value {
    match value {
        Value::Object(map) => Value::Object(
            map.iter()
                .rev()
                .map(|(key, item)| (key.clone(), reversed(item)))
                .collect(),
        ),
        Value::Array(items) => items.iter().map(reversed).collect(),
        other => other.clone(),
    }
}

proptest! {
    #[test]
    fn a_plan_digest_is_equal_exactly_for_equal_plans(left in bound(), right in bound()) {
        prop_assert_eq!(left.digest() == right.digest(), left == right);
    }

    #[test]
    fn changing_one_field_changes_the_digest(base in bound(), other in bound(), field in 0..9) {
        let mut changed = base.clone();
        match field {
            0 => changed.tool = other.tool,
            1 => changed.args = other.args,
            2 => changed.cwd = other.cwd,
            3 => changed.executable = other.executable,
            4 => changed.env = other.env,
            5 => changed.sandbox = other.sandbox,
            6 => changed.operands = other.operands,
            7 => changed.definition = other.definition,
            _ => changed.policy = other.policy,
        }
        prop_assert_eq!(base.digest() == changed.digest(), base == changed);
    }

    #[test]
    fn canonical_json_ignores_key_order_and_parses_back(value in json_value()) {
        let text = canonical_json(&value);
        prop_assert_eq!(&text, &canonical_json(&reversed(&value)));
        prop_assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
    }
}

#[test]
fn canonical_json_is_sorted_and_dense() {
    let value = json!({"b": [1, {"z": null, "a": "x\n\"é"}], "a": true});
    assert_eq!(
        canonical_json(&value),
        r#"{"a":true,"b":[1,{"a":"x\n\"é","z":null}]}"#
    );
}

#[test]
fn text_cannot_move_from_one_field_to_the_next() {
    let base = Bound {
        tool: "ab".to_owned(),
        args: json!({}),
        cwd: Some("c".to_owned()),
        executable: None,
        env: vec![("x".to_owned(), "yz".to_owned())],
        sandbox: None,
        operands: Vec::new(),
        definition: String::new(),
        policy: 1,
    };
    let moved = [
        Bound {
            env: vec![("xy".to_owned(), "z".to_owned())],
            ..base.clone()
        },
        Bound {
            env: Vec::new(),
            operands: base.env.clone(),
            ..base.clone()
        },
        Bound {
            cwd: None,
            executable: Some("c".to_owned()),
            ..base.clone()
        },
        Bound {
            executable: Some(String::new()),
            ..base.clone()
        },
    ];
    for other in moved {
        assert_ne!(base.digest(), other.digest(), "{other:?}");
    }
    assert_eq!(base.digest().len(), 64);
    assert!(
        base.digest()
            .bytes()
            .all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
    );
}

#[test]
fn an_idempotency_key_names_one_place() {
    let continuation = ContinuationId::from_bytes([7; 16]);
    let args = args_digest(&json!({"path": "a"}));
    let key = |version, step, index, tool: &str, args: &str| {
        idempotency_key(version, continuation, step, index, tool, args)
    };
    let base = key(1, 2, 3, "write_file", &args);
    assert_eq!(
        base,
        key(1, 2, 3, "write_file", &args),
        "the same after a restart"
    );
    assert_eq!(base.len(), 24);
    for other in [
        key(2, 2, 3, "write_file", &args),
        key(1, 3, 3, "write_file", &args),
        key(1, 2, 4, "write_file", &args),
        key(1, 3, 2, "write_file", &args),
        key(1, 2, 3, "read_file", &args),
        key(1, 2, 3, "write_file", &args_digest(&json!({"path": "b"}))),
        idempotency_key(
            1,
            ContinuationId::from_bytes([8; 16]),
            2,
            3,
            "write_file",
            &args,
        ),
    ] {
        assert_ne!(base, other);
    }
}
