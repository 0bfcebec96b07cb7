//! `/clock` drives ROS time: timers follow it, jump callbacks run before it goes back.

use std::time::Duration;

use rospin_dds::{Message, PublisherOptions};
use rospin_engine::{ClockKind, JumpThreshold, Time, TimerOptions};
use serde::{Deserialize, Serialize};

use crate::common::{context, domain_id, executor, join, wait};

#[derive(Clone, Serialize, Deserialize)]
struct Clock {
    sec: i32,
    nanosec: u32,
}

impl Message for Clock {
    const TYPE: &str = "rosgraph_msgs/msg/Clock";
}

#[test]
fn timers_follow_the_topic() {
    let (context, _) = context();
    let executor = executor(&context, "main");
    let domain = join(domain_id());
    let simulator = domain.ros(&context).create_node("simulator").unwrap();
    let clock = simulator.create_publisher::<Clock>(PublisherOptions::new("/clock")).unwrap();
    let time = context.ros_time();
    let node = domain.ros(&context).create_node("robot").unwrap();
    let _sim_time = node.use_sim_time(&executor.handle(), &time).unwrap();
    assert!(time.is_active());
    wait(&executor, "the clock is matched", clock.wait_for_subscription());

    let set = |sec: u16| {
        // A best-effort publisher loses messages while the subscription does not know it yet, so it publishes until
        // time has moved.
        wait(&executor, "time has moved", async {
            while time.now() != Time::from_millis(1000 * u64::from(sec)) {
                clock.publish(Clock { sec: i32::from(sec), nanosec: 0 }).unwrap();
                let _ = executor.handle().sleep(ClockKind::Steady, Duration::from_millis(5)).await;
            }
        });
        executor.spin(rospin_engine::SpinOptions::spin_all()).unwrap();
    };
    set(100);
    let group = executor.create_group("robot", Vec::new());
    let period = TimerOptions::periodic(Duration::from_secs(1)).clock(ClockKind::Ros);
    let shown = time.clone();
    let _timer =
        group.create_timer(period, move |log: &mut Vec<String>, _| log.push(format!("tick at {:?}", shown.now())));
    let backward = JumpThreshold { min_backward: Some(Duration::from_nanos(1)), ..JumpThreshold::default() };
    let _jump = group.create_jump_callback(backward, |log, _| log.push("jump".to_owned())).unwrap();

    for sec in [101_u16, 102, 50, 51] {
        set(sec);
    }
    let log = group.into_payload().unwrap();
    let at = |sec: u64| format!("tick at {:?}", Time::from_millis(1000 * sec));
    assert_eq!(log, [at(101), at(102), "jump".to_owned(), at(51)]);
}
