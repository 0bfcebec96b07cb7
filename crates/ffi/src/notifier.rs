//! Notifications.

use std::sync::Arc;

use rospin_engine::Instant;

use crate::arguments::{destroy, give, given, place};
use crate::entity::{Kind, rospin_entity};
use crate::foreign::{Bell, instant};
use crate::status::{Failure, ROSPIN_OK, rospin_status, status_of, value_of};

/// Notifier of an entity, which may outlive it and does nothing then: for middlewares whose threads may notify while
/// the entity is destroyed.
pub struct rospin_notifier(Arc<Bell>);

/// Notifies that there may be something to take. The release is now. Neither blocks nor allocates, and may be called
/// under locks. Does nothing for timers and file descriptors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rospin_entity_notify(entity: *const rospin_entity) {
    // SAFETY: as the header demands.
    if let Some(Kind::Source(_, bell)) = unsafe { entity.as_ref() }.map(|entity| &entity.kind) {
        ring(bell, None);
    }
}

/// Creates a notifier. ROSPIN_ERROR_INVALID for timers and file descriptors, which need none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rospin_notifier_create(
    entity: *const rospin_entity,
    notifier: *mut *mut rospin_notifier,
) -> rospin_status {
    status_of(|| {
        // SAFETY: as the header demands.
        let place = unsafe { place(notifier, "notifier") }?;
        // SAFETY: as the header demands.
        let Kind::Source(_, bell) = &unsafe { given(entity, "entity") }?.kind else {
            return Err(Failure::invalid("timers and file descriptors need no notifier"));
        };
        give(place, rospin_notifier(Arc::clone(bell)));
        Ok(ROSPIN_OK)
    })
}

/// Gives up the handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rospin_notifier_destroy(notifier: *mut rospin_notifier) {
    // SAFETY: as the header demands.
    unsafe { destroy(notifier) };
}

/// Notifies as rospin_entity_notify() does.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rospin_notifier_notify(notifier: *const rospin_notifier) {
    // SAFETY: as the header demands.
    if let Some(notifier) = unsafe { notifier.as_ref() } {
        ring(&notifier.0, None);
    }
}

/// Notifies of an item that arrived at that time, which is the release.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rospin_notifier_notify_at(notifier: *const rospin_notifier, arrival_ns: i64) {
    // SAFETY: as the header demands.
    if let Some(notifier) = unsafe { notifier.as_ref() } {
        ring(&notifier.0, Some(instant(arrival_ns)));
    }
}

/// Counts items that the source itself lost, because its queue was full.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rospin_notifier_count_lost(notifier: *const rospin_notifier, count: u64) {
    // SAFETY: as the header demands.
    if let Some(notifier) = unsafe { notifier.as_ref() } {
        value_of((), || notifier.0.count_lost(count));
    }
}

fn ring(bell: &Bell, arrival: Option<Instant>) {
    value_of((), || bell.ring(arrival));
}
