//! A bot in Matrix, with the whole program: messages, cards, files, and a kill -9 in between.

use leverframe::engine::turn::finish::SCRIPTED_LABEL;
use reqwest::Method;
use serde_json::{Value, json};

use crate::matrix::synapse::{Account, Synapse, synapse};
use crate::support::daemon::{Daemon, Home};
use crate::support::record::fault;

const UNCHECKED: &str = "a bot in Matrix";
/// A message whose write must be approved.
const WRITE: &str = "TOOL:write_file{\"path\":\"note.txt\",\"content\":\"hi\\n\"}\nSAY:all done";

/// A bot, somebody who may ask, and somebody who decides.
struct Cast {
    home: Home,
    bot: Account,
    ben: Account,
    anna: Account,
}

impl Cast {
    async fn new(server: &Synapse, channel: &str) -> Self {
        let (bot, ben) = (server.user("bot").await, server.user("ben").await);
        let anna = server.user("anna").await;
        let home = Home::new(&format!(
            "[model]\ndefault = \"scripted/demo\"\nallow_scripted_on_channels = true\n\n\
             [channels.team]\nkind = \"matrix\"\ntoken_env = \"TEAM_TOKEN\"\napi_base = \"{}\"\n\
             allowed_users = [\"{}\"]\n{channel}\n\n\
             [people.anna]\nids = [\"matrix:{}\"]\nrole = \"owner\"\n",
            server.url(),
            ben.user,
            anna.user,
        ));
        Self {
            home,
            bot,
            ben,
            anna,
        }
    }

    async fn start(&self) -> Daemon {
        self.start_with(&[]).await
    }

    async fn start_with(&self, environment: &[(&str, &str)]) -> Daemon {
        let mut all = vec![("TEAM_TOKEN", self.bot.token.as_str())];
        all.extend(environment);
        let daemon = self.home.daemon_with(&all);
        daemon
            .wait("/v1/channels/team", "the channel is connected", |channel| {
                channel["health"]["state"] == "connected"
            })
            .await;
        daemon
    }

    /// The room in which somebody and the bot are alone.
    async fn room_with(&self, who: &Account) -> String {
        let room = who.direct_room(&self.bot).await;
        who.sees_come(&room, &self.bot).await;
        room
    }

    /// How often the bot said this.
    async fn count(&self, who: &Account, room: &str, text: &str) -> usize {
        let said = who.said_by(room, &self.bot).await;
        let has = |event: &&Value| {
            let body = event["content"]["body"].as_str();
            body.is_some_and(|body| body.contains(text))
        };
        said.iter().filter(has).count()
    }
}

#[tokio::test]
async fn a_message_is_answered_and_a_write_is_approved_by_a_reaction() {
    let Some(server) = synapse(UNCHECKED) else {
        return;
    };
    let cast = Cast::new(server, "").await;
    let _daemon = cast.start().await;
    let (ben, anna) = (&cast.ben, &cast.anna);
    let room = cast.room_with(ben).await;
    let hers = cast.room_with(anna).await;
    let question = ben.say(&room, "SAY:good morning").await;
    let answer = ben.hears(&room, "good morning").await;
    assert_eq!(
        answer["content"]["m.relates_to"]["m.in_reply_to"]["event_id"],
        question.as_str()
    );
    // What the bot says is no question to it.
    ben.say(&room, WRITE).await;
    let card = anna.hears(&hers, "May `write_file` run?").await;
    ben.hears(&room, "Waiting for a decision").await;
    let file = cast.home.workspace("team").join("note.txt");
    assert!(!file.exists());
    // Whoever asked decides nothing by a reaction to what they see.
    let notice = ben.hears(&room, "Waiting for a decision").await;
    ben.react(&room, notice["event_id"].as_str().unwrap(), "✅")
        .await;
    anna.react(&hers, card["event_id"].as_str().unwrap(), "👍")
        .await;
    ben.hears(&room, "all done").await;
    assert_eq!(std::fs::read_to_string(file).unwrap(), "hi\n");
    let edit = anna
        .wait(&hers, "the outcome on the card", |event| {
            event["content"]["m.relates_to"]["rel_type"] == "m.replace"
                && event["content"]["m.relates_to"]["event_id"] == card["event_id"]
        })
        .await;
    let now = edit["content"]["m.new_content"]["body"].as_str().unwrap();
    assert!(now.starts_with('✅'), "{now}");
    assert_eq!(cast.count(ben, &room, "good morning").await, 1);
    assert_eq!(cast.count(ben, &room, "all done").await, 1);
}

#[tokio::test]
async fn a_command_decides_for_whoever_may_and_for_nobody_else() {
    let Some(server) = synapse(UNCHECKED) else {
        return;
    };
    let cast = Cast::new(server, "").await;
    let daemon = cast.start().await;
    let (ben, anna) = (&cast.ben, &cast.anna);
    let room = cast.room_with(ben).await;
    let hers = cast.room_with(anna).await;
    ben.say(&room, WRITE).await;
    let approval = daemon.wait_approval().await;
    let code = approval["short_code"].as_str().unwrap();
    anna.hears(&hers, code).await;
    ben.say(&room, &format!("!approve {code}")).await;
    ben.hears(&room, "Not decided").await;
    assert_eq!(daemon.wait_approval().await["id"], approval["id"]);
    anna.say(&hers, &format!("!deny {code} not today")).await;
    let continuation = approval["continuation_id"].as_str().unwrap();
    let done = daemon.wait_state(continuation, "completed").await;
    assert_eq!(done["tool_calls"][0]["state"], "denied");
    let result = done["tool_calls"][0]["result"].as_str().unwrap();
    assert!(result.contains("not today"), "{result}");
}

/// Whose message a console shows as the last one of a conversation.
async fn last_sender(daemon: &Daemon, is_it: impl Fn(&str) -> bool) -> String {
    let sender = |page: &Value| {
        let items = page["items"].as_array().into_iter().flatten();
        let senders = items.filter_map(|item| item["last_sender"].as_str());
        senders.map(str::to_owned).find(|sender| is_it(sender))
    };
    let page = daemon
        .wait("/v1/sessions", "the sender", |page| sender(page).is_some())
        .await;
    sender(&page).unwrap()
}

#[tokio::test]
async fn whoever_takes_another_name_is_shown_by_it_and_has_the_rights_of_their_id() {
    let Some(server) = synapse(UNCHECKED) else {
        return;
    };
    let cast = Cast::new(server, "").await;
    let daemon = cast.start().await;
    let (ben, anna, mallory) = (&cast.ben, &cast.anna, server.user("mallory").await);
    // The homeserver tells the rooms some time later.
    let called = async |who: &Account, name: &str, room: &str| {
        let path = format!("profile/{}/displayname", who.user);
        let body = json!({ "displayname": name });
        who.call(Method::PUT, &path, &body).await;
        who.wait(room, name, |event| {
            event["state_key"] == who.user.as_str() && event["content"]["displayname"] == name
        })
        .await;
    };
    let room = cast.room_with(ben).await;
    let hers = cast.room_with(anna).await;
    called(anna, "Anna", &hers).await;
    ben.invite(&room, &mallory).await;
    mallory.join(&room).await;
    let mention = json!({ "m.mentions": { "user_ids": [cast.bot.user] } });
    ben.say_with(&room, "SAY:before", mention.clone()).await;
    ben.hears(&room, "before").await;
    last_sender(&daemon, |sender| sender.starts_with("ben")).await;
    called(ben, "Countess", &room).await;
    ben.say_with(&room, "SAY:after", mention.clone()).await;
    ben.hears(&room, "after").await;
    let shown = format!("Countess ({})", ben.user);
    last_sender(&daemon, |sender| sender == shown).await;
    let turns = daemon.get("/v1/continuations").await;
    let asked: Vec<&Value> = turns["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|turn| &turn["requester"]["id"])
        .collect();
    let id = json!(format!("matrix:{}", ben.user));
    assert_eq!(asked, [&id, &id], "{turns:#}");

    // A name gives no rights, and another name takes none.
    called(anna, "Somebody", &hers).await;
    called(&mallory, "Anna", &room).await;
    ben.say_with(&room, WRITE, mention.clone()).await;
    let approval = daemon.wait_approval().await;
    let code = approval["short_code"].as_str().unwrap();
    anna.hears(&hers, code).await;
    mallory
        .say_with(&room, &format!("!approve {code}"), mention.clone())
        .await;
    // What comes behind it was taken in, and the decision is still open.
    let handled = "SAY:behind it";
    ben.say_with(&room, handled, mention).await;
    daemon
        .wait("/v1/continuations", "the question behind it", |page| {
            page["items"]
                .as_array()
                .is_some_and(|items| items.len() == 4)
        })
        .await;
    assert_eq!(daemon.wait_approval().await["id"], approval["id"]);
    anna.say(&hers, &format!("!approve {code}")).await;
    ben.hears(&room, "all done").await;
}

#[tokio::test]
async fn in_a_room_of_many_the_bot_answers_whom_it_is_addressed_by() {
    let Some(server) = synapse(UNCHECKED) else {
        return;
    };
    let cast = Cast::new(server, "").await;
    let _daemon = cast.start().await;
    let (ben, anna) = (&cast.ben, &cast.anna);
    let settings = json!({ "preset": "private_chat", "name": "Ops",
                           "invite": [cast.bot.user, anna.user] });
    let room = ben.room(settings).await;
    anna.join(&room).await;
    ben.sees_come(&room, &cast.bot).await;
    ben.say(&room, "SAY:nobody asked").await;
    let mention = json!({ "m.mentions": { "user_ids": [cast.bot.user] } });
    ben.say_with(&room, "SAY:you asked me", mention.clone())
        .await;
    let answer = ben.hears(&room, "you asked me").await;
    let answered =
        json!({ "m.relates_to": { "m.in_reply_to": { "event_id": answer["event_id"] } } });
    ben.say_with(&room, "SAY:you answered me", answered).await;
    ben.hears(&room, "you answered me").await;
    let root = ben.say(&room, "a topic").await;
    let mut in_thread = mention;
    in_thread["m.relates_to"] = json!({ "rel_type": "m.thread", "event_id": root,
        "is_falling_back": true, "m.in_reply_to": { "event_id": root } });
    ben.say_with(&room, "SAY:in the thread", in_thread).await;
    let answer = ben.hears(&room, "in the thread").await;
    assert_eq!(answer["content"]["m.relates_to"]["event_id"], root.as_str());
    assert_eq!(answer["content"]["m.relates_to"]["rel_type"], "m.thread");
    assert_eq!(cast.count(ben, &room, "nobody asked").await, 0);
}

#[tokio::test]
async fn files_go_both_ways() {
    let Some(server) = synapse(UNCHECKED) else {
        return;
    };
    let cast = Cast::new(server, "autonomy = \"full\"\npermanent_full = true").await;
    let daemon = cast.start().await;
    let ben = &cast.ben;
    let room = cast.room_with(ben).await;
    let send = "TOOL:write_file{\"path\":\"table.txt\",\"content\":\"a,b\"}\n\
                THEN TOOL:send_file{\"path\":\"table.txt\"}\nSAY:there it is";
    ben.say(&room, send).await;
    let sent = ben
        .wait(&room, "the file", |event| {
            event["content"]["msgtype"] == "m.file"
        })
        .await;
    assert_eq!(sent["content"]["filename"], "table.txt");
    let mxc = sent["content"]["url"].as_str().unwrap();
    assert_eq!(ben.download(mxc).await, b"a,b");

    let picture = b"\xff\xd8\xff\xe0 a picture";
    let mxc = ben.upload("cat.jpg", "image/jpeg", picture).await;
    let image = json!({ "msgtype": "m.image", "body": "SAY:what a cat", "filename": "cat.jpg",
        "url": mxc, "info": { "mimetype": "image/jpeg", "size": picture.len() } });
    ben.send(&room, "m.room.message", &image).await;
    ben.hears(&room, "what a cat").await;
    let turns = daemon.get("/v1/continuations").await;
    let turns = turns["items"].as_array().unwrap();
    let paths = turns
        .iter()
        .find_map(|turn| turn["attachments"][0]["path"].as_str());
    let path = paths.expect("the picture");
    assert!(path.ends_with("/cat.jpg"), "{path}");
    let kept = std::fs::read(cast.home.workspace("team").join(path)).unwrap();
    assert_eq!(kept, picture);
}

#[tokio::test]
async fn the_longest_message_of_a_room_goes_both_ways() {
    let Some(server) = synapse(UNCHECKED) else {
        return;
    };
    let cast = Cast::new(server, "").await;
    let _daemon = cast.start().await;
    let ben = &cast.ben;
    let room = cast.room_with(ben).await;
    // An event holds 64 KiB, so nobody can say much more at once.
    let words: Vec<String> = (0..5_500).map(|n| format!("word{n:05}")).collect();
    ben.say(&room, &format!("SAY:{}", words.join(" "))).await;
    ben.hears(&room, "word05499").await;
    let heard = ben.said_by(&room, &cast.bot).await;
    assert!(heard.len() > 1);
    let all: Vec<String> = heard
        .iter()
        .filter_map(|event| event["content"]["body"].as_str())
        .flat_map(str::split_whitespace)
        .map(str::to_owned)
        .collect();
    let label = SCRIPTED_LABEL.split_whitespace().count();
    assert_eq!(all[label..], words);
}

#[tokio::test]
async fn a_stranger_gets_a_code_alone_and_no_answer_in_a_room() {
    let Some(server) = synapse(UNCHECKED) else {
        return;
    };
    let cast = Cast::new(server, "").await;
    let daemon = cast.start().await;
    let mallory = server.user("mallory").await;
    let room = cast.room_with(&mallory).await;
    mallory.say(&room, "let me in").await;
    let told = mallory.hears(&room, "You are not on this bot's list").await;
    let id = format!("matrix:{}", mallory.user);
    assert!(told["content"]["body"].as_str().unwrap().contains(&id));
    let asked = daemon.wait_approval().await;
    assert_eq!(asked["kind"], "pairing");
    assert_eq!(daemon.decide(&asked, "approve").await.0, 200);
    mallory.say(&room, "SAY:you are in").await;
    mallory.hears(&room, "you are in").await;
}

#[tokio::test]
async fn an_answer_goes_on_though_its_question_was_edited_or_taken_back() {
    let Some(server) = synapse(UNCHECKED) else {
        return;
    };
    let cast = Cast::new(server, "").await;
    let _daemon = cast.start().await;
    let ben = &cast.ben;
    let room = cast.room_with(ben).await;
    let slow = ben.say(&room, "SLOW:30\nSAY:the first answer").await;
    let edit = json!({
        "m.new_content": { "msgtype": "m.text", "body": "SAY:another" },
        "m.relates_to": { "rel_type": "m.replace", "event_id": slow },
    });
    ben.say_with(&room, "* SAY:another", edit).await;
    ben.hears(&room, "the first answer").await;
    let gone = ben.say(&room, "SLOW:30\nSAY:the second answer").await;
    let redact = format!("rooms/{room}/redact/{gone}/gone");
    ben.call(reqwest::Method::PUT, &redact, &json!({})).await;
    ben.hears(&room, "the second answer").await;
    assert_eq!(cast.count(ben, &room, "another").await, 0);
}

#[tokio::test]
async fn a_kill_at_any_point_of_the_way_loses_and_doubles_nothing() {
    let Some(server) = synapse(UNCHECKED) else {
        return;
    };
    let cast = Cast::new(server, "").await;
    let ben = &cast.ben;
    let mut daemon = cast.start().await;
    let room = cast.room_with(ben).await;
    ben.say(&room, "SAY:hello").await;
    ben.hears(&room, "hello").await;
    assert!(daemon.terminate().success());
    for point in [
        "ack.post",
        "ingest.pre_commit",
        "ingest.post_commit",
        "send.started",
        "send.effect_done",
        "send.post",
    ] {
        let answer = format!("answer after {point}");
        ben.say(&room, &format!("SAY:{answer}")).await;
        // It may die before the channel is connected.
        let crash = format!("{point}:1");
        let environment = [
            ("TEAM_TOKEN", cast.bot.token.as_str()),
            ("LEVERFRAME_CRASH", crash.as_str()),
        ];
        let killed = cast.home.try_daemon_with(&environment);
        if let Some(mut killed) = killed {
            assert!(killed.wait_exit().is_some(), "{point} was not reached");
        }
        let mut daemon = cast.start().await;
        ben.hears(&room, &answer).await;
        // What comes behind it shows that nothing more is on its way.
        let behind = format!("behind {point}");
        ben.say(&room, &format!("SAY:{behind}")).await;
        ben.hears(&room, &behind).await;
        assert_eq!(cast.count(ben, &room, &answer).await, 1, "{point}");
        assert_eq!(daemon.approvals_of("resend").await, Vec::<Value>::new());
        assert!(daemon.terminate().success());
    }
    fault(
        "matrix-killed",
        "the process is killed between receipt and commit, commit and next sync, send and record",
        "Synapse shows every answer once, and nobody is asked whether it arrived",
    );
}

#[tokio::test]
async fn what_a_program_says_is_not_answered_though_its_account_may_talk() {
    let Some(server) = synapse(UNCHECKED) else {
        return;
    };
    let cast = Cast::new(server, "").await;
    let _daemon = cast.start().await;
    let ben = &cast.ben;
    let room = cast.room_with(ben).await;
    let notice = json!({ "msgtype": "m.notice", "body": "SAY:what a program said" });
    ben.send(&room, "m.room.message", &notice).await;
    ben.say(&room, "SAY:what Ben said").await;
    ben.hears(&room, "what Ben said").await;
    assert_eq!(cast.count(ben, &room, "what a program said").await, 0);
}

#[tokio::test]
async fn a_room_sees_how_far_a_turn_is_and_the_message_goes_with_the_answer() {
    let Some(server) = synapse(UNCHECKED) else {
        return;
    };
    let cast = Cast::new(server, "max_wait_seconds = 600").await;
    let daemon = cast.start().await;
    let ben = &cast.ben;
    let room = cast.room_with(ben).await;
    let wait = |file: &str| {
        let script = format!("while [ ! -e {file} ]; do sleep 0.05; done");
        format!("TOOL:execute_command{}\n", json!({ "script": script }))
    };
    ben.say(&room, &format!("{}{}SAY:it is done", wait("a"), wait("b")))
        .await;
    let workspace = cast.home.workspace("team");
    for _ in 0..2 {
        let approval = daemon.wait_approval().await;
        assert_eq!(daemon.decide(&approval, "approve").await.0, 200);
    }
    let shown = ben.hears(&room, "Working: execute_command …").await;
    std::fs::write(workspace.join("a"), "").unwrap();
    ben.wait(&room, "the message changes", |event| {
        event["content"]["m.relates_to"]["event_id"] == shown["event_id"]
            && event["content"]["m.new_content"]["body"]
                .as_str()
                .is_some_and(|body| body.contains("execute_command ✓, execute_command …"))
    })
    .await;
    std::fs::write(workspace.join("b"), "").unwrap();
    ben.hears(&room, "it is done").await;
    ben.wait(&room, "the message goes", |event| {
        event["event_id"] == shown["event_id"] && event["content"] == json!({})
    })
    .await;
}

#[tokio::test]
async fn direct_messages_are_answered_beside_the_rooms_of_a_list() {
    let Some(server) = synapse(UNCHECKED) else {
        return;
    };
    let cast = Cast::new(server, "allowed_chats = [\"!some-other-room\"]").await;
    let _daemon = cast.start().await;
    let ben = &cast.ben;
    let direct = cast.room_with(ben).await;
    ben.say(&direct, "SAY:between us").await;
    ben.hears(&direct, "between us").await;
    let settings = json!({ "preset": "private_chat", "invite": [cast.bot.user, cast.anna.user] });
    let room = ben.room(settings).await;
    cast.anna.join(&room).await;
    ben.sees_come(&room, &cast.bot).await;
    let mention = json!({ "m.mentions": { "user_ids": [cast.bot.user] } });
    ben.say_with(&room, "SAY:for all", mention).await;
    ben.say(&direct, "SAY:and again between us").await;
    ben.hears(&direct, "and again between us").await;
    assert_eq!(cast.count(ben, &room, "for all").await, 0);
}
