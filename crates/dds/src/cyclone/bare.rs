//! The library without rospin: a participant, a writer, and a reader whose listener wakes a thread. Measurements
//! compare rospin with it.

use std::ffi::c_void;
use std::slice;
use std::sync::Arc;

use crate::options::DomainOptions;

use super::{EntityQos, Handle, Listen, Participant, Writer};

/// Participant that writes one topic and reads one, which may be the same.
pub struct Bare {
    raw: *mut c_void,
    // Dropped after the thread that calls it has ended: `drop` stops that thread first.
    _heard: Box<Heard>,
    writer: Writer<Deaf>,
    _participant: Participant,
}

/// Function that is called with each message.
type Heard = Box<dyn Fn(&[u8]) + Send + Sync>;

struct Deaf;

impl Listen for Deaf {
    fn matched(&self, _: Handle, _: bool) {}
    fn incompatible(&self, _: u32) {}
}

// SAFETY: the library may be called on any thread.
unsafe impl Send for Bare {}
// SAFETY: as above.
unsafe impl Sync for Bare {}

unsafe extern "C" {
    fn rospin_dds_bare_start(
        participant: i32,
        topic: i32,
        depth: i32,
        target: *const c_void,
        heard: unsafe extern "C" fn(*const c_void, *const u8, usize),
    ) -> *mut c_void;
    fn rospin_dds_bare_stop(bare: *mut c_void);
}

/// Passes a message to the function that is the target.
///
/// # Safety
/// The library calls it with the target that [`Bare::start`] gave it, and bytes that are valid during the call.
unsafe extern "C" fn heard(target: *const c_void, bytes: *const u8, size: usize) {
    // SAFETY: `target` is the `Heard` that `Bare::start` passed. It is dropped after the thread that calls this
    // function has ended.
    let heard = unsafe { &*target.cast::<Heard>() };
    // SAFETY: the bytes have that length, and are valid during this call.
    let bytes = unsafe { slice::from_raw_parts(bytes, size) };
    heard(bytes);
}

impl Bare {
    /// Starts a participant in a domain that this process has not joined, a writer of the topic `written`, and a reader
    /// of the topic `read`. Both keep the last `depth` messages, or all of them. A thread that the reader wakes calls `hear` with each
    /// message.
    ///
    /// # Panics
    /// If Cyclone DDS cannot create one of them.
    #[must_use]
    pub fn start(
        options: &DomainOptions,
        depth: Option<usize>,
        [written, read]: [&str; 2],
        hear: impl Fn(&[u8]) + Send + Sync + 'static,
    ) -> Self {
        let config = options.xml(None).expect("a configuration");
        let participant = Participant::start(options.domain_id.into(), &config, b"", &[]).expect("a participant");
        let type_name = "std_msgs::msg::dds_::UInt8MultiArray_";
        let qos = EntityQos {
            is_reliable: true,
            is_transient_local: false,
            depth,
            ignores_own: false,
            times: super::Times::default(),
            max_blocking_time: rospin_node::Qos::default().max_blocking_time,
            user_data: &[],
        };
        let writer = Writer::create(&participant, written, type_name, &qos, &Arc::new(Deaf)).expect("a writer");
        let (topic, _) = participant.topic(read, type_name).expect("a topic");
        let hear: Box<Heard> = Box::new(Box::new(hear));
        let target = std::ptr::from_ref(&*hear).cast();
        // The library's number for a history without a limit.
        let depth = depth.map_or(-1, |depth| i32::try_from(depth).unwrap_or(i32::MAX));
        // SAFETY: the target is dropped after the thread has ended.
        let raw = unsafe { rospin_dds_bare_start(participant.number(), topic.number(), depth, target, heard) };
        assert!(!raw.is_null(), "a reader");
        Self { raw, _heard: hear, writer, _participant: participant }
    }

    /// Sends a message, encapsulation header first, and leaves the vector empty.
    ///
    /// # Errors
    /// If there is no room for the message in time, or it cannot be sent; in words.
    pub fn write(&self, bytes: &mut Vec<u8>) -> Result<(), String> {
        self.writer.write(bytes).map_err(|code| code.to_string())
    }
}

impl Drop for Bare {
    fn drop(&mut self) {
        // SAFETY: the reader and its thread were started, and are stopped once.
        unsafe { rospin_dds_bare_stop(self.raw) }
    }
}
