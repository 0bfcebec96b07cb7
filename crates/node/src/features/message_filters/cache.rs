//! The messages of a topic with the newest stamps, to be looked up by time.

use std::collections::VecDeque;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, RangeInclusive};
use std::sync::Arc;

use rospin_engine::{JumpCallback, Mutex, SourceError};
use rospin_wire::Stamped;

use crate::error::TopicError;
use crate::group::Group;
use crate::message::Message;
use crate::node::Node;
use crate::on::On;
use crate::options::SubscriptionOptions;
use crate::subscription::{Draft, Subscription};

/// The messages of a topic with the newest stamps. Any callback may look up those of a given time or interval.
///
/// [`On::create_cache`] fills it, or a callback [adds](Self::add) what it gets. It keeps the newest messages by stamp.
/// Of equal stamps, the message that came last is the newest. Clones are the same cache. All methods take a lock with
/// priority inheritance, and hold it only while they search and copy pointers.
///
/// ```
/// use std::sync::Arc;
///
/// use rospin::message_filters::Cache;
/// use rospin::msgs::builtin_interfaces::msg::Time;
/// use rospin::msgs::std_msgs::msg::Header;
///
/// let cache = Cache::new(10);
/// for sec in [1, 2, 3] {
///     cache.add(Arc::new(Header { stamp: Time { sec, nanosec: 0 }, ..Header::default() }));
/// }
/// const SECOND: i64 = 1_000_000_000;
/// assert_eq!(cache.interval(SECOND..=2 * SECOND).len(), 2);
/// assert_eq!(cache.before(2 * SECOND).unwrap().stamp.sec, 1);
/// assert_eq!(cache.after(2 * SECOND).unwrap().stamp.sec, 3);
/// ```
pub struct Cache<M> {
    kept: Arc<Mutex<Kept<M>>>,
    size: usize,
}

/// Messages with their stamps, oldest first.
type Kept<M> = VecDeque<(i64, Arc<M>)>;

/// Number of messages for which a cache allocates room before they come.
const EAGER_MAX: usize = 1000;

impl<M: Stamped> Cache<M> {
    /// Creates an empty cache of `size` messages; 0 counts as 1. Room for 1000 messages at most is allocated now, and
    /// more when they come.
    #[must_use]
    pub fn new(size: usize) -> Self {
        let size = size.max(1);
        // One more message is there for a moment before the oldest one makes room.
        let room = size.min(EAGER_MAX) + 1;
        Self { kept: Arc::new(Mutex::new(VecDeque::with_capacity(room))), size }
    }

    /// Adds a message. Returns the oldest one if it had to make room, which may be the added one.
    pub fn add(&self, message: Arc<M>) -> Option<Arc<M>> {
        let stamp_ns = message.stamp_ns();
        let mut kept = self.kept.lock();
        let at = kept.partition_point(|(stamp, _)| *stamp <= stamp_ns);
        kept.insert(at, (stamp_ns, message));
        let oldest = if kept.len() > self.size { kept.pop_front() } else { None };
        oldest.map(|(_, message)| message)
    }

    /// Returns the messages with stamps in that interval, oldest first.
    #[must_use]
    pub fn interval(&self, stamps_ns: RangeInclusive<i64>) -> Vec<Arc<M>> {
        let kept = self.kept.lock();
        let first = kept.partition_point(|(stamp, _)| stamp < stamps_ns.start());
        let end = kept.partition_point(|(stamp, _)| stamp <= stamps_ns.end());
        kept.range(first..end.max(first)).map(|(_, message)| Arc::clone(message)).collect()
    }

    /// Returns the messages of the smallest interval that contains all of these stamps, or of the one that comes
    /// closest to it: one message at or before the first stamp, if there is one, up to one at or after the last.
    #[must_use]
    pub fn surrounding(&self, stamps_ns: RangeInclusive<i64>) -> Vec<Arc<M>> {
        let kept = self.kept.lock();
        let first = kept.partition_point(|(stamp, _)| stamp <= stamps_ns.start()).saturating_sub(1);
        let last = kept.partition_point(|(stamp, _)| stamp < stamps_ns.end()).max(first);
        kept.iter().take(last + 1).skip(first).map(|(_, message)| Arc::clone(message)).collect()
    }

    /// Returns the newest message with a stamp before that one.
    #[must_use]
    pub fn before(&self, stamp_ns: i64) -> Option<Arc<M>> {
        let kept = self.kept.lock();
        let count = kept.partition_point(|(stamp, _)| *stamp < stamp_ns);
        count.checked_sub(1).and_then(|at| kept.get(at)).map(|(_, message)| Arc::clone(message))
    }

    /// Returns the oldest message with a stamp after that one.
    #[must_use]
    pub fn after(&self, stamp_ns: i64) -> Option<Arc<M>> {
        let kept = self.kept.lock();
        kept.get(kept.partition_point(|(stamp, _)| *stamp <= stamp_ns)).map(|(_, message)| Arc::clone(message))
    }

    /// Returns the message with the newest stamp.
    #[must_use]
    pub fn newest(&self) -> Option<Arc<M>> {
        self.kept.lock().back().map(|(_, message)| Arc::clone(message))
    }

    /// Returns the message with the oldest stamp.
    #[must_use]
    pub fn oldest(&self) -> Option<Arc<M>> {
        self.kept.lock().front().map(|(_, message)| Arc::clone(message))
    }

    /// Returns the number of messages.
    #[must_use]
    pub fn len(&self) -> usize {
        self.kept.lock().len()
    }

    /// Returns true if there is no message.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Drops all messages.
    pub fn clear(&self) {
        let left = std::mem::take(&mut *self.kept.lock());
        // Without the lock: messages may be the user's, and their drops are user code.
        drop(left);
    }
}

impl<M> Clone for Cache<M> {
    fn clone(&self) -> Self {
        Self { kept: Arc::clone(&self.kept), size: self.size }
    }
}

impl<M> fmt::Debug for Cache<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cache").field("size", &self.size).finish_non_exhaustive()
    }
}

/// A [`Cache`] that a subscription fills. Dropping it ends the subscription; clones of the cache keep what they have.
#[must_use = "the cache gets no more messages when it is dropped"]
#[derive(Debug)]
pub struct TopicCache<M> {
    cache: Cache<M>,
    subscription: Subscription,
    _reset: JumpCallback,
}

impl<M> TopicCache<M> {
    /// Returns the subscription that fills the cache.
    pub const fn subscription(&self) -> &Subscription {
        &self.subscription
    }
}

impl<M> Deref for TopicCache<M> {
    type Target = Cache<M>;

    fn deref(&self) -> &Cache<M> {
        &self.cache
    }
}

impl<G: Group> On<G> {
    /// Creates a subscription that keeps the `size` messages of a topic with the newest stamps, at least one, in a
    /// [`Cache`].
    ///
    /// A message is in the cache once the executor has picked the subscription. Give the subscription a higher priority
    /// than the callbacks that look messages up, so that it runs before them. When ROS time jumps back, or changes its
    /// source, the cache is cleared.
    ///
    /// ```
    /// use rospin::msgs::std_msgs::msg::Header;
    /// use rospin::{Context, ContextOptions, Node, Ros, SpinOptions};
    ///
    /// let context = Context::new(ContextOptions::new());
    /// let ros = Ros::in_process(&context);
    /// let node = ros.create_node("memory")?;
    /// let headers = node.create_cache::<Header>("headers", 100)?;
    /// node.create_publisher("headers")?.publish(Header::default())?;
    /// ros.executor().spin(SpinOptions::spin_all())?;
    /// assert_eq!(headers.interval(0..=0).len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the topic's or the type's name is invalid, the middleware refuses, or the group is gone.
    pub fn create_cache<M: Message + Stamped>(
        &self,
        options: impl Into<SubscriptionOptions>,
        size: usize,
    ) -> Result<TopicCache<M>, TopicError> {
        let cache = Cache::new(size);
        let group = self.group();
        let filled = cache.clone();
        let cleared = cache.clone();
        let draft = Draft::<PhantomData<M>>::of_message(self.node(), group, options.into(), false)?;
        let subscription = draft.finish_plain(group, move |message| drop(filled.add(message)))?;
        let reset = group.create_reset_callback(move |_| cleared.clear()).map_err(SourceError::from)?;
        Ok(TopicCache { cache, subscription, _reset: reset })
    }
}

impl Node {
    /// Creates a subscription on the node's own group that keeps the `size` messages of a topic with the newest stamps.
    /// See [`On::create_cache`].
    ///
    /// # Errors
    /// Those of [`On::create_cache`], and if the node's [`Ros`](crate::Ros) was dropped.
    pub fn create_cache<M: Message + Stamped>(
        &self,
        options: impl Into<SubscriptionOptions>,
        size: usize,
    ) -> Result<TopicCache<M>, TopicError> {
        self.on(self.own_group_for_source()?).create_cache(options, size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct At(i64, char);

    impl Stamped for At {
        fn stamp_ns(&self) -> i64 {
            self.0
        }
    }

    fn filled(size: usize, stamps: &[(i64, char)]) -> Cache<At> {
        let cache = Cache::new(size);
        for (stamp, name) in stamps {
            drop(cache.add(Arc::new(At(*stamp, *name))));
        }
        cache
    }

    fn names(messages: impl IntoIterator<Item = Arc<At>>) -> String {
        messages.into_iter().map(|message| message.1).collect()
    }

    #[test]
    fn a_cache_of_any_size_can_be_created() {
        for size in [0, EAGER_MAX + 1, usize::MAX / 2, usize::MAX] {
            assert_eq!(names(filled(size, &[(10, 'a')]).newest()), "a");
        }
    }

    #[test]
    fn the_newest_stamps_are_kept_in_order_whenever_they_come() {
        let cache = filled(3, &[(10, 'a'), (30, 'c'), (20, 'b'), (5, 'z')]);
        assert_eq!(
            names(cache.interval(i64::MIN..=i64::MAX)),
            "abc",
            "the oldest makes room, here the last one to come"
        );
        assert_eq!(cache.add(Arc::new(At(30, 'd'))).unwrap().1, 'a');
        assert_eq!(names(cache.interval(i64::MIN..=i64::MAX)), "bcd", "of equal stamps, the later one is newer");
        assert_eq!((cache.oldest().unwrap().1, cache.newest().unwrap().1, cache.len()), ('b', 'd', 3));
        cache.clear();
        assert!(cache.is_empty() && cache.newest().is_none() && cache.before(0).is_none());
    }

    #[test]
    fn intervals_contain_their_ends_and_before_and_after_do_not() {
        let cache = filled(9, &[(10, 'a'), (20, 'b'), (30, 'c'), (40, 'd')]);
        let inside = cache.interval(20..=30);
        let empty = cache.interval(21..=29);
        #[expect(clippy::reversed_empty_ranges, reason = "it is empty, and does not panic")]
        let reversed = cache.interval(30..=20);
        assert_eq!((names(inside), names(empty), names(reversed)), ("bc".to_owned(), String::new(), String::new()));
        let around = [(20, 30), (21, 29), (25, 25), (0, 5), (45, 50), (0, 99), (20, 20)];
        let around = around.map(|(start, end)| names(cache.surrounding(start..=end)));
        assert_eq!(around, ["bc", "bc", "bc", "a", "d", "abcd", "b"]);
        assert_eq!((names(cache.before(20)), names(cache.after(20))), ("a".to_owned(), "c".to_owned()));
        assert!(cache.before(10).is_none() && cache.after(40).is_none());
    }
}
