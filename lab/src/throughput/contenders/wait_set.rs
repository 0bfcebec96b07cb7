//! Model of a wait set that is built anew for every wait: rclcpp's single- and multi-threaded executors, and the lower
//! part of R2R.
//!
//! The model is kind to the design: for each entity, it only keeps the entity alive during a wait and looks if it is
//! ready. Middlewares also attach and detach a condition.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::Wake;
use std::thread;
use std::time::Instant;

use rospin_engine::Queue;

use super::super::system::{Message, OnMessage, OnTick, System};
use super::taken::Taken;
use super::timers::Due;
use super::{Control, Failed};

/// Condition that a thread waits for. An arriving message triggers it.
#[derive(Default)]
pub(super) struct Condition {
    state: Mutex<Trigger>,
    changed: Condvar,
}

#[derive(Default)]
struct Trigger {
    triggered: bool,
    /// True if a thread waits. Only then the condition variable is signalled: the standard library's makes a system
    /// call for it even if nobody waits, that of C does not.
    waiting: bool,
}

impl Condition {
    /// Ends the wait, or the next one if nobody waits.
    pub(super) fn trigger(&self) {
        let mut state = lock(&self.state);
        state.triggered = true;
        let waiting = state.waiting;
        drop(state);
        if waiting {
            self.changed.notify_one();
        }
    }

    /// Clears an earlier trigger, so that the next wait blocks.
    fn clear(&self) {
        lock(&self.state).triggered = false;
    }

    /// Waits until the condition is triggered, or until the time `until` if there is one.
    fn wait(&self, until: Option<Instant>) {
        let mut state = lock(&self.state);
        state.waiting = true;
        while !state.triggered {
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            match left {
                None => state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(left) if left.is_zero() => break,
                Some(left) => state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0,
            }
        }
        state.waiting = false;
    }
}

impl Wake for Condition {
    fn wake(self: Arc<Self>) {
        self.trigger();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.trigger();
    }
}

/// Entity that is ready, by its number.
#[derive(Clone, Copy)]
pub(super) enum Ready {
    Timer(usize),
    Subscription(usize),
}

/// Due time of a timer, shared by the threads that check it.
type SharedDue = Arc<Mutex<Due>>;

/// Entities of which wait sets are built.
pub(super) struct Entities {
    /// Queue of each subscription, and the number of its group.
    pub(super) subscriptions: Vec<(Arc<Queue<Message>>, usize)>,
    /// Due time of each timer, and the number of its group.
    timers: Vec<(SharedDue, usize)>,
    /// Condition that each message triggers.
    pub(super) condition: Arc<Condition>,
}

impl Entities {
    /// Returns the entities of a system, and the callbacks of subscriptions and of timers in the same order.
    pub(super) fn of(system: System) -> Result<(Self, Vec<OnMessage>, Vec<OnTick>), Failed> {
        let condition = Arc::<Condition>::default();
        let taken = Taken::all(&system.context, system.subscriptions)?;
        taken.iter().for_each(|taken| taken.wakes(&condition));
        let timers = system.timers.iter().map(|timer| (Arc::new(Mutex::new(Due::new(timer))), timer.group)).collect();
        let subscriptions = taken.iter().map(|taken| (Arc::clone(&taken.queue), taken.group)).collect();
        let callbacks = taken.into_iter().map(|taken| taken.callback).collect();
        let ticks = system.timers.into_iter().map(|timer| timer.callback).collect();
        Ok((Self { subscriptions, timers, condition }, callbacks, ticks))
    }

    /// Returns the number of the entity's group.
    fn group(&self, ready: Ready) -> usize {
        match ready {
            Ready::Timer(number) => self.timers[number].1,
            Ready::Subscription(number) => self.subscriptions[number].1,
        }
    }

    /// Returns true if the timer is still due, and sets its next due time then.
    pub(super) fn fires(&self, timer: usize) -> bool {
        lock(&self.timers[timer].0).fires(Instant::now())
    }
}

/// The wait set of one executor. Its memory is used again for each wait.
#[derive(Default)]
pub(super) struct WaitSet {
    /// Timers of the set by their numbers; likewise the subscriptions.
    timers: Vec<(usize, SharedDue)>,
    subscriptions: Vec<(usize, Arc<Queue<Message>>)>,
    /// Entities that the last wait found ready, in reverse: the next one is last.
    ready: Vec<Ready>,
}

impl WaitSet {
    /// Builds the set of the entities whose group is free, and waits until one of them is ready or the condition is
    /// triggered. `is_free` returns true for the number of a group of which no callback runs. If `is_over` returns
    /// true, the method does not wait.
    pub(super) fn wait(&mut self, entities: &Entities, is_free: impl Fn(usize) -> bool, is_over: impl Fn() -> bool) {
        entities.condition.clear();
        self.build(entities, is_free);
        let next = self.find_ready();
        if self.ready.is_empty() && !is_over() {
            entities.condition.wait(next);
            self.find_ready();
        }
    }

    /// Fills the set with the entities whose group is free.
    fn build(&mut self, entities: &Entities, is_free: impl Fn(usize) -> bool) {
        self.timers.clear();
        self.subscriptions.clear();
        let timers = entities.timers.iter().enumerate().filter(|(_, (_, group))| is_free(*group));
        self.timers.extend(timers.map(|(number, (due, _))| (number, Arc::clone(due))));
        let subscriptions = entities.subscriptions.iter().enumerate().filter(|(_, (_, group))| is_free(*group));
        self.subscriptions.extend(subscriptions.map(|(number, (queue, _))| (number, Arc::clone(queue))));
    }

    /// Finds the entities of the set that are ready, timers first. Returns the earliest next due time of the set's
    /// timers; `None` if there are none.
    fn find_ready(&mut self) -> Option<Instant> {
        self.ready.clear();
        let mut next = None;
        if !self.timers.is_empty() {
            let now = Instant::now();
            for (number, due) in &self.timers {
                let at = lock(due).at;
                if at <= now {
                    self.ready.push(Ready::Timer(*number));
                }
                next = Some(next.map_or(at, |next: Instant| next.min(at)));
            }
        }
        let full = self.subscriptions.iter().filter(|(_, queue)| !queue.is_empty());
        self.ready.extend(full.map(|(number, _)| Ready::Subscription(*number)));
        self.ready.reverse();
        next
    }

    /// Returns the next entity that the last wait found ready; `None` if all have been returned.
    pub(super) fn next(&mut self) -> Option<Ready> {
        self.ready.pop()
    }
}

/// Runs the system on the calling thread, until `control` ends it.
pub(super) fn spin_single(system: System, control: &Control) -> Result<(), Failed> {
    let (entities, mut callbacks, mut ticks) = Entities::of(system)?;
    let condition = Arc::clone(&entities.condition);
    control.running(move || condition.trigger());
    let mut set = WaitSet::default();
    while !control.is_over() {
        match set.next() {
            Some(Ready::Timer(number)) if entities.fires(number) => ticks[number](),
            Some(Ready::Subscription(number)) => {
                if let Some(message) = entities.subscriptions[number].0.try_take() {
                    callbacks[number](message);
                }
            }
            Some(Ready::Timer(_)) => {}
            None => set.wait(&entities, |_| true, || control.is_over()),
        }
    }
    Ok(())
}

/// State that the threads of a multi-threaded executor share.
struct Multi {
    entities: Entities,
    callbacks: Vec<Mutex<OnMessage>>,
    ticks: Vec<Mutex<OnTick>>,
    /// True for each group of which no callback runs.
    is_free: Vec<AtomicBool>,
    /// The wait set. One thread at a time waits, under this lock.
    set: Mutex<WaitSet>,
}

/// Runs the system on as many threads as it has, which share one wait set, until `control` ends it.
pub(super) fn spin_multi(system: System, control: &Control) -> Result<(), Failed> {
    let (groups, threads) = (system.groups, system.threads);
    let (entities, callbacks, ticks) = Entities::of(system)?;
    let multi = Multi {
        entities,
        callbacks: callbacks.into_iter().map(Mutex::new).collect(),
        ticks: ticks.into_iter().map(Mutex::new).collect(),
        is_free: (0..groups).map(|_| AtomicBool::new(true)).collect(),
        set: Mutex::default(),
    };
    let condition = Arc::clone(&multi.entities.condition);
    control.running(move || condition.trigger());
    thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(|| multi.thread(control));
        }
        multi.thread(control);
    });
    Ok(())
}

impl Multi {
    /// Picks and runs callbacks on the calling thread until the contender must end.
    fn thread(&self, control: &Control) {
        while !control.is_over() {
            if let Some(ready) = self.pick(control) {
                self.run(ready);
                self.is_free[self.entities.group(ready)].store(true, Ordering::Release);
                // The thread that waits built its set without this group.
                self.entities.condition.trigger();
            }
        }
        // The contender ends: each thread that ends wakes the next one.
        self.entities.condition.trigger();
    }

    /// Returns a ready entity whose group was free, after marking the group as held; `None` if there is none.
    fn pick(&self, control: &Control) -> Option<Ready> {
        let mut set = lock(&self.set);
        let hold = |set: &mut WaitSet| {
            std::iter::from_fn(|| set.next())
                .find(|ready| self.is_free[self.entities.group(*ready)].swap(false, Ordering::AcqRel))
        };
        hold(&mut set).or_else(|| {
            set.wait(&self.entities, |group| self.is_free[group].load(Ordering::Acquire), || control.is_over());
            hold(&mut set)
        })
    }

    /// Runs the callback of an entity, unless there is nothing for it any more.
    fn run(&self, ready: Ready) {
        match ready {
            Ready::Timer(number) => {
                if self.entities.fires(number) {
                    lock(&self.ticks[number])();
                }
            }
            Ready::Subscription(number) => {
                if let Some(message) = self.entities.subscriptions[number].0.try_take() {
                    lock(&self.callbacks[number])(message);
                }
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
