//! Publishers that are faster than their subscriptions.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::complaints::Complaints;
use crate::qos::{Qos, Reliability};

/// Watch over a reliable publisher with a history of limited depth: whether a message has displaced one that had not
/// arrived everywhere. That is told once, in the log. For middlewares that can tell.
#[derive(Debug)]
pub struct Outrunning {
    topic: String,
    depth: usize,
    /// True while it is to be looked for.
    is_open: AtomicBool,
}

impl Outrunning {
    /// Returns the watch over a publisher of that topic.
    #[must_use]
    pub fn new(topic: &str, qos: &Qos) -> Self {
        // Others promise nothing, or have room for all.
        let is_open = qos.reliability == Reliability::Reliable && qos.depth().is_some();
        Self { topic: topic.to_owned(), depth: qos.depth().unwrap_or_default(), is_open: AtomicBool::new(is_open) }
    }

    /// Tells it, if `has_outrun` returns true and it was not told before. Then `has_outrun` is not called any more.
    ///
    /// It calls the program's logger, so the caller must hold no lock that the logger could need.
    #[inline]
    pub fn look(&self, has_outrun: impl FnOnce() -> bool) {
        if self.is_open.load(Ordering::Relaxed) && has_outrun() && self.is_open.swap(false, Ordering::Relaxed) {
            self.tell();
        }
    }

    #[cold]
    fn tell(&self) {
        let Self { topic, depth, .. } = self;
        let text = format!(
            "a reliable publisher of topic `{topic}`, which keeps the last {depth}, outruns its subscriptions: a message was \
             overwritten before it had arrived everywhere; give the publisher a greater depth, or have it keep all, \
             so that it waits for room"
        );
        Complaints::default().tell("outrunning", &text);
    }
}
