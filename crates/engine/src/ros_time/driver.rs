//! Moves ROS time: at once, or once the jump callbacks ran.

use crate::sync::atomic::{Ordering, fence};
use crate::sync::{Mutex, MutexGuard};
use std::sync::{Arc, Weak};
use std::task::{Poll, Waker};

use rospin_core::Instant;
use smallvec::SmallVec;

use super::{Barrier, ClockChange, JumpThreshold, TimeJump, Told};
use crate::clock::Clock;
use crate::lock_free::dial::Dial;
use crate::shared::Shared;
use crate::source::Notifier;

/// What ROS time is driven by. One a [`Clock`].
pub(crate) struct Driver {
    pub(crate) dial: Dial,
    books: Mutex<Books>,
}

/// What ROS time is to show.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) is_active: bool,
    /// Shown while it is active.
    pub(super) time: Instant,
}

struct Books {
    current: Target,
    /// What it will show when nobody is waited for any more, and the ticket of who asked for it.
    next: Option<(Target, u64)>,
    /// What was asked for last while there was a `next`.
    queued: Option<(Target, u64)>,
    /// How many jump callbacks have to run before `next` is shown.
    waiting: usize,
    /// The ticket that was given out last, and the last one that is over.
    tickets: u64,
    over: u64,
    waiters: Vec<(u64, Waker)>,
    hooks: Vec<Hook>,
    hook_numbers: u64,
    executors: Vec<Weak<Shared>>,
    /// See [`Dial`].
    shift_ns: i64,
}

/// A jump callback.
struct Hook {
    number: u64,
    threshold: JumpThreshold,
    /// From when the entity is attached.
    notifier: Option<Notifier>,
    /// What it has to be told of. Jumps that an executor slept through become one.
    told: Option<Told>,
}

/// What is done, or dropped, when the books are closed: foreign code, and whatever takes their lock again.
#[derive(Default)]
struct Afterwards {
    wakers: Vec<Waker>,
    executors: SmallVec<[Arc<Shared>; 8]>,
}

impl Driver {
    pub(crate) fn new() -> Arc<Self> {
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
        Arc::new(Self { dial: Dial::new(), books: Mutex::new(books) })
    }

    /// Lets time that moves wake the executor.
    pub(crate) fn wakes(&self, executor: &Arc<Shared>) {
        let mut books = self.open();
        books.executors.retain(|executor| executor.strong_count() > 0);
        books.executors.push(Arc::downgrade(executor));
    }

    /// Changes what ROS time shows as soon as jump callbacks allow.
    pub(super) fn ask(self: &Arc<Self>, clock: &Clock, change: impl FnOnce(&mut Target)) -> Barrier {
        let mut books = self.open();
        let latest = books.queued.or(books.next).map(|(target, _)| target);
        let mut target = latest.unwrap_or(books.current);
        change(&mut target);
        books.tickets += 1;
        let ticket = books.tickets;
        books.queued = Some((target, ticket));
        self.proceed(books, clock);
        Barrier::new(Arc::clone(self), ticket)
    }

    /// A jump callback that was waited for has run.
    pub(super) fn arrived(&self, clock: &Clock) {
        let mut books = self.open();
        books.waiting -= 1;
        self.proceed(books, clock);
    }

    /// The executor does not spin any more: time does not wait for its jump callbacks.
    pub(crate) fn leave(&self, executor: &Shared) {
        let mut books = self.open();
        if executor.spinning.load(Ordering::SeqCst) {
            // Again, meanwhile: its jump callbacks will run, and the end of that spin comes here, too.
            return;
        }
        let is_of_executor =
            |hook: &Hook| hook.notifier.as_ref().is_some_and(|notifier| std::ptr::eq(&**notifier.executor(), executor));
        let mut left = 0;
        for told in books.hooks.iter_mut().filter(|hook| is_of_executor(hook)).filter_map(|hook| hook.told.as_mut()) {
            left += usize::from(std::mem::take(&mut told.is_waited_for));
        }
        books.waiting -= left;
        self.proceed(books, &executor.clock);
    }

    fn proceed(&self, mut books: MutexGuard<'_, Books>, clock: &Clock) {
        let afterwards = books.proceed(&self.dial, clock);
        drop(books);
        afterwards.run(&self.dial);
    }

    // ---- jump callbacks ----

    /// Enters a jump callback; it is told of nothing before it is [hooked up](Self::hook_up).
    pub(crate) fn add_hook(&self, threshold: JumpThreshold) -> u64 {
        let mut books = self.open();
        books.hook_numbers += 1;
        let number = books.hook_numbers;
        books.hooks.push(Hook { number, threshold, notifier: None, told: None });
        number
    }

    pub(super) fn hook_up(&self, number: u64, notifier: Notifier) {
        notifier.executor().has_jump_callbacks.store(true, Ordering::SeqCst);
        if let Some(hook) = self.open().hook(number) {
            hook.notifier = Some(notifier);
        }
    }

    pub(super) fn take(&self, number: u64) -> Option<Told> {
        self.open().hook(number)?.told.take()
    }

    pub(super) fn has_news(&self, number: u64) -> bool {
        self.open().hook(number).is_some_and(|hook| hook.told.is_some())
    }

    /// Removes a jump callback: time does not wait for it any more.
    pub(crate) fn unhook(&self, number: u64) {
        let mut books = self.open();
        let at = books.hooks.iter().position(|hook| hook.number == number);
        let hook = at.map(|at| books.hooks.remove(at));
        drop(books);
        // Opens the books again.
        drop(hook);
    }

    // ---- barriers ----

    pub(super) fn is_over(&self, ticket: u64) -> bool {
        ticket <= self.open().over
    }

    pub(super) fn poll_over(&self, ticket: u64, waker: &Waker) -> Poll<()> {
        // Cloned and dropped while the books are closed: it is foreign code.
        let waker = waker.clone();
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
    /// Goes on as far as jump callbacks allow.
    fn proceed(&mut self, dial: &Dial, clock: &Clock) -> Afterwards {
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

    /// What happens when `target` is shown, if it is a jump at all.
    fn jump_to(&self, target: Target, clock: &Clock) -> Option<TimeJump> {
        let shows = |target: Target| if target.is_active { target.time } else { clock.system() };
        let change = match (self.current.is_active, target.is_active) {
            (false, false) => return None,
            (true, true) => ClockChange::None,
            (false, true) => ClockChange::Activated,
            (true, false) => ClockChange::Deactivated,
        };
        let jump = TimeJump { from: shows(self.current), to: shows(target), change };
        (jump.from != jump.to || change != ClockChange::None).then_some(jump)
    }

    /// Releases the jump callbacks whose threshold is exceeded; those of spinning executors are waited for.
    fn tell(&mut self, jump: TimeJump) {
        // With the one at the end of a spin: either it finds what is given here, or here it is seen not to spin.
        fence(Ordering::SeqCst);
        for hook in &mut self.hooks {
            let Some(notifier) = hook.notifier.as_ref().filter(|_| hook.threshold.is_exceeded_by(&jump)) else {
                continue;
            };
            let executor = notifier.executor();
            let told = hook.told.get_or_insert_with(|| Told::new(jump, executor));
            let is_change = jump.change != ClockChange::None;
            let change = if is_change { jump.change } else { told.jump.change };
            told.jump = TimeJump { from: told.jump.from, to: jump.to, change };
            if !told.is_waited_for && executor.spinning.load(Ordering::SeqCst) {
                told.is_waited_for = true;
                self.waiting += 1;
            }
            notifier.notify();
        }
    }

    fn show(&mut self, target: Target, dial: &Dial, clock: &Clock) {
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
            if executor.ros_watch.is_up_now(dial) {
                executor.bell.parker.unpark_one();
            }
        }
        for waker in self.wakers {
            waker.wake();
        }
    }
}
