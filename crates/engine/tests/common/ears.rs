//! Subscriptions that log their messages, under the policy that a test is about.

use std::sync::Arc;

use rospin_engine::{Context, Executor, ExecutorOptions, ManualClock, Policy, Subscription, SubscriptionOptions};

use super::{Log, manual, ms};

/// Creates an executor under `policy` on a manual clock, which shows 1 ms.
pub(crate) fn executor(policy: impl Policy + 'static) -> (ManualClock, Context, Executor) {
    let (clock, context) = manual();
    clock.advance(ms(1));
    let executor = context.create_executor(ExecutorOptions::new("main").policy(policy));
    (clock, context, executor)
}

/// Creates a subscription in a group of its own. It logs its messages under its name, which is also its topic.
pub(crate) fn ear(executor: &Executor, log: &Log<String>, name: &str, options: SubscriptionOptions) -> Subscription {
    let (log, name) = (log.clone(), name.to_owned());
    let group = executor.create_group("group", ());
    group.create_local_subscription(options, move |(), n: Arc<u32>| log.push(format!("{name}{n}"))).unwrap()
}

/// Returns options of a subscription that is named after its topic.
pub(crate) fn on(topic: &str) -> SubscriptionOptions {
    SubscriptionOptions::new(topic).name(topic)
}

pub(crate) fn publish(context: &Context, topic: &str, n: u32) {
    context.create_local_publisher::<u32>(topic).unwrap().publish(n);
}
