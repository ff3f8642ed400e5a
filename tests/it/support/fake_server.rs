//! What every strict fake of a platform is made of: a state behind a lock, whoever waits for it to change, and a listener
//! on a loopback port in a thread of its own, so that a test may block.

// Helpers of tests: the lint's own exception covers only the test functions themselves.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io::{Read as _, Write as _};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// The state of a fake.
pub trait PlatformState: Send + 'static {
    /// Longest any wait in a test takes.
    const DEADLINE: Duration;

    /// What happened, as text, for failures.
    fn story(&self) -> String;
}

/// What the parts of a fake share.
pub struct Shared<S> {
    state: Mutex<S>,
    changed: Condvar,
    /// Goes up with each change.
    pub version: watch::Sender<u64>,
    /// Connections that were accepted and not read to their end.
    open: AtomicUsize,
}

impl<S> Shared<S> {
    pub fn lock(&self) -> MutexGuard<'_, S> {
        self.state.lock().unwrap()
    }

    /// Wakes whoever waits.
    pub fn touch(&self) {
        self.version.send_modify(|version| *version += 1);
        self.changed.notify_all();
    }

    pub fn change<T>(&self, act: impl FnOnce(&mut S) -> T) -> T {
        let result = act(&mut self.lock());
        self.touch();
        result
    }
}

/// Counts a connection as long as it is served.
pub struct Open<S>(Arc<Shared<S>>);

impl<S> Drop for Open<S> {
    fn drop(&mut self) {
        let locked = self.0.lock();
        self.0.open.fetch_sub(1, Ordering::SeqCst);
        drop(locked);
        self.0.touch();
    }
}

/// A running fake. It ends when dropped.
pub struct FakeServer<S> {
    pub shared: Arc<Shared<S>>,
    address: String,
    stop: Option<tokio::sync::oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl<S: PlatformState> FakeServer<S> {
    /// Starts on a free port with the state that `state` makes for the address. `serve` gets each connection.
    pub fn start<F>(
        state: impl FnOnce(&str) -> S,
        serve: impl Fn(TcpStream, Arc<Shared<S>>, Open<S>) -> F + Send + 'static,
    ) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let (stop, stopped) = tokio::sync::oneshot::channel();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let shared = Arc::new(Shared {
            state: Mutex::new(state(&address)),
            changed: Condvar::new(),
            version: watch::Sender::new(0),
            open: AtomicUsize::new(0),
        });
        let serving = Arc::clone(&shared);
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            runtime.block_on(async move {
                let listener = TcpListener::from_std(listener).unwrap();
                tokio::select! {
                    () = accept(listener, serving, serve) => {}
                    _ = stopped => {}
                }
            });
        });
        Self {
            shared,
            address,
            stop: Some(stop),
            thread: Some(thread),
        }
    }

    /// `127.0.0.1:PORT`.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// The platform, locked.
    pub fn state(&self) -> MutexGuard<'_, S> {
        self.shared.lock()
    }

    /// Changes the platform and wakes whoever waits for it.
    pub fn change<T>(&self, act: impl FnOnce(&mut S) -> T) -> T {
        self.shared.change(act)
    }

    /// Waits until everything that a client sent before it was killed has been carried out.
    ///
    /// What a dead client wrote may still lie in a socket, and is carried out when the platform gets to it.
    /// Connections are accepted in their order: once one of ours was answered, all earlier ones are counted.
    pub fn settle(&self) {
        let mut ours = std::net::TcpStream::connect(&self.address).expect("the platform listens");
        ours.set_read_timeout(Some(S::DEADLINE)).unwrap();
        ours.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
        let mut first = [0_u8; 1];
        ours.read_exact(&mut first).expect("the platform answers");
        drop(ours);
        self.wait_blocking("all connections are read to their end", |_| {
            self.shared.open.load(Ordering::SeqCst) == 0
        });
    }

    /// Waits until the platform is as wanted.
    pub async fn wait_until(&self, what: &str, predicate: impl Fn(&S) -> bool) {
        let mut version = self.shared.version.subscribe();
        let wanted = async {
            while !predicate(&self.shared.lock()) {
                version.changed().await.unwrap();
            }
        };
        let in_time = tokio::time::timeout(S::DEADLINE, wanted).await.is_ok();
        assert!(in_time, "never happened: {what}\n{}", self.story());
    }

    /// The same for a test without a runtime.
    pub fn wait_blocking(&self, what: &str, predicate: impl Fn(&S) -> bool) {
        let end = Instant::now() + S::DEADLINE;
        let mut state = self.shared.lock();
        while !predicate(&state) {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                drop(state);
                panic!("never happened: {what}\n{}", self.story());
            }
            state = self.shared.changed.wait_timeout(state, left).unwrap().0;
        }
    }

    /// What happened, as text, for failures.
    pub fn story(&self) -> String {
        self.state().story()
    }
}

impl<S> Drop for FakeServer<S> {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

async fn accept<S, F>(
    listener: TcpListener,
    shared: Arc<Shared<S>>,
    serve: impl Fn(TcpStream, Arc<Shared<S>>, Open<S>) -> F,
) where
    F: Future<Output = ()> + Send + 'static,
{
    let mut connections = tokio::task::JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                if let Ok((stream, _)) = accepted {
                    shared.open.fetch_add(1, Ordering::SeqCst);
                    let open = Open(Arc::clone(&shared));
                    connections.spawn(serve(stream, Arc::clone(&shared), open));
                }
            }
            Some(_) = connections.join_next(), if !connections.is_empty() => {}
        }
    }
}
