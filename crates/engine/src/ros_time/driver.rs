//! The driver of ROS time: moves it at once, or after the jump callbacks have run.

use crate::sync::{Mutex, MutexGuard};
use std::sync::{Arc, Weak};
use std::task::{Poll, Waker};

use rospin_core::{Instant, Time};
use smallvec::SmallVec;

use super::jump::{ClockChange, JumpThreshold, TimeJump, Told};
use crate::foreign_waker::ForeignWaker;
use crate::lock_free::dial::Dial;
use crate::time_source::{TimeListener, TimeSource};

/// Driver of ROS time: moves it on request, after the jump callbacks have run. Each context has one.
pub(crate) struct Driver {
    pub(crate) dial: Dial,
    source: TimeSource,
    books: Mutex<Books>,
}

/// State that ROS time has, or should have on a request.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) is_active: bool,
    /// Time to show while ROS time is active.
    pub(super) time: Instant,
}

struct Books {
    current: Target,
    /// The time to show once all jump callbacks that are waited for have run, and the ticket of the request.
    next: Option<(Target, u64)>,
    /// The last request that came while there was a `next`.
    queued: Option<(Target, u64)>,
    /// The number of jump callbacks that have to run before `next` is shown.
    waiting: usize,
    /// Last ticket that was issued.
    tickets: u64,
    /// The last ticket whose request is over: time has moved.
    over: u64,
    waiters: Vec<(u64, ForeignWaker)>,
    hooks: Vec<Hook>,
    hook_numbers: u64,
    executors: Vec<Weak<dyn TimeListener>>,
    /// The sum of all shifts of the time line, see [`Reading`](crate::lock_free::dial::Reading).
    shift_ns: i64,
}

/// A jump callback, as the driver knows it.
struct Hook {
    number: u64,
    threshold: JumpThreshold,
    /// The executor that runs the callback; `None` until the entity is attached.
    listener: Option<Listener>,
    /// The jump that the callback has yet to be told of. Several jumps in a row become one.
    untold: Option<Told>,
}

/// The executor that runs a jump callback, and the waker that has it take the jump.
struct Listener {
    executor: Arc<dyn TimeListener>,
    waker: Waker,
}

/// The wake-ups that are made after the books were unlocked. They run foreign code, and code that locks the books
/// again.
#[derive(Default)]
struct Afterwards {
    wakers: Vec<ForeignWaker>,
    executors: SmallVec<[Arc<dyn TimeListener>; 8]>,
}

impl Driver {
    pub(crate) fn new(source: TimeSource) -> Arc<Self> {
        let books = Books {
            current: Target { is_active: false, time: Instant::ZERO },
            next: None,
            queued: None,
            waiting: 0,
            tickets: 0,
            over: 0,
            waiters: Vec::new(),
            hooks: Vec::new(),
            hook_numbers: 0,
            executors: Vec::new(),
            shift_ns: 0,
        };
        Arc::new(Self { dial: Dial::new(), source, books: Mutex::new(books) })
    }

    /// Wakes the executor from now on when ROS time moves.
    pub(crate) fn add_listener(&self, executor: Weak<dyn TimeListener>) {
        let mut books = self.open();
        books.executors.retain(|executor| executor.strong_count() > 0);
        books.executors.push(executor);
    }

    /// Requests that ROS time shows another time, once jump callbacks allow it. `change` makes that state from the one
    /// that was requested last. Returns the ticket of the request.
    pub(super) fn ask(&self, change: impl FnOnce(&mut Target)) -> u64 {
        let mut books = self.open();
        let latest = books.queued.or(books.next).map(|(target, _)| target);
        let mut target = latest.unwrap_or(books.current);
        change(&mut target);
        books.tickets += 1;
        let ticket = books.tickets;
        books.queued = Some((target, ticket));
        self.proceed(books);
        ticket
    }

    /// Notes that a jump callback that was waited for has run, or never will.
    pub(crate) fn arrived(&self) {
        let mut books = self.open();
        books.waiting -= 1;
        self.proceed(books);
    }

    /// Notes that the executor does not spin any more: time does not wait for its jump callbacks.
    pub(crate) fn leave(&self, executor: &dyn TimeListener) {
        let mut books = self.open();
        if executor.is_spinning() {
            // The executor spins again, so its jump callbacks will run. This method is called at the end of that spin,
            // too.
            return;
        }
        let is_executor = |listener: &Listener| std::ptr::addr_eq(Arc::as_ptr(&listener.executor), executor);
        let is_of_executor = |hook: &Hook| hook.listener.as_ref().is_some_and(is_executor);
        let mut left = 0;
        for told in books.hooks.iter_mut().filter(|hook| is_of_executor(hook)).filter_map(|hook| hook.untold.as_mut()) {
            left += usize::from(std::mem::take(&mut told.is_waited_for));
        }
        books.waiting -= left;
        self.proceed(books);
    }

    fn proceed(&self, mut books: MutexGuard<'_, Books>) {
        let afterwards = books.proceed(&self.dial, &self.source);
        drop(books);
        afterwards.run(&self.dial);
    }

    // ---- jump callbacks ----

    /// Adds a jump callback, and returns its number. It is told of nothing before it is [hooked up](Self::hook_up).
    pub(crate) fn add_hook(&self, threshold: JumpThreshold) -> u64 {
        let mut books = self.open();
        books.hook_numbers += 1;
        let number = books.hook_numbers;
        books.hooks.push(Hook { number, threshold, listener: None, untold: None });
        number
    }

    /// Attaches a jump callback to its executor: from now on the driver counts jumps there, and calls the waker for
    /// them.
    pub(crate) fn hook_up(&self, number: u64, executor: Arc<dyn TimeListener>, waker: Waker) {
        executor.add_jump_callback();
        if let Some(hook) = self.open().hook(number) {
            hook.listener = Some(Listener { executor, waker });
        }
    }

    /// Takes the jump that the callback has yet to be told of.
    pub(crate) fn take(&self, number: u64) -> Option<Told> {
        self.open().hook(number)?.untold.take()
    }

    pub(crate) fn has_news(&self, number: u64) -> bool {
        self.open().hook(number).is_some_and(|hook| hook.untold.is_some())
    }

    /// Removes a jump callback: time does not wait for it any more.
    pub(crate) fn unhook(&self, number: u64) {
        let mut books = self.open();
        let at = books.hooks.iter().position(|hook| hook.number == number);
        let hook = at.map(|at| books.hooks.remove(at));
        drop(books);
        // Dropping a hook may lock the books again.
        drop(hook);
    }

    // ---- barriers ----

    pub(super) fn is_over(&self, ticket: u64) -> bool {
        ticket <= self.open().over
    }

    pub(super) fn poll_over(&self, ticket: u64, waker: &Waker) -> Poll<()> {
        // The waker is cloned and dropped outside the lock, because wakers are foreign code.
        let waker = ForeignWaker::from(waker.clone());
        let mut books = self.open();
        if ticket <= books.over {
            return Poll::Ready(());
        }
        let former = match books.waiters.iter_mut().find(|(waiter, _)| *waiter == ticket) {
            Some((_, former)) => Some(std::mem::replace(former, waker)),
            None => {
                books.waiters.push((ticket, waker));
                None
            }
        };
        drop(books);
        drop(former);
        Poll::Pending
    }

    pub(super) fn forget_waiter(&self, ticket: u64) {
        let mut books = self.open();
        let at = books.waiters.iter().position(|(waiter, _)| *waiter == ticket);
        let waiter = at.map(|at| books.waiters.swap_remove(at));
        drop(books);
        drop(waiter);
    }

    fn open(&self) -> MutexGuard<'_, Books> {
        self.books.lock()
    }
}

impl Books {
    /// Carries out the requests in order, until one has to wait for jump callbacks. Returns the wake-ups that are then
    /// to be made.
    fn proceed(&mut self, dial: &Dial, clock: &TimeSource) -> Afterwards {
        let mut afterwards = Afterwards::default();
        while self.waiting == 0 {
            if let Some((target, ticket)) = self.next.take() {
                self.show(target, dial, clock);
                self.over = ticket;
                self.wake(&mut afterwards);
                afterwards.executors.extend(self.executors.iter().filter_map(Weak::upgrade));
            }
            let Some((target, ticket)) = self.queued.take() else {
                break;
            };
            self.next = Some((target, ticket));
            if let Some(jump) = self.jump_to(target, clock) {
                self.tell(jump);
            }
        }
        afterwards
    }

    fn hook(&mut self, number: u64) -> Option<&mut Hook> {
        self.hooks.iter_mut().find(|hook| hook.number == number)
    }

    fn wake(&mut self, afterwards: &mut Afterwards) {
        afterwards.wakers.extend(self.waiters.drain(..).map(|(_, waker)| waker));
    }

    /// Returns the jump from the current time to `target`, or `None` if that is no jump.
    fn jump_to(&self, target: Target, clock: &TimeSource) -> Option<TimeJump> {
        let shows = |target: Target| if target.is_active { target.time } else { clock.system() };
        let change = match (self.current.is_active, target.is_active) {
            (false, false) => return None,
            (true, true) => ClockChange::None,
            (false, true) => ClockChange::Activated,
            (true, false) => ClockChange::Deactivated,
        };
        let shows = |target| Time::from_reading(shows(target));
        let jump = TimeJump { from: shows(self.current), to: shows(target), change };
        (jump.from != jump.to || change != ClockChange::None).then_some(jump)
    }

    /// Releases the jump callbacks whose threshold the jump reaches; those of spinning executors are waited for.
    fn tell(&mut self, jump: TimeJump) {
        for hook in &mut self.hooks {
            let Some(listener) = hook.listener.as_ref().filter(|_| hook.threshold.is_exceeded_by(&jump)) else {
                continue;
            };
            let Listener { executor, waker } = listener;
            let told = hook.untold.get_or_insert_with(|| Told::new(jump, executor));
            let is_change = jump.change != ClockChange::None;
            let change = if is_change { jump.change } else { told.jump.change };
            told.jump = TimeJump { from: told.jump.from, to: jump.to, change };
            if !told.is_waited_for && executor.is_spinning() {
                told.is_waited_for = true;
                self.waiting += 1;
            }
            waker.wake_by_ref();
        }
    }

    fn show(&mut self, target: Target, dial: &Dial, clock: &TimeSource) {
        let jump = self.jump_to(target, clock);
        self.current = target;
        let Some(TimeJump { from, to, change }) = jump else {
            return;
        };
        if change == ClockChange::None && from < to {
            dial.advance(to.as_nanos());
            return;
        }
        if change != ClockChange::None {
            self.shift_ns = self.shift_ns.wrapping_add_unsigned(to.as_nanos()).wrapping_sub_unsigned(from.as_nanos());
        }
        dial.turn(to.as_nanos(), !target.is_active, self.shift_ns);
    }
}

impl Afterwards {
    fn run(self, dial: &Dial) {
        for executor in self.executors {
            executor.ros_time_moved(dial);
        }
        for waker in self.wakers {
            waker.wake();
        }
    }
}
