//! Destructors of the user's that panic: each ends where it began, however many there are.

use crate::common::{Count, manual_executor, ms, watchdog};

/// Panics when it is dropped.
struct Bomb(Count);

impl Drop for Bomb {
    fn drop(&mut self) {
        self.0.up();
        panic!("a destructor panics");
    }
}

#[test]
fn all_contents_of_an_executor_may_panic_when_it_is_dropped() {
    watchdog(|| {
        let (_clock, _context, executor) = manual_executor();
        let dropped = Count::new();
        let mut timers = Vec::new();
        for n in 0..3 {
            let group = executor.create_group(format!("group{n}"), Bomb(dropped.clone()));
            let bomb = Bomb(dropped.clone());
            timers.push(group.create_timer(ms(1), move |_, _| _ = &bomb).unwrap());
            let bomb = Bomb(dropped.clone());
            group.create_timer(ms(1), move |_, _| _ = &bomb).unwrap().detach();
        }
        drop(executor);
        assert_eq!(dropped.get(), 9);
    });
}
