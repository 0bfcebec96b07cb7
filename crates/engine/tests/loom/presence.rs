//! Presence: nobody waits for an executor that does not spin any more.

use loom::sync::{Arc, Mutex};
use loom::thread;

use super::lock_free::presence::Presence;

/// The driver of ROS time, as in `ros_time/driver.rs`: the number of jump callbacks that it waits for, of one at most.
struct Driver(Mutex<u32>);

impl Driver {
    /// Has a jump callback told of a jump, which waits for it if its executor spins.
    fn jump(&self, executor: &Presence) {
        let mut waiting = self.0.lock().unwrap();
        if executor.is_there() {
            *waiting = 1;
        }
    }

    /// Ends a spin.
    fn stop_spinning(&self, executor: &Presence) {
        if executor.leave() {
            let mut waiting = self.0.lock().unwrap();
            if !executor.is_there() {
                *waiting = 0;
            }
        }
    }
}

/// The first jump callback of an executor is added and told of a jump, while the executor stops.
///
/// Fails with: either fence left out, a look at the callbacks before the executor has left.
#[test]
fn time_waits_for_no_executor_that_has_stopped() {
    loom::model(|| {
        let shared = Arc::new((Driver(Mutex::new(0)), Presence::new()));
        assert!(shared.1.come() && !shared.1.come());
        let spin = thread::spawn({
            let shared = Arc::clone(&shared);
            move || shared.0.stop_spinning(&shared.1)
        });
        shared.1.be_awaited();
        shared.0.jump(&shared.1);
        spin.join().unwrap();
        assert_eq!(*shared.0.0.lock().unwrap(), 0);
    });
}

/// An executor stops and spins again while time jumps. Then time waits for it only as long as it spins.
///
/// Fails with the same mistakes, and with a wait that is withdrawn although the executor spins again.
#[test]
fn time_waits_for_an_executor_that_spins_again() {
    loom::model(|| {
        let shared = Arc::new((Driver(Mutex::new(0)), Presence::new()));
        shared.1.come();
        let spins = thread::spawn({
            let shared = Arc::clone(&shared);
            move || {
                shared.0.stop_spinning(&shared.1);
                shared.1.come();
                shared.0.stop_spinning(&shared.1);
            }
        });
        shared.1.be_awaited();
        shared.0.jump(&shared.1);
        spins.join().unwrap();
        assert_eq!(*shared.0.0.lock().unwrap(), 0);
    });
}
