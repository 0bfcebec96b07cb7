//! Reports of a thread's settings, in words.

use std::fmt;

use rospin_core::OsScheduling;

use super::cores::CoreSet;
use super::threads::ThreadId;

/// The settings of a thread, as the kernel reports them after all of them were applied.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ThreadReport {
    /// The thread's name in the kernel, as `ps -L` and traces show it.
    pub name: String,
    /// The thread's number in the kernel.
    pub thread: ThreadId,
    /// Scheduling class and priority; `None` if the kernel does not tell.
    pub scheduling: Option<OsScheduling>,
    /// The cores that it may run on; empty if the kernel does not tell.
    pub cores: CoreSet,
    /// The settings that were asked for and that the thread does not have, with reasons.
    pub shortfalls: Vec<Shortfall>,
}

/// A setting that was asked for and that a thread does not have.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Shortfall {
    /// The setting that was asked for.
    pub asked: String,
    /// The reason for which the thread does not have it.
    pub reason: String,
    /// Advice on how to get the setting.
    pub fix: String,
}

impl fmt::Display for ThreadReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "thread `{}` ({}) has ", self.name, self.thread)?;
        match self.scheduling {
            Some(scheduling) => write!(f, "{scheduling}")?,
            None => write!(f, "an unknown scheduling")?,
        }
        if !self.cores.is_empty() {
            write!(f, " on cores {}", self.cores)?;
        }
        for shortfall in &self.shortfalls {
            write!(f, "; {shortfall}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Shortfall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not {}: {}; {}", self.asked, self.reason, self.fix)
    }
}
