//! A tracker on simulated time. A thread drives ROS time twice as fast as real time, and the recording starts over
//! once.
//!
//! `cargo run -p rospin-engine --example simulated_time`

#![expect(clippy::print_stdout, reason = "it shows what happens")]

use std::time::Duration;

use rospin_engine::{
    ClockKind, Context, ContextOptions, ExecutorOptions, JumpThreshold, SpinOptions, Time, TimerOptions,
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let context = Context::new(ContextOptions::new());
    let executor = context.create_executor(ExecutorOptions::new("main"));
    let time = context.ros_time();
    time.set(Time::from_millis(0));
    time.set_active(true);

    let tracker = executor.create_group("tracker", 0);
    let (period, shown) = (Duration::from_millis(100), time.clone());
    let _update = tracker.create_timer(TimerOptions::periodic(period).clock(ClockKind::Ros), move |updates, _| {
        *updates += 1;
        println!("{:?}: update {updates}", shown.now());
    })?;
    // The callback runs while ROS time still shows the end of the recording, so no timer sees the new time with old
    // updates.
    let backward = JumpThreshold { min_backward: Some(Duration::from_millis(1)), ..JumpThreshold::default() };
    let shown = time.clone();
    let _reset = tracker.create_jump_callback(backward, move |updates, jump| {
        println!("{:?}: time is about to be {:?}, {updates} updates are forgotten", shown.now(), jump.to);
        *updates = 0;
    })?;

    let stop = executor.handle();
    let player = std::thread::spawn(move || {
        for _ in 0..2 {
            for message in 0..=50 {
                // A receive thread does the same with a message of `/clock`. It never blocks.
                time.set(Time::from_millis(message * 10));
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        stop.halt();
    });
    executor.spin(SpinOptions::new())?;
    player.join().map_err(|_| "the player panicked")?;
    Ok(())
}
