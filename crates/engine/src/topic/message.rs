//! Messages as topics hold them: pointers to values of any type. So the code of topics is compiled once, and not again
//! for each type of messages in each program.
//!
//! All messages of a topic have one type, which is checked where a publisher or a subscription is created. Only the
//! ends that users hold, such as [`Publisher`](super::Publisher), name that type.
//!
//! The compiler compiles a generic function again in every program, for each type, and topics for its messages were
//! most of a small program's build. A check of the type of each message would cost some 20 instructions.

use std::any::{TypeId, type_name};
use std::mem::ManuallyDrop;
use std::ptr::NonNull;
use std::sync::Arc;

use crate::incident::contain_and_log;
use crate::lock_free::owning::OwningPointer;

/// The type of a topic's messages.
#[derive(Clone, Copy)]
pub(super) struct MessageType(&'static Functions);

/// Functions of one type `T`, and of pointers that came from `Arc::<T>::into_raw`.
struct Functions {
    id: fn() -> TypeId,
    name: fn() -> &'static str,
    /// Adds an owner.
    share: unsafe fn(*const ()),
    /// Removes an owner. The last one drops the value.
    release: unsafe fn(*const ()),
}

/// Adds an owner to the `Arc<T>` that `raw` is of.
///
/// # Safety
/// As for [`Arc::increment_strong_count`].
unsafe fn share<T>(raw: *const ()) {
    // SAFETY: the caller guarantees what the function demands.
    unsafe { Arc::increment_strong_count(raw.cast::<T>()) };
}

/// Removes an owner from the `Arc<T>` that `raw` is of. The last one drops the value.
///
/// # Safety
/// As for [`Arc::decrement_strong_count`].
unsafe fn release<T>(raw: *const ()) {
    // SAFETY: the caller guarantees what the function demands.
    unsafe { Arc::decrement_strong_count(raw.cast::<T>()) };
}

impl MessageType {
    pub(super) const fn of<T: Send + Sync + 'static>() -> Self {
        Self(
            const { &Functions { id: TypeId::of::<T>, name: type_name::<T>, share: share::<T>, release: release::<T> } },
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

/// A shared message: an `Arc<T>` of any type `T`, and one of its owners.
pub(super) struct AnyMessage {
    raw: NonNull<()>,
    message_type: MessageType,
}

// SAFETY: `new` takes an `Arc<T>` of a type that is `Send` and `Sync`.
unsafe impl Send for AnyMessage {}
// SAFETY: as for `Send`.
unsafe impl Sync for AnyMessage {}

impl AnyMessage {
    pub(super) fn new<T: Send + Sync + 'static>(message: Arc<T>) -> Self {
        // SAFETY: `Arc::into_raw` never returns null.
        let raw = unsafe { NonNull::new_unchecked(Arc::into_raw(message).cast_mut().cast()) };
        Self { raw, message_type: MessageType::of::<T>() }
    }

    /// Returns the message as what it was before [`new`](Self::new). A check of its type would take twenty instructions
    /// per message.
    ///
    /// # Safety
    /// The message must be a `T`.
    pub(super) unsafe fn into_arc<T: Send + Sync + 'static>(self) -> Arc<T> {
        debug_assert!(self.is_of(MessageType::of::<T>()), "the messages of a topic have the type of its ends");
        let raw = self.into_raw();
        // SAFETY: the pointer came from `Arc::<T>::into_raw`, and its owner was not released.
        unsafe { Arc::from_raw(raw.cast::<T>()) }
    }
}

impl Clone for AnyMessage {
    fn clone(&self) -> Self {
        // SAFETY: the pointer came from `Arc::into_raw` of this type, and has an owner, which is `self`.
        unsafe { (self.message_type.0.share)(self.raw.as_ptr()) };
        Self { ..*self }
    }
}

impl Drop for AnyMessage {
    fn drop(&mut self) {
        // Whoever displaces a message, or drops a queue, is not its owner, and other messages are dropped after it.
        contain_and_log("a message that was dropped", || {
            // SAFETY: the pointer came from `Arc::into_raw` of this type, and its owner is `self`, which ends.
            unsafe { (self.message_type.0.release)(self.raw.as_ptr()) };
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
    use crate::lock_free::ring::ring;

    #[test]
    fn the_last_owner_drops_the_message() {
        let message = Arc::new(7_u32);
        let weak = Arc::downgrade(&message);
        let any = AnyMessage::new(message);
        let other = any.clone();
        drop(any);
        // SAFETY: the message is a `u32`.
        let message: Arc<u32> = unsafe { other.into_arc() };
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
                    let message: Arc<Vec<u8>> = unsafe { any.into_arc() };
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
        let (mut producer, _consumer) = ring(crate::lock_free::depth::Depth::new(1).unwrap(), MessageType::of::<i32>());
        producer.push(AnyMessage::new(Arc::new(7_u32)), 0);
    }

    #[test]
    fn types_are_equal_by_what_they_are() {
        assert!(MessageType::of::<u32>() == MessageType::of::<u32>());
        assert!(MessageType::of::<u32>() != MessageType::of::<i32>());
    }
}
