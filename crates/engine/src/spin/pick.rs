//! Pick: the scheduler decides, and the state lends callback and payload to the thread.

use rospin_core::{Activation, EntityKind, Instant, ThreadIndex};

use super::run::Run;
use crate::loss::LossCause;
use crate::state::{NOBODY, State};
use crate::work::Callback;

impl State {
    /// Picks the next activation for `thread`, and lends the thread its callback and payload, in `seat`, which is
    /// empty. It stays empty if none may start.
    #[inline(always)]
    pub(super) fn pick(&mut self, now: Instant, thread: ThreadIndex, seat: &mut Option<Run>) {
        while let Some(activation) = self.scheduler.next(now, thread) {
            *seat = self.lend(&activation);
            if seat.is_some() {
                return;
            }
            // The entity is about to be removed, or the policy made the activation up. It must not hold its group for
            // ever.
            self.scheduler.complete(now, &activation);
        }
    }

    /// Lends the callback and the payload of an activation that was picked; `None` if its entity is about to be
    /// removed, or the policy made the activation up.
    #[inline(always)]
    pub(crate) fn lend(&mut self, activation: &Activation) -> Option<Run> {
        let mut callback = self.lend_callback(activation)?;
        callback.payload = self.group_mut(activation.group)?.payload.take();
        Some(Run { activation: *activation, callback })
    }

    /// Lends the callback of an activation, without its payload. Brings the counts of a timer up to date.
    #[inline(always)]
    fn lend_callback(&mut self, activation: &Activation) -> Option<Box<Callback>> {
        let is_timer = activation.kind == EntityKind::Timer;
        let timer_state = if is_timer { self.scheduler.timer_state(activation.entity) } else { None };
        let has_changes_left = self.has_changes_left;
        let on_steady = self.ros.is_on_steady();
        let entity = self.entity_mut(activation.entity)?;
        let is_first = activation.segment == 0;
        // A source that has ended is not taken from again, although another activation of its entity may still be under
        // way.
        if entity.closing && is_first {
            return None;
        }
        // A suspended callback goes on although its timer gets another due time.
        if has_changes_left && (entity.is_removed() || is_first && entity.has_another_due()) {
            return None;
        }
        let mut fired = None;
        if let Some((due, overruns)) = timer_state {
            entity.details.losses.set(LossCause::TimerOverrun, overruns);
            if let Some(timer) = &entity.details.timer {
                fired = timer.fired();
                timer.note_due(due, on_steady);
            }
        }
        let wanted = if activation.segment > 0 { activation.sequence } else { NOBODY };
        let slot = entity.slots.iter_mut().find(|slot| slot.sequence == wanted)?;
        let mut callback = slot.callback.take()?;
        if is_timer {
            callback.cx.due = fired;
        }
        slot.sequence = activation.sequence;
        Some(callback)
    }
}
