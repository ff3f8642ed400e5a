//! The loop with a client that comes and goes, on a terminal that is only a buffer.

use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use crossterm::event::{Event as InputEvent, KeyCode, KeyEvent, KeyModifiers};
use futures_util::StreamExt;
use leverframe::client::console_client::{ConsoleClient, EventStream};
use leverframe::clock::Clock;
use leverframe::config::settings::Notify;
use leverframe::console::access::{Access, Hosting};
use leverframe::protocol::command::Actor;
use leverframe::protocol::enums::Risk;
use leverframe::protocol::event::{Event, EventBody, EventFilter, StreamItem};
use leverframe::protocol::problem::{Problem, ProblemKind};
use leverframe::protocol::request::{Answer, Command, Envelope, Outcome, Query};
use leverframe::protocol::snapshot::{Page, Snapshot};
use leverframe::tui::event_loop::{Input, run_with};
use leverframe::tui::message::QuitKind;
use leverframe::tui::options::ConsoleOptions;
use leverframe::tui::terminal::ConsoleTerminal;
use leverframe::tui::theme::depth::ColorDepth;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use tokio::sync::mpsc;

use crate::console_frames::fixture;

type Streams = mpsc::UnboundedSender<Result<StreamItem, Problem>>;

#[derive(Default)]
struct Engine {
    snapshot: Option<Snapshot>,
    streams: Vec<Streams>,
    submitted: Vec<Command>,
    filters: Vec<EventFilter>,
}

#[derive(Clone, Default)]
struct FakeClient(Arc<Mutex<Engine>>);

impl FakeClient {
    fn engine(&self) -> std::sync::MutexGuard<'_, Engine> {
        self.0.lock().unwrap()
    }

    fn push(&self, item: Result<StreamItem, Problem>) {
        self.engine().streams.last().unwrap().send(item).unwrap();
    }
}

#[async_trait]
impl ConsoleClient for FakeClient {
    async fn submit(&self, envelope: Envelope) -> Result<Outcome, Problem> {
        self.engine().submitted.push(envelope.command);
        Ok(Outcome::EmergencyStop(fixture::engine()))
    }

    async fn query(&self, query: Query) -> Result<Answer, Problem> {
        match query {
            Query::GetSnapshot(_) => self
                .engine()
                .snapshot
                .clone()
                .map(Answer::GetSnapshot)
                .ok_or_else(|| Problem::new(ProblemKind::Unavailable, "down", "no engine")),
            Query::GetTranscript(_) => Ok(Answer::GetTranscript(Page {
                items: vec![fixture::user(1, &"a line\n".repeat(12_000))],
                next_cursor: None,
            })),
            other => Err(Problem::invalid(format!("{other:?}"))),
        }
    }

    async fn events(&self, filter: EventFilter) -> Result<EventStream, Problem> {
        let (sender, receiver) = mpsc::unbounded_channel();
        let mut engine = self.engine();
        engine.filters.push(filter);
        engine.streams.push(sender);
        Ok(futures_util::stream::unfold(receiver, |mut r| async move {
            r.recv().await.map(|item| (item, r))
        })
        .boxed())
    }

    fn description(&self) -> String {
        "local".to_owned()
    }
}

/// A terminal that is a buffer which the test can look into, with a count of frames.
struct FakeTerminal {
    terminal: Terminal<TestBackend>,
    screen: Arc<Mutex<(u64, String)>>,
}

impl ConsoleTerminal for FakeTerminal {
    type Backend = TestBackend;

    fn terminal(&mut self) -> &mut Terminal<TestBackend> {
        &mut self.terminal
    }

    fn begin_frame(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn end_frame(&mut self) -> io::Result<()> {
        let mut screen = self.screen.lock().unwrap();
        screen.0 += 1;
        screen.1 = crate::console_frames::styled::glyphs(self.terminal.backend().buffer());
        Ok(())
    }

    fn control(&mut self, _: &str) -> io::Result<()> {
        Ok(())
    }

    fn release(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn acquire(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct Console {
    keys: mpsc::UnboundedSender<InputEvent>,
    screen: Arc<Mutex<(u64, String)>>,
    running: tokio::task::JoinHandle<anyhow::Result<QuitKind>>,
}

impl Console {
    fn start(client: FakeClient) -> Self {
        let (keys, receiver) = mpsc::unbounded_channel::<InputEvent>();
        let screen = Arc::new(Mutex::new((0, String::new())));
        let terminal = FakeTerminal {
            terminal: Terminal::new(TestBackend::new(100, 30)).unwrap(),
            screen: Arc::clone(&screen),
        };
        let options = ConsoleOptions {
            replay: None,
            theme: "terminal".into(),
            keymap: "default".into(),
            user_dir: None,
            access: Access::Operate,
            depth: ColorDepth::Sixteen,
            hosting: Hosting::Attached,
            actor: Actor::Operator {
                uid: 1000,
                name: "op".into(),
                person: None,
            },
            editor: None,
            clock: Clock::manual(fixture::NOW),
            notify: Notify::Off,
            links: leverframe::tui::links::LinkScope::None,
            title: false,
            graphics: leverframe::tui::pictures::graphics::Graphics::default(),
            question: None,
            tmux: false,
        };
        let mut receiver = Some(receiver);
        let open_input = move || -> Input {
            let receiver = receiver.take().expect("opened once");
            Box::pin(futures_util::stream::unfold(receiver, |mut r| async move {
                r.recv().await.map(|e| (Ok(e), r))
            }))
        };
        let dynamic: Arc<dyn ConsoleClient> = Arc::new(client.clone());
        let running =
            tokio::spawn(async move { run_with(dynamic, options, terminal, open_input).await });
        Self {
            keys,
            screen,
            running,
        }
    }

    fn key(&self, c: char) {
        self.keys
            .send(InputEvent::Key(KeyEvent::new(
                KeyCode::Char(c),
                KeyModifiers::NONE,
            )))
            .unwrap();
    }

    async fn see(&self, text: &str) {
        let found = tokio::time::timeout(Duration::from_secs(10), async {
            while !self.screen.lock().unwrap().1.contains(text) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        });
        assert!(
            found.await.is_ok(),
            "never saw `{text}` in\n{}",
            self.screen.lock().unwrap().1
        );
    }

    fn frames(&self) -> u64 {
        self.screen.lock().unwrap().0
    }
}

#[expect(clippy::unnecessary_wraps, reason = "an item of the stream")]
fn requested(seq: u64, n: u8) -> Result<StreamItem, Problem> {
    Ok(StreamItem::Event(Arc::new(Event {
        seq: Some(seq),
        at: fixture::NOW,
        session_id: None,
        continuation_id: None,
        body: EventBody::ApprovalRequested {
            approval: Box::new(fixture::approval(n, Risk::Low)),
        },
    })))
}

#[tokio::test]
async fn it_connects_follows_loses_reconnects_and_quits() {
    let client = FakeClient::default();
    let console = Console::start(client.clone());
    console.see("NOT CONNECTED").await;
    // Keys live while there is no engine.
    console.key('2');
    console.see("No session yet").await;
    console.key('1');
    client.engine().snapshot = Some(fixture::snapshot());
    console.see("Nothing needs you").await;
    // What the snapshot contains already is dropped.
    client.push(requested(100, 1));
    client.push(requested(101, 2));
    console.see("1 need you").await;
    // The connection breaks; a decision is refused; the snapshot after it is the truth.
    client.engine().snapshot = None;
    client.push(Err(Problem::new(
        ProblemKind::Unavailable,
        "gone",
        "the daemon ended",
    )));
    console.see("NOT CONNECTED").await;
    console.key('j');
    console.key('d');
    console.see("not connected; nothing is decided").await;
    client.engine().snapshot = Some(fixture::busy());
    console.see("3 need you").await;
    // A reset takes a new snapshot without alarm.
    let subscriptions = client.engine().filters.len();
    client.engine().snapshot = Some(fixture::snapshot());
    client.push(Ok(StreamItem::Reset));
    console.see("nothing needs you").await;
    assert_eq!(client.engine().filters.len(), subscriptions + 1);
    assert!(client.engine().submitted.is_empty());
    console.key('q');
    console.see("Quit").await;
    console.key('j');
    console
        .keys
        .send(InputEvent::Key(KeyEvent::new(
            KeyCode::Enter,
            KeyModifiers::NONE,
        )))
        .unwrap();
    assert_eq!(console.running.await.unwrap().unwrap(), QuitKind::Stop);
}

#[tokio::test]
async fn what_the_clipboard_cannot_take_can_be_written_to_a_file() {
    let client = FakeClient::default();
    client.engine().snapshot = Some(fixture::busy());
    let console = Console::start(client);
    console.see("3 need you").await;
    for key in ['2', 'j', 'j'] {
        console.key(key);
    }
    let enter = KeyEvent::new(KeyCode::Enter, KeyModifiers::NONE);
    console.keys.send(InputEvent::Key(enter)).unwrap();
    console.see("a line").await;
    console.key('Y');
    console.see("not copied: 84").await;
    console.see("E writes the whole session to a file").await;
}

#[tokio::test]
async fn nothing_is_drawn_while_nothing_changes() {
    let client = FakeClient::default();
    client.engine().snapshot = Some(fixture::busy());
    let console = Console::start(client.clone());
    console.see("3 need you").await;
    let before = console.frames();
    tokio::time::sleep(Duration::from_millis(400)).await;
    assert_eq!(console.frames(), before);
    // Deltas of a session that nobody looks at draw nothing either.
    for offset in 0..50 {
        let body = EventBody::MessageDelta {
            step: 2,
            offset: 46 + offset,
            text: "x".into(),
        };
        client.push(Ok(StreamItem::Event(Arc::new(Event {
            seq: None,
            at: fixture::NOW,
            session_id: Some(fixture::session_id(2)),
            continuation_id: Some(fixture::continuation_id(2)),
            body,
        }))));
    }
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(console.frames(), before);
    console.running.abort();
}
