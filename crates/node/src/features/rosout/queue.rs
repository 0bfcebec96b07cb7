//! Log records on their way to `/rosout`.

use std::cell::Cell;
use std::collections::VecDeque;
use std::sync::{Arc, PoisonError};
use std::time::SystemTime;

use log::LevelFilter;
use rospin_engine::{LossCause, Notifier, Pending, Source, TakeError};

use super::limits::Limits;
use crate::interfaces::builtin_interfaces::Time;
use crate::interfaces::rcl_interfaces::Log;
use crate::names::NodeName;
use crate::sync::{Mutex, MutexGuard};

/// Number of records that are kept until they are published, and for late subscriptions. It is that of rcl.
pub(super) const RECORDS_MAX: usize = 1000;

/// The records of a node that are not published yet.
pub(crate) struct RecordQueue {
    /// The logger's name: the node's fully qualified name, with dots for slashes.
    name: String,
    /// The level of the node's logger, which drops more verbose records. Records of a [`RosoutLog`](super::RosoutLog)
    /// are not compared with it.
    level: LevelFilter,
    /// Times at which limited loggers logged last.
    limits: Limits,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    records: VecDeque<Log>,
    notifier: Option<Notifier>,
    /// True while an entity publishes. Otherwise no records are kept.
    is_open: bool,
}

impl RecordQueue {
    /// Returns the queue of a node's logger. `level_of` returns the level from which on a logger of that name logs.
    pub(crate) fn new(node: &NodeName, level_of: impl FnOnce(&str) -> LevelFilter) -> Arc<Self> {
        let name = node.to_string().trim_start_matches('/').replace('/', ".");
        Arc::new(Self { level: level_of(&name), name, limits: Limits::default(), state: Mutex::default() })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) const fn limits(&self) -> &Limits {
        &self.limits
    }

    pub(super) const fn level(&self) -> LevelFilter {
        self.level
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // No user code runs under the lock, so a panic leaves nothing half changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens the queue, and returns true if it was closed.
    pub(super) fn open(&self) -> bool {
        !std::mem::replace(&mut self.lock().is_open, true)
    }

    pub(super) fn close(&self) {
        let closed = std::mem::take(&mut *self.lock());
        drop(closed);
    }

    /// Appends a record, unless the queue is closed or the thread is [`Quiet`]. A full queue drops its oldest record.
    pub(super) fn push(&self, record: &log::Record<'_>) {
        if Quiet::is_here() || !self.lock().is_open {
            return;
        }
        // Formatting the message runs user code, so it happens before the lock is taken.
        let record = self.message(record);
        let mut state = self.lock();
        if !state.is_open {
            return;
        }
        let displaced = if state.records.len() == RECORDS_MAX { state.records.pop_front() } else { None };
        state.records.push_back(record);
        let notifier = state.notifier.clone();
        drop(state);
        if let Some(notifier) = notifier {
            if displaced.is_some() {
                notifier.count_lost(LossCause::QueueFull, 1);
            }
            notifier.notify();
        }
    }

    fn message(&self, record: &log::Record<'_>) -> Log {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Log {
            stamp: Time { sec: i32::try_from(now.as_secs()).unwrap_or(i32::MAX), nanosec: now.subsec_nanos() },
            level: match record.level() {
                log::Level::Error => Log::ERROR,
                log::Level::Warn => Log::WARN,
                log::Level::Info => Log::INFO,
                log::Level::Debug | log::Level::Trace => Log::DEBUG,
            },
            name: self.name.clone(),
            msg: record.args().to_string(),
            file: record.file().unwrap_or_default().to_owned(),
            function: record.module_path().unwrap_or_default().to_owned(),
            line: record.line().unwrap_or_default(),
        }
    }
}

/// The queue as the source of the entity that publishes.
pub(super) struct Records(Arc<RecordQueue>);

impl Records {
    pub(super) fn new(queue: &Arc<RecordQueue>) -> Self {
        Self(Arc::clone(queue))
    }
}

impl Source for Records {
    type Item = Log;
    type Attachment = ();

    fn attach(&mut self, notifier: Notifier) -> Result<(), TakeError> {
        let mut state = self.0.lock();
        let has_records = !state.records.is_empty();
        state.notifier = Some(notifier.clone());
        drop(state);
        if has_records {
            notifier.notify();
        }
        Ok(())
    }

    fn try_take(&mut self) -> Result<Option<Log>, TakeError> {
        Ok(self.0.lock().records.pop_front())
    }

    fn pending(&self) -> Pending {
        if self.0.lock().records.is_empty() { Pending::Empty } else { Pending::Unknown }
    }
}

thread_local! {
    static IS_QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Mark that this thread publishes a record, or hands on one that is queued already. Records that the thread logs until
/// the drop are not queued.
pub(crate) struct Quiet {
    before: bool,
}

impl Quiet {
    pub(super) fn here() -> Self {
        Self { before: IS_QUIET.replace(true) }
    }

    fn is_here() -> bool {
        IS_QUIET.get()
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        IS_QUIET.set(self.before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(namespace: &str) -> Arc<RecordQueue> {
        RecordQueue::new(&NodeName::new(namespace, "motor").unwrap(), |_| LevelFilter::Trace)
    }

    fn push(queue: &RecordQueue, text: &str) {
        queue.push(&log::Record::builder().level(log::Level::Warn).args(format_args!("{text}")).build());
    }

    #[test]
    fn loggers_have_dots_where_nodes_have_slashes() {
        assert_eq!((queue("/").name(), queue("/robot/left").name()), ("motor", "robot.left.motor"));
    }

    #[test]
    fn records_about_a_publication_are_not_published() {
        let queue = queue("/");
        push(&queue, "nobody publishes");
        assert!(queue.open() && !queue.open());
        push(&queue, "one");
        {
            let _outer = Quiet::here();
            drop(Quiet::here());
            push(&queue, "about one");
        }
        push(&queue, "two");
        let mut records = Records::new(&queue);
        let texts: Vec<_> = std::iter::from_fn(|| records.try_take().unwrap().map(|record| record.msg)).collect();
        assert_eq!(texts, ["one", "two"]);
    }

    #[test]
    fn no_more_is_kept_than_a_bound() {
        let queue = queue("/");
        queue.open();
        for n in 0..RECORDS_MAX + 5 {
            push(&queue, &n.to_string());
        }
        assert_eq!(queue.lock().records.len(), RECORDS_MAX);
        assert_eq!(queue.lock().records[0].msg, "5");
        queue.close();
        assert!(queue.lock().records.is_empty() && queue.open());
    }
}
