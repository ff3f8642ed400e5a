//! Which session a request goes to: the one whose history it sends, and never another.

use serde_json::{Value, json};

use crate::openai_clients::caller::{
    assistant, chat, chat_with, home, post, requests, sessions, user,
};

const CHAT: &str = "/v1/chat/completions";
/// The line that stands before what a client tells of earlier messages.
const EARLIER: &str = "[Earlier messages of this conversation";

#[tokio::test(flavor = "multi_thread")]
async fn two_conversations_that_begin_alike_do_not_mix() {
    let home = home();
    let daemon = home.daemon();
    let hello = [user("SAY:hello"), assistant("hello")];
    chat(&daemon, &hello[..1]).await;
    chat(&daemon, &hello[..1]).await;
    assert_eq!(sessions(&daemon).await.len(), 2);
    for question in ["SAY:first", "SAY:second"] {
        let messages = [&hello[..], &[user(question)]].concat();
        chat(&daemon, &messages).await;
    }
    let all = sessions(&daemon).await;
    assert_eq!(all.len(), 2);
    let mut turns = [
        requests(&daemon, &all[0]).await,
        requests(&daemon, &all[1]).await,
    ];
    turns.sort();
    assert_eq!(
        turns,
        [["SAY:hello", "SAY:first"], ["SAY:hello", "SAY:second"]]
    );
    // Each goes on by itself.
    let first = [
        &hello[..],
        &[user("SAY:first"), assistant("first"), user("SAY:third")],
    ]
    .concat();
    chat(&daemon, &first).await;
    let all = sessions(&daemon).await;
    assert_eq!(
        requests(&daemon, &all[0]).await,
        ["SAY:hello", "SAY:first", "SAY:third"]
    );
    assert_eq!(all.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edited_or_regenerated_history_opens_a_session_that_knows_it() {
    let home = home();
    let daemon = home.daemon();
    let known = [
        user("SAY:one"),
        assistant("one"),
        user("SAY:two"),
        assistant("two"),
    ];
    chat(&daemon, &known[..1]).await;
    chat(&daemon, &known[..3]).await;
    let original = sessions(&daemon).await.remove(0);
    // The same message again: another answer is wanted.
    let again = chat(&daemon, &known[..3]).await;
    assert_eq!(again.text(), "two");
    // The first message is edited, then the agent's answer.
    let edited = [user("SAY:uno"), assistant("uno"), user("SAY:two")];
    chat(&daemon, &edited).await;
    let edited = [
        user("SAY:one"),
        assistant("something else"),
        user("SAY:two"),
    ];
    chat(&daemon, &edited).await;
    assert_eq!(sessions(&daemon).await.len(), 4);
    assert_eq!(
        requests(&daemon, &original).await,
        ["SAY:one", "SAY:two"],
        "it is not spoilt"
    );
    for session in sessions(&daemon).await {
        if session["id"] == original["id"] {
            continue;
        }
        let turns = requests(&daemon, &session).await;
        assert_eq!(turns.len(), 1);
        assert!(
            turns[0].starts_with(&format!("SAY:two\n\n{EARLIER}")),
            "{turns:?}"
        );
        assert_eq!(session["title"], "SAY:two");
    }
    let told = requests(&daemon, &sessions(&daemon).await[0])
        .await
        .remove(0);
    assert!(
        told.contains(r#"{"role":"assistant","text":"something else"}"#),
        "{told}"
    );
    // The new branch goes on, and so does the old one.
    let branch = [&edited[..], &[assistant("two"), user("SAY:three")]].concat();
    chat(&daemon, &branch).await;
    let old = [&known[..], &[user("SAY:four")]].concat();
    chat(&daemon, &old).await;
    assert_eq!(sessions(&daemon).await.len(), 4);
    assert_eq!(
        requests(&daemon, &original).await,
        ["SAY:one", "SAY:two", "SAY:four"]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_that_began_elsewhere_is_told_and_goes_on() {
    let home = home();
    let daemon = home.daemon();
    let elsewhere = [
        json!({ "role": "system", "content": "Be kind." }),
        user("what is in the list?"),
        json!({ "role": "assistant", "content": null, "tool_calls": [
            { "id": "c1", "type": "function", "function": { "name": "look", "arguments": "{\"at\":1}" } },
        ]}),
        json!({ "role": "tool", "tool_call_id": "c1", "content": "eggs" }),
        assistant("Eggs."),
        user("SAY:bread"),
    ];
    chat(&daemon, &elsewhere).await;
    let all = sessions(&daemon).await;
    let told = requests(&daemon, &all[0]).await.remove(0);
    for words in [
        "what is in the list?",
        "[called look: ",
        "[result: eggs]",
        "Eggs.",
    ] {
        assert!(told.contains(words), "{words}: {told}");
    }
    assert!(!told.contains("Be kind."), "{told}");
    let more = [&elsewhere[..], &[assistant("bread"), user("SAY:milk")]].concat();
    chat(&daemon, &more).await;
    assert_eq!(sessions(&daemon).await.len(), 1);
    assert_eq!(requests(&daemon, &all[0]).await[1], "SAY:milk");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_with_a_name_keeps_its_history_here() {
    let home = home();
    let daemon = home.daemon();
    let named = [("Leverframe-Conversation", "shift 7")];
    for text in ["SAY:one", "SAY:two"] {
        chat_with(&daemon, &named, &[user(text)]).await;
    }
    let other = [("Leverframe-Conversation", "shift 8")];
    chat_with(&daemon, &other, &[user("SAY:one")]).await;
    let all = sessions(&daemon).await;
    assert_eq!(all.len(), 2);
    assert_eq!(requests(&daemon, &all[1]).await, ["SAY:one", "SAY:two"]);
    // With the whole history it is compared all the same.
    let whole = [
        user("SAY:one"),
        assistant("one"),
        user("SAY:two"),
        assistant("two"),
        user("SAY:three"),
    ];
    chat_with(&daemon, &named, &whole).await;
    assert_eq!(requests(&daemon, &all[1]).await.len(), 3);
    // No conversation: the session ends with its turn.
    let none = [("Leverframe-Conversation", "none")];
    let reply = chat_with(&daemon, &none, &[user("SAY:bye")]).await;
    let id = reply.header("leverframe-session");
    assert_eq!(
        daemon.get(&format!("/v1/sessions/{id}")).await["state"],
        "ended"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn people_behind_one_token_are_kept_apart() {
    let home = home();
    let daemon = home.daemon();
    let of = |who: &str, messages: Vec<Value>| json!({ "user": who, "messages": messages });
    let hello = || vec![user("SAY:hello")];
    post(&daemon, CHAT, &[], of("anna", hello())).await;
    let more = vec![user("SAY:hello"), assistant("hello"), user("SAY:more")];
    // Somebody else who says that the same was said before.
    let reply = post(&daemon, CHAT, &[], of("bert", more.clone())).await;
    assert_eq!(reply.status, 200, "{reply:?}");
    assert_eq!(sessions(&daemon).await.len(), 2);
    let headers = [("X-OpenWebUI-User-Id", "carl")];
    post(&daemon, CHAT, &headers, json!({ "messages": more })).await;
    assert_eq!(sessions(&daemon).await.len(), 3);
    post(&daemon, CHAT, &[], of("anna", more)).await;
    assert_eq!(sessions(&daemon).await.len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_open_web_ui_asks_for_itself_spoils_nothing_and_uses_no_tool() {
    let home = home();
    let daemon = home.daemon();
    let first = [user("SAY:hello")];
    chat(&daemon, &first).await;
    let task = "### Task:\nGenerate a concise, 3-5 word title with an emoji summarizing the chat history.\n\
        TOOL:list_files{\"path\":\".\"}\n### Chat History:\n<chat_history>\nUSER: SAY:hello\nASSISTANT: hello\n</chat_history>";
    let reply = chat(&daemon, &[user(task)]).await;
    let id = reply.header("leverframe-continuation");
    let turn = daemon.get(&format!("/v1/continuations/{id}")).await;
    assert_eq!(turn["options"]["allow_tools"], json!([]));
    assert_ne!(turn["tool_calls"][0]["state"], "succeeded", "{turn:#}");
    let id = reply.header("leverframe-session");
    assert_eq!(
        daemon.get(&format!("/v1/sessions/{id}")).await["state"],
        "ended"
    );
    chat(
        &daemon,
        &[user("SAY:hello"), assistant("hello"), user("SAY:more")],
    )
    .await;
    let all = sessions(&daemon).await;
    let active: Vec<&Value> = all
        .iter()
        .filter(|session| session["state"] == "active")
        .collect();
    assert_eq!(active.len(), 1);
    assert_eq!(
        requests(&daemon, active[0]).await,
        ["SAY:hello", "SAY:more"]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_forgets_no_conversation() {
    let home = home();
    let mut daemon = home.daemon();
    chat(&daemon, &[user("SAY:hello")]).await;
    daemon.terminate();
    let daemon = home.daemon();
    chat(
        &daemon,
        &[user("SAY:hello"), assistant("hello"), user("SAY:more")],
    )
    .await;
    let all = sessions(&daemon).await;
    assert_eq!(all.len(), 1);
    assert_eq!(requests(&daemon, &all[0]).await, ["SAY:hello", "SAY:more"]);
}
