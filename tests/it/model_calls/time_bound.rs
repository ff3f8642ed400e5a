//! A call that takes too long in all is what a silent one is: asked again where nothing was shown, else interrupted.

use crate::end_to_end_models::patient_peer::{HALF, Manner, PatientPeer};
use crate::model_calls::server::{ModelServer, ask, says, steps};
use crate::support::daemon::Home;
use crate::support::fake_http::Reply;

const ONE: &str = "[model]\ndefault = \"one/m\"";

#[tokio::test]
async fn what_showed_nothing_is_asked_again_and_what_showed_something_is_interrupted() {
    let server = ModelServer::chat(vec![Reply::Hang, says("here it is")]);
    let home = Home::new(&format!(
        "{ONE}\n{}",
        server.table("one", "request_timeout_seconds = 1")
    ));
    let daemon = home.daemon();
    let session = daemon.session().await;
    let done = ask(&daemon, &session, "hello", "completed").await;
    assert_eq!(done["response"]["text"], "here it is", "{done}");
    assert_eq!(steps(&daemon, &done, "model").await[0]["attempts"], 2);
    assert_eq!(server.seen().len(), 2);

    let peer = PatientPeer::start(Manner::HalfWay);
    let home = Home::new(&format!(
        "{ONE}\n[providers.one]\nkind = \"openai-chat\"\nbase_url = \"{}\"\nrequest_timeout_seconds = 1\n",
        peer.base_url
    ));
    let daemon = home.daemon();
    let session = daemon.session().await;
    let cut = ask(&daemon, &session, "hello", "interrupted").await;
    let why = cut["error"]["message"].as_str().unwrap();
    let expected = format!(
        "within 1 s (request_timeout_seconds), {} bytes of text came",
        HALF.len()
    );
    assert!(
        why.contains("provider one") && why.contains(&expected),
        "{why}"
    );
    assert_eq!(peer.wait_asked(1).len(), 1, "it was asked again");
    // The connection is closed, not left.
    peer.wait_left(1);
}
