//! Messages as topics hold them: pointers to values of any type. So the code of topics is compiled once, and not again
//! for each type of messages in each program.
//!
//! All messages of a topic have one type, which is checked where a publisher or a subscription is created. Only the
//! ends that users hold, such as [`Publisher`](super::Publisher), name that type.
//!
//! The compiler compiles a generic function again in every program, for each type, and topics for its messages were
//! most of a small program's build. A check of the type of each message would cost some 20 instructions.

use std::any::{TypeId, type_name};
use std::fmt;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;
use std::sync::Arc;

use rospin_core::Instant;

use crate::lock_free::owning::OwningPointer;
use crate::panics::contain_and_log;

/// A pointer by which topics share a message: an [`Arc`], or a [`Mixed`](super::Mixed).
///
/// # Safety
/// `from_raw` must return the pointer that `into_raw` was called for. The raw pointer may be sent to another thread and
/// shared with it in between.
pub(crate) unsafe trait SharedPointer: Clone + Send + Sync + 'static {
    /// The number of bytes between the beginning of a message's memory, where its counts of owners are, and the raw
    /// pointer. For prefetching only.
    const BYTES_BEFORE: usize;
    /// Returns the name of the messages' type, for error messages.
    fn type_name() -> &'static str;
    /// Returns the raw pointer, which is an owner of the message from then on.
    fn into_raw(self) -> NonNull<()>;
    /// Returns the pointer that [`into_raw`](Self::into_raw) made `raw` of.
    ///
    /// # Safety
    /// `raw` must come from `into_raw` of this type, and be passed to this function only once.
    unsafe fn from_raw(raw: NonNull<()>) -> Self;

    /// Returns true if the message is of no use any more at `now`.
    fn is_expired(&self, _now: Instant) -> bool {
        false
    }

    /// Returns true if the message is recorded when it is queued and when it is taken.
    fn is_recorded(&self) -> bool {
        true
    }

    /// Returns the message's place in the order of publication; `None` if the topic knows the order itself.
    fn order(&self) -> Option<u64> {
        None
    }

    /// Returns the place where the message carries one that it has displaced; `None` if it carries none, or has several
    /// owners.
    fn carried(&mut self) -> Option<&mut Option<Carried>> {
        None
    }
}

// SAFETY: `Arc::into_raw` and `Arc::from_raw` are inverse. `T` is `Send` and `Sync`, and so its `Arc` is.
unsafe impl<T: Send + Sync + 'static> SharedPointer for Arc<T> {
    // An `Arc` has its two counts before the value, at the beginning of its memory.
    const BYTES_BEFORE: usize = {
        let counts = 2 * size_of::<usize>();
        if align_of::<T>() > counts { align_of::<T>() } else { counts }
    };

    fn type_name() -> &'static str {
        type_name::<T>()
    }

    #[inline(always)]
    fn into_raw(self) -> NonNull<()> {
        // SAFETY: `Arc::into_raw` never returns null.
        unsafe { NonNull::new_unchecked(Self::into_raw(self).cast_mut().cast()) }
    }

    #[inline(always)]
    unsafe fn from_raw(raw: NonNull<()>) -> Self {
        // SAFETY: as the caller guarantees.
        unsafe { Self::from_raw(raw.as_ptr().cast_const().cast()) }
    }
}

/// The type of a topic's messages.
#[derive(Clone, Copy)]
pub(super) struct MessageType(&'static Functions);

/// Functions of one type of pointers `P`, and of raw pointers that came from its [`SharedPointer::into_raw`].
struct Functions {
    id: fn() -> TypeId,
    name: fn() -> &'static str,
    /// Adds an owner.
    share: unsafe fn(NonNull<()>),
    /// Removes an owner. The last one drops the value.
    release: unsafe fn(NonNull<()>),
    is_expired: unsafe fn(NonNull<()>, Instant) -> bool,
    is_recorded: unsafe fn(NonNull<()>) -> bool,
    order: unsafe fn(NonNull<()>) -> Option<u64>,
    take_carried: unsafe fn(NonNull<()>) -> Option<Carried>,
}

/// Adds an owner to the message of `raw`.
///
/// # Safety
/// `raw` must come from [`SharedPointer::into_raw`] of `P`, and have an owner.
unsafe fn share<P: SharedPointer>(raw: NonNull<()>) {
    // SAFETY: the pointer is what `raw` was made of. It is not dropped, so `raw` keeps its owner.
    let owner = unsafe { look::<P>(raw) };
    let _ = P::into_raw(P::clone(&owner));
}

/// Removes an owner from the message of `raw`. The last one drops the value.
///
/// # Safety
/// `raw` must come from [`SharedPointer::into_raw`] of `P`, and have an owner, which this call takes.
unsafe fn release<P: SharedPointer>(raw: NonNull<()>) {
    // SAFETY: as the caller guarantees.
    drop(unsafe { P::from_raw(raw) });
}

/// Returns the pointer that `raw` was made of, to be looked at.
///
/// # Safety
/// `raw` must come from [`SharedPointer::into_raw`] of `P`, and have an owner for as long as the result is used.
unsafe fn look<P: SharedPointer>(raw: NonNull<()>) -> ManuallyDrop<P> {
    // SAFETY: the pointer is not dropped, so nobody notices that `raw` was turned back.
    ManuallyDrop::new(unsafe { P::from_raw(raw) })
}

impl MessageType {
    pub(super) const fn of<P: SharedPointer>() -> Self {
        Self(
            const {
                &Functions {
                    id: TypeId::of::<P>,
                    name: P::type_name,
                    share: share::<P>,
                    release: release::<P>,
                    // SAFETY: the caller has a message of this type.
                    is_expired: |raw, now| unsafe { look::<P>(raw) }.is_expired(now),
                    // SAFETY: the caller has a message of this type.
                    is_recorded: |raw| unsafe { look::<P>(raw) }.is_recorded(),
                    // SAFETY: the caller has a message of this type.
                    order: |raw| unsafe { look::<P>(raw) }.order(),
                    // SAFETY: the caller has a message of this type.
                    take_carried: |raw| unsafe { look::<P>(raw) }.carried()?.take(),
                }
            },
        )
    }

    /// Returns the type's name, for error messages.
    pub(super) fn name(self) -> &'static str {
        (self.0.name)()
    }
}

impl PartialEq for MessageType {
    /// Compares ids, because the compiler may have put the functions of one type at several addresses.
    fn eq(&self, other: &Self) -> bool {
        (self.0.id)() == (other.0.id)()
    }
}

/// A shared message: a pointer of any type, which is one of the message's owners.
pub(super) struct AnyMessage {
    raw: NonNull<()>,
    message_type: MessageType,
}

// SAFETY: it was a `SharedPointer`, which is `Send` and `Sync`.
unsafe impl Send for AnyMessage {}
// SAFETY: as for `Send`.
unsafe impl Sync for AnyMessage {}

impl AnyMessage {
    #[inline(always)]
    pub(super) fn new<P: SharedPointer>(message: P) -> Self {
        Self { raw: message.into_raw(), message_type: MessageType::of::<P>() }
    }

    /// Returns the message of a raw pointer.
    ///
    /// # Safety
    /// `raw` must come from [`SharedPointer::into_raw`] of a pointer of that type, and be passed to this function only
    /// once.
    pub(super) const unsafe fn of_type(raw: NonNull<()>, message_type: MessageType) -> Self {
        Self { raw, message_type }
    }

    /// Returns the message as what it was before [`new`](Self::new). A check of its type would take twenty instructions
    /// per message.
    ///
    /// # Safety
    /// The message must be a `P`.
    #[inline(always)]
    pub(super) unsafe fn into_pointer<P: SharedPointer>(self) -> P {
        debug_assert!(self.is_of(MessageType::of::<P>()), "the messages of a topic have the type of its ends");
        let raw = ManuallyDrop::new(self).raw;
        // SAFETY: the raw pointer came from `P::into_raw`, and its owner was not released.
        unsafe { P::from_raw(raw) }
    }

    /// Returns true if the message is of no use any more at `now`.
    pub(super) fn is_expired(&self, now: Instant) -> bool {
        // SAFETY: the raw pointer is of this type, and `self` is an owner.
        unsafe { (self.message_type.0.is_expired)(self.raw, now) }
    }

    /// Returns true if the message is recorded when it is queued and when it is taken.
    pub(super) fn is_recorded(&self) -> bool {
        // SAFETY: the raw pointer is of this type, and `self` is an owner.
        unsafe { (self.message_type.0.is_recorded)(self.raw) }
    }

    /// Returns the message's place in the order of publication; `None` if the topic knows the order itself.
    pub(super) fn order(&self) -> Option<u64> {
        // SAFETY: the raw pointer is of this type, and `self` is an owner.
        unsafe { (self.message_type.0.order)(self.raw) }
    }

    /// Takes the message that this one carries, if it carries one.
    pub(super) fn take_carried(&mut self) -> Option<Carried> {
        // SAFETY: the raw pointer is of this type, and `self` is an owner. If there is another one, nothing is taken.
        unsafe { (self.message_type.0.take_carried)(self.raw) }
    }
}

/// A message of this process that one from an [`Inlet`](super::Inlet) has displaced, and carries until its own end.
///
/// Its drop may run user code. The thread that pushes through an inlet may be one of a middleware that holds locks, so
/// it must not drop the message. The message that carries it is dropped by the thread that takes it, or by a publisher
/// of this process that displaces it in turn.
pub struct Carried(#[expect(dead_code, reason = "it is kept to be dropped")] pub(super) AnyMessage);

impl fmt::Debug for Carried {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Carried").finish_non_exhaustive()
    }
}

impl Clone for AnyMessage {
    fn clone(&self) -> Self {
        // SAFETY: the raw pointer is of this type, and has an owner, which is `self`.
        unsafe { (self.message_type.0.share)(self.raw) };
        Self { ..*self }
    }
}

impl Drop for AnyMessage {
    fn drop(&mut self) {
        // Whoever displaces a message, or drops a queue, is not its owner, and other messages are dropped after it.
        contain_and_log("a message that was dropped", || {
            // SAFETY: the raw pointer is of this type, and its owner is `self`, which ends.
            unsafe { (self.message_type.0.release)(self.raw) };
        });
    }
}

// SAFETY: `from_raw` puts together what `into_raw` took apart. The pointer is not null.
unsafe impl OwningPointer for AnyMessage {
    type Target = ();
    type Kind = MessageType;

    fn is_of(&self, message_type: MessageType) -> bool {
        self.message_type == message_type
    }

    fn into_raw(self) -> *mut () {
        ManuallyDrop::new(self).raw.as_ptr()
    }

    unsafe fn from_raw(raw: *mut (), message_type: MessageType) -> Self {
        // SAFETY: `raw` came from `into_raw`, so it is not null.
        Self { raw: unsafe { NonNull::new_unchecked(raw) }, message_type }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn the_last_owner_drops_the_message() {
        let message = Arc::new(7_u32);
        let weak = Arc::downgrade(&message);
        let any = AnyMessage::new(message);
        let other = any.clone();
        drop(any);
        // SAFETY: the message is a `u32`.
        let message: Arc<u32> = unsafe { other.into_pointer() };
        assert_eq!((*message, weak.strong_count()), (7, 1));
        drop(AnyMessage::new(message));
        assert_eq!(weak.strong_count(), 0);
    }

    /// Each thread drops and clones owners, so that any of them may be the last one.
    #[test]
    fn owners_on_several_threads_share_a_message() {
        let message = Arc::new(vec![1_u8; 100]);
        let weak = Arc::downgrade(&message);
        let any = AnyMessage::new(message);
        thread::scope(|scope| {
            for _ in 0..3 {
                let any = any.clone();
                scope.spawn(move || {
                    (0..1_000).for_each(|_| drop(any.clone()));
                    // SAFETY: the message is a `Vec<u8>`.
                    let message: Arc<Vec<u8>> = unsafe { any.into_pointer() };
                    assert_eq!(message.iter().map(|byte| u32::from(*byte)).sum::<u32>(), 100);
                });
            }
            drop(any);
        });
        assert_eq!(weak.strong_count(), 0);
    }

    #[test]
    #[cfg(debug_assertions)]
    #[should_panic = "the messages of a ring are of its kind"]
    fn a_ring_refuses_messages_of_another_type() {
        use crate::lock_free::depth::Depth;
        use crate::lock_free::ring::ring;

        let depth = Depth::new(1).unwrap();
        let (mut producer, _consumer) = ring(depth, MessageType::of::<Arc<i32>>());
        producer.push(AnyMessage::new(Arc::new(7_u32)), 0);
    }

    #[test]
    fn types_are_equal_by_what_they_are() {
        assert!(MessageType::of::<Arc<u32>>() == MessageType::of::<Arc<u32>>());
        assert!(MessageType::of::<Arc<u32>>() != MessageType::of::<Arc<i32>>());
    }
}
