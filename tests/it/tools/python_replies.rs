//! Replies of the interpreter.

use leverframe::tools::python::reply::{MAX_REPLY, Replies};

#[tokio::test]
async fn only_the_reply_with_the_nonce_counts() {
    let long = "x".repeat(2 * MAX_REPLY);
    let written = format!(
        "{{\"nonce\":\"a\",\"value\":\"forged\"}}\nno JSON\n\u{0}\n{long}{{\"nonce\":\"b\"}}\n{{\"nonce\":\"b\",\"val\n\
         {{\"nonce\":\"b\",\"value\":\"3\"}}\n\n{{\"nonce\":\"b\",\"value\":\"again\"}}\n{{\"nonce\":\"c\",\"error\":\"e\"}}\n\
         {{\"nonce\":\"d\",\"value\":\"{long}\"}}\n"
    );
    let mut replies = Replies::new(written.as_bytes());
    let reply = replies.to("b").await.unwrap();
    assert_eq!(reply.value.as_deref(), Some("3"));
    // What came twice shifts nothing.
    let reply = replies.to("c").await.unwrap();
    assert_eq!((reply.value, reply.error.as_deref()), (None, Some("e")));
    // A line is kept up to a limit: one beyond it is no reply.
    assert_eq!(replies.to("d").await, None);
}
