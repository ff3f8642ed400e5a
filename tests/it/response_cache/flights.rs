//! Single flight: who leads, who waits, and what becomes of both.

use leverframe::engine::response_cache::single_flight::{FlightResult, FlightRole, Flights, Lead};
use tokio::sync::oneshot::Receiver;

type Waits = Receiver<FlightResult<&'static str, u32>>;

fn lead(flights: &Flights<&'static str, u32>) -> Lead<&'static str, u32> {
    match flights.join(&"q") {
        FlightRole::Lead(lead) => lead,
        FlightRole::Follow(_) => panic!("somebody leads already"),
    }
}

fn follow(flights: &Flights<&'static str, u32>) -> Waits {
    match flights.join(&"q") {
        FlightRole::Follow(told) => told,
        FlightRole::Lead(_) => panic!("nobody leads"),
    }
}

fn told(waits: &mut Waits) -> Option<FlightResult<&'static str, u32>> {
    waits.try_recv().ok()
}

#[test]
fn everybody_gets_the_leaders_answer_and_other_questions_do_not_wait() {
    let flights = Flights::default();
    let leader = lead(&flights);
    let mut others: Vec<Waits> = (0..9).map(|_| follow(&flights)).collect();
    assert!(matches!(flights.join(&"another"), FlightRole::Lead(_)));
    assert!(others.iter_mut().all(|other| told(other).is_none()));
    leader.answer(&7);
    for other in &mut others {
        assert!(matches!(told(other), Some(FlightResult::Answer(7))));
    }
    assert!(flights.is_empty());
    drop(lead(&flights));
}

#[test]
fn a_leader_that_goes_away_promotes_exactly_one_and_hands_on_no_error() {
    let flights = Flights::default();
    let leader = lead(&flights);
    let (mut first, gone, mut third) = (follow(&flights), follow(&flights), follow(&flights));
    drop(leader);
    let Some(FlightResult::Lead(second_leader)) = told(&mut first) else {
        panic!("the first who waits leads now");
    };
    assert!(told(&mut third).is_none(), "one at a time");
    // One who went away while it waited is passed over.
    drop(gone);
    drop(second_leader);
    let Some(FlightResult::Lead(third_leader)) = told(&mut third) else {
        panic!("the next who is still there leads now");
    };
    third_leader.answer(&1);
    assert!(flights.is_empty());
}

#[test]
fn a_promotion_that_nobody_reads_is_not_lost() {
    let flights = Flights::default();
    let leader = lead(&flights);
    let (first, mut second) = (follow(&flights), follow(&flights));
    drop(leader);
    // Promoted, and cancelled before it looked.
    drop(first);
    assert!(matches!(told(&mut second), Some(FlightResult::Lead(_))));
}

#[test]
fn a_question_whose_answers_are_never_shared_makes_nobody_wait_twice() {
    let flights = Flights::default();
    let leader = lead(&flights);
    let mut others: Vec<Waits> = (0..5).map(|_| follow(&flights)).collect();
    leader.unshareable();
    let Some(FlightResult::Lead(second)) = told(&mut others[0]) else {
        panic!("one is promoted");
    };
    assert!(others[1..].iter_mut().all(|other| told(other).is_none()));
    second.unshareable();
    for other in &mut others[1..] {
        assert!(matches!(told(other), Some(FlightResult::Alone)));
    }
    assert!(flights.is_empty());
}
