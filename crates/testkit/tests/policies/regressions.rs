//! Bugs that random scenarios found, in the smallest form.

use std::time::Duration;

use rospin_core::policy::{Edf, Policy, Timers, WaitSet};
use rospin_core::{EntityKind, EntitySpec, GroupKind, Instant, Scheduler, ThreadIndex, TimerSpec};

const THREAD: ThreadIndex = ThreadIndex(0);

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn at(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

/// Returns a scheduler with one timer that is first due at 1 ms, and may have two activations at once.
fn with_timer(policy: Box<dyn Policy>, period: Option<Duration>) -> (Scheduler, rospin_core::EntityId) {
    let mut scheduler = Scheduler::new(policy);
    let group = scheduler.add_group(GroupKind::Reentrant);
    let spec = EntitySpec::new("timer", EntityKind::Timer, group).max_in_flight(2);
    let timer = period.map_or(TimerSpec::one_shot(at(1)), |period| TimerSpec::periodic(at(1), period));
    let timer = scheduler.add_timer(spec, timer).unwrap();
    (scheduler, timer)
}

/// The default deadline of a periodic timer is the end of its period, also after the period was changed.
#[test]
fn the_deadline_follows_a_new_period() {
    for period in [Some(ms(100)), None] {
        let (mut scheduler, timer) = with_timer(Box::new(Edf::new()), period);
        assert!(scheduler.restart_timer(timer, at(10), Some(ms(5))));
        let picked = scheduler.next(at(10), THREAD).unwrap();
        assert_eq!(picked.deadline, at(15), "period {period:?} changed to 5 ms");
    }
}

/// Two ready activations of one timer have the same registration. Their sequence decides, whichever became ready last.
#[test]
fn sequence_orders_activations_of_one_timer_under_e1() {
    for resumed_last in [true, false] {
        let (mut scheduler, timer) = with_timer(Box::new(WaitSet::new(Timers::Outside)), Some(ms(1)));
        let first = scheduler.next(at(1), THREAD).unwrap();
        scheduler.suspend(at(1), &first);
        if resumed_last {
            scheduler.advance(rospin_core::ClockKind::Steady, at(2), at(2));
        }
        assert!(scheduler.resume(at(2), timer, first.sequence));
        let next = scheduler.next(at(2), THREAD).unwrap();
        assert_eq!(
            (next.sequence, next.segment),
            (0, 1),
            "the one that waits for longer; resumed last: {resumed_last}"
        );
    }
}
