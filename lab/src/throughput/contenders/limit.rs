//! The limit: no executor at all. A thread takes from its rings in turn and calls the closures; it parks if all are
//! empty.

use std::sync::Arc;
use std::task::Wake;
use std::thread::{self, Thread};
use std::time::Instant;

use super::super::system::{OnTick, System};
use super::taken::Taken;
use super::timers::Heap;
use super::{Control, Failed};

/// Waker that unparks a thread.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.unpark();
    }
}

/// Runs the system on as many threads as it has, over which the groups are distributed, until `control` ends it.
pub(super) fn spin(system: System, control: &Control) -> Result<(), Failed> {
    let System { context, subscriptions, timers, threads, .. } = system;
    let heap = Heap::new(&timers);
    let ticks: Vec<_> = timers.into_iter().map(|timer| timer.callback).collect();
    let mut shares: Vec<Vec<Taken>> = (0..threads).map(|_| Vec::new()).collect();
    for taken in Taken::all(&context, subscriptions)? {
        shares[taken.group % threads].push(taken);
    }
    // The last share of subscriptions is for this thread, which also has the timers. The other threads are started
    // first.
    let own = shares.pop().unwrap_or_default();
    thread::scope(|scope| {
        for share in shares {
            scope.spawn(|| bare(share, Vec::new(), Heap::new(&[]), control));
        }
        bare(own, ticks, heap, control);
    });
    Ok(())
}

/// Runs the subscriptions of `share`, and the timers of `heap` with their callbacks in `ticks`, on the calling thread
/// until the contender must end.
fn bare(mut share: Vec<Taken>, mut ticks: Vec<OnTick>, mut heap: Heap, control: &Control) {
    let unpark = Arc::new(Unpark(thread::current()));
    for taken in &share {
        taken.wakes(&unpark);
    }
    control.running(move || unpark.0.unpark());
    while !control.is_over() {
        let mut ran = false;
        for taken in &mut share {
            ran |= taken.run_one();
        }
        if let Some(due) = heap.next() {
            let now = Instant::now();
            while let Some(number) = heap.fire(now) {
                ticks[number]();
                ran = true;
            }
            if !ran {
                thread::park_timeout(due.saturating_duration_since(now));
            }
        } else if !ran {
            thread::park();
        }
    }
}
