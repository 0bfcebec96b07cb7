//! Cyclone DDS, made safe: domains, participants, writers, readers and the messages that go through them, as bytes.
//!
//! All unsafe code of the crate is in this folder. It knows nothing of ROS.
//!
//! - The library calls on its threads the methods of [`Listen`], [`Receive`] and [`Discover`]; they must not block, and
//!   run no user code.
//! - Dropping an entity waits until none of these methods is running for it, and none will.

#![allow(unsafe_code)]

#[cfg(feature = "bare")]
pub mod bare;
mod entity;
mod ffi;
mod listener;
mod log;
mod sample;

use std::ffi::{CStr, CString};
use std::time::Duration;

pub(crate) use entity::{Discovery, Participant, Probe, Reader, ReaderProbe, Writer};
pub(crate) use listener::{Discover, Found, Listen, Receive};
#[cfg(any(test, fuzzing))]
#[allow(unused_imports, reason = "its tests are beside it")]
pub(crate) use sample::read_identity;
pub(crate) use sample::{Identity, Sample};

/// Id of a participant, reader or writer, unique in the network. The first twelve bytes are those of the participant.
pub(crate) type Guid = [u8; 16];

/// Number of a reader or writer in this process. Readers and writers of other processes have numbers, too.
pub(crate) type Handle = u64;

/// Quality of service that a reader demands, or a writer offers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EntityQos<'a> {
    pub(crate) is_reliable: bool,
    pub(crate) is_transient_local: bool,
    /// Depth of the history; `None` keeps all.
    pub(crate) depth: Option<usize>,
    /// True if ends of the same participant are not matched.
    pub(crate) ignores_own: bool,
    pub(crate) times: Times,
    /// The longest time for which a reliable writer waits for room.
    pub(crate) max_blocking_time: Duration,
    pub(crate) user_data: &'a [u8],
}

/// The part of a quality of service that has to do with time. `None` is no limit.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Times {
    pub(crate) deadline: Option<Duration>,
    /// Time after which a writer's messages expire.
    pub(crate) lifespan: Option<Duration>,
    /// True if a writer's program gives the signs of life.
    pub(crate) is_manual: bool,
    pub(crate) lease: Option<Duration>,
}

/// Error code of the library.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Code(i32);

impl Code {
    /// `DDS_RETCODE_TIMEOUT`.
    const TIMEOUT: i32 = -10;
    /// `DDS_RETCODE_BAD_PARAMETER`.
    const BAD_PARAMETER: Self = Self(-3);

    /// Returns true if there was no room in time.
    pub(crate) const fn is_timeout(self) -> bool {
        self.0 == Self::TIMEOUT
    }
}

impl std::fmt::Display for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // SAFETY: the function accepts any number.
        let text = unsafe { ffi::rospin_dds_error(self.0) };
        // SAFETY: the function returns a text that is part of the program.
        let text = unsafe { CStr::from_ptr(text) };
        f.write_str(&text.to_string_lossy())
    }
}

/// Converts the result of a call of the library, which is an error code if it is negative.
fn check(code: i32) -> Result<i32, Code> {
    if code < 0 { Err(Code(code)) } else { Ok(code) }
}

fn text(from: &str) -> Result<CString, Code> {
    CString::new(from).map_err(|_| Code::BAD_PARAMETER)
}
