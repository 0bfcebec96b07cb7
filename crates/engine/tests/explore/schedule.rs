//! Schedules: the thread that goes on at each step, from a seed; and the moments at which all threads are blocked.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use shuttle::scheduler::{Schedule, Scheduler, Task, TaskId};

use super::rng::Rng;
use super::search::Jobs;

thread_local! {
    /// By thread of the model: how often it let others go on. All of them share one thread of the process.
    static YIELDS: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

/// Returns how often the thread of the model that runs has let others go on.
pub(crate) fn yields_here() -> u64 {
    let me = super::world::me();
    YIELDS.with_borrow(|yields| yields.get(me).copied().unwrap_or(0))
}

fn count_yield(task: usize) {
    YIELDS.with_borrow_mut(|yields| {
        if yields.len() <= task {
            yields.resize(task + 1, 0);
        }
        yields[task] += 1;
    });
}

/// The way in which the next thread is chosen.
#[derive(Clone, Copy, Debug)]
enum Style {
    /// Any thread that can continue.
    Random,
    /// The same thread, in this number of a hundred cases.
    Sticky(u64),
    /// The first thread of a random order, which changes now and then (Burckhardt et al., ASPLOS 2010).
    Priorities,
}

/// Lets the main thread wait until all others are blocked.
#[derive(Default, Debug)]
pub(crate) struct Quiet(AtomicBool);

impl Quiet {
    /// Waits until no other thread can go on. Only the main thread calls it, which is the first one.
    pub(crate) fn wait(&self) {
        self.0.store(true, Ordering::Relaxed);
        shuttle::thread::yield_now();
    }
}

/// Source of the steps of one program after the other.
pub(crate) struct Steps {
    jobs: Arc<Jobs>,
    quiet: Arc<Quiet>,
    rng: Rng,
    style: Style,
    /// By thread, for [`Style::Priorities`].
    priorities: Vec<u64>,
    /// The threads that were put back, for [`Style::Priorities`]. The first one precedes the others.
    put_back: Vec<TaskId>,
}

impl Steps {
    pub(crate) fn new(jobs: Arc<Jobs>, quiet: Arc<Quiet>) -> Self {
        Self { jobs, quiet, rng: Rng::new(0), style: Style::Random, priorities: Vec::new(), put_back: Vec::new() }
    }

    fn choose(&mut self, runnable: &[TaskId], current: Option<TaskId>, is_yielding: bool) -> TaskId {
        let stays = current.filter(|current| !is_yielding && runnable.contains(current));
        match self.style {
            Style::Sticky(percent) if stays.is_some() && self.rng.percent(percent) => stays.unwrap_or(runnable[0]),
            Style::Priorities => self.most_urgent(runnable, current, is_yielding),
            Style::Random | Style::Sticky(_) => *self.rng.pick(runnable),
        }
    }

    fn most_urgent(&mut self, runnable: &[TaskId], current: Option<TaskId>, is_yielding: bool) -> TaskId {
        let last = runnable.iter().copied().chain(current).map(usize::from).max().unwrap_or(0);
        while self.priorities.len() <= last {
            let priority = self.rng.next();
            self.priorities.push(priority);
        }
        if let Some(current) = current
            && (is_yielding || self.rng.below(150) == 0)
        {
            // The thread goes behind all that were never put back, and to a random place among those that were. A
            // random number in its place would often lead nowhere: the thread that goes on is the one with the highest
            // number, so the others have low ones, and lower ones after each turn.
            self.put_back.retain(|task| *task != current);
            let place = self.rng.below(self.put_back.len() + 1);
            self.put_back.insert(place, current);
        }
        let never = runnable.iter().copied().filter(|task| !self.put_back.contains(task));
        let first = never.max_by_key(|task| self.priorities[usize::from(*task)]);
        let first = first.or_else(|| self.put_back.iter().copied().find(|task| runnable.contains(task)));
        first.unwrap_or(runnable[0])
    }
}

impl Scheduler for Steps {
    fn new_execution(&mut self) -> Option<Schedule> {
        let seed = self.jobs.next()?;
        self.quiet.0.store(false, Ordering::Relaxed);
        self.rng = Rng::new(seed);
        self.priorities.clear();
        self.put_back.clear();
        YIELDS.with_borrow_mut(Vec::clear);
        self.style = match self.rng.below(4) {
            0 => Style::Random,
            1 => Style::Sticky(60),
            2 => Style::Sticky(90),
            _ => Style::Priorities,
        };
        Some(Schedule::new(seed))
    }

    fn next_task(&mut self, runnable: &[&Task], current: Option<TaskId>, is_yielding: bool) -> Option<TaskId> {
        let main = TaskId::from(0);
        if let Some(current) = current.filter(|_| is_yielding) {
            count_yield(usize::from(current));
        }
        let mut ids: Vec<TaskId> = runnable.iter().map(|task| task.id()).collect();
        if self.quiet.0.load(Ordering::Relaxed) {
            if ids == [main] {
                self.quiet.0.store(false, Ordering::Relaxed);
            } else {
                ids.retain(|task| *task != main);
            }
        }
        Some(self.choose(&ids, current, is_yielding))
    }

    fn next_u64(&mut self) -> u64 {
        self.rng.next()
    }
}
