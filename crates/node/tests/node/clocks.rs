//! The clocks of timers, rates and stamps: ROS time, which may follow `/clock`, and the steady clock.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rospin_engine::{Context, ContextOptions, Instant, LossCause, ManualClock, Overrun, SpinOptions, Time};
use rospin_node::interfaces::rosgraph_msgs::Clock;
use rospin_node::{Node, NodeOptions, ParameterValue, Ros, Tick, TimerOptions};

const MS: Duration = Duration::from_millis(1);

/// Counter of ticks, and a callback that counts.
fn counter() -> (Arc<AtomicU32>, impl Fn() + Send + Sync + 'static) {
    let count = Arc::new(AtomicU32::new(0));
    let up = Arc::clone(&count);
    (count, move || _ = up.fetch_add(1, Ordering::Relaxed))
}

fn manual() -> (ManualClock, Context, Ros) {
    let clock = ManualClock::new();
    let context = Context::new(ContextOptions::new().manual_clock(clock.clone()));
    let ros = Ros::in_process(&context);
    (clock, context, ros)
}

/// The same program, without `/clock` and with a `/clock` that is ten times as fast.
#[test]
fn a_timer_and_a_rate_follow_the_nodes_clock_and_a_wall_timer_does_not() {
    for (speed, expected) in [(None, [10, 10, 10]), (Some(10), [100, 100, 10])] {
        let (clock, _context, ros) = manual();
        let simulator = ros.create_node("simulator").unwrap();
        simulator.set_parameter("use_sim_time", speed.is_some()).unwrap();
        let options = NodeOptions::new("robot").parameter_override("use_sim_time", speed.is_some());
        let node = ros.create_node(options).unwrap();
        let executor = ros.executor();
        let publisher = simulator.create_publisher::<Clock>("/clock").unwrap();
        let show = |millis: u64| {
            publisher.publish(Clock { clock: Time::from_millis(millis).into() }).unwrap();
            executor.spin(SpinOptions::spin_all()).unwrap();
        };
        show(5_000);

        let second = Duration::from_secs(1);
        let ((timed, count), (walled, count_wall), (rated, count_rate)) = (counter(), counter(), counter());
        let _timer = node.create_timer(second, count).unwrap();
        let _wall_timer = node.create_wall_timer(second, count_wall).unwrap();
        let (waits, count_rate) = (node.clone(), Arc::new(count_rate));
        let group = node.create_group("rate", ()).unwrap();
        let _loop = node.on(&group).create_timer(TimerOptions::one_shot(Duration::ZERO), move || {
            let (node, count) = (waits.clone(), Arc::clone(&count_rate));
            async move {
                let mut rate = node.create_rate(second).unwrap();
                while rate.tick().await.is_ok() {
                    count();
                }
            }
        });
        executor.spin(SpinOptions::spin_all()).unwrap();
        for step in 1..=1_000 {
            clock.advance(10 * MS);
            if let Some(speed) = speed {
                show(5_000 + 10 * speed * step);
            }
            executor.spin(SpinOptions::spin_all()).unwrap();
        }
        let counts = [timed, rated, walled].map(|count| count.load(Ordering::Relaxed));
        assert_eq!(counts, expected, "with /clock at {speed:?} times the speed");
    }
}

/// `now() - due` is the time by which a callback is late, on both clocks.
#[test]
fn a_timer_that_runs_late_tells_by_how_much() {
    for is_driven in [false, true] {
        let (clock, context, ros) = manual();
        clock.set_system(std::time::SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000));
        context.ros_time().set(Time::from_secs(100));
        drop(context.ros_time().set_active(is_driven));
        let node = ros.create_node("late").unwrap();
        let group = node.create_group("lateness", Vec::new()).unwrap();
        let (now, steady) = (node.clone(), context.clock().clone());
        let late = move |late: &mut Vec<Duration>, tick: Tick| late.push(now.now() - tick.due);
        let _timer = node.on(&group).create_timer(10 * MS, late).unwrap();
        let late = move |late: &mut Vec<Duration>, tick: Tick<Instant>| late.push(steady.now() - tick.due);
        let _wall_timer = node.on(&group).create_wall_timer(10 * MS, late).unwrap();
        ros.executor().spin(SpinOptions::spin_all()).unwrap();
        clock.advance(14 * MS);
        context.ros_time().set(Time::from_millis(100_013));
        ros.executor().spin(SpinOptions::spin_all()).unwrap();
        let of_timer = if is_driven { 3 * MS } else { 4 * MS };
        let mut late = group.into_payload().unwrap();
        late.sort();
        assert_eq!(late, [of_timer, 4 * MS], "driven: {is_driven}");
    }
}

/// The executor does nothing for 55 ms, and then looks at its timers of 10 ms.
#[test]
fn a_tick_tells_how_many_due_times_its_timer_skips() {
    for (overrun, expected) in [
        (Overrun::Skip, vec![(10, 4), (60, 0), (70, 0)]),
        (Overrun::CatchUp(2), vec![(10, 2), (40, 0), (50, 0), (60, 0), (70, 0)]),
        (Overrun::CatchUp(9), vec![(10, 0), (20, 0), (30, 0), (40, 0), (50, 0), (60, 0), (70, 0)]),
        (Overrun::ShiftPhase, vec![(10, 4), (65, 0)]),
    ] {
        let (clock, context, ros) = manual();
        let node = ros.create_node("late").unwrap();
        let group = node.create_group("ticks", Vec::new()).unwrap();
        let begin = context.clock().now();
        let tick = move |ticks: &mut Vec<_>, tick: Tick<Instant>| {
            ticks.push(((tick.due - begin).as_millis(), tick.skipped));
        };
        let timer = group.create_wall_timer(TimerOptions::periodic(10 * MS).overrun(overrun), tick).unwrap();
        for pause in [55, 5, 5, 5] {
            clock.advance(pause * MS);
            ros.executor().spin(SpinOptions::spin_all()).unwrap();
        }
        let skipped: u64 = expected.iter().map(|(_, skipped)| skipped).sum();
        assert_eq!(timer.lost(LossCause::TimerOverrun), skipped, "{overrun:?}");
        assert_eq!(group.into_payload().unwrap(), expected, "{overrun:?}");
    }
}

#[test]
fn a_first_due_time_is_on_the_clock_of_its_type() {
    let (clock, context, ros) = manual();
    clock.set_system(std::time::SystemTime::UNIX_EPOCH + Duration::from_secs(1_000));
    let node = ros.create_node("first").unwrap();
    let ((ticks, count), (wall_ticks, count_wall)) = (counter(), counter());
    let at = TimerOptions::periodic(100 * MS).first_due(node.now() + 30 * MS);
    let _timer = node.create_timer(at, count).unwrap();
    let at = TimerOptions::one_shot(100 * MS).first_due(context.clock().now() + 40 * MS);
    let _wall_timer = node.create_wall_timer(at, count_wall).unwrap();
    let mut seen = Vec::new();
    for _ in 0..14 {
        clock.advance(10 * MS);
        ros.executor().spin(SpinOptions::spin_all()).unwrap();
        seen.push((ticks.load(Ordering::Relaxed), wall_ticks.load(Ordering::Relaxed)));
    }
    assert_eq!(seen[1..4], [(0, 0), (1, 0), (1, 1)]);
    assert_eq!(seen[11..], [(1, 1), (2, 1), (2, 1)]);
}

/// Nodes of a context have one ROS time, so `use_sim_time` is the same in all of them.
#[test]
fn nodes_of_a_context_agree_about_simulated_time() {
    let (_clock, context, ros) = manual();
    let values = |nodes: &[&Node]| nodes.iter().map(|node| node.parameter("use_sim_time").unwrap()).collect::<Vec<_>>();
    let [yes, no] = [true, false].map(ParameterValue::Bool);
    // A container's manager is given no value, and the first component is.
    let manager = ros.create_node("manager").unwrap();
    let planner = ros.create_node(NodeOptions::new("planner").parameter_override("use_sim_time", true)).unwrap();
    assert_eq!(values(&[&manager, &planner]), [yes.clone(), yes.clone()]);
    let late = ros.create_node("late").unwrap();
    assert_eq!(late.parameter("use_sim_time"), Some(yes.clone()));

    let options = NodeOptions::new("logger").parameter_override("use_sim_time", false);
    let error = ros.create_node(options.clone()).unwrap_err().to_string();
    assert!(
        error.contains("`/logger`") && error.contains("`/manager`") && error.contains("a context of its own"),
        "{error}"
    );

    late.set_parameter("use_sim_time", false).unwrap();
    assert_eq!(values(&[&manager, &planner, &late]), [no.clone(), no.clone(), no.clone()]);
    ros.executor().spin(SpinOptions::spin_all()).unwrap();
    assert!(!context.ros_time().is_active());
    let logger = ros.create_node(options).unwrap();
    manager.set_parameter("use_sim_time", true).unwrap();
    assert_eq!(values(&[&planner, &late, &logger]), [yes.clone(), yes.clone(), yes.clone()]);
    ros.executor().spin(SpinOptions::spin_all()).unwrap();
    assert!(context.ros_time().is_active());

    // Times of one's own are contexts of one's own.
    let (_clock, apart, of_apart) = manual();
    let other = of_apart.create_node(NodeOptions::new("logger").parameter_override("use_sim_time", false)).unwrap();
    assert_eq!(values(&[&other]), [no]);
    assert!(!apart.ros_time().is_active() && context.ros_time().is_active());
}

/// A node that was given a value does not take another one from a node that is created later.
#[test]
fn two_values_of_use_sim_time_are_an_error() {
    let (_clock, _context, ros) = manual();
    let given = |name: &str, value: bool| NodeOptions::new(name).parameter_override("use_sim_time", value);
    let _steady = ros.create_node(given("steady", false)).unwrap();
    let error = ros.create_node(given("simulated", true)).unwrap_err().to_string();
    assert!(error.contains("`use_sim_time` is true in node `/simulated` and false in node `/steady`"), "{error}");
}
