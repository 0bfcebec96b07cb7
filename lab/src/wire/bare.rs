//! Middlewares without an executor, with a listener that wakes a thread: the limit of what an executor can reach.

#[cfg(feature = "dds")]
use std::sync::Arc;

use crate::middleware::Process;

use super::end::{End, Hear};

/// Number of bytes of a `UInt8MultiArray` before its data: the encapsulation, an empty layout, and a length.
#[cfg(feature = "dds")]
const HEAD: usize = 16;

/// Opens an end that uses Cyclone DDS without rospin's nodes: it writes to the first topic and reads the second one.
///
/// # Panics
/// If Cyclone DDS cannot create a participant, a writer or a reader.
#[cfg(feature = "dds")]
pub(super) fn open_dds(process: &Process, [written, read]: [&str; 2], keeps_all: bool, hear: Hear) -> End {
    use std::sync::Mutex;

    let (written, read) = (format!("rt/{written}"), format!("rt/{read}"));
    let hear = move |bytes: &[u8]| hear(bytes.get(HEAD..).unwrap_or_default());
    let depth = (!keeps_all).then_some(super::end::DEPTH);
    let bare = rospin_dds::bare::Bare::start(&process.dds_options(), depth, [&written, &read], hear);
    let bare = Arc::new(bare);
    let (writer, buffer) = (Arc::clone(&bare), Mutex::new(Vec::new()));
    let send = move |data: &[u8]| {
        let mut buffer = buffer.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        buffer.extend_from_slice(&[0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        buffer.extend_from_slice(&u32::try_from(data.len()).unwrap_or(u32::MAX).to_le_bytes());
        buffer.extend_from_slice(data);
        writer.write(&mut buffer)
    };
    End::new(Arc::new(send), bare)
}

/// Opens an end that uses Zenoh without rospin's nodes: it writes to the first topic and reads the second one.
///
/// # Errors
/// If the session cannot be opened; in words.
#[cfg(feature = "zenoh")]
pub(super) fn open_zenoh(process: &Process, [written, read]: [&str; 2], hear: Hear) -> Result<End, String> {
    use std::sync::mpsc::channel;

    use zenoh::Wait;
    use zenoh::qos::CongestionControl;

    fn said(error: impl std::fmt::Display) -> String {
        error.to_string()
    }
    let session = rospin_zenoh::Session::open(process.zenoh_options()).map_err(said)?;
    let (inbox, outbox) = channel::<zenoh::bytes::ZBytes>();
    let listen = move |sample: zenoh::sample::Sample| {
        // This fails once the end is dropped.
        let _ = inbox.send(sample.payload().clone());
    };
    let subscriber = session.zenoh().declare_subscriber(read.to_owned()).callback(listen).wait().map_err(said)?;
    let take = move || {
        for payload in outbox {
            hear(&payload.to_bytes());
        }
    };
    // The thread ends with the subscriber.
    std::thread::Builder::new().name("bare".to_owned()).spawn(take).map_err(said)?;
    let publisher = session.zenoh().declare_publisher(written.to_owned());
    let publisher = publisher.congestion_control(CongestionControl::Block).wait().map_err(said)?;
    let send = move |data: &[u8]| publisher.put(data.to_vec()).wait().map_err(said);
    Ok(End::new(std::sync::Arc::new(send), (subscriber, session)))
}
