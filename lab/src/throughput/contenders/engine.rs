//! rospin itself.

use rospin_engine::{ExecutorOptions, SpinOptions, TimerOptions, policy};

use super::super::system::{Subscription, System, Timer, options};
use super::{Control, Failed};

/// Runs the system on an executor of rospin with the policy of this name, until `control` ends it.
pub(super) fn spin(system: System, control: &Control, policy: &str) -> Result<(), Failed> {
    let System { context, groups, subscriptions, timers, threads, busy_poll } = system;
    let threads = u16::try_from(threads)?;
    let setup =
        ExecutorOptions::new("main").boxed_policy(policy::by_name(policy)?).threads(threads).busy_poll(busy_poll);
    let executor = context.create_executor(setup);
    let groups: Vec<_> = (0..groups).map(|number| executor.create_group(format!("group{number}"), ())).collect();
    let mut entities = Vec::new();
    for Subscription { topic, group, mut callback } in subscriptions {
        let created = groups[group].create_local_subscription(options(&topic), move |(), message| callback(message));
        entities.push(created?);
    }
    let mut clocks = Vec::new();
    for Timer { group, period, delay, mut callback } in timers {
        let options = TimerOptions::periodic(period).first_due(context.clock().now() + delay);
        clocks.push(groups[group].create_timer(options, move |(), _| callback())?);
    }
    let handle = executor.handle();
    control.running(move || handle.halt());
    executor.spin(SpinOptions::new())?;
    Ok(())
}
