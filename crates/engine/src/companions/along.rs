//! A leader's spin, with the companions that spin along.

use std::sync::Arc;

use rospin_core::Instant;

use super::Companions;
use crate::executor_handle::ExecutorHandle;
use crate::executor_options::{SpinOptions, Until};
use crate::spin_end::{SpinEnd, SpinError};

/// Guard that keeps the companions spinning along with a leader until it is dropped.
#[derive(Debug)]
pub(crate) struct Along {
    companions: Arc<Companions>,
    /// The leader; `None` once it has left.
    leader: Option<ExecutorHandle>,
    /// For a leader's short spin: the spin that companions do after it. `None` for a long spin.
    rest: Option<SpinOptions>,
    /// The deadline of a leader's spin; `None` if it has no timeout.
    deadline: Option<Instant>,
}

impl Along {
    /// Has all companions spin along with `leader`.
    ///
    /// # Errors
    /// See [`Companions::join`].
    pub(crate) fn begin(
        companions: &Arc<Companions>,
        leader: &ExecutorHandle,
        options: SpinOptions,
    ) -> Result<Self, SpinError> {
        companions.join(leader)?;
        let deadline = options.timeout.map(|timeout| leader.shared().now() + timeout);
        let rest = match options.until {
            Until::Halted => None,
            // Companions that always have something to run must not keep the leader's spin from ending.
            Until::Once | Until::Some => Some(SpinOptions::spin_some()),
            Until::Idle => Some(SpinOptions::spin_all()),
        };
        Ok(Self { companions: Arc::clone(companions), leader: Some(leader.clone()), rest, deadline })
    }

    /// Ends the leader's part in the round, and with the last leader the companions' spins. Beside a short spin that
    /// was halted or failed, as `spun` says, they do not run what is ready.
    ///
    /// # Errors
    /// The failure of a companion that ended before its leaders.
    pub(crate) fn end(mut self, spun: &Result<SpinEnd, SpinError>) -> Result<(), SpinError> {
        if !matches!(spun, Ok(SpinEnd::Done) | Err(SpinError::Timeout)) {
            self.rest = None;
        }
        self.leave()
    }

    fn leave(&mut self) -> Result<(), SpinError> {
        let Some(leader) = self.leader.take() else {
            return Ok(());
        };
        let rest = self.rest.map(|rest| match self.deadline {
            Some(deadline) => rest.timeout(deadline.saturating_since(leader.shared().now())),
            None => rest,
        });
        self.companions.leave(&leader, rest)
    }
}

impl Drop for Along {
    fn drop(&mut self) {
        // This spin unwinds. Its panic is passed on, and an error of the companions is not.
        let _ = self.leave();
    }
}
