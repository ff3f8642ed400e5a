//! Reasons for the risk of a call beside those of its tool: what its words say, and where it stands. Pure.

use std::path::Path;

use serde_json::Value;

use crate::engine::command_risk;
use crate::engine::policy;
use crate::engine::programs::{SHELLS, file_name};
use crate::protocol::approval::Preview;
use crate::protocol::enums::{Access, Risk};
use crate::text::scripts;
use crate::tools::path_risk;
use crate::tools::risk::{self, RiskReason};
use crate::tools::tool::Plan;

/// Whether a text that would run is one of a shell.
fn is_shell(plan: &Plan) -> bool {
    let program = plan.facts.executable.as_deref();
    program.is_some_and(|program| SHELLS.contains(&file_name(program)))
}

/// The plan with the reasons for its risk that its tool does not know: its words, and where it stands. `floor` is the
/// least risk that the configuration gives the tool.
pub fn with_reasons(
    mut plan: Plan,
    args: &Value,
    workspace: &Path,
    taint: &[String],
    floor: Option<Risk>,
) -> Plan {
    let (argv, mut reasons): (&[String], Vec<RiskReason>) = match &plan.preview {
        Preview::Exec { argv } => {
            let cwd = plan.facts.cwd.as_deref().map_or(workspace, Path::new);
            (argv, command_risk::of_command(argv, cwd, workspace))
        }
        Preview::Text { text } if plan.access == Access::Exec && is_shell(&plan) => {
            let cwd = plan.facts.cwd.as_deref().map_or(workspace, Path::new);
            let argv = ["bash", "-c", text].map(str::to_owned);
            (&[], command_risk::of_command(&argv, cwd, workspace))
        }
        Preview::Diff { .. } => {
            let named = plan.operands.iter().map(|(path, _)| path.as_str());
            (&[], named.filter_map(path_risk::of_path).collect())
        }
        Preview::None | Preview::Text { .. } => (&[], Vec::new()),
    };
    if plan.access == Access::Send {
        let path = plan.facts.path.as_deref();
        reasons.extend(path.and_then(path_risk::of_path));
    }
    if plan.access == Access::Unknown {
        reasons.push(RiskReason::Unclassified);
    }
    if !taint.is_empty() && policy::taint_matters(plan.access) {
        reasons.push(RiskReason::Tainted(plan.access));
    }
    let named = ["path", "cwd"]
        .iter()
        .filter_map(|name| args.get(name)?.as_str());
    let texts = argv
        .iter()
        .map(String::as_str)
        .chain(named)
        .chain(plan.facts.cwd.as_deref())
        .chain(plan.facts.executable.as_deref())
        .chain(plan.operands.iter().map(|(path, _)| path.as_str()));
    for warning in texts.filter_map(scripts::warning) {
        risk::add(&mut reasons, RiskReason::MixedScripts(warning));
    }
    for reason in reasons {
        risk::add(&mut plan.risk_reasons, reason);
    }
    if let Some(floor) = floor.filter(|floor| *floor > risk::highest(&plan.risk_reasons)) {
        plan.risk_reasons.push(RiskReason::Configured(floor));
    }
    plan
}
