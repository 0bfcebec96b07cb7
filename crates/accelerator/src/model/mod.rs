//! A device that is made of exact times: for tests, simulations and measurements without a device.
//!
//! A segment of it copies in, computes, and copies out. Engines for copies and for computing are shared by the lanes;
//! an engine takes the phase of the most urgent lane first, then the one that was ready first. A kernel is preempted
//! only between its [blocks](ModelWork::blocks), a copy not at all.
//!
//! - [`VirtualDevice`] runs in virtual time, which a test moves. The same calls give the same times, always.
//! - [`RealTimeDevice`] runs in real time: a thread reports the ends.

mod machine;
mod real_time;
mod virtual_time;

use std::fmt;
use std::time::Duration;

pub use machine::{Finished, Machine};
pub use real_time::{RealTimeDevice, RealTimeOptions};
pub use virtual_time::VirtualDevice;

/// Options of a model device: the numbers of its lanes and engines.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ModelOptions {
    pub(crate) lanes: usize,
    pub(crate) compute_engines: usize,
    pub(crate) copy_engines: usize,
}

impl ModelOptions {
    /// Creates options of a device with one lane, one compute engine and one copy engine.
    #[must_use]
    pub const fn new() -> Self {
        Self { lanes: 1, compute_engines: 1, copy_engines: 1 }
    }

    /// Sets the number of lanes, at least 1.
    #[must_use]
    pub const fn lanes(mut self, lanes: usize) -> Self {
        self.lanes = if lanes == 0 { 1 } else { lanes };
        self
    }

    /// Sets the number of kernels that can run at once, at least 1: the parts of a device whose processors are divided.
    #[must_use]
    pub const fn compute_engines(mut self, engines: usize) -> Self {
        self.compute_engines = if engines == 0 { 1 } else { engines };
        self
    }

    /// Sets the number of copies that can run at once, at least 1.
    #[must_use]
    pub const fn copy_engines(mut self, engines: usize) -> Self {
        self.copy_engines = if engines == 0 { 1 } else { engines };
        self
    }
}

impl Default for ModelOptions {
    fn default() -> Self {
        Self::new()
    }
}

/// The work of a segment on a model device.
pub struct ModelWork {
    pub(crate) copy_in: Duration,
    pub(crate) kernel: Duration,
    /// The length of the kernel's blocks; zero if it is one block.
    pub(crate) block: Duration,
    pub(crate) copy_out: Duration,
    pub(crate) failure: Option<String>,
    pub(crate) effect: Option<Box<dyn FnOnce() + Send>>,
}

impl ModelWork {
    /// Creates work that computes for `length`, and copies nothing.
    #[must_use]
    pub const fn kernel(length: Duration) -> Self {
        Self {
            copy_in: Duration::ZERO,
            kernel: length,
            block: Duration::ZERO,
            copy_out: Duration::ZERO,
            failure: None,
            effect: None,
        }
    }

    /// Divides the kernel into blocks of this length, between which a more urgent one may preempt it. With zero, it is
    /// one block.
    #[must_use]
    pub const fn blocks(mut self, length: Duration) -> Self {
        self.block = length;
        self
    }

    /// Sets the lengths of the copies before and after the kernel.
    #[must_use]
    pub const fn copies(mut self, before: Duration, after: Duration) -> Self {
        self.copy_in = before;
        self.copy_out = after;
        self
    }

    /// Lets the segment fail at its end, with this reason.
    #[must_use]
    pub fn failing(mut self, reason: impl Into<String>) -> Self {
        self.failure = Some(reason.into());
        self
    }

    /// Sets a function that the device calls at the end of the segment, in place of a result that is copied out.
    #[must_use]
    pub fn then(mut self, effect: impl FnOnce() + Send + 'static) -> Self {
        self.effect = Some(Box::new(effect));
        self
    }

    /// Returns the time for which the work keeps the device busy.
    #[must_use]
    pub fn busy(&self) -> Duration {
        self.copy_in.saturating_add(self.kernel).saturating_add(self.copy_out)
    }
}

impl fmt::Debug for ModelWork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ModelWork({:?} + {:?} + {:?})", self.copy_in, self.kernel, self.copy_out)
    }
}
