//! Wakers of tasks that look at a result before it is there.

use super::*;

#[test]
fn a_look_at_a_result_does_not_take_the_waker_of_the_task_that_awaits_it() {
    use std::task::{Context, Wake, Waker};
    struct Count(std::sync::atomic::AtomicUsize);
    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        }
    }
    let (device, gpu) = gpu(AcceleratorOptions::new());
    let client = client(&gpu, "one", 1);
    let mut completion = client.request(request(&[1])).unwrap();
    let count = Arc::new(Count(0.into()));
    let waker = Waker::from(Arc::clone(&count));
    let pinned = std::pin::Pin::new(&mut completion);
    assert!(pinned.poll(&mut Context::from_waker(&waker)).is_pending());
    assert!(completion.try_take().is_none());
    device.run();
    assert_eq!(count.0.load(std::sync::atomic::Ordering::SeqCst), 1);
}
