//! Traits whose methods the library calls, on its own threads and on threads that are in a call of the library.

use std::ffi::{CStr, c_char, c_void};
use std::ptr::NonNull;
use std::slice;
use std::time::Duration;

use super::ffi::{RawDiscovery, RawEndpoint, RawListener, RawReceiver, RawSample};
use super::{Guid, Handle, Sample, Times};

/// Listener that is told of the matches of a reader or writer.
pub(crate) trait Listen: Send + Sync + 'static {
    /// Notes that another end came, or that it went.
    fn matched(&self, peer: Handle, came: bool);
    /// Notes another end whose quality of service does not fit. `policy` is the number of the policy in the DDS
    /// standard.
    fn incompatible(&self, policy: u32);
    /// Notes how many of a reader's matched writers are alive, and how many are not. Only readers are told.
    fn liveliness(&self, _alive: u32, _not_alive: u32) {}
}

/// The receiver of a reader's messages.
pub(crate) trait Receive: Send + Sync + 'static {
    /// Handles a message of the writer `writer` with the id `id`. The message expires after `lifespan`; `None` is no
    /// limit.
    fn arrived(&self, sample: Sample, writer: Handle, id: &Guid, lifespan: Option<Duration>);

    /// Returns true if [`has_room`](Self::has_room) may ever return false.
    fn refuses(&self) -> bool {
        false
    }

    /// Returns false if there is no room for that many messages of a reliable writer. They are then sent again later,
    /// at the latest after [`ReaderProbe::ask_again`](super::ReaderProbe::ask_again).
    fn has_room(&self, _count: usize) -> bool {
        true
    }
}

/// A reader or writer anywhere in the domain, this participant's included.
#[derive(Debug)]
pub(crate) struct Found<'a> {
    pub(crate) handle: Handle,
    pub(crate) guid: Guid,
    pub(crate) is_writer: bool,
    pub(crate) topic: &'a str,
    pub(crate) type_name: &'a str,
    pub(crate) is_reliable: bool,
    /// As in the standard: 0 volatile, 1 transient local.
    pub(crate) durability: i32,
    /// Depth of the history; 0 for keep all, negative if unknown.
    pub(crate) depth: i32,
    pub(crate) times: Times,
    pub(crate) user_data: &'a [u8],
}

/// Receiver of discovery's findings.
pub(crate) trait Discover: Send + Sync + 'static {
    /// Handles a reader or writer that exists. It may have been reported before.
    fn came(&self, found: &Found<'_>);
    /// Handles the end of a reader or writer.
    fn went(&self, guid: Guid, handle: Handle);
    /// Handles a participant that exists, or that has gone with all of its readers and writers.
    fn participant(&self, guid: Guid, is_alive: bool);
}

/// Returns the library's form of a listener, which must not move while the library knows it.
pub(super) fn listener<L: Listen>(listen: &L) -> RawListener {
    RawListener {
        target: std::ptr::from_ref(listen).cast(),
        matched: matched::<L>,
        incompatible: incompatible::<L>,
        liveliness: liveliness::<L>,
    }
}

/// Passes a match, or the end of one, to the listener that is the target.
///
/// # Safety
/// The library calls it with the target that [`listener`] gave it, while the entity is there.
unsafe extern "C" fn matched<L: Listen>(target: *const c_void, peer: u64, came: i32) {
    // SAFETY: an entity keeps its listener until the library has deleted it.
    let listen = unsafe { &*target.cast::<L>() };
    listen.matched(peer, came != 0);
}

/// Passes another end whose quality of service does not fit to the listener.
///
/// # Safety
/// As [`matched`].
unsafe extern "C" fn incompatible<L: Listen>(target: *const c_void, policy: u32) {
    // SAFETY: as in `matched`.
    let listen = unsafe { &*target.cast::<L>() };
    listen.incompatible(policy);
}

/// Passes the numbers of writers that are alive, and that are not, to the listener.
///
/// # Safety
/// As [`matched`].
unsafe extern "C" fn liveliness<L: Listen>(target: *const c_void, alive: u32, not_alive: u32) {
    // SAFETY: as in `matched`.
    let listen = unsafe { &*target.cast::<L>() };
    listen.liveliness(alive, not_alive);
}

/// Returns the library's form of a receiver, which is the library's from now on.
pub(super) fn receiver<R: Receive>(receive: R) -> RawReceiver {
    let has_room: Option<unsafe extern "C" fn(*const c_void, u32) -> bool> =
        if receive.refuses() { Some(has_room::<R>) } else { None };
    RawReceiver {
        target: Box::into_raw(Box::new(receive)).cast(),
        arrived: arrived::<R>,
        has_room,
        forget: forget::<R>,
    }
}

/// Asks the receiver that is the target for room.
///
/// # Safety
/// The library calls it with the target that [`receiver`] gave it, not after [`forget`].
unsafe extern "C" fn has_room<R: Receive>(target: *const c_void, count: u32) -> bool {
    // SAFETY: `forget` is not called before the last call of this function has returned.
    let receive = unsafe { &*target.cast::<R>() };
    receive.has_room(count as usize)
}

/// Passes a message to the receiver that is the target.
///
/// # Safety
/// The library calls it with the target that [`receiver`] gave it, a sample of which one reference count belongs to the
/// receiver from then on, and an id that is valid during the call.
unsafe extern "C" fn arrived<R: Receive>(
    target: *const c_void,
    sample: *mut RawSample,
    writer: u64,
    id: *const Guid,
    lifespan: i64,
) {
    let Some(sample) = NonNull::new(sample) else { return };
    // SAFETY: the library passed one reference count of the sample to this function.
    let sample = unsafe { Sample::from_raw(sample) };
    // SAFETY: `forget` is not called before the last call of this function has returned.
    let receive = unsafe { &*target.cast::<R>() };
    // SAFETY: the id is valid during this call.
    receive.arrived(sample, writer, unsafe { &*id }, limit(lifespan));
}

/// Drops the receiver that is the target.
///
/// # Safety
/// The library calls it once, after the last call of [`arrived`] has returned.
unsafe extern "C" fn forget<R: Receive>(target: *const c_void) {
    // SAFETY: the target came from a box, and nobody else has it.
    drop(unsafe { Box::from_raw(target.cast_mut().cast::<R>()) });
}

/// Returns a limit in nanoseconds as a duration: the largest number is no limit, and a negative one is over already.
fn limit(nanos: i64) -> Option<Duration> {
    if nanos == i64::MAX { None } else { Some(Duration::from_nanos(nanos.max(0).unsigned_abs())) }
}

/// Returns the library's form of a receiver of discovery, which must not move while the library knows it.
pub(super) fn discovery<D: Discover>(discover: &D) -> RawDiscovery {
    RawDiscovery { target: std::ptr::from_ref(discover).cast(), endpoint: endpoint::<D>, participant: participant::<D> }
}

/// Passes a reader or writer that exists, or has gone, to the receiver of discovery that is the target.
///
/// # Safety
/// The library calls it with the target that [`discovery`] gave it, and an endpoint that is valid during the call.
unsafe extern "C" fn endpoint<D: Discover>(target: *const c_void, endpoint: *const RawEndpoint) {
    // SAFETY: `Discovery` keeps the target until the library has deleted the readers of discovery.
    let discover = unsafe { &*target.cast::<D>() };
    // SAFETY: the endpoint is valid during this call.
    let raw = unsafe { &*endpoint };
    if raw.is_alive == 0 {
        return discover.went(raw.guid, raw.handle);
    }
    // SAFETY: an endpoint that is alive has a topic name, which is valid during this call.
    let topic = unsafe { borrow(raw.topic_name) };
    // SAFETY: as for the topic name.
    let type_name = unsafe { borrow(raw.type_name) };
    // Names that are not Unicode are not of ROS.
    let Some(topic) = topic else { return };
    let Some(type_name) = type_name else { return };
    let user_data = if raw.user_data.is_null() {
        &[]
    } else {
        // SAFETY: the user data has the length that is passed, and is valid during this call.
        unsafe { slice::from_raw_parts(raw.user_data.cast(), raw.user_data_size) }
    };
    discover.came(&Found {
        handle: raw.handle,
        guid: raw.guid,
        is_writer: raw.is_writer != 0,
        topic,
        type_name,
        is_reliable: raw.reliable != 0,
        durability: raw.durability,
        depth: raw.depth,
        times: Times {
            deadline: limit(raw.deadline),
            lifespan: limit(raw.lifespan),
            is_manual: raw.manual != 0,
            lease: limit(raw.lease),
        },
        user_data,
    });
}

/// Borrows a text of C; `None` if the pointer is null or the text is not Unicode.
///
/// # Safety
/// The text ends with a zero, if the pointer is not null, and nobody changes it as long as it is borrowed.
unsafe fn borrow<'a>(from: *const c_char) -> Option<&'a str> {
    if from.is_null() {
        return None;
    }
    // SAFETY: the caller guarantees that the text ends with a zero and is valid.
    let text = unsafe { CStr::from_ptr(from) };
    text.to_str().ok()
}

/// Passes a participant that exists, or has gone, to the receiver of discovery.
///
/// # Safety
/// The library calls it with the target that [`discovery`] gave it, and an id that is valid during the call.
unsafe extern "C" fn participant<D: Discover>(target: *const c_void, guid: *const [u8; 16], is_alive: i32) {
    // SAFETY: as in `endpoint`.
    let discover = unsafe { &*target.cast::<D>() };
    // SAFETY: the identifier is valid during this call.
    let guid = unsafe { *guid };
    discover.participant(guid, is_alive != 0);
}
