//! The busy executor of lower priority that shares the timers' core.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rospin_engine::os::ThreadOptions;
use rospin_engine::{Context, ContextOptions, ExecutorHandle, ExecutorOptions, SpinError, SpinOptions};
use rospin_measure::timer::LoopError;
use rospin_measure::wake_up::now_ns;

/// Period of the busy executor's work.
pub(crate) const PERIOD: Duration = Duration::from_micros(500);
/// Time that the work takes in each period. It leaves a part of the period free: the kernel takes the core from
/// real-time threads that use all of it, and other programs on the machine need their share.
pub(crate) const WORK: Duration = Duration::from_micros(400);
/// Number of bytes that the work reads and writes: enough to displace other data from a core's own caches.
pub(crate) const MEMORY: usize = 1 << 20;

/// Executor that is busy until it is dropped.
pub(crate) struct BusyExecutor {
    handle: ExecutorHandle,
    thread: Option<JoinHandle<Result<(), LoopError>>>,
}

impl BusyExecutor {
    /// Starts the executor on a thread of its own, and waits until its first callback runs.
    pub(crate) fn start(options: &ThreadOptions) -> Result<Self, LoopError> {
        let context = Context::new(ContextOptions::new());
        let executor = context.create_executor(ExecutorOptions::new("busy").thread(options.clone()));
        let handle = executor.handle();
        let at_work = Arc::new(AtomicBool::new(false));
        let group = executor.create_group("busy", vec![1_u64; MEMORY / size_of::<u64>()]);
        let told = Arc::clone(&at_work);
        let timer = group.create_timer(PERIOD, move |memory: &mut Vec<u64>, _| {
            told.store(true, Ordering::Relaxed);
            work(memory);
        })?;
        let body = move || {
            // The timer lives as long as the executor spins.
            let _timer = timer;
            match executor.spin(SpinOptions::new()) {
                Ok(_) | Err(SpinError::Halted) => Ok(()),
                Err(error) => Err(error.into()),
            }
        };
        let thread = thread::Builder::new().name("busy".to_owned()).spawn(body)?;
        while !at_work.load(Ordering::Relaxed) && !thread.is_finished() {
            thread::sleep(Duration::from_millis(1));
        }
        Ok(Self { handle, thread: Some(thread) })
    }

    /// Ends the executor. Returns an error if its spin failed or its thread panicked.
    pub(crate) fn stop(mut self) -> Result<(), LoopError> {
        self.handle.halt();
        match self.thread.take().map(JoinHandle::join) {
            Some(Err(_)) => Err(LoopError::Panicked("the busy executor")),
            Some(Ok(ended)) => ended,
            None => Ok(()),
        }
    }
}

impl Drop for BusyExecutor {
    fn drop(&mut self) {
        self.handle.halt();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Writes to the memory until [`WORK`] is over.
fn work(memory: &mut [u64]) {
    let end_ns = now_ns() + WORK.as_nanos() as u64;
    loop {
        for cells in memory.chunks_mut(512) {
            for cell in cells {
                *cell = std::hint::black_box(cell.rotate_left(1));
            }
            if now_ns() >= end_ns {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_begins_and_ends() {
        BusyExecutor::start(&ThreadOptions::new()).unwrap().stop().unwrap();
        drop(BusyExecutor::start(&ThreadOptions::new()).unwrap());
    }
}
