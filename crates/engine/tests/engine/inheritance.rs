//! Priority inheritance: a resumed callback that holds its group is as urgent as the most urgent callback that waits
//! for the group.

use std::sync::{Arc, Mutex};

use crate::common::ears::publish;
use crate::common::{Log, spin_all, watchdog};
use futures::channel::oneshot;
use rospin_engine::policy::FixedPriority;
use rospin_engine::{Priority, SubscriptionOptions};

#[test]
fn an_urgent_callback_does_not_wait_for_less_urgent_ones_of_other_groups() {
    watchdog(|| {
        let (_clock, context, executor) = crate::common::ears::executor(FixedPriority::new());
        let log = Log::new();
        let (shared, other) = (executor.create_group("shared", ()), executor.create_group("other", ()));
        let on = |topic: &str, priority| SubscriptionOptions::new(topic.to_owned()).priority(Priority(priority));
        let (answer, awaited) = oneshot::channel::<()>();
        let awaited = Mutex::new(Some(awaited));
        let seen = log.clone();
        let holder = shared.create_local_subscription_async(on("holder", 1), move |_, _: Arc<u32>| {
            let (awaited, seen) = (awaited.lock().unwrap().take(), seen.clone());
            async move {
                seen.push("holder waits");
                awaited.unwrap().await.unwrap();
                seen.push("holder ends");
            }
        });
        let _holder = holder.unwrap();
        let seen = log.clone();
        let _urgent =
            shared.create_local_subscription(on("urgent", 100), move |(), _: Arc<u32>| seen.push("urgent")).unwrap();
        // This callback keeps the thread busy as long as it has messages.
        let seen = log.clone();
        let middle = other.create_local_subscription(on("middle", 50).keep_last(10), move |(), _: Arc<u32>| {
            seen.push("middle");
        });
        let _middle = middle.unwrap();
        publish(&context, "holder", 0);
        spin_all(&executor);
        (0..3).for_each(|number| publish(&context, "middle", number));
        answer.send(()).unwrap();
        publish(&context, "urgent", 0);
        spin_all(&executor);
        let order = ["holder waits", "holder ends", "urgent", "middle", "middle", "middle"];
        assert_eq!(log.take(), order);
    });
}
