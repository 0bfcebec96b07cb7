//! Threads under the control of the operating system: scheduling class and priority, cores, memory, timer slack.
//!
//! What is asked for is set, read back from the kernel, and told: a [`ThreadReport`] says what a thread has and, in words,
//! what it could not have. Whether that ends the program is the user's choice ([`OnShortfall`]).
//!
//! ```
//! use rospin_engine::os::{OsScheduling, ThreadOptions};
//!
//! // For any thread; those of an executor get theirs by `ExecutorOptions::thread`.
//! std::thread::spawn(|| {
//!     let report = ThreadOptions::new().scheduling(OsScheduling::Fifo { priority: 10 }).apply();
//!     // "SCHED_FIFO 10", or what it has instead, why, and what to do about it.
//!     println!("{report}");
//! });
//! ```
//!
//! # What urgent threads may wait for
//!
//! A thread is as urgent as the least urgent one that it waits for. Say an ordinary thread has a lock, an urgent one wants it,
//! and a third one, in between, keeps the core busy: then the urgent thread waits for the third one, for as long as that likes.
//! This is priority inversion. rospin's own locks have priority inheritance: whoever has one runs as urgently as the most
//! urgent thread that waits for it, so that the wait is as long as what is done under the lock.
//!
//! | call | what it waits for |
//! | --- | --- |
//! | [`Notifier::notify`](crate::Notifier::notify), a waker, [`halt`](crate::ExecutorHandle::halt) | nothing; wakes a thread, which is a system call |
//! | [`Queue::try_take`](crate::Queue::try_take), [`Timer::lost`](crate::Timer::lost) | nothing |
//! | [`Publisher::publish`](crate::Publisher::publish) | who publishes on the topic, comes to it or leaves it |
//! | [`Timer::reset`](crate::Timer::reset), [`cancel`](crate::Timer::cancel) | who gives the executor something to do; allocates |
//! | [`Client::call`](crate::Client::call) | other clients of the service; allocates |
//! | creating and dropping entities | the same; and who looks up names, counters or flags; allocates and frees |
//! | [`Context::losses`](crate::Context::losses) | as above, and copies all counters: not for urgent threads |
//!
//! What rospin cannot promise, and what to do instead:
//!
//! - **Memory.** The C library's `malloc` and `free` have locks without inheritance. An urgent thread that frees what an ordinary
//!   one has allocated may wait for that one, and the engine frees what came with an entity that is gone. Give the program an
//!   allocator that frees without a lock what another thread allocated: `#[global_allocator] static ALLOCATOR:
//!   mimalloc::MiMalloc = mimalloc::MiMalloc;`, as the `rospin` command does. With glibc's, an urgent timer beside ordinary
//!   threads that create and drop entities was 45 ms late at the 99.9th percentile, with mimalloc below 1 ms. Or create entities
//!   before the thread gets urgent, publish messages that are in an `Arc` already, and keep what is large in the payload.
//! - **Page faults.** The kernel's lock of the process's memory inherits nothing: [`lock_memory`] and
//!   [`stack_prefault`](ThreadOptions::stack_prefault) avoid them. Threads that start, and large allocations, take that lock.
//! - **Tokio.** Its timers and its I/O are driven by a thread of its own, which is an ordinary one. A callback that awaits
//!   `tokio::time::sleep` is as late as that thread. Await [`ExecutorHandle::sleep`](crate::ExecutorHandle::sleep) instead, which
//!   the executor's own thread sees to; or give the thread a priority, by its name `rospin-tokio`, in a [deployment
//!   file](crate::ContextOptions::deployment).
//! - **Middlewares.** A message is as urgent as the least urgent thread on its way. Where executors are real-time, the threads of DDS and
//!   Zenoh are raised above them, unless a deployment file has a `[[thread]]` line for them; what cannot be raised is told in the log.
//! - **Your own locks.** `std::sync::Mutex` inherits nothing. Share by a group's payload, which needs no lock, or by messages.
//! - **The first time.** A first spin starts Tokio's thread, and a first lock asks for the thread's number: spin once, with
//!   [`spin_all`](crate::SpinOptions::spin_all), before anything is urgent.
//! - **`SCHED_FIFO` itself.** Where real-time threads take nearly all of a core, the kernel gives it to ordinary ones for up to
//!   50 ms a second, however urgent the others are (`sched_rt_runtime_us`; since Linux 6.12, a server for fair tasks).
//!
//! On a kernel without such locks (`CONFIG_FUTEX_PI`) they are ordinary ones, with pauses of 50 us. `rospin lab inversion` measures
//! all this on your machine.
//!
//! # Processes that fork
//!
//! A process that is forked off while executors spin has a copy of them, without their threads. Dropping the copies does nothing,
//! and spinning them is not possible; new contexts are as good as anywhere. What was locked at that moment stays locked there, so
//! that the copies' publishers and timers are better left alone.

mod apply;
mod cores;
mod kernel;
mod memory;
mod options;
mod process;
mod report;
mod setup;
mod threads;

pub use rospin_core::{OsScheduling, OsSchedulingError};

pub use apply::{Applied, scheduling_of};
pub use cores::{CoreSet, CoreSetError};
#[cfg(not(rospin_shuttle))]
pub(crate) use kernel::{in_forked_child, is_real_time};
pub use memory::{lock_memory, prefault_stack};
pub use options::{OnShortfall, ThreadOptions};
pub(crate) use process::Process;
pub use report::{Shortfall, ThreadReport};
pub(crate) use setup::ThreadSetup;
pub(crate) use threads::cut_off;
pub use threads::{ThreadId, threads_of_process};
