//! Frames of the socket, and their acknowledgements.

use leverframe::channels::slack::envelope::{Envelope, Frame, acknowledgement, frame};
use serde_json::Value;

#[test]
fn any_text_is_some_frame() {
    assert_eq!(
        frame(r#"{"type":"hello","num_connections":3,"connection_info":{"app_id":"A1"}}"#),
        Frame::Hello {
            connections: 3,
            app: Some("A1".to_owned())
        }
    );
    assert_eq!(
        frame(r#"{"type":"disconnect","reason":"warning","debug_info":{}}"#),
        Frame::Disconnect {
            reason: "warning".to_owned()
        }
    );
    for odd in ["", "[]", "7", "null", r#"{"type":7}"#, "{\"type\":\"x\"}"] {
        assert!(matches!(frame(odd), Frame::Unknown { .. }), "{odd}");
    }
    let Frame::Envelope(envelope) = frame(
        r#"{"envelope_id":"e1","type":"slash_commands","accepts_response_payload":true,"retry_attempt":2}"#,
    ) else {
        panic!("an envelope");
    };
    assert_eq!((envelope.retries, envelope.payload.is_null()), (2, true));
    let said: Value = serde_json::from_str(&acknowledgement(&envelope, Some("ok"))).unwrap();
    assert_eq!(said["payload"]["text"], "ok");
    let plain = Envelope {
        answerable: false,
        ..envelope
    };
    assert_eq!(
        acknowledgement(&plain, Some("ok")),
        r#"{"envelope_id":"e1"}"#
    );
}
