//! Datasets: what is asked, what the detail shows, and that a removal asks first.

use leverframe::protocol::dataset::Dataset;
use leverframe::protocol::enums::Comparison;
use leverframe::protocol::ids::DatasetId;
use leverframe::protocol::request::{
    Answer, Command, DeleteDataset, GetDataset, ListDatasets, Query, QueryDataset,
};
use leverframe::protocol::snapshot::Page;
use leverframe::tui::message::{Effect, Message};
use leverframe::tui::state::screen::Screen;

use crate::api_http::samples_datasets;
use crate::console_frames::driver::Driver;
use crate::console_frames::fixture;
use crate::console_frames::screens::check_at;

fn dataset(number: u8, name: &str, rows: u64) -> Dataset {
    Dataset {
        id: DatasetId::from_bytes([number; 16]),
        name: name.to_owned(),
        rows,
        source: format!("{name}.csv"),
        uploaded_by: "Ben (@ben)".to_owned(),
        expires_at: Some(fixture::ago(-30 * 24 * 3600)),
        ..samples_datasets::dataset()
    }
}

/// The datasets on screen.
fn datasets(width: u16, height: u16) -> Driver {
    let mut driver = Driver::with(width, height, fixture::busy());
    driver.press(":");
    driver.type_text("datasets");
    let effects = driver.press("enter");
    assert_eq!(driver.state.screen, Screen::Datasets);
    let query = Query::ListDatasets(ListDatasets { channel: None });
    let asked = Effect::Query(query.clone());
    assert!(effects.contains(&asked) || driver.effects.contains(&asked));
    let all = vec![dataset(6, "sales", 1_234_567), dataset(7, "people", 12)];
    driver.answer(query, Answer::ListDatasets(Page::from(all)));
    driver
}

fn sample(driver: &mut Driver) {
    let dataset = DatasetId::from_bytes([6; 16]).to_string();
    driver.answer(
        Query::GetDataset(GetDataset { dataset }),
        Answer::GetDataset(samples_datasets::description()),
    );
}

#[test]
fn what_is_in_the_selected_one_is_asked_and_shown() {
    let mut driver = datasets(120, 40);
    driver.press(":");
    driver.type_text("sort -rows");
    driver.press("enter");
    let effects = driver.press("j");
    let wanted = Effect::Query(Query::GetDataset(GetDataset {
        dataset: DatasetId::from_bytes([6; 16]).to_string(),
    }));
    assert!(effects.contains(&wanted), "{effects:?}");
    assert!(
        driver.text().contains("asking what is in it"),
        "{}",
        driver.text()
    );
    sample(&mut driver);
    let text = driver.text();
    for shown in [
        "first rows",
        "Zwickau",
        "1 234 567",
        "in 30d",
        "came with a message",
    ] {
        assert!(text.contains(shown), "{shown}: {text}");
    }
    driver.press("/");
    driver.type_text("people");
    driver.press("enter");
    assert!(driver.text().contains("1 of 2"), "{}", driver.text());
}

#[test]
fn a_line_asks_and_its_answer_is_closed_first() {
    let mut driver = datasets(120, 40);
    driver.press("j");
    driver.press("a");
    driver.type_text("where city = Bonn; sum rows as total; limit x");
    driver.press("enter");
    assert!(
        driver.text().contains("`x` is no number of rows"),
        "{}",
        driver.text()
    );
    driver.press("a");
    driver
        .type_text("where city = Bonn; group city; sum amount as total; order total desc; limit 5");
    let effects = driver.press("enter");
    let asked = effects.iter().find_map(|effect| match effect {
        Effect::Query(Query::QueryDataset(asked)) => Some(asked.clone()),
        _ => None,
    });
    let QueryDataset { query, .. } = asked.clone().expect("it is asked");
    assert_eq!(query.conditions[0].op, Comparison::Equal);
    assert_eq!((query.group_by[0].as_str(), query.limit), ("city", Some(5)));
    assert!(query.descending && query.order_by.as_deref() == Some("total"));
    let (_, answer) = samples_datasets::question();
    driver.answer(Query::QueryDataset(asked.unwrap()), answer);
    let text = driver.text();
    assert!(
        text.contains("3 of 1 234 rows of the dataset fit"),
        "{text}"
    );
    driver.press("esc");
    assert!(
        !driver.text().contains("rows of the dataset fit"),
        "{}",
        driver.text()
    );
}

#[test]
fn one_is_removed_after_a_question_and_sent_from_a_file() {
    let mut driver = datasets(120, 40);
    driver.press("j");
    let selected = driver.state.screens.datasets.list.selected.expect("one");
    driver.press("x");
    let text = driver.text();
    assert!(text.contains("Remove this dataset for good?"), "{text}");
    let effects = driver.press("esc");
    assert!(effects.is_empty() && !driver.text().contains("for good?"));
    driver.press("x");
    let effects = [driver.press("l"), driver.press("enter")].concat();
    let remove = Effect::Submit(Command::DeleteDataset(DeleteDataset {
        dataset: selected.to_string(),
    }));
    assert!(effects.contains(&remove), "{effects:?}");

    driver.press(":");
    driver.type_text("upload team /srv/in.csv sales");
    let effects = driver.press("enter");
    let upload = Effect::UploadDataset {
        channel: "team".to_owned(),
        file: "/srv/in.csv".into(),
        name: Some("sales".to_owned()),
    };
    assert!(effects.contains(&upload), "{effects:?}");
    driver.send(Message::DatasetUploaded(
        Err("the file is empty".to_owned()),
    ));
    assert!(
        driver.text().contains("the file is empty"),
        "{}",
        driver.text()
    );
}

#[test]
fn the_screen_stands_as_it_was_drawn() {
    check_at("datasets", &[(120, 40), (80, 24)], |width, height| {
        let mut driver = datasets(width, height);
        driver.press("j");
        sample(&mut driver);
        driver
    });
}
