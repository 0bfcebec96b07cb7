//! Simulated time: `/clock` drives timers and sleeps, and jump callbacks run before the time moves.

use std::time::Duration;

use rospin_engine::{ClockKind, Executor, JumpThreshold, Overrun, RosTime, SpinOptions, Time, TimerOptions};
use rospin_node::interfaces::rosgraph_msgs::Clock;
use rospin_node::{Publisher, SimTime};

use super::fixture::Fixture;
use super::seen::Seen;
use super::world::World;

/// A simulator's clock, and a node that follows it.
struct Simulation<F: Fixture> {
    world: World<F>,
    clock: Publisher<Clock>,
    time: RosTime,
    /// Handle that keeps the node following the clock. Once it is dropped, time stands still.
    sim_time: Option<SimTime>,
}

/// A threshold that every step back exceeds.
const BACK: JumpThreshold =
    JumpThreshold { min_forward: None, min_backward: Some(Duration::from_nanos(1)), on_clock_change: false };

pub(super) fn at(millis: u32) -> Time {
    Time::from_millis(millis.into())
}

fn clock_at(millis: u32) -> Clock {
    Clock { clock: at(millis).into() }
}

/// Returns the options of a periodic timer on ROS time.
pub(super) fn every(millis: u64) -> TimerOptions {
    TimerOptions::periodic(Duration::from_millis(millis)).clock(ClockKind::Ros)
}

/// Publishes the time `millis` on `clock` until `time` shows it, because best effort and late matching may lose
/// messages.
pub(super) fn show<F: Fixture>(world: &World<F>, clock: &Publisher<Clock>, time: &RosTime, millis: u32) {
    let mut pause = 0;
    world.until("time has moved", || {
        if pause == 0 && time.now() != at(millis) {
            clock.publish(clock_at(millis)).unwrap();
        }
        // Not faster than it can be received.
        pause = (pause + 1) % 8;
        time.now() == at(millis)
    });
}

impl<F: Fixture> Simulation<F> {
    /// Creates the clock, and the node that follows it on the helper, which spins whenever the case waits.
    fn new() -> Self {
        let world = World::<F>::new();
        let clock = world.here.create_publisher("/clock").unwrap();
        let time = world.context.ros_time();
        let sim_time = world.there.use_sim_time(&world.helper().handle(), &time).unwrap();
        assert!(time.is_active());
        world.wait("the clock is matched", clock.wait_for_subscription());
        Self { world, clock, time, sim_time: Some(sim_time) }
    }

    fn show(&self, millis: u32) {
        show(&self.world, &self.clock, &self.time, millis);
    }

    /// Runs everything that is due.
    fn run(&self, executor: &Executor) {
        executor.spin(SpinOptions::spin_all()).unwrap();
    }
}

/// Timers on ROS time follow `/clock`. They fire when the clock reaches their due time.
pub fn timers_follow_the_clock<F: Fixture>() {
    let simulation = Simulation::<F>::new();
    let main = simulation.world.executor("main");
    simulation.show(10_000);
    let group = main.create_group("robot", ());
    let ticks = Seen::new();
    let shown = simulation.time.clone();
    let log = ticks.clone();
    let _timer = group.create_timer(every(1_000), move |(), _| log.push(shown.now())).unwrap();
    for millis in [10_500, 10_999, 11_000, 11_999, 12_000, 13_000] {
        simulation.show(millis);
        simulation.run(&main);
    }
    assert_eq!(ticks.all(), [11_000, 12_000, 13_000].map(at));
}

/// While the simulator pauses, time and the timers on it stand still. Timers on other clocks continue.
pub fn a_pause_stops_the_timers<F: Fixture>() {
    let simulation = Simulation::<F>::new();
    let world = &simulation.world;
    let main = simulation.world.executor("main");
    simulation.show(10_000);
    let group = main.create_group("robot", ());
    let ticks = Seen::new();
    let log = ticks.clone();
    let _timer = group.create_timer(every(1), move |(), _| log.push(())).unwrap();
    let others = main.create_group("others", ());
    let steady = Seen::new();
    let log = steady.clone();
    let _steady = others.create_timer(Duration::from_millis(1), move |(), _| log.push(())).unwrap();
    world.spinning(&[&main], || {
        world.wait("twenty milliseconds have passed elsewhere", steady.until_count(20));
        assert_eq!((ticks.count(), simulation.time.now()), (0, at(10_000)));
        simulation.show(10_001);
        world.wait("time goes on", ticks.until_count(1));
        world.wait("and pauses again", steady.until_count(steady.count() + 20));
    });
    assert_eq!(ticks.count(), 1);
}

/// A jump forward counts as elapsed time. Each timer treats its missed due times by its overrun policy.
pub fn a_jump_forward_is_dealt_with_as_the_timer_says<F: Fixture>() {
    let simulation = Simulation::<F>::new();
    let main = simulation.world.executor("main");
    simulation.show(10_000);
    let group = main.create_group("robot", ());
    let timers = [Overrun::Skip, Overrun::CatchUp(3), Overrun::ShiftPhase].map(|overrun| {
        let ticks = Seen::new();
        let log = ticks.clone();
        let shown = simulation.time.clone();
        let timer = group.create_timer(every(100).overrun(overrun), move |(), _| log.push(shown.now()));
        (timer.unwrap(), ticks)
    });
    // Ten and a half periods at once; then the grid becomes visible.
    for millis in [11_050, 11_100, 11_150] {
        simulation.show(millis);
        simulation.run(&main);
    }
    let [skip, catch_up, shift] = timers.each_ref().map(|(_, ticks)| ticks.all());
    assert_eq!(skip, [11_050, 11_100].map(at));
    // The first due time, and the last three of those that were missed.
    assert_eq!(catch_up, [11_050, 11_050, 11_050, 11_050, 11_100].map(at));
    assert_eq!(shift, [11_050, 11_150].map(at));
}

/// Before time jumps back, jump callbacks run on their groups while the old time still shows. Then timers continue
/// from the new time.
pub fn a_jump_back_tells_its_callbacks_before_time_moves<F: Fixture>() {
    let simulation = Simulation::<F>::new();
    let world = &simulation.world;
    let main = simulation.world.executor("main");
    simulation.show(10_000);
    let group = main.create_group("robot", ());
    let log = Seen::new();
    let jumps = log.clone();
    let shown = simulation.time.clone();
    let _jump = group.create_jump_callback(BACK, move |(), jump| jumps.push(("jump to", jump.to, shown.now())));
    let ticks = log.clone();
    let shown = simulation.time.clone();
    let _timer = group.create_timer(every(1_000), move |(), _| ticks.push(("tick", shown.now(), shown.now()))).unwrap();
    world.spinning(&[&main], || {
        simulation.show(11_000);
        world.wait("the timer fires", log.until_count(1));
        simulation.show(5_000);
        assert_eq!(log.count(), 2, "the jump callback ran before time moved");
        simulation.show(5_999);
        simulation.show(6_000);
        world.wait("the timer fires again", log.until_count(3));
    });
    let expected =
        [("tick", at(11_000), at(11_000)), ("jump to", at(5_000), at(11_000)), ("tick", at(6_000), at(6_000))];
    assert_eq!(log.all(), expected);
}

/// Asynchronous callbacks sleep on ROS time, across pauses and jumps.
pub fn sleeps_follow_the_clock<F: Fixture>() {
    let simulation = Simulation::<F>::new();
    let world = &simulation.world;
    let main = simulation.world.executor("main");
    simulation.show(10_000);
    let group = main.create_group("robot", ());
    let log = Seen::new();
    let handle = main.handle();
    let told = log.clone();
    let shown = simulation.time.clone();
    let start = TimerOptions::one_shot(Duration::ZERO);
    let _sleeper = group.create_timer_async(start, move |_, _| {
        let log = told.clone();
        let shown = shown.clone();
        let handle = handle.clone();
        async move {
            // The sleep starts here; after the log entry the case moves the time.
            let sleep = handle.sleep(ClockKind::Ros, Duration::from_millis(500));
            log.push(("begins", shown.now()));
            assert!(sleep.await.is_ok());
            let sleep = handle.sleep_until(at(20_000));
            log.push(("slept", shown.now()));
            assert!(sleep.await.is_ok());
            log.push(("slept until", shown.now()));
        }
    });
    world.spinning(&[&main], || {
        world.wait("it sleeps", log.until_count(1));
        simulation.show(10_499);
        assert_eq!(log.count(), 1);
        simulation.show(10_500);
        world.wait("it wakes", log.until_count(2));
        simulation.show(19_999);
        assert_eq!(log.count(), 2);
        simulation.show(20_001);
        world.wait("it wakes again", log.until_count(3));
    });
    assert_eq!(log.all(), [("begins", at(10_000)), ("slept", at(10_500)), ("slept until", at(20_001))]);
}

/// When nobody follows `/clock` any more, time stands still.
pub fn time_stands_still_when_nobody_follows<F: Fixture>() {
    let mut simulation = Simulation::<F>::new();
    simulation.show(10_000);
    simulation.sim_time = None;
    let world = &simulation.world;
    world.until("the subscription is gone", || simulation.clock.subscription_count() == 0);
    let main = world.executor("main");
    let witness = main.create_group("witness", ());
    let heard = Seen::new();
    let log = heard.clone();
    let subscription = world.there.on(&witness).create_subscription("/clock", move |_: Clock| log.push(())).unwrap();
    world.matched(&simulation.clock, &[&subscription]);
    world.publish(&simulation.clock, clock_at(11_000));
    world.spin_until(&main, "the simulator is heard", heard.until_count(1));
    assert_eq!(simulation.time.now(), at(10_000));
}
