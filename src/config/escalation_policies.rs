//! `[escalation]`: which of its policies can be used.
//!
//! No policy has a step that can reach nobody: its people can decide, its webhooks have an address.

use std::collections::BTreeMap;

use crate::config::error::{ConfigError, Fault};
use crate::config::escalation::{
    EscalationPolicy, EscalationStep, EscalationStepTable, EscalationTable, ON_CALL, Target,
};
use crate::config::inputs::Inputs;
use crate::config::person::PersonSettings;
use crate::config::providers::web_address;
use crate::config::secret::Secret;
use crate::config::secrets::{self, SecretSource};
use crate::config::settings::ChannelSettings;
use crate::protocol::duration::seconds;
use crate::protocol::enums::{ChannelKind, Role};

/// Most steps of a policy.
const MOST_STEPS: usize = 20;
/// Longest wait of a step, in seconds.
const LONGEST: i64 = 7 * 24 * 3600;
/// What `to` can say.
const TARGETS: &str = "on-call, person:NAME, webhook:CHANNEL or ntfy:https://HOST/TOPIC";

/// Every policy. A channel names one of them, and its people can decide there.
pub fn resolve(
    inputs: &Inputs<'_>,
    people: &BTreeMap<String, PersonSettings>,
    channels: &BTreeMap<String, ChannelSettings>,
) -> Result<BTreeMap<String, EscalationPolicy>, ConfigError> {
    let config = inputs.config();
    let mut policies = BTreeMap::new();
    for (name, table) in &config.escalation {
        let policy = Policy {
            inputs,
            name,
            people,
            channels,
        };
        policies.insert(name.clone(), policy.resolve(table)?);
    }
    for (channel, settings) in channels {
        let Some(name) = &settings.escalation else {
            continue;
        };
        let fault = |problem| inputs.fault(&["channels", channel, "escalation"], problem);
        let Some(policy) = policies.get(name) else {
            let fault = fault(format!("there is no policy `{name}`"))
                .nearest(name, policies.keys().map(String::as_str));
            let step = format!("Add a table [escalation.{name}] with `steps`");
            return Err(fault
                .expected("a name under [escalation]")
                .next_step(step)
                .into());
        };
        for step in &policy.steps {
            if let Target::Person(person) = &step.target
                && !settings.approvers.is_empty()
                && !settings.approvers.contains(person)
            {
                let fault = fault(format!("`{name}` asks {person}, who decides nothing here"));
                let step = format!(
                    "Add {person} to `approvers` of [channels.{channel}], or take another policy"
                );
                return Err(fault.next_step(step).into());
            }
        }
    }
    Ok(policies)
}

struct Policy<'a> {
    inputs: &'a Inputs<'a>,
    name: &'a str,
    people: &'a BTreeMap<String, PersonSettings>,
    channels: &'a BTreeMap<String, ChannelSettings>,
}

impl Policy<'_> {
    fn fault(&self, key: &str, problem: impl Into<String>) -> Fault {
        self.inputs.fault(&["escalation", self.name, key], problem)
    }

    fn resolve(&self, table: &EscalationTable) -> Result<EscalationPolicy, ConfigError> {
        if !(1..=MOST_STEPS).contains(&table.steps.len()) {
            let fault = self.fault("steps", format!("it has {} steps", table.steps.len()));
            return Err(fault
                .expected(format!(
                    "1 to {MOST_STEPS}, for example [{{ after = \"5m\", to = \"on-call\" }}]"
                ))
                .into());
        }
        let mut steps: Vec<EscalationStep> = Vec::with_capacity(table.steps.len());
        for (at, step) in table.steps.iter().enumerate() {
            let fault =
                |problem: String| self.fault("steps", format!("step {}: {problem}", at + 1));
            let before = steps.last().map_or(0, |step| step.after_seconds);
            let after_seconds = seconds(&step.after)
                .filter(|after| (1..=LONGEST).contains(after))
                .ok_or_else(|| {
                    fault(format!("after = \"{}\" cannot be used", step.after))
                        .expected("a time up to 7d, like 5m")
                })?;
            if after_seconds <= before {
                let fault = fault(format!(
                    "after = \"{}\" is not later than the step before",
                    step.after
                ));
                let step = "`after` counts from the moment the question was asked; write the steps in order";
                return Err(fault.next_step(step).into());
            }
            let target = self.target(step, &fault)?;
            steps.push(EscalationStep {
                after_seconds,
                target,
            });
        }
        let timeout = table.acknowledgement_timeout.as_deref().unwrap_or("30m");
        let acknowledgement_seconds = seconds(timeout)
            .filter(|time| (1..=LONGEST).contains(time))
            .ok_or_else(|| {
                self.fault(
                    "acknowledgement_timeout",
                    format!("`{timeout}` cannot be used"),
                )
                .expected("a time up to 7d, like 30m")
            })?;
        let click = table.click.as_deref().map(web_address).transpose();
        let click = click.map_err(|problem| {
            self.fault("click", problem)
                .expected("a URL, for example https://console.example.org")
        })?;
        Ok(EscalationPolicy {
            steps,
            acknowledgement_seconds,
            click,
        })
    }

    fn target(
        &self,
        step: &EscalationStepTable,
        fault: &dyn Fn(String) -> Fault,
    ) -> Result<Target, ConfigError> {
        let to = step.to.as_str();
        let has_token = step.token_env.is_some() || step.token_file.is_some();
        if has_token && !to.starts_with("ntfy:") {
            let fault = fault(format!("`{to}` takes no token"));
            return Err(fault.next_step("Leave token_env and token_file out").into());
        }
        match to.split_once(':') {
            None if to == ON_CALL => Ok(Target::OnCall),
            Some(("person", name)) => self.person(name, fault),
            Some(("webhook", channel)) => self.webhook(channel, fault),
            Some(("ntfy", url)) => self.ntfy(url, step, fault),
            Some(_) | None => {
                // An address may be in it, and who knows the address of a topic can read it.
                let word = to.split(':').next().unwrap_or_default();
                let fault = fault(format!("to = \"{word}…\" is nobody"));
                let known = ["on-call", "person", "webhook", "ntfy"];
                Err(fault.nearest(word, known).expected(TARGETS).into())
            }
        }
    }

    fn person(&self, name: &str, fault: &dyn Fn(String) -> Fault) -> Result<Target, ConfigError> {
        let Some(person) = self.people.get(name) else {
            let fault = fault(format!("there is nobody called `{name}`"));
            let fault = fault.nearest(name, self.people.keys().map(String::as_str));
            return Err(fault.expected("person: and a name under [people]").into());
        };
        if person.role < Role::Approver {
            let fault = fault(format!("{name} has the role user and cannot decide"));
            let step = format!("Set role = \"approver\" under [people.{name}]");
            return Err(fault.next_step(step).into());
        }
        Ok(Target::Person(name.to_owned()))
    }

    fn webhook(&self, name: &str, fault: &dyn Fn(String) -> Fault) -> Result<Target, ConfigError> {
        let is_webhook = |settings: &&ChannelSettings| settings.kind == ChannelKind::Webhook;
        let Some(channel) = self.channels.get(name).filter(is_webhook) else {
            let webhooks = self.channels.iter();
            let known = webhooks
                .filter(|(_, settings)| is_webhook(settings))
                .map(|(name, _)| name.as_str());
            let fault = fault(format!("there is no webhook channel `{name}`"));
            let step =
                format!("Add [channels.{name}] with kind = \"webhook\", a secret and callback_url");
            return Err(fault.nearest(name, known).next_step(step).into());
        };
        if channel.platform.callback_url.is_none() {
            let fault = fault(format!("channel {name} has no callback_url"));
            let step = format!("Set callback_url under [channels.{name}]");
            return Err(fault.next_step(step).into());
        }
        Ok(Target::Webhook(name.to_owned()))
    }

    fn ntfy(
        &self,
        url: &str,
        step: &EscalationStepTable,
        fault: &dyn Fn(String) -> Fault,
    ) -> Result<Target, ConfigError> {
        const EXPECTED: &str = "ntfy:https://HOST/TOPIC";
        let address = web_address(url).map_err(|problem| fault(problem).expected(EXPECTED))?;
        let rest = address.split_once("://").map_or("", |(_, rest)| rest);
        let (host, topic) = rest.split_once('/').unwrap_or((rest, ""));
        if topic.is_empty() || topic.contains(['?', '#']) {
            let fault = fault("the address names no topic".to_owned());
            return Err(fault.expected(EXPECTED).into());
        }
        let source = SecretSource {
            env: step.token_env.as_deref(),
            file: step.token_file.as_deref(),
            command: None,
        };
        let token = secrets::read(
            source,
            self.inputs.environment,
            &self.inputs.paths.config_dir,
            &|_, problem| fault(problem),
        )?;
        Ok(Target::Ntfy {
            host: host.to_owned(),
            url: Secret::new(&address),
            token,
        })
    }
}
