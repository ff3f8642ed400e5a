//! A store that strangers write to.

use leverframe::clock::Timestamp;
use leverframe::protocol::enums::{ApprovalKind, DecisionKind, Disposition, OutboxClass};
use leverframe::protocol::ids::ApprovalId;
use leverframe::protocol::pairing::Pairing;
use leverframe::protocol::snapshot::PageRequest;
use leverframe::store::commands::ask_pairing::AskPairing;
use leverframe::store::commands::ingest_record::IngestRecord;
use leverframe::store::input::NewNotice;
use leverframe::store::queries::outbox::OutboxFilter;

use crate::support::world::{World, approval, origin};

/// What a stranger's message asks.
pub(crate) fn ask(world: &World, sender: &str, key: Option<&str>) -> AskPairing {
    let mut origin = origin(sender, key);
    origin.requester.id = format!("telegram:{sender}");
    origin.requester.display = format!("Stranger {sender}");
    origin.requester.person = None;
    let mut question = approval(ApprovalKind::Pairing, &format!("digest of {sender}"));
    question.id.to_string()[24..30].clone_into(&mut question.short_code);
    question.offered = vec![DecisionKind::Approve, DecisionKind::Deny];
    question.cards.clear();
    let expires_at = world.clock.now().plus_seconds(3600);
    question.expires_at = Some(expires_at);
    let notice = NewNotice {
        channel: origin.channel.clone(),
        conversation: origin.conversation.clone(),
        class: OutboxClass::Notice,
        text: format!("the code is {}", question.short_code),
        reply_to: None,
        continuation_id: None,
    };
    AskPairing {
        record: IngestRecord {
            origin,
            disposition: Disposition::Pairing,
            detail: "asks".to_owned(),
            notices: vec![notice],
        },
        approval: question,
        expires_at,
    }
}

/// The newest pairing of a stranger, on any channel.
pub(crate) async fn pairing(world: &World, sender: &str) -> Option<Pairing> {
    let id = format!("telegram:{sender}");
    let all = world.store.read(|reader| reader.pairings(None)).await;
    all.unwrap().into_iter().find(|one| one.sender == id)
}

pub(crate) async fn id_of(world: &World, sender: &str) -> ApprovalId {
    pairing(world, sender).await.unwrap().id
}

/// What was said to a stranger, the oldest first.
pub(crate) async fn said(world: &World, sender: &str) -> Vec<String> {
    let page = PageRequest {
        limit: Some(500),
        cursor: None,
    };
    let parts = world
        .store
        .read(move |reader| reader.outbox(&OutboxFilter::default(), &page))
        .await
        .unwrap();
    let mut said: Vec<String> = parts
        .items
        .into_iter()
        .filter(|part| part.conversation == sender)
        .map(|part| part.preview)
        .collect();
    said.reverse();
    said
}

pub(crate) async fn decide(world: &World, sender: &str, decision: DecisionKind) {
    let id = id_of(world, sender).await;
    let command = world.decide_command(id, decision, "anna").await;
    world.ok(command).await;
}

/// Time goes on, and what is due by then ends.
pub(crate) async fn pass(world: &World, seconds: i64) -> Timestamp {
    world.clock.advance_millis(seconds * 1000);
    let now = world.clock.now();
    world
        .ok(leverframe::store::commands::expire_due::ExpireDue {
            now,
            notice: "nobody answered".to_owned(),
        })
        .await;
    now
}
