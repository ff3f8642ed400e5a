//! Chat completions: answers whole and in pieces, what of a request counts, and what is refused.

use serde_json::{Value, json};

use crate::openai_clients::caller::{
    Events, assistant, chat, home, post, requests, sessions, stream, text_of, user,
};

const CHAT: &str = "/v1/chat/completions";

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_comes_whole_and_in_pieces() {
    let home = home();
    let daemon = home.daemon();
    let reply = chat(&daemon, &[user("SAY:hello")]).await;
    assert_eq!(reply.text(), "hello");
    let body = &reply.body;
    assert_eq!(body["object"], "chat.completion");
    assert_eq!(body["model"], "api");
    assert_eq!(body["choices"][0]["finish_reason"], "stop");
    assert_eq!(body["choices"][0]["message"]["role"], "assistant");
    let usage = &body["usage"];
    let total =
        usage["prompt_tokens"].as_u64().unwrap() + usage["completion_tokens"].as_u64().unwrap();
    assert_eq!(usage["total_tokens"], total);
    assert!(total > 0);
    let id = reply.header("leverframe-continuation");
    let turn = daemon.get(&format!("/v1/continuations/{id}")).await;
    assert_eq!(turn["surface"], "http");
    assert_eq!(turn["requester"]["display"], "token admin");

    let history = [
        user("SAY:hello"),
        assistant("hello"),
        user("SLOW:3\nSAY:and again"),
    ];
    let chunks = stream(&daemon, &history).await.all().await;
    assert_eq!(text_of(&chunks), "(1) (2) (3) and again");
    assert_eq!(chunks.last().unwrap(), "[DONE]");
    let parsed: Vec<Value> = chunks[..chunks.len() - 1]
        .iter()
        .map(|chunk| serde_json::from_str(chunk).unwrap())
        .collect();
    assert!(parsed.len() >= 6, "{chunks:?}");
    assert_eq!(parsed[0]["choices"][0]["delta"]["role"], "assistant");
    for chunk in &parsed {
        assert_eq!(chunk["object"], "chat.completion.chunk");
        assert_eq!(chunk["id"], parsed[0]["id"]);
        assert_eq!(chunk["created"], parsed[0]["created"]);
    }
    let (usage, before) = parsed.split_last().unwrap();
    assert_eq!(usage["choices"], json!([]));
    assert!(usage["usage"]["total_tokens"].as_u64().unwrap() > 0);
    for chunk in before {
        assert!(chunk["usage"].is_null());
        assert_eq!(chunk["choices"][0]["index"], 0);
    }
    assert_eq!(
        before.last().unwrap()["choices"][0]["finish_reason"],
        "stop"
    );
    // Both are turns of one session.
    let all = sessions(&daemon).await;
    assert_eq!(all.len(), 1);
    assert_eq!(
        requests(&daemon, &all[0]).await,
        ["SAY:hello", "SLOW:3\nSAY:and again"]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_at_the_output_limit_says_so() {
    let home = home();
    let daemon = home.daemon();
    let reply = chat(&daemon, &[user("cut short")]).await;
    assert_eq!(reply.body["choices"][0]["finish_reason"], "length");
    let chunks = stream(&daemon, &[user("cut short")]).await.all().await;
    assert!(
        chunks
            .iter()
            .any(|chunk| chunk.contains("\"finish_reason\":\"length\"")),
        "{chunks:?}"
    );
    assert!(text_of(&chunks).ends_with("[the answer was cut at the output limit]"));
    let reply = post(
        &daemon,
        "/v1/responses",
        &[],
        json!({ "input": "cut short" }),
    )
    .await;
    assert_eq!(reply.body["status"], "incomplete");
    assert_eq!(
        reply.body["incomplete_details"]["reason"],
        "max_output_tokens"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn words_beside_calls_stream_and_an_answer_alone_is_whole() {
    let home = home();
    let daemon = home.daemon();
    let chunks = stream(&daemon, &[user("safe tool")]).await.all().await;
    let text = text_of(&chunks);
    assert!(
        text.starts_with("I list the files; that changes nothing.\n\n"),
        "{text}"
    );
    let alone = chat(&daemon, &[user("safe tool")]).await;
    assert!(!alone.text().contains("that changes nothing"), "{alone:?}");
    assert!(text.ends_with(alone.text()), "{text}");
    // The next request has either, and it is the same conversation.
    let count = sessions(&daemon).await.len();
    chat(
        &daemon,
        &[user("safe tool"), assistant(&text), user("SAY:more")],
    )
    .await;
    chat(
        &daemon,
        &[user("safe tool"), assistant(alone.text()), user("SAY:more")],
    )
    .await;
    assert_eq!(sessions(&daemon).await.len(), count);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_begins_again_is_whole_and_is_known_again() {
    let home = home();
    let daemon = home.daemon();
    let asked = "FAIL:cut*1\nSAY:the whole answer";
    let mut events = stream(&daemon, &[user(asked)]).await;
    let turn = events.headers["leverframe-continuation"]
        .to_str()
        .unwrap()
        .to_owned();
    let mut text = events.until("> Leverframe: the turn was interrupted").await;
    assert!(text.starts_with("I was about to\n\n>"), "{text}");
    daemon
        .post(&format!("/v1/continuations/{turn}/resume"), json!({}))
        .await;
    text.push_str(&text_of(&events.all().await));
    assert!(
        text.ends_with("> Leverframe: the answer broke off and begins again.\n\nthe whole answer"),
        "{text}"
    );
    chat(&daemon, &[user(asked), assistant(&text), user("SAY:more")]).await;
    assert_eq!(sessions(&daemon).await.len(), 1, "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_of_the_system_are_advice_for_one_turn() {
    let home = home();
    let daemon = home.daemon();
    let long = "word ".repeat(300);
    let messages = [
        json!({ "role": "system", "content": "Answer in Welsh." }),
        json!({ "role": "developer", "content": [{ "type": "text", "text": long }] }),
        user("SAY:hello"),
    ];
    let reply = chat(&daemon, &messages).await;
    let id = reply.header("leverframe-continuation");
    let turn = daemon.get(&format!("/v1/continuations/{id}")).await;
    let hints = turn["options"]["hints"].as_array().unwrap();
    assert_eq!(hints[0], "Answer in Welsh.");
    assert_eq!(hints.len(), 3, "{hints:?}");
    assert_eq!(turn["request"]["text"], "SAY:hello");
    let far_too_long = "word ".repeat(5_000);
    let messages = [
        json!({ "role": "system", "content": far_too_long }),
        user("SAY:hello"),
    ];
    let body = json!({ "messages": messages });
    let reply = post(&daemon, CHAT, &[], body).await;
    assert_eq!(reply.status, 400, "{reply:?}");
    assert_eq!(reply.body["error"]["param"], "messages");
}

#[tokio::test(flavor = "multi_thread")]
async fn files_within_a_message_are_attached_and_others_are_refused() {
    let home = home();
    let daemon = home.daemon();
    let picture = "data:image/png;base64,iVBORw0KGgo=";
    let content = json!([
        { "type": "text", "text": "SAY:seen" },
        { "type": "image_url", "image_url": { "url": picture } },
        { "type": "file", "file": { "filename": "notes.txt", "file_data": "data:text/plain;base64,aGVsbG8=" } },
    ]);
    let reply = chat(&daemon, &[json!({ "role": "user", "content": content })]).await;
    let id = reply.header("leverframe-continuation");
    let turn = daemon.get(&format!("/v1/continuations/{id}")).await;
    let paths: Vec<&str> = turn["attachments"]
        .as_array()
        .unwrap()
        .iter()
        .map(|file| file["path"].as_str().unwrap())
        .collect();
    assert!(paths[0].ends_with("/picture-1.png"), "{paths:?}");
    assert!(paths[1].ends_with("/notes.txt"), "{paths:?}");
    // It goes on though the stored message names files.
    let messages = [
        json!({ "role": "user", "content": content }),
        assistant("seen"),
        user("SAY:more"),
    ];
    // The client sends the files again, and they are known by the text.
    chat(&daemon, &messages).await;
    let input = json!([{ "role": "user", "content": [
        { "type": "input_text", "text": "SAY:seen" },
        { "type": "input_image", "image_url": picture },
    ]}]);
    let reply = post(&daemon, "/v1/responses", &[], json!({ "input": input })).await;
    assert_eq!(reply.status, 200, "{reply:?}");
    for (part, param) in [
        (
            json!({ "type": "image_url", "image_url": { "url": "https://example.com/a.png" } }),
            "image_url",
        ),
        (
            json!({ "type": "input_image", "image_url": "http://127.0.0.1/a.png" }),
            "image_url",
        ),
        (
            json!({ "type": "file", "file": { "file_id": "file-1" } }),
            "file_id",
        ),
        (
            json!({ "type": "input_file", "file_url": "https://example.com/a.pdf" }),
            "file_url",
        ),
        (
            json!({ "type": "image_url", "image_url": { "url": "data:image/png,raw" } }),
            "image_url",
        ),
        (json!({ "type": "video" }), "type"),
    ] {
        let body = json!({ "messages": [{ "role": "user", "content": [part] }] });
        let reply = post(&daemon, CHAT, &[], body).await;
        assert_eq!(reply.status, 400, "{reply:?}");
        let place = reply.body["error"]["param"].as_str().unwrap();
        assert_eq!(place, format!("messages[0].content[0].{param}"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn parameters_are_honoured_refused_or_named_as_without_effect() {
    let home = home();
    let daemon = home.daemon();
    let with = |fields: Value| {
        let mut body = json!({ "model": "api", "messages": [user("SAY:hello")] });
        for (name, value) in fields.as_object().unwrap() {
            body[name] = value.clone();
        }
        body
    };
    let tool = json!([{ "type": "function", "function": { "name": "f" } }]);
    for (fields, param) in [
        (json!({ "tools": tool }), "tools"),
        (json!({ "tools": tool, "tool_choice": "auto" }), "tools"),
        (json!({ "tool_choice": "required" }), "tool_choice"),
        (json!({ "functions": [{ "name": "f" }] }), "functions"),
        (json!({ "n": 2 }), "n"),
        (json!({ "logprobs": true }), "logprobs"),
        (
            json!({ "response_format": { "type": "json_object" } }),
            "response_format",
        ),
        (json!({ "stop": ["\n"] }), "stop"),
        (json!({ "modalities": ["text", "audio"] }), "modalities"),
        (json!({ "messages": [] }), "messages"),
        (json!({ "messages": [assistant("hi")] }), "messages"),
        (
            json!({ "messages": [{ "role": "king", "content": "hi" }] }),
            "messages[0].role",
        ),
        (json!({ "messages": "hi" }), "messages"),
        (json!({ "temperature": "warm" }), "temperature"),
    ] {
        let reply = post(&daemon, CHAT, &[], with(fields.clone())).await;
        assert_eq!(reply.status, 400, "{fields}: {reply:?}");
        assert_eq!(reply.body["error"]["param"], param, "{fields}: {reply:?}");
        assert_eq!(reply.body["error"]["type"], "invalid_request_error");
        assert_eq!(reply.header("content-type"), "application/json");
    }
    assert!(sessions(&daemon).await.is_empty(), "nothing began");
    let fields = json!({
        "tools": tool, "tool_choice": "none", "n": 1, "logprobs": false, "stop": null,
        "response_format": { "type": "text" }, "temperature": 0.5, "top_p": 0.9,
        "max_tokens": 5, "seed": 7, "top_k": 40, "odd name": 1,
    });
    let reply = post(&daemon, CHAT, &[], with(fields)).await;
    assert_eq!(reply.status, 200, "{reply:?}");
    assert_eq!(
        reply.header("leverframe-ignored"),
        "max_tokens, seed, top_k, ?"
    );
    let id = reply.header("leverframe-continuation");
    let turn = daemon.get(&format!("/v1/continuations/{id}")).await;
    assert_eq!(
        turn["options"]["parameters"],
        json!({ "temperature": 0.5, "top_p": 0.9 })
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_that_fails_is_an_error_and_not_tried_again_by_itself() {
    let home = home();
    let daemon = home.daemon();
    let body = json!({ "messages": [user("FAIL:auth")] });
    let reply = post(&daemon, CHAT, &[], body.clone()).await;
    assert!(reply.status >= 500, "{reply:?}");
    assert_eq!(reply.body["error"]["code"], "turn_failed");
    assert_eq!(reply.header("x-should-retry"), "false");
    let mut body = body;
    body["stream"] = json!(true);
    let chunks = Events::open(&daemon, CHAT, &[], &body).await.all().await;
    let last: Value = serde_json::from_str(chunks.last().unwrap()).unwrap();
    assert_eq!(last["error"]["code"], "turn_failed", "{chunks:?}");
    // A conversation goes on behind a turn that failed.
    let known = [user("SAY:a"), assistant("a")];
    chat(&daemon, &known[..1]).await;
    let count = sessions(&daemon).await.len();
    let failing = [&known[..], &[user("FAIL:auth")]].concat();
    let body = json!({ "messages": failing });
    assert!(post(&daemon, CHAT, &[], body).await.status >= 500);
    let reply = chat(&daemon, &[&known[..], &[user("SAY:better")]].concat()).await;
    assert_eq!(reply.text(), "better");
    let all = sessions(&daemon).await;
    assert_eq!(all.len(), count);
    assert_eq!(
        requests(&daemon, &all[0]).await,
        ["SAY:a", "FAIL:auth", "SAY:better"]
    );
}
