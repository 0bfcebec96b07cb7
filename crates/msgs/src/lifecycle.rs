//! The time of a lifecycle node's transition, which has another name and type from the distribution Lyrical on.

use rospin_core::Instant;

use crate::builtin_interfaces::msg::Time;
use crate::lifecycle_msgs::msg::TransitionEvent;

impl TransitionEvent {
    /// Sets the time of the transition.
    #[must_use]
    pub fn at(self, instant: Instant) -> Self {
        #[cfg(stamped_transitions)]
        let event = Self { stamp: instant.into(), ..self };
        #[cfg(not(stamped_transitions))]
        let event = Self { timestamp: instant.as_nanos(), ..self };
        event
    }

    /// Returns the time of the transition.
    #[must_use]
    pub fn time(&self) -> Time {
        #[cfg(stamped_transitions)]
        let time = self.stamp;
        #[cfg(not(stamped_transitions))]
        let time = Instant::from_nanos(self.timestamp).into();
        time
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_a_transition_is_kept() {
        let event = TransitionEvent::default().at(Instant::from_millis(1_500));
        assert_eq!(event.time(), Time { sec: 1, nanosec: 500_000_000 });
    }
}
