//! The functions of rcl that rclrs keeps to itself.
//!
//! Their objects are passed as untyped pointers, because rclrs does not export their types. The signatures are the same
//! from Humble to Rolling.

use std::ffi::{c_char, c_int, c_void};

/// Function that rcl calls for `count` new events, with the pointer that it was given when the function was set.
pub(super) type OnEvent = extern "C" fn(data: *const c_void, count: usize);

/// Function that sets the event callback of one part of a primitive.
pub(super) type SetOnEvent = unsafe extern "C" fn(*const c_void, Option<OnEvent>, *const c_void) -> c_int;

/// Return code of success.
pub(super) const OK: c_int = 0;

/// Value of `rcl_clock_type_t` for ROS time.
pub(super) const ROS_TIME: c_int = 1;

/// Value of `rmw_qos_history_policy_e` for keep last.
pub(super) const KEEP_LAST: c_int = 1;

/// The beginning of `rmw_qos_profile_t`.
#[repr(C)]
pub(super) struct Qos {
    pub(super) history: c_int,
    pub(super) depth: usize,
}

unsafe extern "C" {
    pub(super) fn rcl_subscription_get_topic_name(subscription: *const c_void) -> *const c_char;
    pub(super) fn rcl_subscription_get_actual_qos(subscription: *const c_void) -> *const Qos;
    pub(super) fn rcl_subscription_set_on_new_message_callback(
        subscription: *const c_void,
        callback: Option<OnEvent>,
        data: *const c_void,
    ) -> c_int;
    pub(super) fn rcl_service_get_service_name(service: *const c_void) -> *const c_char;
    pub(super) fn rcl_service_set_on_new_request_callback(
        service: *const c_void,
        callback: Option<OnEvent>,
        data: *const c_void,
    ) -> c_int;
    pub(super) fn rcl_client_get_service_name(client: *const c_void) -> *const c_char;
    pub(super) fn rcl_client_set_on_new_response_callback(
        client: *const c_void,
        callback: Option<OnEvent>,
        data: *const c_void,
    ) -> c_int;

    pub(super) fn rcl_timer_get_time_until_next_call(timer: *const c_void, nanoseconds: *mut i64) -> c_int;
    pub(super) fn rcl_timer_clock(timer: *const c_void, clock: *mut *const c_int) -> c_int;
    pub(super) fn rcl_timer_set_on_reset_callback(
        timer: *const c_void,
        callback: Option<OnEvent>,
        data: *const c_void,
    ) -> c_int;

    pub(super) fn rcl_action_server_get_goal_handles(
        server: *const c_void,
        goals: *mut *mut *mut c_void,
        count: *mut usize,
    ) -> c_int;
    pub(super) fn rcl_action_server_set_goal_service_callback(
        server: *const c_void,
        callback: Option<OnEvent>,
        data: *const c_void,
    ) -> c_int;
    pub(super) fn rcl_action_server_set_cancel_service_callback(
        server: *const c_void,
        callback: Option<OnEvent>,
        data: *const c_void,
    ) -> c_int;
    pub(super) fn rcl_action_server_set_result_service_callback(
        server: *const c_void,
        callback: Option<OnEvent>,
        data: *const c_void,
    ) -> c_int;
    pub(super) fn rcl_action_client_set_goal_client_callback(
        client: *const c_void,
        callback: Option<OnEvent>,
        data: *const c_void,
    ) -> c_int;
    pub(super) fn rcl_action_client_set_cancel_client_callback(
        client: *const c_void,
        callback: Option<OnEvent>,
        data: *const c_void,
    ) -> c_int;
    pub(super) fn rcl_action_client_set_result_client_callback(
        client: *const c_void,
        callback: Option<OnEvent>,
        data: *const c_void,
    ) -> c_int;
    pub(super) fn rcl_action_client_set_feedback_subscription_callback(
        client: *const c_void,
        callback: Option<OnEvent>,
        data: *const c_void,
    ) -> c_int;
    pub(super) fn rcl_action_client_set_status_subscription_callback(
        client: *const c_void,
        callback: Option<OnEvent>,
        data: *const c_void,
    ) -> c_int;
}
