//! A known case of rclcpp (issue #2402, and Teper et al.): the emulated multi-threaded wait set starves a timer,
//! rospin's own policies do not.

use std::time::Duration;

use rospin_core::policy::{Edf, Fifo, FixedPriority, Policy, Timers, WaitSet};
use rospin_core::{EntityKind, EntitySpec, GroupKind, Instant, Scheduler, TimerSpec};
use rospin_testkit::virtual_time::{Behaviour, VirtualTime};

const SECONDS: u64 = 1000;

/// Returns how often each of two 1 s timers with 1 s callbacks runs in 1000 s, if both are in one mutually exclusive
/// group.
fn runs(policy: Box<dyn Policy>, threads: u16) -> [usize; 2] {
    let second = Duration::from_secs(1);
    let mut scheduler = Scheduler::new(policy);
    let group = scheduler.add_group(GroupKind::MutuallyExclusive);
    let timers = ["first", "second"].map(|name| {
        let timer = TimerSpec::periodic(Instant::ZERO + second, second);
        scheduler.add_timer(EntitySpec::new(name, EntityKind::Timer, group), timer).unwrap()
    });
    let mut time = VirtualTime::new(scheduler, threads);
    for timer in &timers {
        time.behave(*timer, Behaviour::runs_ms(1000));
    }
    time.run_until(Instant::from_millis(SECONDS * 1000));
    timers.map(|timer| time.starts(timer).len())
}

#[test]
fn two_threads_of_a_wait_set_starve_the_second_timer() {
    let [first, second] = runs(Box::new(WaitSet::new(Timers::Inside)), 2);
    assert_eq!(first as u64, SECONDS, "the first runs all the time");
    assert_eq!(second, 0, "the second never");
}

#[test]
fn one_thread_of_a_wait_set_serves_both() {
    let [first, second] = runs(Box::new(WaitSet::new(Timers::Inside)), 1);
    assert!(first.abs_diff(second) <= 1, "{first} and {second} runs");
}

#[test]
fn timers_before_every_pick_starve_the_second_on_any_number_of_threads() {
    for threads in [1, 2] {
        let [_, second] = runs(Box::new(WaitSet::new(Timers::Outside)), threads);
        assert_eq!(second, 0, "the first is always due again, and first, on {threads} threads");
    }
}

#[test]
fn rospins_policies_serve_both_alike() {
    let policies: [fn() -> Box<dyn Policy>; 3] =
        [|| Box::new(Fifo::new()), || Box::new(FixedPriority::new()), || Box::new(Edf::new())];
    for policy in policies {
        for threads in 1..=4 {
            let [first, second] = runs(policy(), threads);
            let name = policy().name();
            assert_eq!((first + second) as u64, SECONDS, "{name} on {threads} threads leaves the group idle");
            assert!(first.abs_diff(second) <= 1, "{name} on {threads} threads: {first} and {second} runs");
        }
    }
}
