//! Whose turn it is when a provider has as many calls under way as it may have.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use leverframe::model::limits::{Lane, LimitedProvider, Limiter, Shares};
use leverframe::model::request::{Model, ModelEvent};
use leverframe::model::scripted::ScriptedModel;
use proptest::prelude::*;

use crate::models::helpers::{request, user};

fn lane(channel: u8, session: u8) -> Lane {
    Lane {
        channel: format!("channel-{channel}"),
        session: format!("session-{session}"),
    }
}

/// What somebody does.
#[derive(Debug, Clone)]
enum Act {
    /// Takes a place, or waits for one.
    Ask(u8, u8),
    /// The holder at this position (of those there are) ends.
    End(usize),
    /// Who waits at this position goes away.
    GiveUp(usize),
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        4 => (0..4_u8, 0..3_u8).prop_map(|(channel, session)| Act::Ask(channel, session)),
        3 => any::<usize>().prop_map(Act::End),
        1 => any::<usize>().prop_map(Act::GiveUp),
    ]
}

/// The same bookkeeping without any cleverness.
#[derive(Default)]
struct Plain {
    holding: Vec<Lane>,
    waiting: Vec<(u64, Lane)>,
}

impl Plain {
    fn held(&self, is: impl Fn(&Lane) -> bool) -> usize {
        self.holding.iter().filter(|lane| is(lane)).count()
    }

    /// Checks that nobody else should have come before `ticket`, and moves it to the holders.
    fn granted(&mut self, ticket: u64) {
        let at = self
            .waiting
            .iter()
            .position(|(other, _)| *other == ticket)
            .expect("only who waits is chosen");
        let (_, chosen) = self.waiting.remove(at);
        let of_channel = |name: &str| self.held(|lane| lane.channel == name);
        for (_, other) in &self.waiting {
            assert!(
                of_channel(&chosen.channel) <= of_channel(&other.channel),
                "{chosen:?} was chosen although the channel of {other:?} holds fewer"
            );
            if other.channel == chosen.channel {
                assert!(
                    self.held(|lane| *lane == chosen) <= self.held(|lane| lane == other),
                    "{chosen:?} was chosen although {other:?} holds fewer"
                );
            }
        }
        let first = self
            .waiting
            .iter()
            .filter(|(_, lane)| *lane == chosen)
            .map(|(other, _)| *other)
            .min();
        assert!(first.is_none_or(|first| ticket < first), "in order");
        self.holding.push(chosen);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn places_go_to_who_holds_fewest_and_none_stays_free(
        places in 1..5_usize,
        acts in prop::collection::vec(act(), 1..120),
    ) {
        let mut shares = Shares::new(places);
        let mut plain = Plain::default();
        for act in acts {
            match act {
                Act::Ask(channel, session) => {
                    let lane = lane(channel, session);
                    if shares.take(&lane) {
                        assert!(plain.waiting.is_empty(), "nobody is overtaken");
                        plain.holding.push(lane);
                    } else {
                        assert_eq!(plain.holding.len(), places, "a place was free");
                        let ticket = shares.ask(&lane);
                        plain.waiting.push((ticket, lane));
                    }
                }
                Act::End(at) if !plain.holding.is_empty() => {
                    let lane = plain.holding.remove(at % plain.holding.len());
                    match shares.release(&lane) {
                        Some(ticket) => plain.granted(ticket),
                        None => assert!(plain.waiting.is_empty(), "somebody waits"),
                    }
                }
                Act::GiveUp(at) if !plain.waiting.is_empty() => {
                    let (ticket, lane) = plain.waiting.remove(at % plain.waiting.len());
                    assert!(shares.give_up(&lane, ticket));
                    assert!(!shares.give_up(&lane, ticket), "once");
                }
                Act::End(_) | Act::GiveUp(_) => {}
            }
            assert!(plain.holding.len() <= places);
            assert_eq!(shares.waiting(), plain.waiting.len());
        }
    }

    /// With one place nobody holds more than another: what is left is the rotation.
    #[test]
    fn nobody_is_overtaken_twice_by_the_same_channel(
        acts in prop::collection::vec((0..4_u8, 0..2_u8, any::<bool>()), 1..150),
    ) {
        let mut shares = Shares::new(1);
        let mut holder: Option<Lane> = None;
        let mut waiting: BTreeMap<u64, Lane> = BTreeMap::new();
        // Since a channel began to wait: how often each other channel came before it.
        let mut overtaken: BTreeMap<String, BTreeMap<String, u32>> = BTreeMap::new();
        for (channel, session, end) in acts {
            if let Some(lane) = holder.clone().filter(|_| end) {
                holder = None;
                if let Some(ticket) = shares.release(&lane) {
                    let lane = waiting.remove(&ticket).expect("it waited");
                    overtaken.remove(&lane.channel);
                    for (other, by) in &mut overtaken {
                        let times = by.entry(lane.channel.clone()).or_default();
                        *times += 1;
                        assert!(*times <= 1, "{other} was overtaken twice by {}", lane.channel);
                    }
                    if waiting.values().any(|other| other.channel == lane.channel) {
                        overtaken.entry(lane.channel.clone()).or_default();
                    }
                    holder = Some(lane);
                }
            } else {
                let lane = lane(channel, session);
                if shares.take(&lane) {
                    holder = Some(lane);
                } else {
                    overtaken.entry(lane.channel.clone()).or_default();
                    waiting.insert(shares.ask(&lane), lane);
                }
            }
        }
    }
}

#[test]
fn a_quiet_channel_is_next_whatever_a_busy_one_has_queued() {
    let mut shares = Shares::new(4);
    for session in 0..4 {
        assert!(shares.take(&lane(0, session)));
    }
    for session in 4..10 {
        shares.ask(&lane(0, session));
    }
    let quiet = shares.ask(&lane(1, 0));
    assert_eq!(shares.release(&lane(0, 2)), Some(quiet));
}

#[test]
fn a_session_does_not_get_a_second_place_before_another_gets_its_first() {
    let mut shares = Shares::new(2);
    assert!(shares.take(&lane(0, 0)) && shares.take(&lane(0, 0)));
    let greedy = shares.ask(&lane(0, 0));
    let modest = shares.ask(&lane(0, 1));
    assert_eq!(shares.release(&lane(0, 0)), Some(modest));
    assert_eq!(shares.release(&lane(0, 0)), Some(greedy));
}

#[tokio::test]
async fn a_place_goes_on_when_its_stream_is_dropped_and_who_went_away_is_skipped() {
    let limiter = Limiter::new(1);
    let place = limiter.try_enter(&lane(0, 0)).expect("it is free");
    assert!(limiter.try_enter(&lane(0, 1)).is_none());
    let mut impatient = Box::pin(limiter.enter(lane(1, 0)));
    let mut patient = Box::pin(limiter.enter(lane(0, 1)));
    assert!(futures_util::poll!(&mut impatient).is_pending());
    assert!(futures_util::poll!(&mut patient).is_pending());
    assert_eq!(limiter.waiting(), 2);
    drop(impatient);
    assert_eq!(limiter.waiting(), 1);
    drop(place);
    let place = tokio::time::timeout(Duration::from_secs(5), patient)
        .await
        .expect("it is next");
    // Chosen, and gone before it could see that: the place must not be lost.
    let mut third = Box::pin(limiter.enter(lane(2, 0)));
    assert!(futures_util::poll!(&mut third).is_pending());
    drop(place);
    drop(third);
    assert!(limiter.try_enter(&lane(3, 0)).is_some());
}

#[tokio::test]
async fn a_call_outside_of_turns_is_bounded_too() {
    let limited = LimitedProvider::new(Arc::new(ScriptedModel::new(false)), 1);
    let place = limited.limiter().try_enter(&lane(0, 0)).expect("free");
    let mut turn = limited.stream_in(place, request(vec![user("SAY:one")]));
    assert!(matches!(turn.next().await, Some(Ok(ModelEvent::TextDelta(text))) if text == "one"));
    let mut other = limited.stream(request(vec![user("SAY:two")]));
    assert!(futures_util::poll!(other.next()).is_pending());
    assert_eq!(limited.limiter().waiting(), 1);
    drop(turn);
    let first = tokio::time::timeout(Duration::from_secs(5), other.next())
        .await
        .expect("the place is free now");
    assert!(matches!(first, Some(Ok(ModelEvent::TextDelta(text))) if text == "two"));
}
