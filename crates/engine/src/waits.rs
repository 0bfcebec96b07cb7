//! Waits between groups, and cycles of them.
//!
//! While a callback holds its group and awaits a call, its group waits for the group of the service. If such waits lead
//! from group to group and back to the first one, none of the callbacks can go on: a deadlock.
//!
//! A call is a future that may be polled anywhere, so each poll checks what its thread runs: a callback that holds the
//! service's group, or one that blocks the only thread of the service's executor, would wait for ever. A group that is
//! held while a call is awaited is recorded here, and the call that closes a cycle ends with an error. Only calls
//! without a response yet touch the lock.

use crate::sync::Mutex;
use crate::sync::atomic::{AtomicBool, Ordering};
use std::num::NonZeroUsize;
use std::sync::Arc;

/// Identifier of a mutually exclusive group: the address of data that live as long as the group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct GroupKey(NonZeroUsize);

impl GroupKey {
    /// Mask of the bits that are zero in every address.
    pub(crate) const FREE_BITS: usize = 3;

    pub(crate) fn of<T>(group: &Arc<T>) -> Option<Self> {
        const { assert!(align_of::<T>() > Self::FREE_BITS, "the address has too few free bits") };
        Self::from_address(Arc::as_ptr(group) as usize)
    }

    pub(crate) fn from_address(address: usize) -> Option<Self> {
        NonZeroUsize::new(address).map(Self)
    }

    pub(crate) fn address(self) -> usize {
        self.0.get()
    }
}

/// The progress of a request, as its caller sees it.
#[derive(Default)]
pub(crate) struct Progress {
    is_answered: AtomicBool,
    is_out: AtomicBool,
}

impl Progress {
    /// Returns true if there is a response, or never will be one.
    pub(crate) fn is_answered(&self) -> bool {
        self.is_answered.load(Ordering::Acquire)
    }

    /// Returns true if the response may come from anywhere, and not only from a callback of the service's executor.
    pub(crate) fn is_out(&self) -> bool {
        self.is_out.load(Ordering::Acquire)
    }
}

/// Guard that, when it is dropped, tells the caller of a service that it need not wait any more.
pub(crate) struct Answered(Arc<Progress>);

impl Answered {
    pub(crate) fn new(progress: &Arc<Progress>) -> Self {
        Self(Arc::clone(progress))
    }

    /// Notes that the response may come from any thread from now on.
    pub(crate) fn leaves(&self) {
        self.0.is_out.store(true, Ordering::Release);
    }
}

impl Drop for Answered {
    fn drop(&mut self) {
        self.0.is_answered.store(true, Ordering::Release);
    }
}

/// All waits between groups of a context. They are used only if a call is awaited that has no response yet.
#[derive(Default)]
pub(crate) struct Waits(Mutex<Vec<Arc<Wait>>>);

/// Wait of a callback that holds a group and calls a service which needs another group.
pub(crate) struct Wait {
    /// The group that the callback holds.
    holder: GroupKey,
    /// The group of the service that is called.
    needs: GroupKey,
    /// The service that is called.
    service: String,
    progress: Arc<Progress>,
    /// True once the callback has ended, or has dropped the call.
    is_over: AtomicBool,
}

impl Wait {
    pub(crate) fn new(holder: GroupKey, needs: GroupKey, service: &str, progress: &Arc<Progress>) -> Self {
        let service = service.to_owned();
        let progress = Arc::clone(progress);
        Self { holder, needs, service, progress, is_over: AtomicBool::new(false) }
    }

    pub(crate) fn is_by(&self, holder: GroupKey) -> bool {
        self.holder == holder && !self.is_over.load(Ordering::Acquire)
    }

    /// Ends the wait.
    pub(crate) fn end(&self) {
        self.is_over.store(true, Ordering::Release);
    }

    /// Returns true while the group waits.
    pub(crate) fn is_on(&self) -> bool {
        !self.is_over.load(Ordering::Acquire) && !self.progress.is_answered()
    }
}

impl Waits {
    /// Adds a wait.
    ///
    /// # Errors
    /// If the wait would close a cycle. The error has the services that are called on the cycle, this wait's first.
    pub(crate) fn add(&self, wait: Wait) -> Result<Arc<Wait>, Vec<String>> {
        let mut waits = self.0.lock();
        // Waits that ended with their callback are still in the list.
        waits.retain(|wait| wait.is_on());
        if let Some(services) = cycle(&waits, &wait) {
            return Err(services);
        }
        let wait = Arc::new(wait);
        waits.push(Arc::clone(&wait));
        Ok(wait)
    }

    pub(crate) fn remove(&self, wait: &Arc<Wait>) {
        wait.end();
        self.0.lock().retain(|other| !Arc::ptr_eq(other, wait));
    }
}

/// Returns the services that are called on the cycle that `last` would close, its own first; `None` if it closes none.
/// Visits each wait once.
fn cycle(waits: &[Arc<Wait>], last: &Wait) -> Option<Vec<String>> {
    /// A wait on the way, and the index of the step before it.
    struct Step<'a>(&'a Wait, Option<usize>);

    let mut steps = vec![Step(last, None)];
    let mut at = 0;
    while let Some(&Step(wait, _)) = steps.get(at) {
        if wait.needs == last.holder {
            let before = |at: &usize| steps[*at].1;
            let way = std::iter::successors(Some(at), before);
            let mut services: Vec<_> = way.map(|at| steps[at].0.service.clone()).collect();
            services.reverse();
            return Some(services);
        }
        for next in waits.iter().filter(|next| next.holder == wait.needs) {
            if steps.iter().all(|Step(known, _)| !std::ptr::eq(*known, &**next)) {
                steps.push(Step(next, Some(at)));
            }
        }
        at += 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns keys of groups: the addresses of words that live as long as the program.
    fn groups<const N: usize>() -> [GroupKey; N] {
        static GROUPS: std::sync::LazyLock<[Arc<usize>; 4]> =
            std::sync::LazyLock::new(|| std::array::from_fn(Arc::new));
        std::array::from_fn(|n| GroupKey::of(&GROUPS[n]).unwrap())
    }

    fn wait(holder: GroupKey, needs: GroupKey, service: &str) -> Wait {
        Wait::new(holder, needs, service, &Arc::default())
    }

    #[test]
    fn the_wait_that_closes_a_cycle_is_refused() {
        let ([a, b, c, d], waits) = (groups(), Waits::default());
        waits.add(wait(a, b, "b")).unwrap();
        let d_for_b = waits.add(wait(d, b, "b")).unwrap();
        waits.add(wait(b, c, "c")).unwrap();
        assert!(waits.add(wait(b, d, "d")).is_err(), "d waits for b");
        assert_eq!(waits.add(wait(c, a, "a")).err().unwrap(), ["a", "b", "c"]);
        waits.remove(&d_for_b);
        waits.add(wait(b, d, "d")).unwrap();
        assert_eq!(waits.add(wait(d, a, "a")).err().unwrap(), ["a", "b", "d"]);
    }

    #[test]
    fn a_call_that_is_answered_or_over_is_no_wait() {
        let ([a, b], waits) = (groups(), Waits::default());
        let progress = Arc::<Progress>::default();
        let is_over = waits.add(wait(a, b, "b")).unwrap();
        is_over.end();
        waits.add(Wait::new(a, b, "b", &progress)).unwrap();
        assert!(waits.add(wait(b, a, "a")).is_err(), "not answered yet");
        drop(Answered::new(&progress));
        waits.add(wait(b, a, "a")).unwrap();
        assert_eq!(waits.0.lock().len(), 1);
    }
}
