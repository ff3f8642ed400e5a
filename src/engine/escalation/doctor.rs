//! What `doctor` says about escalation: whether a drill proved lately that the steps reach people.

use crate::clock::Timestamp;
use crate::config::settings::Settings;
use crate::protocol::doctor::{Finding, Standing};
use crate::protocol::escalation::EscalationDrill;

/// One finding for each channel that escalates.
pub fn look(settings: &Settings, drills: &[EscalationDrill], now: Timestamp) -> Vec<Finding> {
    let channels = settings.channels.iter();
    let escalate =
        channels.filter_map(|(name, channel)| Some((name, channel.escalation.as_ref()?)));
    escalate
        .map(|(channel, policy)| {
            let drill = drills.iter().find(|drill| drill.channel == *channel);
            let again = format!("`leverframe escalation drill {channel} --fast` tries all steps");
            let (verdict, detail, fix) = match drill {
                None => (
                    Standing::Warn,
                    "it was never drilled".to_owned(),
                    Some(again),
                ),
                Some(drill) if drill.ended_at.is_none() => (
                    Standing::Ok,
                    format!("a drill runs since {}", drill.started_at),
                    None,
                ),
                Some(drill) => match drill.problem() {
                    Some(why) => (
                        Standing::Fail,
                        format!(
                            "the drill of {} did not reach everybody: {why}",
                            drill.started_at
                        ),
                        Some(format!("mend what it names; {again}")),
                    ),
                    None if drill.is_old(now) => (
                        Standing::Warn,
                        format!(
                            "the last drill is of {}, more than 90 days ago",
                            drill.started_at
                        ),
                        Some(again),
                    ),
                    None => (
                        Standing::Ok,
                        format!("every step arrived in the drill of {}", drill.started_at),
                        None,
                    ),
                },
            };
            Finding {
                verdict,
                about: format!("escalation {channel}"),
                detail: format!("policy {policy}: {detail}"),
                fix,
            }
        })
        .collect()
}
