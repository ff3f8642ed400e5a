//! An engine side for bridges, in memory, with its own ledger; and a bridge running against it.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::Duration;

use async_trait::async_trait;
use leverframe::channels::channel::{Bridge, ChannelError};
use leverframe::channels::http::HttpTimes;
use leverframe::channels::pacing::PacingLimits;
use leverframe::channels::telegram::bridge::{TelegramBridge, TelegramOptions};
use leverframe::channels::telegram::deliver::Intervals;
use leverframe::client::bridge_health::BridgeHealth;
use leverframe::client::channel_port::{ChannelPort, Lease};
use leverframe::clock::{Clock, Timestamp};
use leverframe::config::settings::Secret;
use leverframe::protocol::approval::{Approval, PlanFacts, Preview, Requester};
use leverframe::protocol::artifact::ArtifactHash;
use leverframe::protocol::bridge::{
    AccountState, CardButton, Delivery, FetchedFile, FileRequest, Inbound, InboundBody, Ingestion,
    Invitation, Outbound, OutboundBody, ProgressMessage, SendOutcome, ShownProgress,
};
use leverframe::protocol::channel::{ChannelCapabilities, ChannelHealth};
use leverframe::protocol::enums::{
    Access, ApprovalKind, ApprovalState, DecisionKind, Disposition, Effect, OutboxClass, Risk,
    VerdictKind,
};
use leverframe::protocol::hex::hex;
use leverframe::protocol::ids::{ApprovalId, ContinuationId, InboxId, OutboxId};
use leverframe::protocol::policy::Verdict;
use leverframe::protocol::problem::{Problem, ProblemKind};
use serde_json::json;
use sha2::{Digest as _, Sha256};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::support::fake_telegram::{DEADLINE, FakeTelegram, TOKEN, User};

/// What the engine side knows.
pub struct Ledger {
    /// Every item once, in order of arrival.
    pub inbox: Vec<Inbound>,
    /// Items that came again.
    pub repeated: u32,
    pub cursor: Option<String>,
    /// What the next calls of `ingest` do, one word each: `ok`, `fail`, `invalid`, `store-and-hang`;
    /// those after them are ok.
    pub ingest_script: String,
    /// The next so many calls of `begin_send` fail.
    pub begin_fails: u32,
    pub begun: Vec<OutboxId>,
    pub ended: Vec<(OutboxId, SendOutcome)>,
    /// Parts that were handed out and not begun.
    pub given_back: Vec<OutboxId>,
    pub health: Vec<(ChannelHealth, Option<String>)>,
    pub capabilities: Option<ChannelCapabilities>,
    pub paused: bool,
    /// What becomes of what comes in.
    pub disposition: Disposition,
    /// Who alone may invite; none = anybody.
    pub welcome: Option<String>,
    /// What clicks are answered with.
    pub feedback: Option<String>,
    outbox: Vec<(Timestamp, Outbound)>,
    handed_out: HashMap<OutboxId, Outbound>,
    /// Parts whose send is over.
    over: Vec<Outbound>,
    pub keys: HashSet<String>,
    typing: VecDeque<String>,
    pause_changes: VecDeque<bool>,
}

pub struct TestPort {
    ledger: Mutex<Ledger>,
    version: watch::Sender<u64>,
    health: BridgeHealth,
    this: Weak<Self>,
    /// Whether parts that are to be tried again are handed out again.
    pub clock: Clock,
}

impl TestPort {
    pub fn new() -> Arc<Self> {
        Arc::new_cyclic(|port: &Weak<Self>| Self {
            this: Weak::clone(port),
            health: BridgeHealth::new({
                let port = Weak::clone(port);
                move |health, account| {
                    if let Some(port) = port.upgrade() {
                        port.change(|ledger| ledger.health.push((health, account)));
                    }
                }
            }),
            ledger: Mutex::new(Ledger {
                inbox: Vec::new(),
                repeated: 0,
                cursor: None,
                ingest_script: String::new(),
                begin_fails: 0,
                begun: Vec::new(),
                ended: Vec::new(),
                given_back: Vec::new(),
                health: Vec::new(),
                capabilities: None,
                paused: false,
                disposition: Disposition::Turn,
                welcome: None,
                feedback: None,
                outbox: Vec::new(),
                handed_out: HashMap::new(),
                over: Vec::new(),
                keys: HashSet::new(),
                typing: VecDeque::new(),
                pause_changes: VecDeque::new(),
            }),
            version: watch::Sender::new(0),
            clock: Clock::System,
        })
    }

    pub fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap()
    }

    pub fn change<T>(&self, act: impl FnOnce(&mut Ledger) -> T) -> T {
        let result = act(&mut self.ledger.lock().unwrap());
        self.version.send_modify(|version| *version += 1);
        result
    }

    /// Queues a part.
    pub fn send(&self, conversation: &str, class: OutboxClass, body: OutboundBody) -> OutboxId {
        self.send_reply(conversation, class, body, None)
    }

    pub fn send_reply(
        &self,
        conversation: &str,
        class: OutboxClass,
        body: OutboundBody,
        reply_to: Option<&str>,
    ) -> OutboxId {
        let id = OutboxId::generate();
        let part = Outbound {
            id,
            conversation: conversation.to_owned(),
            class,
            body,
            reply_to: reply_to.map(str::to_owned),
            idempotency_key: key_of(id),
            attempts: 0,
        };
        self.change(|ledger| ledger.outbox.push((Timestamp(0), part)));
        id
    }

    pub fn say(&self, conversation: &str, text: &str) -> OutboxId {
        self.send(
            conversation,
            OutboxClass::Final,
            OutboundBody::Markdown {
                text: text.to_owned(),
            },
        )
    }

    /// Hands a part out once more, as after a send whose end nobody knows at a platform that keeps keys.
    pub fn again(&self, id: OutboxId) {
        self.change(|ledger| {
            let at = ledger.over.iter().position(|part| part.id == id).unwrap();
            let part = ledger.over.remove(at);
            ledger.outbox.push((Timestamp(0), part));
        });
    }

    pub fn show_typing(&self, conversation: &str) {
        self.change(|ledger| ledger.typing.push_back(conversation.to_owned()));
    }

    pub fn pause(&self, paused: bool) {
        self.change(|ledger| {
            ledger.paused = paused;
            ledger.pause_changes.push_back(paused);
        });
    }

    pub async fn wait_until(&self, what: &str, predicate: impl Fn(&Ledger) -> bool) {
        let mut version = self.version.subscribe();
        let wanted = async {
            while !predicate(&self.ledger()) {
                version.changed().await.unwrap();
            }
        };
        let in_time = tokio::time::timeout(DEADLINE, wanted).await.is_ok();
        let ledger = self.ledger();
        assert!(
            in_time,
            "never happened: {what}\ninbox {:#?}\nended {:?}\nhealth {:?}",
            ledger.inbox,
            ledger.ended,
            ledger.health.last()
        );
    }

    /// Waits for the end of a part and returns it.
    pub async fn outcome(&self, id: OutboxId) -> SendOutcome {
        self.wait_until("the end of a send", |ledger| ledger.outcome(id).is_some())
            .await;
        self.ledger().outcome(id).unwrap()
    }
}

impl Ledger {
    /// The last recorded end of a part.
    pub fn outcome(&self, id: OutboxId) -> Option<SendOutcome> {
        self.ended
            .iter()
            .rev()
            .find(|(ended, _)| *ended == id)
            .map(|(_, outcome)| outcome.clone())
    }

    pub fn last_health(&self) -> Option<&ChannelHealth> {
        self.health.last().map(|(health, _)| health)
    }

    /// Texts that came in.
    pub fn texts(&self) -> Vec<String> {
        self.inbox
            .iter()
            .filter_map(|inbound| match &inbound.body {
                InboundBody::Text { text, .. } => Some(text.clone()),
                InboundBody::Click { .. }
                | InboundBody::Media { .. }
                | InboundBody::Other { .. } => None,
            })
            .collect()
    }

    /// Whether a bridge holds this part.
    pub fn is_handed_out(&self, id: OutboxId) -> bool {
        self.handed_out.contains_key(&id)
    }

    fn next(&mut self, now: Timestamp) -> Option<Outbound> {
        let at = self.outbox.iter().position(|(not_before, part)| {
            *not_before <= now
                && !self
                    .handed_out
                    .values()
                    .any(|out| out.conversation == part.conversation)
        })?;
        let (_, part) = self.outbox.remove(at);
        self.handed_out.insert(part.id, part.clone());
        Some(part)
    }
}

/// 24 hex characters that stay the same for a part.
pub fn key_of(id: OutboxId) -> String {
    let mut key = hex(&Sha256::digest(id.to_string().as_bytes()));
    key.truncate(24);
    key
}

#[async_trait]
impl ChannelPort for TestPort {
    fn channel(&self) -> &'static str {
        "tg"
    }

    fn set_capabilities(&self, capabilities: ChannelCapabilities) {
        self.change(|ledger| ledger.capabilities = Some(capabilities));
    }

    async fn account_state(&self) -> Result<AccountState, Problem> {
        let ledger = self.ledger();
        Ok(AccountState {
            cursor: ledger.cursor.clone(),
            paused: ledger.paused,
        })
    }

    async fn invitation(&self, user: &str, _: &str, _: bool) -> Result<Invitation, Problem> {
        let welcome = self.ledger().welcome.clone();
        let accepted = welcome.is_none_or(|welcome| welcome == user);
        Ok(if accepted {
            Invitation::Accept
        } else {
            Invitation::Ignore
        })
    }

    async fn ingest(&self, inbound: Inbound) -> Result<Ingestion, Problem> {
        let (ingested, hang) = self.change(|ledger| {
            let script = std::mem::take(&mut ledger.ingest_script);
            let (word, rest) = script.split_once(' ').unwrap_or((&script, ""));
            rest.clone_into(&mut ledger.ingest_script);
            let hang = match word {
                "fail" => {
                    let full = Problem::new(ProblemKind::Unavailable, "store", "the disk is full");
                    return (Err(full), false);
                }
                "invalid" => return (Err(Problem::invalid("not like this")), false),
                "conflict" => {
                    let known = Problem::new(ProblemKind::Conflict, "key reused", "another body");
                    return (Err(known), false);
                }
                "store-and-hang" => true,
                _ => false,
            };
            let repeated = !ledger.keys.insert(inbound.dedupe_key.clone());
            if inbound.cursor.is_some() {
                ledger.cursor.clone_from(&inbound.cursor);
            }
            if repeated {
                ledger.repeated += 1;
            } else {
                ledger.inbox.push(inbound);
            }
            let ingested = Ingestion {
                inbox_id: InboxId::generate(),
                disposition: ledger.disposition,
                continuation_id: None,
                session_id: None,
                repeated,
                feedback: ledger.feedback.clone(),
            };
            (Ok(ingested), hang)
        });
        if hang {
            std::future::pending::<()>().await;
        }
        ingested
    }

    async fn next(&self) -> Result<Box<dyn Lease>, Problem> {
        let mut version = self.version.subscribe();
        loop {
            if let Some(part) = self.change_if(|ledger| ledger.next(self.clock.now())) {
                return Ok(Box::new(TestLease {
                    port: self.this.upgrade().unwrap(),
                    part,
                }));
            }
            let _ = tokio::time::timeout(Duration::from_millis(20), version.changed()).await;
        }
    }

    async fn next_look_up(&self, _asked: &HashMap<OutboxId, u32>) -> Result<Outbound, Problem> {
        std::future::pending().await
    }

    async fn end_look_up(&self, id: OutboxId, _: u32, _: Delivery) -> Result<(), Problem> {
        Err(Problem::internal(format!("nobody was asked about {id}")))
    }

    async fn next_file(&self) -> Result<FileRequest, Problem> {
        std::future::pending().await
    }

    async fn put_file(&self, id: i64, _: FetchedFile) -> Result<(), Problem> {
        Err(Problem::internal(format!("nobody asked for file {id}")))
    }

    async fn file_content(&self, hash: ArtifactHash) -> Result<Vec<u8>, Problem> {
        Err(Problem::internal(format!("there is no file {hash}")))
    }

    fn health(&self) -> &BridgeHealth {
        &self.health
    }

    async fn next_typing(&self) -> String {
        let mut version = self.version.subscribe();
        loop {
            if let Some(conversation) = self.change_if(|ledger| ledger.typing.pop_front()) {
                return conversation;
            }
            let _ = version.changed().await;
        }
    }

    async fn next_progress(&self) -> ProgressMessage {
        std::future::pending().await
    }

    async fn record_progress(&self, id: ContinuationId, _: Option<String>) -> Result<(), Problem> {
        Err(Problem::internal(format!("{id} has no progress message")))
    }

    async fn shown_progress(&self) -> Result<Vec<ShownProgress>, Problem> {
        Ok(Vec::new())
    }

    async fn pause_changed(&self) -> bool {
        let mut version = self.version.subscribe();
        loop {
            if let Some(paused) = self.change_if(|ledger| ledger.pause_changes.pop_front()) {
                return paused;
            }
            let _ = version.changed().await;
        }
    }
}

/// A part in the hands of a bridge.
struct TestLease {
    port: Arc<TestPort>,
    part: Outbound,
}

#[async_trait]
impl Lease for TestLease {
    fn part(&self) -> &Outbound {
        &self.part
    }

    async fn begin(&mut self) -> Result<(), Problem> {
        self.port.change(|ledger| {
            if ledger.begin_fails > 0 {
                ledger.begin_fails -= 1;
                return Err(Problem::internal("the disk is full"));
            }
            ledger.begun.push(self.part.id);
            Ok(())
        })
    }

    async fn finish(&mut self, outcome: SendOutcome) -> Result<(), Problem> {
        self.port.change(|ledger| {
            if let Some(mut part) = ledger.handed_out.remove(&self.part.id) {
                part.attempts += 1;
                if let SendOutcome::Retry { not_before, .. } = &outcome {
                    ledger.outbox.insert(0, (*not_before, part));
                } else {
                    ledger.over.push(part);
                }
            }
            ledger.ended.push((self.part.id, outcome));
        });
        Ok(())
    }
}

impl Drop for TestLease {
    /// What was not begun is there for the next; what was begun stays as it is, as in a process that died.
    fn drop(&mut self) {
        self.port.change(|ledger| {
            let id = self.part.id;
            if !ledger.begun.contains(&id)
                && let Some(part) = ledger.handed_out.remove(&id)
            {
                ledger.given_back.push(id);
                ledger.outbox.insert(0, (Timestamp(0), part));
            }
        });
    }
}

impl TestPort {
    /// A change that wakes nobody (or pollers would wake each other for ever).
    fn change_if<T>(&self, act: impl FnOnce(&mut Ledger) -> Option<T>) -> Option<T> {
        act(&mut self.ledger.lock().unwrap())
    }
}

/// Fast times, no pacing.
pub fn options() -> TelegramOptions {
    TelegramOptions {
        poll_timeout: Duration::from_secs(5),
        http: HttpTimes {
            connect: Duration::from_secs(2),
            request: Duration::from_secs(2),
            ..HttpTimes::default()
        },
        conflict_delay: Duration::from_millis(10),
        intervals: Intervals {
            private: Duration::ZERO,
            group: Duration::ZERO,
        },
        pacing: PacingLimits {
            typing: Duration::from_secs(4),
            progress: 2,
            overall: Duration::ZERO,
            burst: 10,
        },
    }
}

/// A bridge that runs.
pub struct Running {
    pub stop: CancellationToken,
    pub task: JoinHandle<Result<(), ChannelError>>,
}

impl Running {
    /// Stops it politely.
    pub async fn stop(self) {
        self.stop.cancel();
        tokio::time::timeout(DEADLINE, self.task)
            .await
            .expect("stops in time")
            .expect("no panic")
            .expect("ends well");
    }

    /// Ends it as a kill would.
    pub async fn kill(self) {
        self.task.abort();
        let _ = self.task.await;
    }

    /// Waits for the error it ends with.
    pub async fn error(self) -> ChannelError {
        tokio::time::timeout(DEADLINE, self.task)
            .await
            .expect("ends in time")
            .expect("no panic")
            .expect_err("ends with an error")
    }
}

pub fn bridge_at(url: &str, token: &str, options: TelegramOptions) -> TelegramBridge {
    TelegramBridge::new("tg", url, Some(Secret::new(token)), Clock::System, options)
}

pub fn run(bridge: TelegramBridge, port: &Arc<TestPort>) -> Running {
    let stop = CancellationToken::new();
    let (port, token) = (Arc::clone(port) as Arc<dyn ChannelPort>, stop.clone());
    Running {
        stop,
        task: tokio::spawn(async move { bridge.run(port, token).await }),
    }
}

/// A fake, a port, and a bridge between them.
pub async fn connected() -> (FakeTelegram, Arc<TestPort>, Running) {
    connected_with(options()).await
}

pub async fn connected_with(options: TelegramOptions) -> (FakeTelegram, Arc<TestPort>, Running) {
    let fake = FakeTelegram::start();
    let port = TestPort::new();
    let running = run(bridge_at(fake.url(), TOKEN, options), &port);
    fake.wait_until("a poll", |state| state.poll > 0).await;
    (fake, port, running)
}

pub fn ada() -> User {
    User::new(4242, "Ada")
}

pub fn mallory() -> User {
    User::new(6666, "Mallory")
}

/// An approval to run a program.
pub fn approval() -> Approval {
    Approval {
        id: ApprovalId::generate(),
        short_code: "K7Q2MX".to_owned(),
        kind: ApprovalKind::Execute,
        state: ApprovalState::Pending,
        digest: "ab".repeat(32),
        revision: 1,
        tool: "execute_command".to_owned(),
        args: json!({ "argv": ["git", "push", "--force origin"], "timeout_seconds": 30 }),
        access: Access::Exec,
        effect: Effect::NonIdempotent,
        risk: Risk::Medium,
        risk_reasons: vec!["runs a program".to_owned()],
        taint: Vec::new(),
        preview: Preview::Exec {
            argv: vec![
                "git".to_owned(),
                "push".to_owned(),
                "--force origin".to_owned(),
            ],
        },
        plan: PlanFacts {
            cwd: Some("/srv/work".to_owned()),
            executable: Some("/usr/bin/git".to_owned()),
            env: Vec::new(),
            sandbox: Some("bubblewrap: workspace only, no network".to_owned()),
            ..PlanFacts::default()
        },
        model_reason: Some("to publish <b>the</b> branch".to_owned()),
        channel: "tg".to_owned(),
        conversation: "4242".to_owned(),
        requester: Requester {
            id: "telegram:4242".to_owned(),
            display: "Ada & co".to_owned(),
            person: None,
        },
        session_id: None,
        continuation_id: None,
        tool_call_id: None,
        verdict: Verdict {
            decision: VerdictKind::Ask,
            rule: "autonomy supervised: everything not auto-approved asks".to_owned(),
            policy_version: 3,
        },
        offered: vec![DecisionKind::Approve, DecisionKind::Deny],
        requested_at: Timestamp(1_760_000_000_000),
        expires_at: Some(Timestamp(1_760_086_400_000)),
        decision: None,
        similar: Vec::new(),
        messages: Vec::new(),
        question: None,
        notified: false,

        reminders: 0,
        once_only: None,
        unknown: None,
        allowed_by: None,
        escalation: None,
        assignment: None,
        shortened: false,
    }
}

pub fn buttons() -> Vec<CardButton> {
    vec![
        CardButton {
            label: "Approve".to_owned(),
            token: "t0kenApprove".to_owned(),
        },
        CardButton {
            label: "Deny".to_owned(),
            token: "t0kenDeny".to_owned(),
        },
    ]
}
