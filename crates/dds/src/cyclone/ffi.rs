//! Declarations of `c/rospin_dds.h` for Rust. That file explains each of them.

use std::ffi::{c_char, c_void};

/// Type of messages in the library.
#[repr(C)]
pub(super) struct SerType {
    _private: [u8; 0],
}

/// Encoded message in the library.
#[repr(C)]
pub(super) struct RawSample {
    _private: [u8; 0],
}

#[repr(C)]
pub(super) struct RawIdentity {
    pub(super) guid: [u8; 16],
    pub(super) number: i64,
}

#[repr(C)]
pub(super) struct RawQos {
    pub(super) reliable: i32,
    pub(super) transient_local: i32,
    pub(super) depth: i32,
    pub(super) ignores_own: i32,
    pub(super) manual: i32,
    pub(super) deadline: i64,
    pub(super) lifespan: i64,
    pub(super) lease: i64,
    pub(super) blocking: i64,
    pub(super) user_data: *const c_void,
    pub(super) user_data_size: usize,
}

#[repr(C)]
#[derive(Default)]
pub(super) struct RawPace {
    pub(super) asked: u64,
    pub(super) stuck: u64,
    pub(super) last: i64,
}

#[repr(C)]
pub(super) struct RawListener {
    pub(super) target: *const c_void,
    pub(super) matched: unsafe extern "C" fn(*const c_void, u64, i32),
    pub(super) incompatible: unsafe extern "C" fn(*const c_void, u32),
    pub(super) liveliness: unsafe extern "C" fn(*const c_void, u32, u32),
}

#[repr(C)]
pub(super) struct RawReceiver {
    pub(super) target: *const c_void,
    pub(super) arrived: unsafe extern "C" fn(*const c_void, *mut RawSample, u64, *const [u8; 16], i64),
    pub(super) has_room: Option<unsafe extern "C" fn(*const c_void, u32) -> bool>,
    pub(super) forget: unsafe extern "C" fn(*const c_void),
}

#[repr(C)]
pub(super) struct RawEndpoint {
    pub(super) handle: u64,
    pub(super) guid: [u8; 16],
    pub(super) is_alive: i32,
    pub(super) is_writer: i32,
    pub(super) topic_name: *const c_char,
    pub(super) type_name: *const c_char,
    pub(super) reliable: i32,
    pub(super) durability: i32,
    pub(super) depth: i32,
    pub(super) manual: i32,
    pub(super) deadline: i64,
    pub(super) lifespan: i64,
    pub(super) lease: i64,
    pub(super) user_data: *const c_void,
    pub(super) user_data_size: usize,
}

#[repr(C)]
pub(super) struct RawDiscovery {
    pub(super) target: *const c_void,
    pub(super) endpoint: unsafe extern "C" fn(*const c_void, *const RawEndpoint),
    pub(super) participant: unsafe extern "C" fn(*const c_void, *const [u8; 16], i32),
}

#[repr(C)]
pub(super) struct RawProperty {
    pub(super) name: *const c_char,
    pub(super) value: *const c_char,
}

unsafe extern "C" {
    pub(super) fn rospin_dds_sample_bytes(sample: *const RawSample, size: *mut usize) -> *const u8;
    pub(super) fn rospin_dds_sample_number(sample: *const RawSample) -> u64;
    pub(super) fn rospin_dds_sample_time(sample: *const RawSample) -> i64;
    pub(super) fn rospin_dds_sample_related(sample: *const RawSample) -> *const RawIdentity;
    pub(super) fn rospin_dds_sample_drop(sample: *mut RawSample);
    pub(super) fn rospin_dds_log_to(log: unsafe extern "C" fn(i32, *const c_char, usize));
    pub(super) fn rospin_dds_error(code: i32) -> *const c_char;
    pub(super) fn rospin_dds_create_domain(id: u32, config: *const c_char) -> i32;
    pub(super) fn rospin_dds_create_participant(
        domain: u32,
        user_data: *const c_void,
        size: usize,
        properties: *const RawProperty,
        count: usize,
    ) -> i32;
    pub(super) fn rospin_dds_create_topic(
        participant: i32,
        name: *const c_char,
        type_name: *const c_char,
        sertype: *mut *const SerType,
    ) -> i32;
    pub(super) fn rospin_dds_create_writer(
        participant: i32,
        topic: i32,
        qos: *const RawQos,
        listener: *const RawListener,
    ) -> i32;
    pub(super) fn rospin_dds_create_reader(
        participant: i32,
        topic: i32,
        qos: *const RawQos,
        listener: *const RawListener,
        receiver: *const RawReceiver,
    ) -> i32;
    pub(super) fn rospin_dds_delete(entity: i32) -> i32;
    pub(super) fn rospin_dds_abandon(writer: i32);
    pub(super) fn rospin_dds_assert_liveliness(writer: i32) -> i32;
    pub(super) fn rospin_dds_guid(entity: i32, guid: *mut [u8; 16]) -> i32;
    pub(super) fn rospin_dds_instance_handle(entity: i32, handle: *mut u64) -> i32;
    pub(super) fn rospin_dds_is_known(reader: i32, writer: *const [u8; 16]) -> i32;
    pub(super) fn rospin_dds_ask_again(reader: i32);
    pub(super) fn rospin_dds_pace(writer: i32, size: usize, state: *mut RawPace, patience: i64);
    pub(super) fn rospin_dds_wait_for_room(writer: i32, patience: i64) -> i32;
    pub(super) fn rospin_dds_has_overwritten(writer: i32) -> i32;
    pub(super) fn rospin_dds_is_heard(writer: i32, reader: u64) -> i32;
    #[cfg(any(test, fuzzing))]
    pub(super) fn rospin_dds_read_identity(
        parameters: *const u8,
        size: usize,
        is_little: bool,
        identity: *mut RawIdentity,
    ) -> bool;
    pub(super) fn rospin_dds_next_number(writer: i32) -> u64;
    pub(super) fn rospin_dds_write_copy(
        writer: i32,
        sertype: *const SerType,
        bytes: *const u8,
        size: usize,
        related: *const RawIdentity,
    ) -> i32;
    pub(super) fn rospin_dds_write_adopt(
        writer: i32,
        sertype: *const SerType,
        bytes: *mut u8,
        size: usize,
        capacity: usize,
        free: unsafe extern "C" fn(*mut u8, usize),
        related: *const RawIdentity,
    ) -> i32;
    pub(super) fn rospin_dds_discover(participant: i32, discovery: *const RawDiscovery, readers: *mut [i32; 3]) -> i32;
}
