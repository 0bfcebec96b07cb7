//! Publishers that are faster than their subscriptions.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use crate::complaints::Complaints;
use crate::qos::{Qos, Reliability};

/// The number of messages from one look to the next.
const LOOK_EVERY: u32 = 16;

/// Watch over a reliable publisher with a history of limited depth: whether a message has displaced one that had not
/// arrived everywhere. That is told once, in the log. For middlewares that can tell.
///
/// ```
/// use rospin_node::{Outrunning, Qos};
///
/// let outrunning = Outrunning::new("scan", &Qos::default());
/// let mut looks = 0;
/// for _ in 0..32 {
///     outrunning.look(|| {
///         looks += 1; // here a middleware asks its writer
///         false
///     });
/// }
/// assert_eq!(looks, 2);
/// ```
#[derive(Debug)]
pub struct Outrunning {
    topic: String,
    depth: usize,
    /// True while it is to be looked for.
    is_open: AtomicBool,
    messages: AtomicU32,
}

impl Outrunning {
    /// Returns the watch over a publisher of that topic.
    #[must_use]
    pub fn new(topic: &str, qos: &Qos) -> Self {
        // Others promise nothing, have room for all, or give messages up.
        let is_reliable = qos.reliability == Reliability::Reliable;
        let is_open = is_reliable && qos.depth().is_some() && qos.lifespan().is_none();
        let depth = qos.depth().unwrap_or_default();
        let is_open = AtomicBool::new(is_open);
        Self { topic: topic.to_owned(), depth, is_open, messages: AtomicU32::new(0) }
    }

    /// Notes a message. With every sixteenth one, tells it if `has_outrun` returns true. Once it was told, `has_outrun`
    /// is not called any more.
    ///
    /// It calls the program's logger, so the caller must hold no lock that the logger could need.
    #[inline]
    pub fn look(&self, has_outrun: impl FnOnce() -> bool) {
        if !self.is_open.load(Ordering::Relaxed) {
            return;
        }
        let is_due = (self.messages.fetch_add(1, Ordering::Relaxed) + 1).is_multiple_of(LOOK_EVERY);
        if is_due && has_outrun() && self.is_open.swap(false, Ordering::Relaxed) {
            self.tell();
        }
    }

    #[cold]
    fn tell(&self) {
        let Self { topic, depth, .. } = self;
        let text = format!(
            "a reliable publisher of topic `{topic}`, which keeps the last {depth}, outruns its subscriptions: a message \
             was overwritten before it had arrived everywhere; give the publisher a greater depth, or have it keep all, \
             so that it waits for room"
        );
        Complaints::default().tell("outrunning", &text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_looked_for_where_a_message_can_be_overwritten_and_until_it_was_told() {
        let looks = |qos: Qos, has_outrun: bool| {
            let outrunning = Outrunning::new("/scan", &qos);
            let mut looks = 0;
            for _ in 0..4 * LOOK_EVERY {
                outrunning.look(|| {
                    looks += 1;
                    has_outrun
                });
            }
            looks
        };
        assert_eq!((looks(Qos::keep_last(3), false), looks(Qos::keep_last(3), true)), (4, 1));
        let expires = Qos::keep_last(3).with_lifespan(std::time::Duration::from_secs(1));
        assert_eq!([Qos::keep_all(), Qos::sensor_data(), expires].map(|qos| looks(qos, true)), [0; 3]);
    }
}
