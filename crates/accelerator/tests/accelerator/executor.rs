//! Callbacks of an executor await the device.

use std::sync::Mutex;

use rospin_engine::{Context, ContextOptions, ExecutorOptions, SpinOptions, SubscriptionOptions};

use super::*;

#[test]
fn a_callback_that_awaits_the_device_holds_neither_thread_nor_group_if_asked() {
    let (device, gpu) = gpu(AcceleratorOptions::new());
    let camera = Arc::new(client(&gpu, "camera", 1));
    let context = Context::new(ContextOptions::new());
    let executor = context.create_executor(ExecutorOptions::new("main"));
    let group = executor.create_group("node", ());
    let log = Arc::new(Mutex::new(Vec::new()));
    let images = context.create_local_publisher::<u64>("images").unwrap();
    let others = context.create_local_publisher::<u64>("others").unwrap();

    let notes = Arc::clone(&log);
    let stop = executor.handle();
    let options = SubscriptionOptions::new("images").releases_group_at_await();
    let _images = group
        .create_local_subscription_async(options, move |_, _: Arc<u64>| {
            let camera = Arc::clone(&camera);
            let notes = Arc::clone(&notes);
            let stop = stop.clone();
            async move {
                notes.lock().unwrap().push("asks");
                let outcome = camera.request(request(&[4, 4])).unwrap().await.unwrap();
                assert_eq!(outcome.finished, at(8));
                notes.lock().unwrap().push("has");
                stop.halt();
            }
        })
        .unwrap();
    let notes = Arc::clone(&log);
    let _others = group
        .create_local_subscription("others", move |_, _: Arc<u64>| {
            notes.lock().unwrap().push("other");
            // Only now does the device go on: the first callback waits, on the only thread and in the same group.
            device.run();
        })
        .unwrap();
    images.publish(1);
    others.publish(1);
    executor.spin(SpinOptions::new()).unwrap();
    assert_eq!(*log.lock().unwrap(), ["asks", "other", "has"]);
}
