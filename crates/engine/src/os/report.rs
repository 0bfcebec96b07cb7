//! What a thread has, in words.

use std::fmt;

use rospin_core::OsScheduling;

use super::cores::CoreSet;
use super::threads::ThreadId;

/// What a thread has, as the kernel says after everything was set.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ThreadReport {
    /// The thread's name in the kernel, as `ps -L` and traces show it.
    pub name: String,
    /// The thread's number in the kernel.
    pub thread: ThreadId,
    /// Scheduling class and priority; `None` where the kernel does not tell.
    pub scheduling: Option<OsScheduling>,
    /// The cores that it may run on; empty where the kernel does not tell.
    pub cores: CoreSet,
    /// What it was to have and has not.
    pub shortfalls: Vec<Shortfall>,
}

/// What a thread was to have and has not.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Shortfall {
    /// What was asked for.
    pub asked: String,
    /// Why it is not so.
    pub reason: String,
    /// What would help.
    pub mend: String,
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
        write!(f, "not {}: {}; {}", self.asked, self.reason, self.mend)
    }
}
