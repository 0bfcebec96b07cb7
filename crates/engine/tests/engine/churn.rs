//! Entities that another thread adds and removes all the time.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::common::{Count, ms, watchdog};
use rospin_engine::{Context, ContextOptions, ExecutorOptions, SpinError, SpinOptions};

#[test]
fn a_spin_ends_in_time_although_others_create_and_drop_without_pause() {
    watchdog(|| {
        let context = Context::new(ContextOptions::new());
        let executor = context.create_executor(ExecutorOptions::new("main"));
        let is_over = AtomicBool::new(false);
        let ticks = Count::new();
        let group = executor.create_group("group", ());
        let count = ticks.clone();
        let _ticks = group.create_timer(ms(1), move |(), _| _ = count.up()).unwrap();
        std::thread::scope(|scope| {
            for n in 0..2 {
                let (handle, is_over) = (executor.handle(), &is_over);
                scope.spawn(move || {
                    let group = handle.create_group(format!("churn{n}"), ());
                    while !is_over.load(Ordering::Relaxed) {
                        drop(group.create_timer(Duration::from_secs(1), |(), _| {}).unwrap());
                    }
                });
            }
            for _ in 0..3 {
                let spun = executor.spin(SpinOptions::new().timeout(ms(50)));
                assert!(matches!(spun, Err(SpinError::Timeout)), "{spun:?}");
            }
            is_over.store(true, Ordering::Relaxed);
        });
        assert!(ticks.get() > 3, "it had its turns besides");
    });
}
