//! Timers on ROS time, which a driver passes on, and activations that precede all.

use std::time::Duration;

use rospin_core::policy::POLICIES;
use rospin_core::{
    ClockKind, EntityId, EntityKind, EntitySpec, GroupId, GroupKind, Instant, Priority, Scheduler, ThreadIndex,
    TimerSpec,
};

const THREAD: ThreadIndex = ThreadIndex(0);

const fn at(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn fifo() -> (Scheduler, GroupId) {
    let mut scheduler = Scheduler::new((POLICIES[0].build)());
    let group = scheduler.add_group(GroupKind::Reentrant);
    (scheduler, group)
}

fn add(scheduler: &mut Scheduler, group: GroupId, timer: TimerSpec) -> EntityId {
    scheduler.add_timer(EntitySpec::new("timer", EntityKind::Timer, group), timer.clock(ClockKind::Ros)).unwrap()
}

/// Runs everything that is ready. Returns the entities with their releases.
fn run(scheduler: &mut Scheduler, now: Instant) -> Vec<(EntityId, Instant)> {
    let mut ran = Vec::new();
    while let Some(activation) = scheduler.next(now, THREAD) {
        ran.push((activation.entity, activation.release));
        scheduler.complete(now, &activation);
    }
    ran
}

#[test]
fn a_timer_due_before_the_first_reading_is_not_released_in_the_distant_past() {
    let (mut scheduler, group) = fifo();
    let timer = add(&mut scheduler, group, TimerSpec::one_shot(at(5_100)));
    scheduler.jump(ClockKind::Ros, at(5_000), 0);
    // The steady clock shows 2.5 hours, as if the machine had been up for that long.
    let now = at(9_000_000);
    scheduler.advance(ClockKind::Ros, at(5_200), now);
    assert_eq!(run(&mut scheduler, now), [(timer, at(8_999_900))]);
}

#[test]
fn timers_that_became_due_in_a_leap_are_released_in_between_in_order() {
    let (mut scheduler, group) = fifo();
    let late = add(&mut scheduler, group, TimerSpec::one_shot(at(90_000)));
    let early = add(&mut scheduler, group, TimerSpec::one_shot(at(50_000)));
    scheduler.advance(ClockKind::Ros, at(40_000), at(100));
    assert_eq!(run(&mut scheduler, at(100)), []);
    // ROS time advances faster than the steady clock. No release is before the last reading of the clock.
    scheduler.advance(ClockKind::Ros, at(100_000), at(112));
    assert_eq!(run(&mut scheduler, at(112)), [(early, at(102)), (late, at(110))]);
    // This timer was added later, and was due before the last reading.
    let past = add(&mut scheduler, group, TimerSpec::one_shot(at(3)));
    scheduler.advance(ClockKind::Ros, at(100_000), at(120));
    assert_eq!(run(&mut scheduler, at(120)), [(past, at(112))]);
}

#[test]
fn a_jump_leaves_other_clocks_and_absolute_due_times_alone() {
    let (mut scheduler, group) = fifo();
    let specs = [
        (TimerSpec::periodic(at(1_000), ms(10)), at(110)),
        (TimerSpec::periodic(at(105), ms(10)), at(105)),
        (TimerSpec::one_shot(at(1_000)), at(1_000)),
        (TimerSpec::one_shot(at(1_000)).delay(ms(7)), at(107)),
    ];
    let timers = specs.map(|(spec, _)| add(&mut scheduler, group, spec));
    let system = TimerSpec::periodic(at(1_000), ms(10)).clock(ClockKind::System);
    let system = scheduler.add_timer(EntitySpec::new("system", EntityKind::Timer, group), system).unwrap();
    scheduler.jump(ClockKind::Ros, at(100), 0);
    for (timer, (_, due)) in timers.into_iter().zip(specs) {
        assert_eq!(scheduler.timer_due(timer), Some(due));
    }
    assert_eq!(scheduler.timer_due(system), Some(at(1_000)));
    assert_eq!(scheduler.next_due_on(ClockKind::Ros), Some(at(105)));
}

#[test]
fn another_time_line_keeps_what_is_left_to_wait() {
    for (from, to) in [(5_000, 100), (100, 5_000)] {
        let (mut scheduler, group) = fifo();
        let timer = add(&mut scheduler, group, TimerSpec::periodic(at(from + 4), ms(10)));
        scheduler.jump(ClockKind::Ros, at(to), (to as i64 - from as i64) * 1_000_000);
        assert_eq!(scheduler.timer_due(timer), Some(at(to + 4)));
        scheduler.advance(ClockKind::Ros, at(to + 4), at(50));
        assert_eq!(run(&mut scheduler, at(50)).len(), 1);
        assert_eq!(scheduler.timer_due(timer), Some(at(to + 14)));
    }
}

#[test]
fn a_timer_that_is_released_when_time_jumps_back_starts_a_period_there() {
    let (mut scheduler, group) = fifo();
    let timer = add(&mut scheduler, group, TimerSpec::periodic(at(1_000), ms(10)));
    scheduler.advance(ClockKind::Ros, at(1_003), at(1));
    scheduler.jump(ClockKind::Ros, at(200), 0);
    assert_eq!(run(&mut scheduler, at(2)).len(), 1);
    assert_eq!((scheduler.timer_due(timer), scheduler.overruns(timer)), (Some(at(210)), 0));
    scheduler.cancel_timer(timer);
    assert_eq!(scheduler.timer_due(timer), None);
}

#[test]
fn an_entity_that_precedes_all_runs_before_the_choice_of_the_policy_and_waits_only_for_its_group() {
    for entry in POLICIES {
        let mut scheduler = Scheduler::new((entry.build)());
        let groups = [0, 1].map(|_| scheduler.add_group(GroupKind::MutuallyExclusive));
        let [other, jump] = [false, true].map(|precedes| {
            let spec = EntitySpec::new("entity", EntityKind::Subscription, groups[0]).priority(Priority(9));
            scheduler.add_entity(spec.precedes_all(precedes)).unwrap()
        });
        let urgent =
            EntitySpec::new("urgent", EntityKind::Subscription, groups[1]).deadline(ms(1)).priority(Priority(99));
        let urgent = scheduler.add_entity(urgent).unwrap();
        scheduler.release(at(1), other);
        let holder = scheduler.next(at(1), THREAD).unwrap();
        for entity in [urgent, other, jump, jump] {
            scheduler.release(at(2), entity);
        }
        assert!(scheduler.has_candidates());
        let unblocked = scheduler.next(at(3), THREAD).unwrap();
        assert_eq!(unblocked.entity, urgent, "the group of the other two is held");
        scheduler.complete(at(3), &unblocked);
        scheduler.release(at(3), urgent);
        scheduler.complete(at(4), &holder);
        let ran: Vec<_> = run(&mut scheduler, at(4)).into_iter().map(|(entity, _)| entity).collect();
        assert_eq!(ran[0], jump, "{}", entry.name);
        assert_eq!(ran.len(), 3, "{}", entry.name);
        // The entity is removed while it is ready.
        scheduler.release(at(5), jump);
        assert!(scheduler.remove_entity(jump) && scheduler.next(at(5), THREAD).is_none());
    }
}
