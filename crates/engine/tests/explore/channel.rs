//! Channels of the tests, and the streams and sources over them.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context as TaskContext, Poll, Waker};

use futures::Stream;
use rospin_engine::{Closer, Instant, Notifier, Pending, Source, TakeError};

use super::model::Rule;
use super::operations::does;
use super::program::{Ms, Style};
use super::world::{Token, World, lock};

/// An item of a channel, with the time at which it arrived.
pub(crate) struct Parcel {
    pub(crate) _token: Token,
    pub(crate) arrival: Ms,
    /// The note at which it was about to be sent.
    pub(crate) sending: usize,
    /// The note by which all readers had been told of it; 0 before.
    pub(crate) told: Arc<AtomicUsize>,
}

/// A channel whose items are taken by streams and by sources.
#[derive(Default)]
pub(crate) struct Channel(Mutex<Contents>);

#[derive(Default)]
struct Contents {
    items: VecDeque<Parcel>,
    is_closed: bool,
    /// True if streams panic when they are polled, and sources when they are to prefetch, or to close.
    is_poisoned: bool,
    wakers: Vec<Waker>,
    readers: Vec<Arc<Reader>>,
}

/// A source of the channel.
struct Reader {
    notifier: Notifier,
    style: Style,
    /// True if it does not notify before it is asked. It changes under the channel's lock.
    is_muted: AtomicBool,
}

impl Reader {
    fn notify(&self, arrival: Option<Ms>) {
        match arrival {
            Some(arrival) if self.style != Style::Plain => {
                does("Notifier::notify_at");
                self.notifier.notify_at(Instant::from_millis(arrival));
            }
            _ => {
                does("Notifier::notify");
                self.notifier.notify();
            }
        }
    }
}

impl Channel {
    /// Adds an item, closes the channel or poisons it, and tells its readers. A closed channel drops the item.
    pub(crate) fn change(&self, item: Option<Parcel>, close: bool, poison: bool) {
        let mut contents = lock(&self.0);
        let arrival = item.as_ref().map(|item| item.arrival);
        if !contents.is_closed {
            contents.items.extend(item);
        }
        contents.is_closed |= close;
        contents.is_poisoned |= poison;
        let wakers = std::mem::take(&mut contents.wakers);
        let is_awake = |reader: &&Arc<Reader>| !reader.is_muted.load(Ordering::Relaxed);
        let readers: Vec<_> = contents.readers.iter().filter(is_awake).cloned().collect();
        drop(contents);
        wakers.into_iter().for_each(Waker::wake);
        readers.iter().for_each(|reader| reader.notify(arrival));
    }

    /// Waits for the next change of the channel.
    pub(crate) async fn change_comes(&self) {
        let mut is_first = true;
        std::future::poll_fn(|cx| {
            if std::mem::take(&mut is_first) {
                lock(&self.0).wakers.push(cx.waker().clone());
                return Poll::Pending;
            }
            Poll::Ready(())
        })
        .await;
    }

    /// Returns true if there is an item that can be taken.
    pub(crate) fn is_full(&self) -> bool {
        let contents = lock(&self.0);
        !contents.items.is_empty() && !contents.is_poisoned
    }

    /// Empties the channel, and forgets its waiters.
    pub(crate) fn clear(&self) {
        let contents = std::mem::take(&mut *lock(&self.0));
        drop(contents);
    }
}

/// A stream of a channel's items.
pub(crate) struct ChannelStream {
    pub(crate) world: Arc<World>,
    pub(crate) channel: Arc<Channel>,
    pub(crate) life: usize,
    pub(crate) has_ended: bool,
}

impl Stream for ChannelStream {
    type Item = Parcel;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Option<Parcel>> {
        if self.has_ended {
            self.world.note(|model, _| model.broken(Rule::Stream, "a stream was polled after its end".to_owned()));
            return Poll::Ready(None);
        }
        let waker = cx.waker().clone();
        let mut contents = lock(&self.channel.0);
        let polled = match contents.items.pop_front() {
            _ if contents.is_poisoned => {
                drop(contents);
                let life = self.life;
                self.world.note(|model, task| model.stream_panics(task, life));
                panic!("a stream panics, as it was asked to");
            }
            Some(item) => Poll::Ready(Some(item)),
            None if contents.is_closed => Poll::Ready(None),
            None => {
                contents.wakers.push(waker);
                Poll::Pending
            }
        };
        drop(contents);
        self.has_ended = matches!(polled, Poll::Ready(None));
        polled
    }
}

/// A source of a channel's items.
pub(crate) struct ChannelSource {
    world: Arc<World>,
    channel: Arc<Channel>,
    style: Style,
    life: usize,
    reader: Option<Arc<Reader>>,
}

impl ChannelSource {
    pub(crate) fn new(world: &Arc<World>, channel: usize, style: Style, life: usize) -> Self {
        Self { world: Arc::clone(world), channel: Arc::clone(&world.channels[channel]), style, life, reader: None }
    }

    /// Returns the contents. The caller has the channel's lock.
    fn look(contents: &Contents) -> Pending {
        match contents.items.front() {
            Some(item) => Pending::Since(Instant::from_millis(item.arrival)),
            // The next take tells of the end.
            None if contents.is_closed => Pending::Unknown,
            None => Pending::Empty,
        }
    }

    fn mute(&self, yes: bool) {
        if let Some(reader) = &self.reader {
            reader.is_muted.store(yes, Ordering::Relaxed);
        }
    }
}

impl Source for ChannelSource {
    type Item = Parcel;
    type Attachment = ();

    fn attach(&mut self, notifier: Notifier) -> Result<(), TakeError> {
        does("Source::attach");
        let reader = Arc::new(Reader { notifier, style: self.style, is_muted: AtomicBool::new(false) });
        lock(&self.channel.0).readers.push(Arc::clone(&reader));
        self.reader = Some(reader);
        Ok(())
    }

    fn try_take(&mut self) -> Result<Option<Parcel>, TakeError> {
        does("Source::try_take");
        let mut contents = lock(&self.channel.0);
        match contents.items.pop_front() {
            None if contents.is_closed => Err(TakeError::Closed),
            item => Ok(item),
        }
    }

    fn pending(&self) -> Pending {
        if self.style == Style::Plain {
            return Pending::Unknown;
        }
        does("Source::pending");
        let contents = lock(&self.channel.0);
        self.mute(false);
        Self::look(&contents)
    }

    fn take_and_look(&mut self) -> Result<Option<(Parcel, Pending)>, TakeError> {
        if self.style == Style::Plain {
            return Ok(self.try_take()?.map(|item| (item, Pending::Unknown)));
        }
        does("Source::take_and_look");
        let mut contents = lock(&self.channel.0);
        let Some(item) = contents.items.pop_front() else {
            self.mute(false);
            return if contents.is_closed { Err(TakeError::Closed) } else { Ok(None) };
        };
        let left = Self::look(&contents);
        if self.style == Style::AskAgain && left == Pending::Empty {
            self.mute(true);
            return Ok(Some((item, Pending::AskAgain)));
        }
        Ok(Some((item, left)))
    }

    fn prefetch(&self, _distance: usize) {
        assert!(!lock(&self.channel.0).is_poisoned, "a source panics, as it was asked to");
    }

    fn closer(&self) -> Option<Closer> {
        let (world, channel, life) = (Arc::downgrade(&self.world), Arc::clone(&self.channel), self.life);
        Some(Box::new(move || {
            does("Source::closer");
            let Some(world) = world.upgrade() else {
                return;
            };
            let panics = lock(&channel.0).is_poisoned;
            world.note(|model, task| model.closes(task, life, panics));
            assert!(!panics, "the end of a source panics, as it was asked to");
        }))
    }
}
