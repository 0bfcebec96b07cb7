//! The two forms in which DDS implementations of ROS 2 tell which response belongs to which request.
//!
//! Cyclone DDS reads an identity beside the message, and has no function to write one. A patch in `c/cyclone/` adds
//! that; another has first messages of Fast DDS arrive.

use crate::cyclone::{Guid, Identity};
use crate::vendor::Vendor;

/// Form of a service's requests and responses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Form {
    /// A header before the content, as in `rmw_cyclonedds_cpp`.
    Header,
    /// An identity beside the content, as in `rmw_fastrtps_cpp`: inline QoS, `PID_RELATED_SAMPLE_IDENTITY`.
    Identity,
    /// Either: a server of rospin's.
    Both,
}

/// Returns the form of requests and responses of the implementation that made a reader or writer with this id.
pub(crate) fn of_vendor(id: &Guid) -> Form {
    if Vendor::of(id) == Vendor::CYCLONE { Form::Header } else { Form::Identity }
}

/// Returns the identity of the response to a request with this identity beside it. `writer` is the writer of the
/// request, and `number` its number among that writer's messages. A request that names no reader is answered to its
/// writer.
pub(crate) fn of_response(beside: Option<Identity>, writer: Guid, number: i64) -> Identity {
    let named = beside.map(|identity| identity.guid).filter(|guid| *guid != Guid::default());
    Identity { guid: named.unwrap_or(writer), number }
}

/// Returns true if the id is a reader's. The DDS interoperability protocol (DDSI-RTPS 2.5, section 9.3.1.2) says so in
/// the last byte.
pub(crate) fn is_reader(id: &Guid) -> bool {
    id[15] & 0x3f == 0x04 || id[15] & 0x3f == 0x07
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_response_goes_to_the_reader_that_the_request_names_or_else_to_its_writer() {
        let reader = [1; 16];
        let writer = [2; 16];
        let beside = |guid| Some(Identity { guid, number: 0 });
        assert_eq!(of_response(beside(reader), writer, 7), Identity { guid: reader, number: 7 });
        assert_eq!(of_response(beside([0; 16]), writer, 7), Identity { guid: writer, number: 7 });
        assert_eq!(of_response(None, writer, 7), Identity { guid: writer, number: 7 });
    }

    #[test]
    fn readers_are_known_by_the_kind_in_their_ids() {
        let of_kind = |kind: u8| std::array::from_fn(|at| if at == 15 { kind } else { 1 });
        assert!([0x04, 0x07, 0xc4, 0xc7].iter().all(|kind| is_reader(&of_kind(*kind))));
        assert!(![0x02, 0x03, 0xc1, 0xc2, 0xc3].iter().any(|kind| is_reader(&of_kind(*kind))));
    }
}
