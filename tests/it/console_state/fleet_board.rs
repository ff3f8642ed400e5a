//! The fleet board: whose channels it lists and in which order, when it asks, and that its keys act on the daemon of the row.

use leverframe::console::ids::HostId;
use leverframe::console::message::DaemonMessage;
use leverframe::protocol::costs::BudgetUsage;
use leverframe::protocol::enums::*;
use leverframe::protocol::fleet::FleetChannel;
use leverframe::protocol::problem::{Problem, ProblemKind};
use leverframe::protocol::request::{Answer, Command, ListFleet, Query};
use leverframe::protocol::snapshot::{Page, Snapshot};
use leverframe::tui::message::Effect;
use leverframe::tui::state::screen::Screen;

use crate::console_frames::driver::Driver;
use crate::console_frames::fixture;
use crate::console_state::hosts::{ATLAS, LAB, asks, on, says, snapshot};

/// What a daemon counted of a channel: a turn in each hour whose number three divides.
fn counted(name: &str, failed: u64, percent: f64) -> FleetChannel {
    let mut errors = vec![0; 24];
    errors[20] = failed;
    FleetChannel {
        name: name.to_owned(),
        state: "connected".to_owned(),
        spent_usd: Some(0.42),
        budget: Some(BudgetUsage {
            budget: "channel_cost".to_owned(),
            channel: Some(name.to_owned()),
            session_id: None,
            limit: 5.0,
            used: 5.0 * percent / 100.0,
            reserved: 0.0,
            resets_at: None,
            percent,
        }),
        turns: (0..24)
            .map(|hour| u64::from(hour % 3 == 0) * hour)
            .collect(),
        errors,
        ..FleetChannel::default()
    }
}

fn counts(driver: &mut Driver, host: HostId, rows: Vec<FleetChannel>) {
    let message = DaemonMessage::Answered {
        query: Box::new(Query::ListFleet(ListFleet {})),
        result: Ok(Box::new(Answer::ListFleet(Page::from(rows)))),
    };
    says(driver, host, message);
    driver.draw();
}

/// A daemon with these channels and these questions, numbered from one and a minute apart.
fn with_channels(instance: &str, names: &[&str], questions: &[&str]) -> Snapshot {
    let questions = questions.iter().zip(1_u8..).map(|(channel, n)| {
        let mut approval = fixture::approval(n, Risk::Medium);
        (*channel).clone_into(&mut approval.channel);
        approval.requested_at = fixture::ago(60 * i64::from(n));
        approval
    });
    let mut snapshot = asks(instance, questions.collect());
    let channels = names
        .iter()
        .map(|name| fixture::channel(name, ChannelKind::Telegram, Autonomy::SemiAuto));
    snapshot.channels = channels.collect();
    snapshot
}

/// The board of two daemons: in the first two channels wait, in the second one had errors.
pub fn fleet(width: u16, height: u16) -> Driver {
    let mut driver = on(width, height, &["atlas", "lab"]);
    let first = with_channels("atlas", &["dev", "ops", "team"], &["team", "ops", "team"]);
    snapshot(&mut driver, ATLAS, first);
    snapshot(
        &mut driver,
        LAB,
        with_channels("lab", &["dev", "night"], &[]),
    );
    driver.press("f12");
    assert_eq!(driver.state.screen, Screen::Fleet);
    let rows = ["dev", "ops", "team"].map(|name| counted(name, 0, 8.4));
    counts(&mut driver, ATLAS, rows.into());
    let rows = vec![counted("dev", 0, 85.0), counted("night", 3, 120.0)];
    counts(&mut driver, LAB, rows);
    driver
}

fn order(driver: &Driver) -> Vec<(HostId, &str)> {
    let order = driver.state.fleet.list.order.iter();
    order.map(|key| (key.host, key.channel.as_str())).collect()
}

/// Daemons that are asked, in order.
fn asked(driver: &Driver) -> Vec<HostId> {
    let ask = Effect::Query(Query::ListFleet(ListFleet {}));
    let asked = driver.addressed.iter().filter(|(_, effect)| *effect == ask);
    asked.map(|(host, _)| *host).collect()
}

fn line_of<'t>(text: &'t str, word: &str) -> &'t str {
    text.lines().find(|line| line.contains(word)).unwrap()
}

#[test]
fn what_waits_the_longest_comes_first_then_what_failed() {
    let mut driver = fleet(140, 40);
    let wanted = [
        (ATLAS, "team"),
        (ATLAS, "ops"),
        (LAB, "night"),
        (ATLAS, "dev"),
        (LAB, "dev"),
    ];
    assert_eq!(order(&driver), wanted);
    let text = driver.text();
    let team: Vec<&str> = line_of(&text, " team ").split_whitespace().collect();
    // Host, channel, state, waiting, oldest, errors, spend, budget.
    assert_eq!(
        team.get(1..9),
        Some(["atlas", "team", "connected", "2", "3m", "0", "$0.42", "8%"].as_slice()),
        "{text}"
    );
    assert!(line_of(&text, " night ").contains("120%"), "{text}");
    assert!(text.contains("Fleet  5 channels"), "{text}");
}

#[test]
fn each_daemon_is_asked_once_a_minute_and_only_here() {
    let mut driver = fleet(120, 40);
    driver.addressed.clear();
    driver.wait(20_000);
    assert_eq!(asked(&driver), []);
    driver.wait(60_000);
    assert_eq!(asked(&driver), [ATLAS, LAB]);
    driver.addressed.clear();
    driver.press("ctrl-r");
    assert_eq!(asked(&driver), [ATLAS, LAB]);
    driver.press("2");
    driver.addressed.clear();
    driver.wait(120_000);
    assert_eq!(asked(&driver), []);
}

#[test]
fn a_row_gives_its_daemon_the_focus_and_opens_its_channel() {
    let mut driver = fleet(120, 40);
    driver.press("/");
    driver.type_text("lab dev");
    driver.press("enter");
    assert_eq!(order(&driver), [(LAB, "dev")]);
    assert!(driver.text().contains("1 of 5"), "{}", driver.text());
    driver.press("j");
    assert_eq!(driver.state.model.hosts.focused(), LAB);
    driver.press("p enter");
    driver.addressed.clear();
    driver.press("P");
    driver.press("tab enter");
    let paused = driver.addressed.iter().any(|(host, effect)| {
        *host == LAB
            && matches!(effect, Effect::Submit(Command::PauseChannel(pause)) if pause.channel == "dev")
    });
    assert!(paused, "{:?}", driver.addressed);
    driver.press("enter");
    assert_eq!(driver.state.screen, Screen::Channels);
    assert_eq!(
        driver.state.screens.channels.selected.as_deref(),
        Some("dev")
    );
    assert_eq!(driver.state.model.hosts.focused(), LAB);
}

#[test]
fn a_key_shows_the_queue_of_the_channel() {
    let mut driver = fleet(120, 40);
    driver.press("j j o");
    assert_eq!(driver.state.screen, Screen::Queue);
    assert_eq!(driver.state.model.queue.filter, "channel:ops");
    assert_eq!(driver.state.model.queue.order.len(), 1);
    let mut driver = fleet(120, 40);
    driver.press("G o");
    assert!(
        driver.text().contains("nothing of dev needs a person"),
        "{}",
        driver.text()
    );
}

#[test]
fn a_daemon_that_is_lost_or_does_not_count_says_so() {
    let mut driver = fleet(160, 40);
    let why = Problem::new(ProblemKind::NotFound, "no such route", "older daemon");
    let message = DaemonMessage::Answered {
        query: Box::new(Query::ListFleet(ListFleet {})),
        result: Err(Box::new(why)),
    };
    says(&mut driver, LAB, message);
    assert!(
        driver.text().contains("lab does not count"),
        "{}",
        driver.text()
    );
    let lost = DaemonMessage::Disconnected {
        why: "gone".to_owned(),
    };
    says(&mut driver, LAB, lost);
    let text = driver.text();
    assert!(line_of(&text, " night ").contains("LOST"), "{text}");
    let lost = order(&driver)[2..4].to_vec();
    assert_eq!(lost, [(LAB, "dev"), (LAB, "night")]);
}

#[test]
fn nothing_moves_under_the_cursor() {
    let mut driver = fleet(120, 40);
    driver.press("j");
    let before: Vec<String> = order(&driver)
        .iter()
        .map(|(_, name)| (*name).into())
        .collect();
    counts(&mut driver, ATLAS, vec![counted("dev", 9, 1.0)]);
    let after: Vec<String> = order(&driver)
        .iter()
        .map(|(_, name)| (*name).into())
        .collect();
    assert_eq!(before, after);
    driver.press("esc");
    assert_eq!(order(&driver)[2], (ATLAS, "dev"));
}

#[test]
fn one_daemon_has_no_column_of_hosts() {
    let mut driver = Driver::with(80, 24, fixture::busy());
    driver.press(":");
    driver.type_text("fleet");
    driver.press("enter");
    counts(&mut driver, ATLAS, vec![counted("telegram", 1, 8.0)]);
    let text = driver.text();
    let head = line_of(&text, "waiting");
    let words: Vec<&str> = head.split_whitespace().collect();
    assert_eq!(
        words.get(1..4),
        Some(["channel", "state", "waiting"].as_slice()),
        "{text}"
    );
    assert!(line_of(&text, " telegram ").contains("$0.42"), "{text}");
}
