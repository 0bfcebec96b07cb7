//! A custom policy: emergencies first, then timers, then everything else by deadline.
//!
//! `cargo run -p rospin-engine --example custom_policy`

#![expect(clippy::print_stdout, reason = "it shows the order")]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use rospin_engine::policy::Ordered;
use rospin_engine::{
    Activation, Context, ContextOptions, EntityKind, ExecutorOptions, ManualClock, Order, Priority, SpinOptions,
    SubscriptionOptions, TimerOptions,
};

/// The order: emergencies first, by priority; then timers; then everything else by deadline.
#[derive(Default)]
struct EmergenciesThenTimers;

impl Order for EmergenciesThenTimers {
    /// The smallest key runs first; `false` is smaller than `true`.
    type Key = (std::cmp::Reverse<Priority>, bool, rospin_engine::Instant);

    fn name(&self) -> &'static str {
        "emergencies-then-timers"
    }

    fn key(&self, activation: &Activation) -> Self::Key {
        let urgency = std::cmp::Reverse(activation.priority);
        (urgency, activation.kind != EntityKind::Timer, activation.deadline)
    }
}

/// Runs five callbacks that are all ready, and returns the order in which they ran.
pub(crate) fn order() -> Result<Vec<&'static str>, Box<dyn std::error::Error>> {
    let clock = ManualClock::new();
    let context = Context::new(ContextOptions::new().manual_clock(clock.clone()));
    let executor =
        context.create_executor(ExecutorOptions::new("main").policy(Ordered::<EmergenciesThenTimers>::new()));
    let group = executor.create_group("robot", ());
    let ran = Arc::new(Mutex::new(Vec::new()));
    let log = |name| {
        let ran = Arc::clone(&ran);
        move || ran.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(name)
    };

    let by_deadline = |millis| SubscriptionOptions::new("scan").deadline(Duration::from_millis(millis));
    let (map, avoid, stop) = (log("map"), log("avoid"), log("stop"));
    let (blink, control) = (log("blink"), log("control"));
    let _map = group.create_local_subscription(by_deadline(500), move |(), _: Arc<u32>| map())?;
    let _avoid = group.create_local_subscription(by_deadline(50), move |(), _: Arc<u32>| avoid())?;
    let emergency = SubscriptionOptions::new("scan").priority(Priority(1));
    let _stop = group.create_local_subscription(emergency, move |(), _: Arc<u32>| stop())?;
    let timer = |period| TimerOptions::one_shot(Duration::from_millis(10)).deadline(Duration::from_millis(period));
    let _blink = group.create_timer(timer(1000), move |(), _| blink())?;
    let _control = group.create_timer(timer(10), move |(), _| control())?;

    context.create_local_publisher::<u32>("scan")?.publish(0);
    clock.advance(Duration::from_millis(10));
    executor.spin(SpinOptions::spin_all())?;
    let ran = ran.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    Ok(ran.clone())
}

#[allow(dead_code, reason = "the test of this example calls `order`")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("{}", order()?.join(", "));
    Ok(())
}
