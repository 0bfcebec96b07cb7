//! The dispatch loop: drain, pick, run, complete; park when there is nothing.
//!
//! One loop for any number of threads. With one thread the state is borrowed, with several it is behind a lock that is
//! held between callbacks only.

use std::cell::RefCell;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use rospin_core::{ClockKind, Instant, ThreadIndex};

use crate::executor::SpinError;
use crate::lock_free::parker::{Deadline, Ticket};
use crate::runtime::Runtime;
use crate::shared::{Leftovers, Shared};
use crate::state::State;
use crate::work::{Finished, Work};

/// When a spin ends by itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Until {
    /// When it is halted.
    #[default]
    Halted,
    /// After one activation.
    Once,
    /// When nothing is ready any more.
    Idle,
}

/// Access to the state for the threads of one spin.
trait Access {
    fn with<R>(&self, f: impl FnOnce(&mut State) -> R) -> R;
}

impl Access for RefCell<&mut State> {
    fn with<R>(&self, f: impl FnOnce(&mut State) -> R) -> R {
        f(&mut self.borrow_mut())
    }
}

impl Access for Mutex<&mut State> {
    fn with<R>(&self, f: impl FnOnce(&mut State) -> R) -> R {
        f(&mut self.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The future that `spin_until` waits for, as the first thread sees it: polled when woken, says when it is done.
pub(crate) struct MainFuture<'a> {
    future: Pin<&'a mut dyn Future<Output = ()>>,
    woken: Arc<MainWaker>,
    waker: Waker,
}

struct MainWaker {
    woken: AtomicBool,
    executor: Arc<Shared>,
}

impl Wake for MainWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.woken.store(true, Ordering::Release);
        // All, since only the first thread polls it.
        self.executor.parker.unpark_all();
    }
}

impl<'a> MainFuture<'a> {
    pub(crate) fn new(executor: &Arc<Shared>, future: Pin<&'a mut dyn Future<Output = ()>>) -> Self {
        let woken = Arc::new(MainWaker { woken: AtomicBool::new(true), executor: Arc::clone(executor) });
        Self { future, waker: Arc::clone(&woken).into(), woken }
    }

    /// Polls it if it was woken; says whether it is done.
    fn poll_if_woken(&mut self) -> bool {
        self.woken.woken.swap(false, Ordering::AcqRel)
            && self.future.as_mut().poll(&mut Context::from_waker(&self.waker)) == Poll::Ready(())
    }

    fn is_woken(&self) -> bool {
        self.woken.woken.load(Ordering::Acquire)
    }
}

/// One call of `spin`.
pub(crate) struct Spin<'a> {
    pub(crate) executor: &'a Arc<Shared>,
    pub(crate) runtime: &'a Runtime,
    pub(crate) threads: u16,
    pub(crate) until: Until,
    /// On the executor's clock.
    pub(crate) deadline: Option<Instant>,
    stop: AtomicBool,
    timed_out: AtomicBool,
}

/// What a thread does next.
enum Next {
    Run(Work),
    Park(Ticket, Deadline),
    Stop,
}

struct Step {
    next: Next,
    leftovers: Leftovers,
    /// There is something for another thread, too.
    wake_another: bool,
}

impl<'a> Spin<'a> {
    pub(crate) fn new(executor: &'a Arc<Shared>, runtime: &'a Runtime, threads: u16) -> Self {
        Self {
            executor,
            runtime,
            threads,
            until: Until::Halted,
            deadline: None,
            stop: AtomicBool::new(false),
            timed_out: AtomicBool::new(false),
        }
    }

    /// Spins until it is over; nothing runs any more when this returns.
    pub(crate) fn run(&self, main: Option<MainFuture<'_>>) -> Result<(), SpinError> {
        let executor = self.executor;
        if executor.spinning.swap(true, Ordering::AcqRel) {
            return Err(SpinError::AlreadySpinning { executor: executor.name.clone() });
        }
        let _spinning = Spinning(executor);
        self.runtime.prepare().map_err(SpinError::Runtime)?;
        let mut state = executor.lock_state();
        state.parked = vec![None; usize::from(self.threads)];
        let spun = if self.threads == 1 || self.until != Until::Halted {
            let access = RefCell::new(&mut *state);
            self.runtime.run(|| self.thread(&access, ThreadIndex(0), main));
            Ok(())
        } else {
            self.spin_threads(&mut state, main)
        };
        executor.halt.store(false, Ordering::Release);
        let fatal = state.fatal.take();
        drop(state);
        spun?;
        match fatal {
            Some(incident) => Err(SpinError::Panicked(incident)),
            None if self.timed_out.load(Ordering::Acquire) => Err(SpinError::Timeout),
            None => Ok(()),
        }
    }

    fn spin_threads(&self, state: &mut State, main: Option<MainFuture<'_>>) -> Result<(), SpinError> {
        let access = Mutex::new(state);
        std::thread::scope(|scope| {
            for number in 1..self.threads {
                let access = &access;
                let body = move || self.runtime.run(|| self.thread(access, ThreadIndex(number), None));
                let name = format!("{}-{number}", self.executor.name);
                if let Err(error) = std::thread::Builder::new().name(name).spawn_scoped(scope, body) {
                    self.stop();
                    return Err(SpinError::Thread(error));
                }
            }
            self.runtime.run(|| self.thread(&access, ThreadIndex(0), main));
            Ok(())
        })
    }

    /// The loop of one thread.
    fn thread(&self, access: &impl Access, thread: ThreadIndex, mut main: Option<MainFuture<'_>>) {
        let mut finished = None;
        loop {
            if main.as_mut().is_some_and(MainFuture::poll_if_woken) {
                self.stop();
            }
            let Step { next, mut leftovers, wake_another } =
                access.with(|state| self.step(state, thread, finished.take()));
            if wake_another {
                self.executor.parker.unpark_one();
            }
            leftovers.report(self.executor);
            match next {
                Next::Run(work) => finished = Some(work.run()),
                Next::Park(ticket, deadline) => {
                    let main_woken = main.as_ref().is_some_and(MainFuture::is_woken);
                    if main_woken || self.stopped() || self.executor.wants_attention() {
                        self.executor.parker.cancel(ticket);
                    } else {
                        self.executor.parker.park(ticket, deadline);
                    }
                }
                Next::Stop => return,
            }
        }
    }

    /// Everything between two callbacks.
    fn step(&self, state: &mut State, thread: ThreadIndex, finished: Option<Finished>) -> Step {
        let executor = self.executor;
        let now = executor.clock.now();
        state.parked[usize::from(thread.0)] = None;
        executor.run_commands(state);
        state.drain(&executor.inbox, now);
        let ran_one = finished.is_some();
        if let Some(finished) = finished {
            state.finish(executor, finished, now);
        }
        let mut wake_another = false;
        let next = if self.is_over(state, now, ran_one) {
            Next::Stop
        } else {
            state.advance(&executor.clock, now);
            match state.start(now, thread) {
                Some(work) => {
                    wake_another = self.threads > 1 && self.others_are_needed(state);
                    Next::Run(work)
                }
                None => self.idle(state, thread, now),
            }
        };
        Step { next, leftovers: state.take_leftovers(), wake_another }
    }

    fn is_over(&self, state: &State, now: Instant, ran_one: bool) -> bool {
        let halted = state.fatal.is_some() || self.executor.halt.load(Ordering::Acquire);
        let done = ran_one && self.until == Until::Once;
        if halted || done {
            self.stop();
        } else if self.until != Until::Once && self.is_late(now) && !self.stopped() {
            self.time_out();
        }
        self.stopped()
    }

    fn is_late(&self, now: Instant) -> bool {
        self.deadline.is_some_and(|deadline| deadline <= now)
    }

    fn time_out(&self) {
        self.timed_out.store(true, Ordering::Release);
        self.stop();
    }

    /// There is nothing to run now.
    fn idle(&self, state: &mut State, thread: ThreadIndex, now: Instant) -> Next {
        if self.until == Until::Idle {
            self.stop();
            return Next::Stop;
        }
        if self.is_late(now) {
            self.time_out();
            return Next::Stop;
        }
        let due = state.scheduler.next_due();
        let wake_at = [due, self.deadline].into_iter().flatten().min();
        state.parked[usize::from(thread.0)] = Some(due.unwrap_or(Instant::MAX));
        // With the state in hand: whoever gets it next sees this thread as parked.
        let ticket = self.executor.parker.prepare();
        let system = state.scheduler.next_due_on(ClockKind::System);
        Next::Park(ticket, self.executor.clock.deadline(wake_at, system))
    }

    /// Whether a parked thread should get up: there is more to run, or a timer that nobody is awake for.
    fn others_are_needed(&self, state: &State) -> bool {
        let Some(watched_until) = state.parked.iter().flatten().min() else {
            return false;
        };
        state.scheduler.has_candidates() || state.scheduler.next_due().is_some_and(|due| due < *watched_until)
    }

    fn stop(&self) {
        if !self.stop.swap(true, Ordering::AcqRel) {
            self.executor.parker.unpark_all();
        }
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }
}

/// Ends the spin however it ends.
struct Spinning<'a>(&'a Shared);

impl Drop for Spinning<'_> {
    fn drop(&mut self) {
        self.0.spinning.store(false, Ordering::Release);
    }
}
