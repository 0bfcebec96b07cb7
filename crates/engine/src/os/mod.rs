//! Threads under the control of the operating system: scheduling class and priority, cores, memory, timer slack.
//!
//! Settings are applied and then read back from the kernel. A [`ThreadReport`] says which settings a thread has and, in
//! words, which ones it could not have. The user chooses if the program goes on then ([`OnShortfall`]).
//!
//! ```
//! use rospin_engine::os::{OsScheduling, ThreadOptions};
//!
//! // This is for any thread. Threads of an executor get their settings by `ExecutorOptions::thread`.
//! std::thread::spawn(|| {
//!     let report = ThreadOptions::new().scheduling(OsScheduling::Fifo { priority: 10 }).apply();
//!     // Prints "SCHED_FIFO 10", or the scheduling that it has instead, with the reason and advice.
//!     println!("{report}");
//! });
//! ```
//!
//! # What urgent threads may wait for
//!
//! An urgent thread that waits for a lock depends on the thread that holds it. Say an ordinary thread holds the lock,
//! and a third thread of a priority in between keeps the core busy. Then the holder does not run, and the urgent thread
//! waits for the third thread, which has nothing to do with the lock. This is priority inversion. rospin's own locks
//! have priority inheritance: the holder runs at the priority of the most urgent thread that waits, so the wait is no
//! longer than the critical section.
//!
//! | call | threads that it waits for |
//! | --- | --- |
//! | [`Notifier::notify`](crate::Notifier::notify), a waker, [`halt`](crate::ExecutorHandle::halt) | nothing; wakes a thread, which is a system call |
//! | [`Queue::try_take`](crate::Queue::try_take), [`Timer::lost`](crate::Timer::lost) | nothing |
//! | [`Publisher::publish`](crate::Publisher::publish) | other threads that publish on the topic, or add or remove a publisher or subscription |
//! | [`Timer::reset`](crate::Timer::reset), [`cancel`](crate::Timer::cancel) | other threads that change entities of the executor; allocates |
//! | [`Client::call`](crate::Client::call) | other clients of the service; allocates |
//! | creating and dropping entities | all threads of the rows above, and threads that look up names, loss counters or flags; allocates and frees |
//! | [`Context::losses`](crate::Context::losses) | threads that create or drop loss counters, or call it too; copies all counters, so not for urgent threads |
//!
//! A thread of an executor that is an ordinary one has short time slices while it spins, from the first time that it
//! waits for work. Since Linux 6.12, such a thread runs as soon as it is woken while threads with longer slices work,
//! other programs' among them. No rights are needed, and the share of a core that each thread gets stays the same.
//! Threads that callbacks start inherit the slices.
//!
//! rospin cannot promise the following; each point has advice:
//!
//! - **Memory.** The C library's `malloc` and `free` have locks without inheritance. An urgent thread that frees what
//!   an ordinary one has allocated may wait for that one, and the engine frees the memory of an entity that is removed.
//!   Give the program an allocator that frees another thread's memory without a lock:
//!   `#[global_allocator] static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;`, as the `rospin` command does.
//!   With glibc's, an urgent timer beside ordinary threads that create and drop entities was 45 ms late at the 99.9th
//!   percentile, with mimalloc below 1 ms. It reserves memory by the GiB, which [`lock_memory`] makes the kernel
//!   provide at once; `MIMALLOC_ARENA_RESERVE=64MiB` in the environment lets it take less. Or create entities before
//!   the thread gets urgent, publish messages that are in an `Arc` already, and keep large data in the payload.
//! - **Page faults.** The kernel's lock of the process's memory inherits nothing: [`lock_memory`] and
//!   [`stack_prefault`](ThreadOptions::stack_prefault) avoid them. Threads that start, and large allocations, take that
//!   lock.
//! - **Tokio.** Its timers and its I/O are driven by a thread of its own, which is an ordinary one. A callback that
//!   awaits `tokio::time::sleep` is as late as that thread. Await
//!   [`ExecutorHandle::sleep`](crate::ExecutorHandle::sleep) instead, for which the executor's own thread watches the
//!   time; or give the thread a priority, by its name `rospin-tokio`, in a [deployment
//!   file](crate::ContextOptions::deployment).
//! - **Middlewares.** A message is as urgent as the least urgent thread on its way. Where executors are real-time, the
//!   threads of DDS and Zenoh are raised above them, unless a deployment file has a `[[thread]]` line for them; threads
//!   that cannot be raised are logged.
//! - **Your own locks.** `std::sync::Mutex` inherits nothing. Share by a group's payload, which needs no lock, or by
//!   messages.
//! - **The first time.** A first spin starts Tokio's thread, and a first lock asks for the thread's number: spin once,
//!   with [`spin_all`](crate::SpinOptions::spin_all), before anything is urgent.
//! - **`SCHED_FIFO` itself.** Where real-time threads take nearly all of a core, the kernel gives it to ordinary ones
//!   for up to 50 ms a second, however urgent the others are (`sched_rt_runtime_us`; since Linux 6.12, a server for
//!   fair tasks).
//!
//! On a kernel without locks with priority inheritance (`CONFIG_FUTEX_PI`), rospin's locks are ordinary ones, which are
//! polled every 50 us. `rospin lab inversion` measures all this on your machine.
//!
//! # Processes that fork
//!
//! A process that is forked off while executors spin has a copy of them, without their threads. Dropping the copies
//! does nothing, and they cannot be spun. New contexts work as anywhere. A lock that was held at the fork stays held in
//! the copy, so do not use the copies' publishers and timers.

mod apply;
mod cores;
#[cfg(all(target_os = "linux", not(rospin_portable)))]
mod kernel;
#[cfg(any(not(target_os = "linux"), rospin_portable))]
#[path = "elsewhere.rs"]
mod kernel;
mod memory;
mod options;
mod posix;
mod process;
mod report;
mod setup;
mod slice;
mod threads;
mod ticks;

pub use rospin_core::{OsScheduling, OsSchedulingError};

pub use apply::{Applied, scheduling_of};
#[cfg(test)]
pub(crate) use cores::CORE_READS;
pub use cores::{CoreSet, CoreSetError};
#[cfg(not(rospin_shuttle))]
pub(crate) use kernel::{is_real_time, thread_number};
pub use memory::{lock_memory, prefault_stack};
pub use options::{OnShortfall, ThreadOptions};
pub(crate) use posix::at_exit;
#[cfg(not(rospin_shuttle))]
pub(crate) use posix::in_forked_child;
pub(crate) use process::Process;
pub use report::{Shortfall, ThreadReport};
pub(crate) use setup::ThreadSetup;
pub(crate) use slice::ShortSlices;
pub use slice::time_slice;
pub(crate) use threads::cut_off;
pub use threads::{ThreadId, threads_of_process};
pub(crate) use ticks::TickCounter;
