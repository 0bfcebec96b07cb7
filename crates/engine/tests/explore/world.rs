//! The data that the threads and callbacks of one program share.
//!
//! The locks here are the standard library's, so that taking one is no step of the model. No engine code runs under
//! them.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicIsize, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

use rospin_engine::{
    CallbackGroup, Client, Context, DueSetter, Entity, Executor, ExecutorHandle, JumpCallback, Loss, LossCause,
    LossWatch, ManualClock, Publisher, Queue, Recorder, ReentrantGroup, RosTime, Service, Subscription, Timer,
};

use super::channel::Channel;
use super::create::LIVES;
use super::generate::{CHANNELS, SERVICES, TOPICS};
use super::model::{Model, Switched};
use super::operations::{does, does_all};
use super::program::Program;
use super::publish::publisher_options;
use super::record::Recording;

/// The number of things that a program may publish, send and create, so that callbacks that feed themselves come to an
/// end.
const BUDGET: usize = 60;
/// The same for programs with bursts.
const LARGE_BUDGET: usize = 150;

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
    /// The number of things that may be taken from the budget.
    left: AtomicUsize,
    /// The number of notes after which the program goes on for ever.
    most_notes: usize,
    /// The recorder, if the program records; and the recording, while there is one.
    pub(crate) recorder: Option<Recorder>,
    pub(crate) recording: Mutex<Option<(Switched, Recording)>>,
}

/// Handles, by the numbers of the program.
#[derive(Default)]
pub(crate) struct Tables {
    pub(crate) executors: Vec<Option<ExecutorHandle>>,
    pub(crate) spares: Vec<Option<Arc<Executor>>>,
    pub(crate) groups: Vec<Option<Group>>,
    /// The handles, with the numbers of their lives.
    pub(crate) entities: Vec<Vec<(usize, Arc<Handle>)>>,
    pub(crate) queues: Vec<Option<(usize, Arc<Queue<Message>>)>>,
    /// Copies of the sources of entities that watch losses, with the numbers of their lives.
    pub(crate) watches: Vec<(usize, LossWatch)>,
    /// By the number of a timer: the setter of the one that was created last, with the number of its life.
    pub(crate) setters: HashMap<usize, (usize, DueSetter)>,
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

/// Calls a method that the handles of all kinds have.
macro_rules! of_handle {
    ($handle:expr, $method:ident ( $($argument:expr)? )) => {
        match $handle {
            Handle::Timer(handle) => handle.$method($($argument)?),
            Handle::Subscription(handle) => handle.$method($($argument)?),
            Handle::Service(handle) => handle.$method($($argument)?),
            Handle::Entity(handle) => handle.$method($($argument)?),
            Handle::Jump(handle) => handle.$method($($argument)?),
        }
    };
}

impl Handle {
    pub(crate) fn name(&self) -> &str {
        _ = (of_handle!(self, account()), of_handle!(self, missed_deadlines()));
        of_handle!(self, name())
    }

    pub(crate) fn lost(&self, cause: LossCause) -> u64 {
        of_handle!(self, lost(cause))
    }

    pub(crate) fn watch_losses(&self, cause: LossCause) -> LossWatch {
        does("handle!::watch_losses");
        of_handle!(self, watch_losses(cause))
    }

    pub(crate) fn detach(self) {
        of_handle!(self, detach());
    }
}

impl World {
    pub(crate) fn new(
        program: Arc<Program>,
        context: Context,
        clock: ManualClock,
        recorder: Option<Recorder>,
    ) -> Arc<Self> {
        does_all(&["Context::create_local_publisher", "Context::create_local_client", "Context::ros_time"]);
        let publishers = (0..TOPICS).map(|topic| {
            let plan = program.topics.get(topic).copied().unwrap_or_default();
            context.create_local_publisher(publisher_options(topic, plan)).unwrap()
        });
        let publishers = publishers.collect();
        let queues = program.queues.iter().map(|queue| queue.id + 1).max().unwrap_or(0);
        let budget = if program.has_bursts() { LARGE_BUDGET } else { BUDGET };
        let most_notes = program.most_notes(budget, LIVES);
        let clients = (0..SERVICES).map(|service| context.create_local_client(&format!("s{service}")).unwrap());
        let executors = program.executors.iter().map(|executor| executor.id + 1).max().unwrap_or(0);
        let groups = program.groups.iter().map(|group| group.id + 1).max().unwrap_or(0);
        let entities = program.entities.iter().map(|entity| entity.id + 1).max().unwrap_or(0);
        let tables = Tables {
            executors: vec![None; executors],
            spares: (0..executors).map(|_| None).collect(),
            groups: vec![None; groups],
            entities: (0..entities).map(|_| Vec::new()).collect(),
            queues: vec![None; queues],
            watches: Vec::new(),
            setters: HashMap::new(),
        };
        Arc::new(Self {
            model: Mutex::new(Model::new(Arc::clone(&program))),
            program,
            ros: context.ros_time(),
            publishers,
            clients: clients.collect(),
            channels: (0..CHANNELS).map(|_| Arc::default()).collect(),
            context,
            clock,
            tally: Arc::default(),
            gate: Gate::default(),
            tables: Mutex::new(tables),
            finishing: AtomicBool::new(false),
            left: AtomicUsize::new(budget),
            most_notes,
            recorder,
            recording: Mutex::default(),
        })
    }

    /// Runs `note` on the model, with the number of the calling thread.
    pub(crate) fn note<R>(&self, note: impl FnOnce(&mut Model, usize) -> R) -> R {
        let mut model = lock(&self.model);
        // After too many notes, the program comes to the limit of steps, and ends.
        if model.notes.len() <= self.most_notes {
            shuttle::current::reset_step_count();
        }
        note(&mut model, me())
    }

    /// Returns the text of the last notes, also when no thread of the model runs.
    pub(crate) fn story(&self) -> String {
        lock(&self.model).story(60)
    }

    pub(crate) fn tables(&self) -> MutexGuard<'_, Tables> {
        lock(&self.tables)
    }

    /// Takes one from the budget. Returns false if nothing is left, or the program comes to its end.
    pub(crate) fn spend(&self) -> bool {
        let take = |left: usize| left.checked_sub(1);
        self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok() && !self.is_finishing()
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
    /// The wakers of those that wait until it is open for good.
    last: Vec<Waker>,
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

    /// Waits for the future, at most until the gate is open for good. Returns true if the future has resolved.
    pub(crate) async fn unless_over(&self, mut future: Pin<Box<dyn Future<Output = ()> + Send>>) -> bool {
        std::future::poll_fn(|cx| {
            if future.as_mut().poll(cx).is_ready() {
                return Poll::Ready(true);
            }
            let mut state = lock(&self.0);
            if state.is_open {
                return Poll::Ready(false);
            }
            state.last.push(cx.waker().clone());
            Poll::Pending
        })
        .await
    }

    /// Lets all threads at the gate go on, and those that come later if it is `for_good`.
    pub(crate) fn open(&self, for_good: bool) {
        let mut state = lock(&self.0);
        state.times += 1;
        state.is_open |= for_good;
        let mut wakers = std::mem::take(&mut state.wakers);
        if for_good {
            wakers.append(&mut state.last);
        }
        drop(state);
        for waker in wakers {
            // Some panic, as they are asked to.
            let _ = catch_unwind(AssertUnwindSafe(|| waker.wake()));
        }
    }
}

/// Returns the number of items that an entity or queue of that name lost to a full queue; and in all, with those that
/// were in its queue at its end.
pub(crate) fn lost(losses: &[Loss], name: &str) -> (u64, u64) {
    let of = |causes: &[LossCause]| {
        let those = losses.iter().filter(|loss| loss.entity == name && causes.contains(&loss.cause));
        those.map(|loss| loss.count).sum()
    };
    (of(&[LossCause::QueueFull]), of(&[LossCause::QueueFull, LossCause::EntityDropped]))
}
