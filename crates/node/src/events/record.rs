//! The record of an end's events, and the sources that compare it with what callbacks were told.

use std::fmt;
use std::sync::{Arc, OnceLock, Weak};

use rospin_engine::{Instant, LossWatch, Mutex, MutexGuard, Notifier, Pending, Source, TakeError};

use super::deadline::Deadline;
use super::liveliness::{Alive, Lease};
use super::status::{IncompatibleQos, MatchedStatus, MessageLost, QosPolicy};
use crate::qos::{Liveliness, Qos};
use crate::watchers::Watchers;

/// Record of what happened to one publisher or subscription. A [middleware](crate::NodeEnd) enters what it learns; the
/// topics of this process enter the rest. Clones are the same record.
///
/// Its methods may be called on any thread, under the middleware's locks: they run no user code, and hold a lock with
/// priority inheritance for a moment.
#[derive(Clone, Default)]
pub struct EndEvents(Arc<Record>);

#[derive(Default)]
struct Record {
    state: Mutex<State>,
    /// Losses of the subscription's entity, once there is one.
    losses: OnceLock<LossWatch>,
    /// True if the end has a deadline, or a lease for which its program gives the signs of life.
    is_timed: bool,
}

#[derive(Default)]
pub(super) struct State {
    matched: Matched,
    incompatible: Incompatible,
    pub(super) deadline: Option<Deadline>,
    /// Lease of a publisher whose program gives the signs of life.
    pub(super) lease: Option<Lease>,
    /// Records of the subscriptions of this process that a publisher is matched with.
    followers: Vec<Weak<Record>>,
    /// Records of the publishers of this process that a subscription is matched with.
    pub(super) publishers: Vec<EndEvents>,
    /// Publishers of other processes that a subscription is matched with.
    pub(super) elsewhere: Alive,
    pub(super) watchers: Watchers<()>,
    /// True once the end has gone, from when on nothing is told any more.
    pub(super) is_over: bool,
}

impl EndEvents {
    /// Returns the record of an end with that quality of service, which is created at that time, on the steady clock.
    pub(crate) fn of(qos: &Qos, now: Instant) -> Self {
        let deadline = qos.deadline().map(Deadline::new);
        let is_manual = qos.liveliness == Liveliness::ManualByTopic;
        let lease = qos.liveliness_lease().filter(|_| is_manual).map(|lease| Lease::new(lease, now));
        let is_timed = deadline.is_some() || lease.is_some();
        let state = Mutex::new(State { deadline, lease, ..State::default() });
        Self(Arc::new(Record { state, losses: OnceLock::new(), is_timed }))
    }

    /// Returns true if the end has a deadline, or a lease for which its program gives the signs of life. Its messages
    /// and signs are then noted.
    pub(crate) fn is_timed(&self) -> bool {
        self.0.is_timed
    }

    /// Notes a sign of life of a publisher, at that time on the steady clock.
    pub(crate) fn sign_of_life(&self, now: Instant) {
        let mut state = self.lock();
        if state.lease.as_mut().is_some_and(|lease| lease.sign(now)) {
            state.notify();
            for follower in state.followers.iter().filter_map(Weak::upgrade) {
                follower.state.lock().notify();
            }
        }
    }

    /// Notes that a message was published or arrived at that time, on the steady clock.
    pub(crate) fn message(&self, now: Instant) {
        let mut state = self.lock();
        let is_first = state.deadline.as_mut().is_some_and(|deadline| deadline.message(now));
        // The first message starts the first period, whose end callbacks must now wait for. They find the ends of later
        // ones by themselves.
        if is_first {
            state.notify();
        }
    }

    /// Notes that the end itself has gone.
    pub(crate) fn end(&self) {
        self.change(|state| state.is_over = true);
    }

    /// Returns true once the end has gone.
    pub(super) fn is_over(&self) -> bool {
        self.lock().is_over
    }

    /// Notes that this subscription is matched with a publisher of this process.
    pub(crate) fn follow(&self, publisher: &Self) {
        publisher.lock().followers.push(Arc::downgrade(&self.0));
        self.change(|state| state.publishers.push(publisher.clone()));
    }

    /// Notes that this subscription is not matched with a publisher of this process any more.
    pub(crate) fn unfollow(&self, publisher: &Self) {
        publisher.lock().followers.retain(|follower| !std::ptr::eq(follower.as_ptr(), &raw const *self.0));
        let mut gone = None;
        self.change(|state| {
            let at = state.publishers.iter().position(|other| Arc::ptr_eq(&other.0, &publisher.0));
            gone = at.map(|at| state.publishers.swap_remove(at));
        });
        // Dropped without the lock.
        drop(gone);
    }

    /// Sets the number of publishers of other processes that this subscription is matched with and that are alive, and
    /// the number of those that are not alive.
    pub fn liveliness(&self, alive: usize, not_alive: usize) {
        self.change(|State { elsewhere, .. }| *elsewhere = Alive { alive, not_alive });
    }

    /// Notes that the end is matched with one more end.
    pub fn match_came(&self) {
        self.change(|State { matched, .. }| {
            matched.current += 1;
            matched.total += 1;
        });
    }

    /// Notes that an end that this one was matched with has gone.
    pub fn match_went(&self) {
        self.change(|State { matched, .. }| matched.current = matched.current.saturating_sub(1));
    }

    /// Notes an end of the same topic with which this one is not matched because of that policy.
    pub fn incompatible(&self, policy: QosPolicy) {
        self.change(|State { incompatible, .. }| {
            incompatible.total += 1;
            incompatible.last = Some(policy);
        });
    }

    /// Sets the losses of the subscription's entity. Called once.
    pub(crate) fn counts_losses(&self, losses: LossWatch) {
        let _ = self.0.losses.set(losses);
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock()
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.lock();
        change(&mut state);
        state.notify();
    }
}

impl State {
    /// Notifies all watchers. Called under the lock: a watcher that goes now is not notified afterwards. A notifier
    /// neither blocks nor locks.
    fn notify(&mut self) {
        for watcher in self.watchers.iter_mut() {
            if let Some(notifier) = &watcher.notifier {
                notifier.notify();
            }
        }
    }
}

impl fmt::Debug for EndEvents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EndEvents").finish_non_exhaustive()
    }
}

/// Event that is calculated from a part of the record.
pub(super) trait Told: Send + Sized + 'static {
    /// The totals in the record from which the event is calculated.
    type Totals: Default + Copy + PartialEq + Send + 'static;

    /// Returns the totals that the record has now.
    fn totals(state: &State) -> Self::Totals;

    /// Returns the event that tells of the change from `before` to `now`.
    fn between(before: Self::Totals, now: Self::Totals) -> Self;
}

#[derive(Clone, Copy, PartialEq, Default)]
pub(super) struct Matched {
    current: usize,
    total: u64,
}

impl Told for MatchedStatus {
    type Totals = Matched;

    fn totals(state: &State) -> Matched {
        state.matched
    }

    fn between(before: Matched, now: Matched) -> Self {
        Self {
            current: now.current,
            current_change: now.current.wrapping_sub(before.current).cast_signed(),
            total: now.total,
            total_change: now.total - before.total,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Default)]
pub(super) struct Incompatible {
    total: u64,
    last: Option<QosPolicy>,
}

impl Told for IncompatibleQos {
    type Totals = Incompatible;

    fn totals(state: &State) -> Incompatible {
        state.incompatible
    }

    fn between(before: Incompatible, now: Incompatible) -> Self {
        Self { policy: now.last.unwrap_or(QosPolicy::Other), total: now.total, total_change: now.total - before.total }
    }
}

/// A record with an entry among its watchers, which is notified of changes until this value is dropped.
pub(super) struct Watched {
    pub(super) events: EndEvents,
    number: u64,
}

impl Watched {
    pub(super) fn new(events: &EndEvents) -> Self {
        let number = events.lock().watchers.add();
        Self { events: events.clone(), number }
    }

    pub(super) fn attach(&self, notifier: Notifier) {
        self.events.lock().watchers.attach(self.number, notifier);
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        let removed = self.events.lock().watchers.remove(self.number);
        // Dropped without the lock.
        drop(removed);
    }
}

/// Events of one kind as the source of an entity.
pub(super) struct Changes<E: Told> {
    watched: Watched,
    told: E::Totals,
}

impl<E: Told> Changes<E> {
    pub(super) fn new(events: &EndEvents) -> Self {
        Self { watched: Watched::new(events), told: E::Totals::default() }
    }
}

impl<E: Told> Source for Changes<E> {
    type Item = E;
    type Attachment = ();

    fn attach(&mut self, notifier: Notifier) -> Result<(), TakeError> {
        self.watched.attach(notifier);
        Ok(())
    }

    fn try_take(&mut self) -> Result<Option<E>, TakeError> {
        let now = {
            let state = self.watched.events.lock();
            if state.is_over {
                return Ok(None);
            }
            E::totals(&state)
        };
        let before = std::mem::replace(&mut self.told, now);
        Ok(if before == now { None } else { Some(E::between(before, now)) })
    }

    fn pending(&self) -> Pending {
        // Later changes notify.
        let state = self.watched.events.lock();
        if state.is_over || E::totals(&state) == self.told { Pending::Empty } else { Pending::Unknown }
    }
}

/// Lost messages as the source of an entity.
pub(super) struct Losses {
    events: EndEvents,
    /// `None` if the end has no entity that counts losses.
    watch: Option<LossWatch>,
    told: u64,
}

impl Losses {
    pub(super) fn new(events: &EndEvents) -> Self {
        Self { events: events.clone(), watch: events.0.losses.get().cloned(), told: 0 }
    }
}

impl Source for Losses {
    type Item = MessageLost;
    type Attachment = ();

    fn attach(&mut self, notifier: Notifier) -> Result<(), TakeError> {
        self.watch.as_mut().map_or(Ok(()), |watch| watch.attach(notifier))
    }

    fn try_take(&mut self) -> Result<Option<MessageLost>, TakeError> {
        if self.events.is_over() {
            return Ok(None);
        }
        let Some(total) = self.watch.as_mut().map(Source::try_take).transpose()?.flatten() else { return Ok(None) };
        let before = std::mem::replace(&mut self.told, total);
        Ok(Some(MessageLost { total, total_change: total.saturating_sub(before) }))
    }

    fn pending(&self) -> Pending {
        if self.events.is_over() { Pending::Empty } else { self.watch.as_ref().map_or(Pending::Empty, Source::pending) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_between_two_takes_become_one() {
        let events = EndEvents::default();
        events.match_came();
        events.match_came();
        events.match_went();
        let mut changes = Changes::<MatchedStatus>::new(&events);
        let first = MatchedStatus { current: 1, current_change: 1, total: 2, total_change: 2 };
        assert_eq!(changes.try_take().unwrap(), Some(first), "those before the callback are told, too");
        assert_eq!(changes.try_take().unwrap(), None);
        events.match_went();
        let gone = MatchedStatus { current: 0, current_change: -1, total: 2, total_change: 0 };
        assert_eq!(changes.try_take().unwrap(), Some(gone));
        events.match_came();
        events.match_went();
        let passed = MatchedStatus { current: 0, current_change: 0, total: 3, total_change: 1 };
        assert_eq!(changes.try_take().unwrap(), Some(passed), "who came and went is told");
        drop(changes);
        assert!(events.lock().watchers.is_empty());
    }

    #[test]
    fn the_last_policy_is_told_with_all() {
        let events = EndEvents::default();
        let mut changes = Changes::<IncompatibleQos>::new(&events);
        assert_eq!(changes.try_take().unwrap(), None);
        events.incompatible(QosPolicy::Durability);
        events.incompatible(QosPolicy::Reliability);
        let told = IncompatibleQos { policy: QosPolicy::Reliability, total: 2, total_change: 2 };
        assert_eq!(changes.try_take().unwrap(), Some(told));
        events.incompatible(QosPolicy::Reliability);
        let told = IncompatibleQos { policy: QosPolicy::Reliability, total: 3, total_change: 1 };
        assert_eq!(changes.try_take().unwrap(), Some(told));
    }
}
