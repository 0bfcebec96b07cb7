//! The source of jump callbacks.

use std::sync::Arc;

use crate::ros_time::driver::Driver;
use crate::ros_time::jump::Told;
use crate::source::{Notifier, Pending, Source, TakeError};

/// The source that a jump callback takes its jumps from.
pub(crate) struct JumpSource {
    driver: Arc<Driver>,
    hook: u64,
}

impl JumpSource {
    pub(crate) const fn new(driver: Arc<Driver>, hook: u64) -> Self {
        Self { driver, hook }
    }
}

impl Source for JumpSource {
    type Item = Told;
    type Attachment = ();

    fn attach(&mut self, notifier: Notifier) -> Result<(), TakeError> {
        self.driver.hook_up(self.hook, Arc::clone(notifier.executor()) as _, notifier.into());
        Ok(())
    }

    fn try_take(&mut self) -> Result<Option<Told>, TakeError> {
        Ok(self.driver.take(self.hook))
    }

    fn pending(&self) -> Pending {
        // The executor passes over notifications that come before it has added the entity. Adding the entity asks for
        // this instead.
        if self.driver.has_news(self.hook) { Pending::Unknown } else { Pending::Empty }
    }
}

impl Drop for JumpSource {
    fn drop(&mut self) {
        self.driver.unhook(self.hook);
    }
}
