//! The sources of the engine's entities: turns to take one item from a cell.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Waker};
use std::time::Duration;

use rospin_engine::{Notifier, Pending, Sleep, Source, TakeError};

use super::cell::Cell;
use super::handle::Kind;

/// The longest time until a timer notices that ROS time has moved.
const CLOCK_NOTICED_AFTER: Duration = Duration::from_millis(5);

/// The most times in a row that a look is put off because items were told of since it was arranged. A look blocks for a
/// moment if it finds nothing.
const PUT_OFF_MAX: u32 = 50;

/// Permission to take from a cell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Turn {
    /// Take one item that the middleware told of, or run the timer once.
    Item,
    /// Take one item if there is one.
    Look,
}

/// A cell as a source. The item itself is taken by the callback, because rclrs takes and runs in one step.
pub(super) struct CellSource {
    cell: Arc<Cell>,
    notifier: Option<Notifier>,
    /// The sleep after which there is a look.
    sleep: Option<Sleep>,
    has_taken: bool,
    /// True if items were told of since the look was arranged.
    was_told: bool,
    /// The number of times that the look was put off.
    put_off: u32,
    /// True if the sleep may be over without that being noted.
    is_unchecked: bool,
}

impl CellSource {
    pub(super) const fn new(cell: Arc<Cell>) -> Self {
        Self { cell, notifier: None, sleep: None, has_taken: false, was_told: false, put_off: 0, is_unchecked: false }
    }

    /// Sleeps for a while. Returns true if the time is over already.
    fn sleep(&mut self, time: Duration) -> bool {
        let Some(notifier) = &self.notifier else { return false };
        let sleep = notifier.sleep_until(notifier.now() + time);
        self.sleep = Some(sleep);
        self.is_awake()
    }

    /// Returns true once the time of the last sleep is over.
    fn is_awake(&mut self) -> bool {
        let (Some(sleep), Some(notifier)) = (&mut self.sleep, &self.notifier) else { return false };
        let waker = Waker::from(notifier.clone());
        let is_over = pin!(sleep).poll(&mut TaskContext::from_waker(&waker)).is_ready();
        if is_over {
            self.sleep = None;
        }
        is_over
    }

    /// Returns true if the timer is due, and otherwise sleeps until it is.
    fn is_timer_due(&mut self) -> bool {
        // Resets of the timer rang the bell.
        self.cell.bell().remove(usize::MAX);
        loop {
            let asked = self.cell.ask(|timer| (timer.time_until_due(), timer.is_on_ros_time()));
            let Some((Some(left), is_on_ros_time)) = asked else {
                // It is cancelled, and a reset rings the bell.
                self.sleep = None;
                return false;
            };
            if left.is_zero() {
                self.sleep = None;
                return true;
            }
            if !self.sleep(if is_on_ros_time { left.min(CLOCK_NOTICED_AFTER) } else { left }) {
                return false;
            }
        }
    }

    /// Returns true if it is time to look for items that nobody told of, and otherwise arranges a look if one is
    /// needed.
    fn is_look_due(&mut self) -> bool {
        self.is_unchecked = false;
        if self.sleep.is_some() {
            if !self.is_awake() {
                return false;
            }
            self.put_off += 1;
        }
        if self.put_off > 0 && (!self.was_told || self.put_off > PUT_OFF_MAX) {
            self.put_off = 0;
            return true;
        }
        self.was_told = false;
        self.cell.look_again_after().is_some_and(|time| self.sleep(time))
    }

    /// Notes that an item was told of.
    fn note_told(&mut self) {
        (self.has_taken, self.was_told) = (true, true);
        // The wake-up of a sleep that is over may have been this one, so another look is arranged after the last item.
        self.is_unchecked = self.sleep.is_some() && self.cell.bell().count() > 0;
        if self.sleep.is_some() && !self.is_unchecked && self.is_awake() {
            self.put_off += 1;
        }
    }
}

impl Source for CellSource {
    type Item = Turn;
    type Attachment = ();

    fn attach(&mut self, notifier: Notifier) -> Result<(), TakeError> {
        self.cell.bell().attach(notifier.clone());
        self.notifier = Some(notifier);
        Ok(())
    }

    fn try_take(&mut self) -> Result<Option<Turn>, TakeError> {
        if self.cell.is_over() {
            return Err(TakeError::Closed);
        }
        let is_told = match self.cell.kind() {
            Kind::Timer => return Ok(self.is_timer_due().then_some(Turn::Item)),
            _ => self.cell.bell().remove(1),
        };
        if is_told {
            self.note_told();
            return Ok(Some(Turn::Item));
        }
        Ok(self.is_look_due().then_some(Turn::Look))
    }

    fn pending(&self) -> Pending {
        if self.cell.kind() == Kind::Timer {
            return Pending::Unknown;
        }
        if self.cell.bell().count() > 0 {
            // The bell keeps no times. The next item was there at this take, and the executor may go on with it at
            // once.
            return self.notifier.as_ref().map_or(Pending::Unknown, |notifier| Pending::Since(notifier.now()));
        }
        // After the last item that was told of, the next look is arranged, unless it is already.
        let is_arranged = !self.is_unchecked && (self.sleep.is_some() || !self.has_taken);
        if is_arranged { Pending::Empty } else { Pending::Unknown }
    }
}
