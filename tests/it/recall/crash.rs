//! kill -9 before and after something is remembered: it is written once.

use crate::recall::{FULL, change, memories};
use crate::support::daemon::Home;

#[tokio::test]
async fn a_fact_is_written_once_wherever_the_process_dies() {
    for point in ["tool.started", "tool.effect_done", "result.pre_commit"] {
        let home = Home::new(FULL);
        let mut daemon = home.daemon_with(&[("LEVERFRAME_CRASH", &format!("{point}:1"))]);
        let session = daemon.session().await;
        let text = "TOOL:remember{\"text\":\"tea at five\",\"scope\":\"channel\"}\nSAY:done";
        let continuation = daemon.send(&session, text).await;
        daemon.wait_exit().expect("it dies at the point");
        let written = point != "tool.started";
        if written {
            // Somebody changed it before the call ran again: that stands, and the old text does not come back.
            change(
                &home,
                "UPDATE memories SET text = 'tea at six', digest = randomblob(32)",
            );
        }
        let daemon = home.daemon();
        let done = daemon.wait_state(&continuation, "completed").await;
        let call = &done["tool_calls"][0];
        assert_eq!(call["state"], "succeeded", "{point}: {call:#}");
        assert_eq!(call["attempts"], 2, "{point}");
        let kept = memories(&daemon).await;
        assert_eq!(kept.len(), 1, "{point}: {kept:#?}");
        let text = if written { "tea at six" } else { "tea at five" };
        assert_eq!(kept[0]["text"], text, "{point}");
    }
}
