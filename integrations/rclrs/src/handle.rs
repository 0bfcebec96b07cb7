//! Handles of rcl, which a primitive shows only while it is ready: arming them, and what they tell.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;
use std::time::Duration;

use rclrs::{RclPrimitive, RclPrimitiveHandle};
use rospin_engine::EntityKind;

use super::bell::{Bell, on_event};
use super::ffi::{self, SetOnEvent};
use super::registration::{Registration, register};

/// The kind of a primitive, as far as it matters here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Subscription,
    Service,
    Client,
    Timer,
    ActionServer,
    ActionClient,
    /// The guard condition of a node's graph.
    Graph,
}

impl Kind {
    pub(super) const fn entity(self) -> EntityKind {
        match self {
            Self::Subscription => EntityKind::Subscription,
            Self::Service => EntityKind::Service,
            Self::Client => EntityKind::Client,
            _ => EntityKind::Waitable,
        }
    }

    /// Returns the name of an entity whose topic or service is not known.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Subscription => "subscription",
            Self::Service => "service",
            Self::Client => "client",
            Self::Timer => "timer",
            Self::ActionServer => "action_server",
            Self::ActionClient => "action_client",
            Self::Graph => "graph",
        }
    }

    /// Returns the functions that set the callbacks for new events.
    fn setters(self) -> &'static [SetOnEvent] {
        match self {
            Self::Subscription => &[ffi::rcl_subscription_set_on_new_message_callback],
            Self::Service => &[ffi::rcl_service_set_on_new_request_callback],
            Self::Client => &[ffi::rcl_client_set_on_new_response_callback],
            Self::Timer => &[ffi::rcl_timer_set_on_reset_callback],
            Self::ActionServer => &[
                ffi::rcl_action_server_set_goal_service_callback,
                ffi::rcl_action_server_set_cancel_service_callback,
                ffi::rcl_action_server_set_result_service_callback,
            ],
            Self::ActionClient => &[
                ffi::rcl_action_client_set_goal_client_callback,
                ffi::rcl_action_client_set_cancel_client_callback,
                ffi::rcl_action_client_set_result_client_callback,
                ffi::rcl_action_client_set_feedback_subscription_callback,
                ffi::rcl_action_client_set_status_subscription_callback,
            ],
            Self::Graph => &[],
        }
    }
}

/// A handle of rcl that rings a bell. It is valid while its primitive is in its wait set.
pub(super) struct Handle {
    kind: Kind,
    pointer: *const c_void,
    /// `None` if the callbacks are set by the handle's address.
    registration: Option<Registration>,
}

// SAFETY: a handle is used by one thread at a time, under the lock of its cell.
unsafe impl Send for Handle {}

impl Handle {
    /// Arms the primitive's handle, and returns it with the name of its topic or service. `None` if the middleware has
    /// no events for it.
    ///
    /// Items that arrived before ring the bell at once.
    pub(super) fn arm(primitive: &dyn RclPrimitive, bell: &'static Bell) -> Option<(Self, Option<String>)> {
        // The handle stays locked while it is asked.
        let locked = primitive.handle();
        let (kind, pointer) = match &locked {
            RclPrimitiveHandle::Subscription(handle) => (Kind::Subscription, untyped(&**handle)),
            RclPrimitiveHandle::Service(handle) => (Kind::Service, untyped(&**handle)),
            RclPrimitiveHandle::Client(handle) => (Kind::Client, untyped(&**handle)),
            RclPrimitiveHandle::Timer(handle) => (Kind::Timer, untyped(&**handle)),
            RclPrimitiveHandle::ActionServer(handle) => (Kind::ActionServer, untyped(&**handle)),
            RclPrimitiveHandle::ActionClient(handle) => (Kind::ActionClient, untyped(&**handle)),
            RclPrimitiveHandle::GuardCondition(_) | RclPrimitiveHandle::Event(_) => return None,
        };
        let mut handle = Self { kind, pointer, registration: None };
        let name = handle.name();
        if let Some(depth) = handle.depth() {
            bell.set_limit(depth);
        }
        drop(locked);
        // An error means that the middleware has no events for it.
        handle.registration = register(primitive, bell).ok()?;
        // It is locked again while it is armed by its address.
        let _locked = primitive.handle();
        if handle.registration.is_some() || handle.set(bell) {
            return Some((handle, name));
        }
        handle.disarm();
        None
    }

    /// Removes the callbacks that were set by address. After it, the bell is not rung any more.
    pub(super) fn disarm(&self) {
        if self.registration.is_some() {
            // Its drop removes the callback.
            return;
        }
        for setter in self.kind.setters() {
            // SAFETY: the handle is valid, and no callback is set.
            let _ = unsafe { setter(self.pointer, None, ptr::null()) };
        }
    }

    fn set(&self, bell: &'static Bell) -> bool {
        let setters = self.kind.setters();
        // SAFETY: the handle is valid and locked, and the bell is never freed.
        setters.iter().all(|setter| unsafe { setter(self.pointer, Some(on_event), bell.as_data()) } == ffi::OK)
    }

    fn name(&self) -> Option<String> {
        type Getter = unsafe extern "C" fn(*const c_void) -> *const c_char;
        let getter: Getter = match self.kind {
            Kind::Subscription => ffi::rcl_subscription_get_topic_name,
            Kind::Service => ffi::rcl_service_get_service_name,
            Kind::Client => ffi::rcl_client_get_service_name,
            _ => return None,
        };
        // SAFETY: the handle is valid, and its kind is the getter's.
        let name = unsafe { getter(self.pointer) };
        // SAFETY: rcl returns a string that lives as long as the handle, or null.
        (!name.is_null()).then(|| unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned())
    }

    /// Returns the number of messages that the middleware keeps, unless it keeps all.
    fn depth(&self) -> Option<usize> {
        if self.kind != Kind::Subscription {
            return None;
        }
        // SAFETY: the handle is a valid subscription's.
        let qos = unsafe { ffi::rcl_subscription_get_actual_qos(self.pointer) };
        // SAFETY: rcl returns a profile that lives as long as the subscription, or null.
        let qos = unsafe { qos.as_ref() }?;
        (qos.history == ffi::KEEP_LAST && qos.depth > 0).then_some(qos.depth)
    }

    /// Returns the time until a timer is due, which is zero if it is overdue; `None` if it is cancelled.
    pub(super) fn time_until_due(&self) -> Option<Duration> {
        debug_assert_eq!(self.kind, Kind::Timer);
        let mut nanoseconds = 0;
        // SAFETY: the handle is a valid timer's; the function reads it atomically.
        let code = unsafe { ffi::rcl_timer_get_time_until_next_call(self.pointer, &raw mut nanoseconds) };
        (code == ffi::OK).then(|| Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(0)))
    }

    /// Returns true if a timer follows a clock that may jump, so that its due time in steady time may change.
    pub(super) fn is_on_ros_time(&self) -> bool {
        let mut clock: *const c_int = ptr::null();
        // SAFETY: the handle is a valid timer's, and a clock begins with its type.
        self.kind == Kind::Timer
            && unsafe { ffi::rcl_timer_clock(self.pointer, &raw mut clock) } == ffi::OK
            && unsafe { clock.as_ref() } == Some(&ffi::ROS_TIME)
    }

    /// Returns true if an action server has goals, whose results expire some time after they ended.
    pub(super) fn has_goals(primitive: &dyn RclPrimitive) -> bool {
        let RclPrimitiveHandle::ActionServer(server) = primitive.handle() else { return false };
        let (mut goals, mut count) = (ptr::null_mut(), 0);
        // SAFETY: the handle is valid and locked.
        let code =
            unsafe { ffi::rcl_action_server_get_goal_handles(untyped(&*server), &raw mut goals, &raw mut count) };
        code == ffi::OK && count > 0
    }
}

fn untyped<T>(handle: &T) -> *const c_void {
    ptr::from_ref(handle).cast()
}
