//! The page of the events, from the list of kinds and from what the source says of each.

use std::collections::BTreeSet;

use leverframe::api::events::{EPHEMERAL, KINDS};

use crate::documentation::markdown::{Page, code, codes, prose};
use crate::documentation::source;

/// What stands before the generated part.
const INTRODUCTION: &str = "\
`GET /v1/events` sends these as server-sent events: `event` is the kind, `data` is the event as JSON.
Every event has `at` and `kind`. `session_id` and `continuation_id` are there where one is concerned.

An event that the engine keeps has an `id` and a `seq`. The header `Last-Event-ID` or `?after=` sends later ones again.";

/// The whole page.
pub fn page() -> String {
    let body = source::item("src/protocol/event.rs", "EventBody");
    let mut page = Page::new("Events");
    page.paragraph(INTRODUCTION);
    page.paragraph(&format!(
        "These kinds are ephemeral: {}.\nAn ephemeral event has no `id`, and the engine does not keep it. A client that \
         does not listen misses it.\n`GET /v1/snapshot` has what they added up to.",
        codes(EPHEMERAL.iter().copied())
    ));
    let mut described = BTreeSet::new();
    for kind in &body.parts {
        let name = kind.renamed.as_deref().expect("every kind is renamed");
        if name == "unknown" {
            continue;
        }
        described.insert(name);
        page.heading(2, &code(name));
        page.paragraph(&prose(&kind.about));
        let rows: Vec<[String; 2]> = kind
            .parts
            .iter()
            .map(|field| [code(&field.name), prose(&field.about)])
            .collect();
        page.table(["field", "meaning"], &rows);
    }
    assert_eq!(described, KINDS.iter().copied().collect(), "kinds");
    page.finish()
}
