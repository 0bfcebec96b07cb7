//! File descriptors.

use std::ffi::c_int;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

use rospin_engine::{Descriptor, EntityKind, Readiness};

use crate::arguments::give;
use crate::entity::{Creation, Kind, rospin_entity, rospin_entity_options};
use crate::foreign::{Item, rospin_source};
use crate::group::{Group, rospin_group};
use crate::status::{Failure, ROSPIN_OK, rospin_status, status_of};

/// A file descriptor is ready: there is something to read, a connection to accept, or the other end is closed.
pub const ROSPIN_FD_READABLE: u32 = 1;
/// A file descriptor is ready: there is room to write.
pub const ROSPIN_FD_WRITABLE: u32 = 2;
/// A file descriptor is ready: there is an exceptional condition (POLLPRI).
pub const ROSPIN_FD_PRIORITY: u32 = 4;
/// A file descriptor is ready: there is an error. It is always watched for.
pub const ROSPIN_FD_ERROR: u32 = 8;
/// A file descriptor is ready: the other end is closed. It is always watched for.
pub const ROSPIN_FD_HANGUP: u32 = 16;

/// Creates an entity that runs as long as a file descriptor is ready. `events` is a sum of ROSPIN_FD_READABLE,
/// _WRITABLE and _PRIORITY. The source's `take` must be NULL. `item` is the sum of the events for which the descriptor
/// is ready, as a uintptr_t. The callback reads or writes without waiting. What it leaves is found again, so it ends
/// the entity, or the error, that ROSPIN_FD_HANGUP and ROSPIN_FD_ERROR tell of. rospin keeps a duplicate: the caller
/// may close its own.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rospin_fd_create(
    group: *const rospin_group,
    options: *const rospin_entity_options,
    fd: c_int,
    events: u32,
    source: *const rospin_source,
    entity: *mut *mut rospin_entity,
) -> rospin_status {
    status_of(|| {
        // SAFETY: as the header demands.
        let creation = unsafe { Creation::read(group, options, source, entity, "entity") }?;
        let Creation { foreign, place, group, options } = creation;
        if foreign.has_take() {
            return Err(Failure::invalid("`take` of a file descriptor's source is not NULL"));
        }
        let known = ROSPIN_FD_READABLE | ROSPIN_FD_WRITABLE | ROSPIN_FD_PRIORITY;
        if events == 0 || events & !known != 0 {
            return Err(Failure::invalid(format!(
                "`events` is {events}; it is a sum of ROSPIN_FD_READABLE and others"
            )));
        }
        if fd < 0 {
            return Err(Failure::invalid(format!("`fd` is {fd}, which is no file descriptor")));
        }
        // SAFETY: the header demands one that is open. It is duplicated before this returns.
        let fd = unsafe { BorrowedFd::borrow_raw(fd) };
        let control = Arc::clone(&group.control);
        let run = move |ready: Readiness| control.ran(foreign.run(Item::of(u32::from(ready.bits()))));
        let (kind, interest) = (EntityKind::Waitable, Readiness::from_bits(events as u8));
        let created = match &group.group {
            Group::Exclusive(group) => {
                let source = Descriptor::new(group.context(), fd, interest).map_err(|error| Failure::system(&error))?;
                group.create_source(kind, options.entity(), source, move |(), ready| run(ready))
            }
            Group::Reentrant(group) => {
                let source = Descriptor::new(group.context(), fd, interest).map_err(|error| Failure::system(&error))?;
                // Another callback would find what this one is about to read.
                group.create_source(kind, options.entity().max_in_flight(1), source, run)
            }
        };
        let created = created.map_err(|error| Failure::of_source(&error))?;
        give(place, options.handle(Kind::Descriptor(created)));
        Ok(ROSPIN_OK)
    })
}
