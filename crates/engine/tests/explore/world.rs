//! The data that the threads and callbacks of one program share.
//!
//! The locks here are the standard library's, so that taking one is no step of the model. No engine code runs under
//! them.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicIsize, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context as TaskContext, Poll, Waker};

use super::generate::{CHANNELS, SERVICES, TOPICS};
use super::model::{Model, Rule};
use super::program::Program;
use futures::Stream;
use rospin_engine::{
    CallbackGroup, Client, Context, Entity, Executor, ExecutorHandle, JumpCallback, LossCause, ManualClock, Notifier,
    Publisher, ReentrantGroup, RosTime, Service, Source, Subscription, TakeError, Timer,
};

/// The number of things that a program may publish, send and create, so that callbacks that feed themselves come to an
/// end.
const BUDGET: usize = 60;

/// The engine's objects, the model that judges them, and the state of the program that runs.
pub(crate) struct World {
    pub(crate) program: Arc<Program>,
    model: Mutex<Model>,
    pub(crate) context: Context,
    pub(crate) clock: ManualClock,
    pub(crate) ros: RosTime,
    pub(crate) tally: Arc<Tally>,
    pub(crate) publishers: Vec<Publisher<Message>>,
    pub(crate) clients: Vec<Client<Request, Response>>,
    pub(crate) channels: Vec<Arc<Channel>>,
    pub(crate) gate: Gate,
    pub(crate) tables: Mutex<Tables>,
    /// True once the rounds are over, so that nothing new shall begin.
    finishing: AtomicBool,
    /// The number of things taken from the budget.
    spent: AtomicUsize,
}

/// Handles, by the numbers of the program.
#[derive(Default)]
pub(crate) struct Tables {
    pub(crate) executors: Vec<Option<ExecutorHandle>>,
    pub(crate) spares: Vec<Option<Arc<Executor>>>,
    pub(crate) groups: Vec<Option<Group>>,
    /// The handles, with the numbers of their lives.
    pub(crate) entities: Vec<Vec<(usize, Arc<Handle>)>>,
}

#[derive(Clone)]
pub(crate) enum Group {
    Exclusive(CallbackGroup<Load>),
    Reentrant(ReentrantGroup),
}

/// The handle of an entity.
pub(crate) enum Handle {
    Timer(Timer),
    Subscription(Subscription),
    Service(Service),
    Entity(Entity),
    Jump(JumpCallback),
}

impl Handle {
    pub(crate) fn detach(self) {
        match self {
            Self::Timer(handle) => handle.detach(),
            Self::Subscription(handle) => handle.detach(),
            Self::Service(handle) => handle.detach(),
            Self::Entity(handle) => handle.detach(),
            Self::Jump(handle) => handle.detach(),
        }
    }
}

impl World {
    pub(crate) fn new(program: Arc<Program>, context: Context, clock: ManualClock) -> Arc<Self> {
        let publishers = (0..TOPICS).map(|topic| context.create_local_publisher(format!("t{topic}").as_str()).unwrap());
        let clients = (0..SERVICES).map(|service| context.create_local_client(&format!("s{service}")).unwrap());
        let executors = program.executors.iter().map(|executor| executor.id + 1).max().unwrap_or(0);
        let groups = program.groups.iter().map(|group| group.id + 1).max().unwrap_or(0);
        let entities = program.entities.iter().map(|entity| entity.id + 1).max().unwrap_or(0);
        let tables = Tables {
            executors: vec![None; executors],
            spares: (0..executors).map(|_| None).collect(),
            groups: vec![None; groups],
            entities: (0..entities).map(|_| Vec::new()).collect(),
        };
        Arc::new(Self {
            model: Mutex::new(Model::new(Arc::clone(&program))),
            program,
            ros: context.ros_time(),
            publishers: publishers.collect(),
            clients: clients.collect(),
            channels: (0..CHANNELS).map(|_| Arc::default()).collect(),
            context,
            clock,
            tally: Arc::default(),
            gate: Gate::default(),
            tables: Mutex::new(tables),
            finishing: AtomicBool::new(false),
            spent: AtomicUsize::new(0),
        })
    }

    /// Runs `note` on the model, with the number of the calling thread.
    pub(crate) fn note<R>(&self, note: impl FnOnce(&mut Model, usize) -> R) -> R {
        note(&mut lock(&self.model), me())
    }

    pub(crate) fn tables(&self) -> MutexGuard<'_, Tables> {
        lock(&self.tables)
    }

    /// Takes one from the budget. Returns false if nothing is left, or the program comes to its end.
    pub(crate) fn spend(&self) -> bool {
        self.spent.fetch_add(1, Ordering::Relaxed) < BUDGET && !self.is_finishing()
    }

    pub(crate) fn finish(&self) {
        self.finishing.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_finishing(&self) -> bool {
        self.finishing.load(Ordering::Relaxed)
    }

    /// Blocks the thread until the next round. `executor` is the thread's executor if it runs no callback.
    pub(crate) fn pass_gate(&self, executor: Option<usize>) {
        self.note(|model, task| model.gated(task, executor));
        self.gate.pass();
        self.note(|model, task| model.passed(task));
    }

    pub(crate) fn token(&self) -> Token {
        Token::new(&self.tally)
    }
}

/// Returns the number of the model's thread that is running.
pub(crate) fn me() -> usize {
    usize::from(shuttle::current::me())
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The number of tokens that exist.
#[derive(Default, Debug)]
pub(crate) struct Tally(AtomicIsize);

impl Tally {
    pub(crate) fn left(&self) -> isize {
        self.0.load(Ordering::Relaxed)
    }
}

/// A value that has to be dropped in the end.
#[derive(Debug)]
pub(crate) struct Token(Arc<Tally>);

impl Token {
    fn new(tally: &Arc<Tally>) -> Self {
        tally.0.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(tally))
    }
}

impl Drop for Token {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A group's payload.
#[derive(Debug)]
pub(crate) struct Load {
    pub(crate) _token: Token,
    pub(crate) touched: usize,
}

/// A value whose drop panics.
#[derive(Debug)]
pub(crate) struct Bomb {
    pub(crate) _token: Token,
}

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("a destructor panics, as it was asked to");
    }
}

/// A value whose drop takes long.
pub(crate) struct Slow {
    pub(crate) world: Arc<World>,
    pub(crate) executor: usize,
}

impl Drop for Slow {
    fn drop(&mut self) {
        // The main thread must not block, since it ends the rounds.
        if me() != 0 && !self.world.is_finishing() {
            self.world.pass_gate(Some(self.executor));
        }
    }
}

#[derive(Debug)]
pub(crate) struct Message {
    pub(crate) item: usize,
    pub(crate) _token: Token,
}

#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) item: usize,
    pub(crate) _token: Token,
}

#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) token: Token,
}

/// The gate at which callbacks block that take long.
#[derive(Default)]
pub(crate) struct Gate(Mutex<GateState>);

#[derive(Default)]
struct GateState {
    /// The number of times that it was opened.
    times: usize,
    is_open: bool,
    wakers: Vec<Waker>,
}

impl Gate {
    /// Blocks the thread until the gate is opened.
    pub(crate) fn pass(&self) {
        let before = lock(&self.0).times;
        shuttle::future::block_on(std::future::poll_fn(|cx| {
            let mut state = lock(&self.0);
            if state.times > before || state.is_open {
                return Poll::Ready(());
            }
            state.wakers.push(cx.waker().clone());
            Poll::Pending
        }));
    }

    /// Lets all threads at the gate go on, and those that come later if it is `for_good`.
    pub(crate) fn open(&self, for_good: bool) {
        let mut state = lock(&self.0);
        state.times += 1;
        state.is_open |= for_good;
        let wakers = std::mem::take(&mut state.wakers);
        drop(state);
        wakers.into_iter().for_each(Waker::wake);
    }
}

/// A channel whose items are taken by streams and by sources.
#[derive(Default)]
pub(crate) struct Channel(Mutex<Contents>);

#[derive(Default)]
struct Contents {
    items: VecDeque<Token>,
    is_closed: bool,
    /// True if streams panic when they are polled.
    is_poisoned: bool,
    wakers: Vec<Waker>,
    notifiers: Vec<Notifier>,
}

impl Channel {
    /// Adds an item, closes the channel or poisons it, and tells its readers. A closed channel drops the item.
    pub(crate) fn change(&self, item: Option<Token>, close: bool, poison: bool) {
        let mut contents = lock(&self.0);
        if !contents.is_closed {
            contents.items.extend(item);
        }
        contents.is_closed |= close;
        contents.is_poisoned |= poison;
        let wakers = std::mem::take(&mut contents.wakers);
        let notifiers = contents.notifiers.clone();
        drop(contents);
        wakers.into_iter().for_each(Waker::wake);
        notifiers.iter().for_each(Notifier::notify);
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
    type Item = Token;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Option<Token>> {
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
pub(crate) struct ChannelSource(pub(crate) Arc<Channel>);

impl Source for ChannelSource {
    type Item = Token;
    type Attachment = ();

    fn attach(&mut self, notifier: Notifier) -> Result<(), TakeError> {
        lock(&self.0.0).notifiers.push(notifier);
        Ok(())
    }

    fn try_take(&mut self) -> Result<Option<Token>, TakeError> {
        let mut contents = lock(&self.0.0);
        match contents.items.pop_front() {
            None if contents.is_closed => Err(TakeError::Closed),
            item => Ok(item),
        }
    }
}

/// Returns the number of items that an entity lost to a full queue; and in all, with those that were in its queue at
/// its end.
pub(crate) fn lost(context: &Context, entity: usize) -> (u64, u64) {
    let name = format!("e{entity}");
    let losses = context.losses();
    let of = |causes: &[LossCause]| {
        let those = losses.iter().filter(|loss| loss.entity == name && causes.contains(&loss.cause));
        those.map(|loss| loss.count).sum()
    };
    (of(&[LossCause::QueueFull]), of(&[LossCause::QueueFull, LossCause::EntityDropped]))
}
