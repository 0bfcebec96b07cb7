//! Events that happen because time passes, as sources.

use std::pin::Pin;
use std::task::{Context, Waker};

use rospin_engine::{Instant, Notifier, Pending, Sleep, Source, TakeError};

use super::record::{EndEvents, Watched};

/// Event that time alone can bring about.
pub(super) trait Timed: Send + Sized + 'static {
    /// Totals from which the event is calculated.
    type Totals: Default + Copy + PartialEq + Send + 'static;

    /// Returns the totals at `now`, and the time at which they change next if nothing happens until then but time
    /// passing. Other changes of the totals notify.
    fn look(events: &EndEvents, now: Instant) -> (Self::Totals, Option<Instant>);

    /// Returns the event that has led from the totals `before` to `now`.
    fn between(before: Self::Totals, now: Self::Totals) -> Self;
}

/// Events of one kind as the source of an entity. It sleeps on the entity's executor until time brings about the next
/// one.
pub(super) struct Passing<E: Timed> {
    watched: Watched,
    told: E::Totals,
    notifier: Option<Notifier>,
    alarm: Option<Sleep>,
    /// True after the first take. From then on the alarm and other changes notify.
    has_looked: bool,
}

impl<E: Timed> Passing<E> {
    pub(super) fn new(events: &EndEvents) -> Self {
        let watched = Watched::new(events);
        let told = E::Totals::default();
        Self { watched, told, notifier: None, alarm: None, has_looked: false }
    }

    /// Has the entity notified at that time on the steady clock.
    fn sleep_until(&mut self, notifier: &Notifier, due: Instant) {
        let waker = Waker::from(notifier.clone());
        let mut alarm = notifier.sleep_until(due);
        if Pin::new(&mut alarm).poll(&mut Context::from_waker(&waker)).is_ready() {
            notifier.notify();
        }
        self.alarm = Some(alarm);
    }
}

impl<E: Timed> Source for Passing<E> {
    type Item = E;
    type Attachment = ();

    fn attach(&mut self, notifier: Notifier) -> Result<(), TakeError> {
        self.watched.attach(notifier.clone());
        self.notifier = Some(notifier);
        Ok(())
    }

    fn try_take(&mut self) -> Result<Option<E>, TakeError> {
        self.has_looked = true;
        let Some(notifier) = self.notifier.clone() else { return Ok(None) };
        self.alarm = None;
        if self.watched.events.is_over() {
            return Ok(None);
        }
        let (now, next) = E::look(&self.watched.events, notifier.now());
        if let Some(next) = next {
            self.sleep_until(&notifier, next);
        }
        let before = std::mem::replace(&mut self.told, now);
        Ok(if before == now { None } else { Some(E::between(before, now)) })
    }

    fn pending(&self) -> Pending {
        if self.has_looked { Pending::Empty } else { Pending::Unknown }
    }
}
