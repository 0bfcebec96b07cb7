//! The time of a lifecycle node's transition, which has another name and type from the distribution Lyrical on.

use rospin_core::Time as Point;

use crate::builtin_interfaces::msg::Time;
use crate::lifecycle_msgs::msg::TransitionEvent;

impl TransitionEvent {
    /// Sets the time of the transition.
    #[must_use]
    pub fn at(self, point: Point) -> Self {
        #[cfg(stamped_transitions)]
        let event = Self { stamp: point.into(), ..self };
        #[cfg(not(stamped_transitions))]
        let event = Self { timestamp: point.as_nanos(), ..self };
        event
    }

    /// Returns the time of the transition.
    #[must_use]
    pub fn time(&self) -> Time {
        #[cfg(stamped_transitions)]
        let time = self.stamp;
        #[cfg(not(stamped_transitions))]
        let time = Point::from_nanos(self.timestamp).into();
        time
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_a_transition_is_kept() {
        let event = TransitionEvent::default().at(Point::from_millis(1_500));
        assert_eq!(event.time(), Time { sec: 1, nanosec: 500_000_000 });
    }
}
