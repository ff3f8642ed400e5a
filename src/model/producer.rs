//! Turns "a future that sends events" into a [`ModelStream`].
//!
//! Nothing is spawned: the future lives inside the stream and runs only while the stream is polled, so
//! dropping the stream drops the future and, with it, the connection it reads from.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use futures_util::Stream;
use tokio::sync::mpsc;

use crate::model::request::{ModelError, ModelEvent, ModelStream};

/// Events that may wait between the future and the reader; beyond it the future waits.
const WAITING_EVENTS: usize = 64;

/// Where a producing future puts its events.
#[derive(Debug, Clone)]
pub struct EventSink {
    sender: mpsc::Sender<ModelEvent>,
    sent: Arc<Sent>,
}

#[derive(Debug, Default)]
struct Sent {
    events: AtomicU64,
    text_bytes: AtomicU64,
}

impl EventSink {
    /// Hands one event to the reader; waits while too many are unread.
    pub async fn send(&self, event: ModelEvent) {
        self.sent.events.fetch_add(1, Ordering::Relaxed);
        if let ModelEvent::TextDelta(text) = &event {
            self.sent
                .text_bytes
                .fetch_add(text.len() as u64, Ordering::Relaxed);
        }
        // The receiver lives in the same stream as the future that holds this sink: it cannot be gone.
        let _ = self.sender.send(event).await;
    }

    /// How many events were put here so far, and how many bytes of text were in them.
    pub fn sent(&self) -> (u64, u64) {
        (
            self.sent.events.load(Ordering::Relaxed),
            self.sent.text_bytes.load(Ordering::Relaxed),
        )
    }
}

type Work = Pin<Box<dyn Future<Output = Result<(), ModelError>> + Send>>;

struct Produced {
    work: Option<Work>,
    events: mpsc::Receiver<ModelEvent>,
    last: VecDeque<Result<ModelEvent, ModelError>>,
}

impl Stream for Produced {
    type Item = Result<ModelEvent, ModelError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        if let Ok(event) = this.events.try_recv() {
            return Poll::Ready(Some(Ok(event)));
        }
        if let Some(work) = this.work.as_mut() {
            if let Poll::Ready(outcome) = work.as_mut().poll(cx) {
                this.work = None;
                while let Ok(event) = this.events.try_recv() {
                    this.last.push_back(Ok(event));
                }
                if let Err(error) = outcome {
                    this.last.push_back(Err(error));
                }
            } else {
                return match this.events.poll_recv(cx) {
                    Poll::Ready(Some(event)) => Poll::Ready(Some(Ok(event))),
                    // The future holds the sender, so "closed" means it dropped it early: wait for it.
                    Poll::Ready(None) | Poll::Pending => Poll::Pending,
                };
            }
        }
        Poll::Ready(this.last.pop_front())
    }
}

/// The stream of the events that `make`'s future sends; an error it returns is the last item.
pub fn produce<F, W>(make: F) -> ModelStream
where
    F: FnOnce(EventSink) -> W,
    W: Future<Output = Result<(), ModelError>> + Send + 'static,
{
    let (sender, events) = mpsc::channel(WAITING_EVENTS);
    let work: Work = Box::pin(make(EventSink {
        sender,
        sent: Arc::default(),
    }));
    Box::pin(Produced {
        work: Some(work),
        events,
        last: VecDeque::new(),
    })
}
