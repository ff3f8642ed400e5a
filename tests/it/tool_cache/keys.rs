//! What the key of a result depends on, what it does not, and which results are kept.

#![allow(clippy::assigning_clones)] // a list of changes reads best as assignments

use std::collections::BTreeMap;
use std::path::PathBuf;

use leverframe::engine::tool_cache::key::{Facts, asked, of};
use leverframe::engine::tool_cache::may_keep;
use leverframe::engine::turn::large_result::ResultExcerpt;
use leverframe::protocol::approval::{PlanFacts, Preview};
use leverframe::protocol::enums::{Access, ToolCacheSkipReason};
use leverframe::store::response_cache::Key;
use leverframe::tools::risk::RiskReason;
use leverframe::tools::tool::{EffectDisposition, Plan, ToolOutcome};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Everything of [`Facts`], owned.
#[derive(Debug, Clone)]
struct Owned {
    tool: String,
    definition: String,
    args: Value,
    channel: String,
    requester: String,
    policies: Vec<u64>,
    workspace: PathBuf,
    hidden: Vec<PathBuf>,
    plan: Plan,
}

impl Owned {
    fn with<T>(&self, look: impl FnOnce(&Facts<'_>) -> T) -> T {
        look(&Facts {
            tool: &self.tool,
            definition: &self.definition,
            args: &self.args,
            channel: &self.channel,
            requester: &self.requester,
            policies: &self.policies,
            workspace: &self.workspace,
            hidden: &self.hidden,
            plan: &self.plan,
        })
    }

    fn key(&self) -> Key {
        self.with(of)
    }
}

fn base() -> Owned {
    Owned {
        tool: "search_files".to_owned(),
        definition: "ab12".to_owned(),
        args: json!({"pattern": "x", "path": "src"}),
        channel: "team".to_owned(),
        requester: "telegram:1".to_owned(),
        policies: vec![3],
        workspace: "/w".into(),
        hidden: vec!["/w/data".into()],
        plan: Plan {
            access: Access::ReadLocal,
            risk_reasons: vec![RiskReason::ReadsWorkspace],
            preview: Preview::None,
            facts: PlanFacts::default(),
            operands: Vec::new(),
            always_asks: None,
        },
    }
}

type Change = (&'static str, Box<dyn Fn(&mut Owned)>);

fn change(name: &'static str, how: impl Fn(&mut Owned) + 'static) -> Change {
    (name, Box::new(how))
}

/// Each changes one thing that results depend on, or one to whom they may be given.
fn changes() -> Vec<Change> {
    let pair = |left: &str, right: &str| vec![(left.to_owned(), right.to_owned())];
    vec![
        change("tool", |o| o.tool = "list_files".to_owned()),
        change("definition", |o| o.definition = "ab13".to_owned()),
        change("argument", |o| o.args["pattern"] = json!("y")),
        change("argument's type", |o| o.args["pattern"] = json!(["x"])),
        change("an argument less", |o| o.args = json!({"pattern": "x"})),
        change("channel", |o| o.channel = "ops".to_owned()),
        change("requester", |o| o.requester = "telegram:2".to_owned()),
        change("policy version", |o| o.policies = vec![4]),
        change("a second policy", |o| o.policies = vec![3, 1]),
        change("another second policy", |o| o.policies = vec![3, 2]),
        change("workspace", |o| o.workspace = "/w2".into()),
        change("hidden", |o| o.hidden = vec!["/w/other".into()]),
        change("more hidden", |o| o.hidden.push("/w/other".into())),
        change("nothing hidden", |o| o.hidden.clear()),
        change("access", |o| o.plan.access = Access::ReadOpen),
        change("cwd", |o| o.plan.facts.cwd = Some("/w".to_owned())),
        change("empty cwd", |o| o.plan.facts.cwd = Some(String::new())),
        change("executable", |o| {
            o.plan.facts.executable = Some("/w".to_owned());
        }),
        change("sandbox", |o| o.plan.facts.sandbox = Some("/w".to_owned())),
        change("variables", move |o| o.plan.facts.env = pair("A", "1")),
        change("another value", move |o| o.plan.facts.env = pair("A", "2")),
        change("another variable", move |o| {
            o.plan.facts.env = pair("B", "1");
        }),
        change("another operand", move |o| o.plan.operands = pair("B", "1")),
        change("operands", move |o| o.plan.operands = pair("A", "1")),
        change("another digest", move |o| o.plan.operands = pair("A", "2")),
    ]
}

/// Each changes one thing that no result depends on.
fn no_changes() -> Vec<Change> {
    vec![
        change("risk", |o| {
            o.plan.risk_reasons = vec![RiskReason::ShellScript];
        }),
        change("reasons", |o| o.plan.risk_reasons.clear()),
        change("preview", |o| {
            o.plan.preview = Preview::Text {
                text: "x".to_owned(),
            };
        }),
        change("asks", |o| o.plan.always_asks = Some("x".to_owned())),
        change("order of arguments", |o| {
            o.args = json!({"path": "src", "pattern": "x"});
        }),
    ]
}

#[test]
fn each_field_alone_changes_the_key_and_no_two_changes_agree() {
    let mut seen: BTreeMap<Key, &str> = BTreeMap::from([(base().key(), "nothing")]);
    for (name, how) in changes() {
        let mut changed = base();
        how(&mut changed);
        if let Some(other) = seen.insert(changed.key(), name) {
            panic!("`{name}` has the key of `{other}`");
        }
    }
}

#[test]
fn what_no_result_depends_on_changes_nothing() {
    for (name, how) in no_changes() {
        let mut changed = base();
        how(&mut changed);
        assert_eq!(changed.key(), base().key(), "{name}");
    }
}

#[test]
fn under_another_policy_the_call_is_known_and_under_anything_else_it_is_not() {
    for (name, how) in changes() {
        let mut changed = base();
        how(&mut changed);
        let same = changed.with(asked) == base().with(asked);
        assert_eq!(same, name.contains("policy"), "{name}");
    }
    let unruled = Owned {
        policies: Vec::new(),
        ..base()
    };
    assert_ne!(unruled.with(asked), unruled.key());
}

#[test]
fn text_that_looks_like_the_beginning_of_a_field_is_none() {
    let of_two = |channel: &str, requester: &str| Owned {
        channel: channel.to_owned(),
        requester: requester.to_owned(),
        ..base()
    };
    let mark = "\u{5}\u{1}";
    assert_ne!(
        of_two("x", &format!("y{mark}z")).key(),
        of_two(&format!("x{mark}y"), "z").key()
    );
}

proptest! {
    /// Moving text between neighbouring fields, or out of one, never gives the same bytes.
    #[test]
    fn boundaries_between_fields_cannot_move(a in "[ab|]{0,6}", b in "[ab|]{0,6}", cut in 0_usize..7) {
        let of_two = |channel: &str, requester: &str| Owned {
            channel: channel.to_owned(),
            requester: requester.to_owned(),
            ..base()
        };
        let whole = format!("{a}{b}");
        let (left, right) = whole.split_at(cut.min(whole.len()));
        prop_assert_eq!(of_two(&a, &b).key() == of_two(left, right).key(), left == a);
    }
}

#[test]
fn only_whole_results_of_runs_that_ended_well_are_kept() {
    let good = ToolOutcome {
        content: "a.txt".to_owned(),
        is_error: false,
        disposition: EffectDisposition::Done,
        partial: false,
    };
    let shown = |whole| ResultExcerpt {
        content: "a.txt".to_owned(),
        stored: None,
        whole,
    };
    assert_eq!(may_keep(&good, &shown(true)), Ok(()));
    for (bad, whole, why) in [
        (
            ToolOutcome {
                is_error: true,
                ..good.clone()
            },
            true,
            ToolCacheSkipReason::Failed,
        ),
        (
            ToolOutcome {
                disposition: EffectDisposition::Unknown,
                ..good.clone()
            },
            true,
            ToolCacheSkipReason::Failed,
        ),
        (
            ToolOutcome {
                partial: true,
                ..good.clone()
            },
            true,
            ToolCacheSkipReason::Partial,
        ),
        (good.clone(), false, ToolCacheSkipReason::Partial),
    ] {
        assert_eq!(may_keep(&bad, &shown(whole)), Err(why), "{bad:?} {whole}");
    }
}
