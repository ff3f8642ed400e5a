//! The models dialog on a real terminal: a server on this machine is found when it is looked for, and a session gets
//! another model.

use crate::console_pty::door::{Door, command, items};
use crate::console_pty::steps::quit;
use crate::first_run::init::ollama;
use crate::model_calls::server::ModelServer;
use crate::support::daemon::Home;
use crate::support::pty::Pty;

/// Writes what the screen shows, where somebody wants to look at it.
fn keep(pty: &Pty, name: &str) {
    if let Some(dir) = option_env!("LEVERFRAME_FRAMES") {
        std::fs::write(format!("{dir}/{name}.txt"), pty.screen()).unwrap();
    }
}

#[tokio::test]
async fn a_server_is_found_on_a_key_and_a_session_gets_another_model() {
    for (columns, rows) in [(80, 24), (200, 50)] {
        let (found, asked) = ollama();
        let model = ModelServer::chat(Vec::new());
        let more = "models.\"second\" = { context_window = 32768 }\nprices.\"second\" = { input = 0.5, output = 1.5 }";
        let home = Home::new(&format!(
            "[model]\ndefault = \"one/first\"\n[channels.cli]\nfixed_model = true\n{}",
            model.table("one", more)
        ));
        let mut program = command(&home);
        program.env("LEVERFRAME_TEST_SERVERS", format!("ollama={}", found.url()));
        let mut pty = Pty::start(&program, columns, rows);
        pty.see("nothing needs you");
        let door = Door::of(&home);
        let turn = door.say("hello").await;
        let done = door.wait_state(&turn, "completed").await;
        let session = done["session_id"].as_str().unwrap().to_owned();
        assert!(done.to_string().contains("ok"), "{done}");

        pty.send("2");
        pty.see("┌ Live");
        pty.press_until("j", "> idle");
        pty.send("M");
        let screen = pty.see("one/second");
        assert!(screen.contains("> one/first"), "{screen}");
        assert!(
            screen.contains("32.7k") && screen.contains("0.5/1.5"),
            "{screen}"
        );
        assert_eq!(
            asked.load(std::sync::atomic::Ordering::SeqCst),
            0,
            "it was looked for unasked"
        );
        keep(&pty, &format!("models_{columns}"));
        pty.send("d");
        let screen = pty.see("Ollama at http://127.0.0.1:");
        assert!(screen.contains("[providers."), "{screen}");
        assert!(asked.load(std::sync::atomic::Ordering::SeqCst) > 0);
        keep(&pty, &format!("models_found_{columns}"));
        pty.send("j");
        pty.see("> one/second");
        pty.send("\r");
        pty.see("uses one/second from now on");
        let now = door.get(&format!("/v1/sessions/{session}")).await;
        assert_eq!(now["model"], "one/second", "{now}");
        // What was found is used by nobody.
        let listed = door.get("/v1/models").await;
        assert!(!listed.to_string().contains("qwen3"), "{listed}");
        assert_eq!(items(&listed).filter(|p| p["provider"] == "one").count(), 1);

        quit(&mut pty, "stop");
        assert_eq!(pty.wait_exit(), Some(0));
    }
}
