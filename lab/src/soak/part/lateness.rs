//! How late a periodic callback is, and why.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::super::words::{Fact, Late};
use super::Teller;

/// The lateness that no callback may have without a cause. A processor that the thread does not get is one.
pub(super) const BOUND: Duration = Duration::from_millis(100);

/// Nanoseconds that publishers of this process have taken.
static PUBLISHING_NS: AtomicU64 = AtomicU64::new(0);

/// Publishes by `publish`, whose time counts.
pub(super) fn publishing<T>(publish: impl FnOnce() -> T) -> T {
    let begun = Instant::now();
    let result = publish();
    PUBLISHING_NS.fetch_add(begun.elapsed().as_nanos() as u64, Ordering::Relaxed);
    result
}

/// The times of a periodic callback.
pub(super) struct Lateness {
    period: Duration,
    last: Instant,
    before: Spent,
    count: u64,
}

/// Number of callbacks after which their number is told.
const TELL_EVERY: u64 = 500;

impl Lateness {
    pub(super) fn new(period: Duration) -> Self {
        Self { period, last: Instant::now(), before: Spent::default(), count: 0 }
    }

    /// Notes that the callback runs. Tells if it runs too late after its last time. A callback that was late is followed
    /// by one in time, so the time between both has its lateness.
    pub(super) fn note(&mut self, teller: &Teller) {
        let now = Instant::now();
        let late = now.duration_since(self.last).saturating_sub(self.period);
        self.last = now;
        self.count += 1;
        let spent = Spent::read();
        let before = std::mem::replace(&mut self.before, spent);
        if late > BOUND && self.count > 1 {
            let ms = |after: u64, before: u64| after.saturating_sub(before) as f64 / 1e6;
            teller.tell(&Fact::Late(Late {
                ms: late.as_secs_f64() * 1e3,
                waited_ms: ms(spent.waited_ns, before.waited_ns),
                others_waited_ms: ms(spent.others_waited_ns, before.others_waited_ns),
                ran_ms: ms(spent.ran_ns, before.ran_ns),
                publishing_ms: ms(spent.publishing_ns, before.publishing_ns),
                pages_read: spent.pages_read.saturating_sub(before.pages_read),
                has_stood_still: spent.ran_ns > 0
                    && (spent.ran_ns, spent.waited_ns) == (before.ran_ns, before.waited_ns),
            }));
        }
        if self.count.is_multiple_of(TELL_EVERY) {
            teller.tell(&Fact::Timed { count: TELL_EVERY });
        }
    }
}

/// What the calling thread has spent its time on so far.
#[derive(Clone, Copy, Default)]
struct Spent {
    ran_ns: u64,
    /// It could run, and had no processor.
    waited_ns: u64,
    /// The same of all other threads together.
    others_waited_ns: u64,
    publishing_ns: u64,
    /// Page faults of the process that had to wait for a disk.
    pages_read: u64,
}

impl Spent {
    fn read() -> Self {
        let [ran_ns, waited_ns] = schedstat(Path::new("/proc/thread-self"));
        let threads = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
        let all: u64 = threads.map(|thread| schedstat(&thread.path())[1]).sum();
        let others_waited_ns = all.saturating_sub(waited_ns);
        // The tenth field behind the name of the program, which is in parentheses.
        let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
        let fields = stat.rsplit_once(") ").map_or("", |(_, fields)| fields);
        let pages_read = fields.split(' ').nth(9).and_then(|number| number.parse().ok()).unwrap_or(0);
        let publishing_ns = PUBLISHING_NS.load(Ordering::Relaxed);
        Self { ran_ns, waited_ns, others_waited_ns, publishing_ns, pages_read }
    }
}

/// Returns the nanoseconds for which a thread ran, and waited for a processor.
fn schedstat(thread: &Path) -> [u64; 2] {
    let text = fs::read_to_string(thread.join("schedstat")).unwrap_or_default();
    let mut numbers = text.split_whitespace().map(|number| number.parse().unwrap_or(0));
    [numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)]
}
