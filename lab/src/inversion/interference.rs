//! Work of ordinary threads beside the urgent executor, on its core.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use clap::builder::PossibleValue;
use rospin_engine::os::ThreadOptions;
use rospin_engine::{ServiceError, SpinError, TimerError, TopicError};

use super::hog;

/// Number of times that an ordinary thread does its operation before anything is measured.
const WARM_UP: u32 = 10;
/// Longest time to wait until each ordinary thread has done its [`WARM_UP`] operations.
const PATIENCE: Duration = Duration::from_secs(5);

/// Reasons for which a row has no figures.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TurnError {
    #[error("cannot start a thread: {0}")]
    Thread(#[from] io::Error),
    #[error(transparent)]
    Timer(#[from] TimerError),
    #[error(transparent)]
    Topic(#[from] TopicError),
    #[error(transparent)]
    Service(#[from] ServiceError),
    #[error(transparent)]
    Spin(#[from] SpinError),
    #[error("the callback group is still in use")]
    Group,
    #[error("{0} panicked")]
    Panicked(&'static str),
}

/// Case of the experiment: the operation that ordinary threads repeat. The urgent timer's callback does it, too, once
/// each time it runs, and always publishes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Case {
    /// There are no ordinary threads.
    Nothing,
    /// An ordinary thread publishes on the topic that the urgent executor publishes on and subscribes to.
    Publish,
    /// An ordinary thread resets a timer of the urgent executor.
    Reset,
    /// An ordinary thread creates and drops entities of the urgent executor.
    Entities,
    /// An ordinary thread calls a service of the urgent executor.
    Service,
    /// Four ordinary threads, each with one of these operations.
    All,
    /// No rospin, for comparison: an urgent loop and an ordinary thread share a `std::sync::Mutex`.
    StdMutex,
}

impl Case {
    pub(crate) const ALL: [Self; 7] =
        [Self::Nothing, Self::Publish, Self::Reset, Self::Entities, Self::Service, Self::All, Self::StdMutex];

    /// The cases in which one ordinary thread does one operation.
    pub(super) const SINGLE: [Self; 4] = [Self::Publish, Self::Reset, Self::Entities, Self::Service];

    /// Returns the case's name on the command line and in results.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Publish => "publish",
            Self::Reset => "reset",
            Self::Entities => "entities",
            Self::Service => "service",
            Self::All => "all",
            Self::StdMutex => "std-mutex",
        }
    }

    /// Returns a description of the case for people.
    pub(crate) const fn about(self) -> &'static str {
        match self {
            Self::Nothing => "no ordinary threads: what the hog alone costs",
            Self::Publish => {
                "an ordinary thread publishes on the urgent executor's topic, which has nine subscriptions"
            }
            Self::Reset => "an ordinary thread resets timers of the urgent executor",
            Self::Entities => "an ordinary thread creates and drops subscriptions and timers of the urgent executor",
            Self::Service => "an ordinary thread calls a service of the urgent executor",
            Self::All => "all four of them, on a thread each",
            Self::StdMutex => {
                "no executor: an urgent loop and an ordinary thread that take turns with a std::sync::Mutex, held for a \
                 microsecond, to show what the hog does to an ordinary lock"
            }
        }
    }

    /// Returns true if the case uses rospin.
    pub(crate) const fn is_rospin(self) -> bool {
        !matches!(self, Self::StdMutex)
    }

    /// Returns true if this case includes the operation `single`.
    pub(super) fn has(self, single: Self) -> bool {
        self == single || (self == Self::All && Self::SINGLE.contains(&single))
    }
}

impl clap::ValueEnum for Case {
    fn value_variants<'a>() -> &'a [Self] {
        &Self::ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.name()).help(self.about()))
    }
}

/// Settings of a case: the urgent timer's and the hog's.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Turn {
    /// Period of the urgent timer.
    pub(crate) period: Duration,
    /// Number of the urgent timer's due times.
    pub(crate) firings: u64,
    /// Time for which the hog runs at a stretch.
    pub(crate) burst: Duration,
    /// Time for which the hog sleeps before each burst.
    pub(crate) pause: Duration,
}

/// The hog and the ordinary threads, until they are stopped.
pub(super) struct Others {
    stop: Arc<AtomicBool>,
    /// Number of ordinary threads that have done their first [`WARM_UP`] operations.
    at_work: Arc<AtomicU64>,
    /// Number of operations that they have done after those.
    operations: Arc<AtomicU64>,
    /// Number of bursts of the hog.
    bursts: Arc<AtomicU64>,
    /// The hog's thread, then the ordinary ones.
    threads: Vec<JoinHandle<()>>,
}

impl Others {
    /// Starts the hog on a thread with `options`. Ordinary threads are added by [`repeat`](Self::repeat).
    pub(super) fn start(options: &ThreadOptions, turn: Turn) -> io::Result<Self> {
        let mut others = Self {
            stop: Arc::default(),
            at_work: Arc::default(),
            operations: Arc::default(),
            bursts: Arc::default(),
            threads: Vec::new(),
        };
        let (stop, bursts) = (Arc::clone(&others.stop), Arc::clone(&others.bursts));
        others.spawn("hog", options, move || hog::run(turn, &stop, &bursts))?;
        Ok(others)
    }

    /// Starts an ordinary thread with `options`, which runs `operation` again and again until it is stopped.
    pub(super) fn repeat(
        &mut self,
        options: &ThreadOptions,
        mut operation: impl FnMut() + Send + 'static,
    ) -> io::Result<()> {
        let (stop, operations) = (Arc::clone(&self.stop), Arc::clone(&self.operations));
        let at_work = Arc::clone(&self.at_work);
        self.spawn("ordinary", options, move || {
            (0..WARM_UP).for_each(|_| operation());
            at_work.fetch_add(1, Ordering::Relaxed);
            while !stop.load(Ordering::Relaxed) {
                operation();
                operations.fetch_add(1, Ordering::Relaxed);
            }
        })
    }

    /// Starts a thread that has `options` when it runs `body`.
    fn spawn(&mut self, name: &str, options: &ThreadOptions, body: impl FnOnce() + Send + 'static) -> io::Result<()> {
        let options = options.clone();
        let thread = thread::Builder::new().name(name.to_owned()).spawn(move || {
            let _ = options.apply();
            body();
        })?;
        self.threads.push(thread);
        Ok(())
    }

    /// Waits until each ordinary thread has done its first operations, but no longer than [`PATIENCE`]: the measurement
    /// then begins without them.
    pub(super) fn wait_until_at_work(&self) {
        let begun = Instant::now();
        while self.at_work.load(Ordering::Relaxed) + 1 < self.threads.len() as u64 && begun.elapsed() < PATIENCE {
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Stops the threads and waits for them. Returns the numbers of operations of ordinary threads, and of bursts of
    /// the hog.
    pub(super) fn stop(mut self) -> Result<(u64, u64), TurnError> {
        self.stop.store(true, Ordering::Relaxed);
        for thread in std::mem::take(&mut self.threads) {
            thread.join().map_err(|_| TurnError::Panicked("an ordinary thread"))?;
        }
        Ok((self.operations.load(Ordering::Relaxed), self.bursts.load(Ordering::Relaxed)))
    }
}

impl Drop for Others {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}
