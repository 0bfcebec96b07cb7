//! A monitor compares what a program does with its system file, and with the bounds that were proven for it.
//!
//! It is a [`Sink`] of the recorder: it sees each release, dispatch, publication and loss some milliseconds later, on
//! the ordinary thread that records. It is pure but for what it prints, so it does the same with a recording that is
//! read from a file.
//!
//! ```
//! use rospin_scenario::Scenario;
//! use rospin_trace::monitor::Monitor;
//!
//! let system = Scenario::parse(rospin_scenario::examples::EXP1)?;
//! let monitor = Monitor::new(&system, None);
//! monitor.on_violation(|violation| println!("{violation}"));
//! let sink = monitor.sink(); // for `Recorder::start`
//! assert!(monitor.counts().is_empty());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod arrivals;
mod causes;
mod compare;
mod judge;
mod known;
mod limits;
mod messages;
mod order;
#[cfg(feature = "read")]
mod recorded;
mod tell;
#[cfg(test)]
mod tests;
mod violation;

use std::collections::BTreeMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rospin_core::recording::{Definition, Sink, Words};
use rospin_scenario::{Bounds, FileError, Scenario};

use judge::Judge;
use limits::Limits;
pub(crate) use order::RoundSorter;
use tell::Teller;
pub use violation::{Cause, Violation, ViolationKind, told};

/// The rounds of the recording thread without a new name after which the program is compared with the file: a second.
const QUIET_ROUNDS: u32 = 100;
/// The time without an event after which a live sink looks at the callbacks that run.
const SILENCE: Duration = Duration::from_millis(100);
/// The largest number of names whose violations are counted one by one.
const NAMES: usize = 10_000;

/// Number of violations of a callback or chain.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ViolationCount {
    /// The name of the callback, or of the chain for violations of a chain.
    pub name: String,
    /// The kind.
    pub kind: ViolationKind,
    /// The number of violations. For [`Overflow`](ViolationKind::Overflow), the number of messages.
    pub count: u64,
    /// The violation that was furthest from its limit.
    pub worst: Violation,
}

type Callable = Arc<Mutex<dyn FnMut(&Violation) + Send>>;

struct Inner {
    judge: Judge,
    order: RoundSorter,
    counts: BTreeMap<(String, ViolationKind), (u64, Violation)>,
    callables: Vec<Callable>,
    remarks: Vec<String>,
    teller: Teller,
    rounds_without_news: u32,
    is_compared: bool,
    definitions: Vec<Definition>,
}

/// Monitor of one program. Cheap to clone; clones are the same monitor.
#[derive(Clone)]
pub struct Monitor(Arc<Mutex<Inner>>);

impl Monitor {
    /// Returns a monitor for programs that are described so, with the bounds that were proven for the description.
    #[must_use]
    pub fn new(system: &Scenario, bounds: Option<&Bounds>) -> Self {
        let limits = Limits::new(system, bounds);
        let chains = (1..).zip(&limits.chains);
        let definitions = chains.map(|(chain, of)| Definition::Chain { chain, name: of.name.clone() }).collect();
        let mut remarks = Vec::new();
        if bounds.is_some_and(|bounds| !bounds.are_of(system)) {
            remarks.push(
                "the bounds were proven for another version of the system file; prove them again with \
                 `rospin analyze SYSTEM --bounds FILE`"
                    .to_owned(),
            );
        }
        Self(Arc::new(Mutex::new(Inner {
            judge: Judge::new(limits),
            order: RoundSorter::default(),
            counts: BTreeMap::new(),
            callables: Vec::new(),
            remarks,
            teller: Teller::default(),
            rounds_without_news: 0,
            is_compared: false,
            definitions,
        })))
    }

    /// Reads the system file, and the bounds that `rospin analyze SYSTEM --bounds FILE` wrote.
    ///
    /// # Errors
    /// If a file cannot be read or is invalid.
    pub fn load(system: &Path, bounds: Option<&Path>) -> Result<Self, FileError> {
        let system = Scenario::load(system)?;
        let bounds = bounds.map(Bounds::load).transpose()?;
        Ok(Self::new(&system, bounds.as_ref()))
    }

    /// Has violations and differences between program and file printed on stderr: the first of each callback and kind
    /// at once, then at most one of them in ten seconds, with the number of those that were left out.
    #[must_use]
    pub fn telling(self) -> Self {
        self.lock().teller.is_on = true;
        self
    }

    /// Returns a sink for events whose times say everything: those of a recording, or of a program under a manual
    /// clock.
    #[must_use]
    pub fn sink(&self) -> MonitorSink {
        MonitorSink { monitor: self.clone(), last_event: None, is_live: false }
    }

    /// Returns a sink for the recorder of a program that runs under the kernel's clock. It also notices callbacks that
    /// run for ever in a program that does nothing else.
    #[must_use]
    pub fn live_sink(&self) -> MonitorSink {
        MonitorSink { monitor: self.clone(), last_event: None, is_live: true }
    }

    /// Has `call` called with each violation: for a safe state, or a record of it. It runs on the recording thread,
    /// some milliseconds after the violation. A panic in it is caught.
    pub fn on_violation(&self, call: impl FnMut(&Violation) + Send + 'static) {
        self.lock().callables.push(Arc::new(Mutex::new(call)));
    }

    /// Returns the number of violations so far by callback, or chain, and kind, without zeros.
    #[must_use]
    pub fn counts(&self) -> Vec<ViolationCount> {
        let counts = &self.lock().counts;
        let count = |((name, kind), (count, worst)): (&(String, ViolationKind), &(u64, Violation))| ViolationCount {
            name: name.clone(),
            kind: *kind,
            count: *count,
            worst: worst.clone(),
        };
        counts.iter().map(count).collect()
    }

    /// Returns the differences between the program and its system file, a sentence each. They are known a second after
    /// the program has created its last callback.
    #[must_use]
    pub fn remarks(&self) -> Vec<String> {
        self.lock().remarks.clone()
    }

    /// Returns the number of events that did not reach the monitor because buffers were full.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.lock().judge.dropped
    }

    /// Returns the definitions of the chains, for recordings that get the violations as [events](Violation::event).
    #[must_use]
    pub fn definitions(&self) -> Vec<Definition> {
        self.lock().definitions.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Judges events that are in order, and tells of the violations without the lock.
    fn judge(&self, take: impl FnOnce(&mut Inner) -> Vec<order::Ordered>) {
        let (violations, callables) = {
            let inner = &mut *self.lock();
            for (thread, at, event) in take(inner) {
                inner.judge.event(thread, at, &event);
            }
            let violations = std::mem::take(&mut inner.judge.violations);
            for violation in &violations {
                inner.count(violation);
            }
            (violations, inner.callables.clone())
        };
        for violation in &violations {
            for call in &callables {
                let mut call = call.lock().unwrap_or_else(PoisonError::into_inner);
                // The panic hook has told of it. The monitor must go on.
                let _ = catch_unwind(AssertUnwindSafe(|| call(violation)));
            }
        }
    }
}

impl Inner {
    fn count(&mut self, violation: &Violation) {
        self.teller.tell(violation);
        let mut key = (violation.subject().to_owned(), violation.kind);
        if self.counts.len() >= NAMES && !self.counts.contains_key(&key) {
            key.0 = "others".to_owned();
        }
        let by = if violation.kind == ViolationKind::Overflow { violation.measured } else { 1 };
        match self.counts.get_mut(&key) {
            Some((count, worst)) => {
                *count = count.saturating_add(by);
                if excess(violation) > excess(worst) {
                    *worst = violation.clone();
                }
            }
            None => _ = self.counts.insert(key, (by, violation.clone())),
        }
    }

    /// Compares the program with the file, once.
    fn compare(&mut self) {
        if !std::mem::replace(&mut self.is_compared, true) {
            self.remarks.extend(compare::differences(&self.judge));
            for remark in &self.remarks {
                self.teller.remark(remark);
            }
        }
    }
}

/// Returns the distance from the limit.
fn excess(violation: &Violation) -> u64 {
    violation.measured.abs_diff(violation.limit)
}

impl fmt::Debug for Monitor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Monitor").finish_non_exhaustive()
    }
}

/// Sink through which a [`Monitor`] gets the events of a program.
#[derive(Debug)]
pub struct MonitorSink {
    monitor: Monitor,
    /// The time at which the last event came, for [live](Monitor::live_sink) sinks.
    last_event: Option<Instant>,
    is_live: bool,
}

impl Sink for MonitorSink {
    fn define(&mut self, definition: &Definition) {
        let inner = &mut *self.monitor.lock();
        if inner.judge.define(definition) {
            inner.rounds_without_news = 0;
        }
    }

    fn record(&mut self, thread: u32, events: &[Words]) {
        self.last_event = if self.is_live { Some(Instant::now()) } else { None };
        self.monitor.lock().order.add(thread, events);
    }

    fn flush(&mut self) {
        self.monitor.judge(|inner| inner.order.flush());
    }

    fn end_round(&mut self) {
        self.monitor.judge(|inner| inner.order.end_round());
        if let Some(silence) = self.last_event.map(|last| last.elapsed()).filter(|silence| *silence >= SILENCE) {
            self.monitor.judge(|inner| {
                if let Some(newest) = inner.order.all_until() {
                    inner.judge.look(newest.saturating_add(arrivals::ns(silence)));
                }
                Vec::new()
            });
        }
        let inner = &mut *self.monitor.lock();
        inner.rounds_without_news = inner.rounds_without_news.saturating_add(1);
        if inner.rounds_without_news >= QUIET_ROUNDS && inner.judge.events > 0 {
            inner.compare();
        }
    }
}

impl Drop for MonitorSink {
    fn drop(&mut self) {
        self.flush();
        let inner = &mut *self.monitor.lock();
        if inner.judge.events > 0 {
            inner.compare();
        }
        inner.teller.sum_up();
    }
}
