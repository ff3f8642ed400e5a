//! What the demo's visitors ask for shows a card of each level of risk.

use std::collections::BTreeMap;

use leverframe::model::scripted::demo::{demo_files, demo_visitors};
use leverframe::runtime::demo_repository;

use crate::support::daemon::Home;

#[tokio::test(flavor = "multi_thread")]
async fn the_visitors_cause_calls_of_all_four_levels() {
    let home = Home::new("[channels.api]\nautonomy = \"semi_auto\"\n");
    let workspace = home.workspace("api");
    std::fs::create_dir_all(&workspace).unwrap();
    for (name, content) in demo_files() {
        let path = workspace.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }
    demo_repository::create(&workspace, demo_files()).unwrap();
    let daemon = home.daemon();
    let mut risks = BTreeMap::new();
    for beginning in [
        "remember that the release",
        "add a release note",
        "run the test script",
        "which mail account",
    ] {
        let lines = demo_visitors().iter().flat_map(|channel| channel.lines);
        let (_, phrase) = lines
            .clone()
            .find(|(_, phrase)| phrase.starts_with(beginning))
            .expect("a visitor says it");
        let session = daemon.session().await;
        daemon.send(&session, phrase).await;
        let asked = daemon.wait_approval().await;
        risks.insert(asked["risk"].to_string(), asked["risk_reasons"].to_string());
        assert_eq!(daemon.decide(&asked, "deny_and_stop").await.0, 200);
    }
    assert_eq!(risks.len(), 4, "{risks:#?}");
    assert!(
        risks["\"medium\""].contains("reversible by git: yes"),
        "{risks:#?}"
    );
    assert!(
        risks["\"critical\""].contains("credentials: .env"),
        "{risks:#?}"
    );
}
