//! `USER_DATA`, which participants, readers and writers announce about themselves as in `rmw_cyclonedds_cpp`: settings,
//! each ended by a semicolon.

use std::fmt::Write;

use crate::cyclone::Guid;

/// A reader and a writer of a service that belong together.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Pair {
    /// The pair of a client, with its name.
    Client(String),
    /// The pair of a server, with its name.
    Server(String),
}

/// Setting of a server that reads requests of both forms.
const BOTH_FORMS: &str = "rospin_forms";

impl Pair {
    /// Returns a name for a pair: the participant's id, and a number of its own in place of the last four bytes.
    pub(crate) fn name(participant: &Guid, number: u32) -> String {
        let mut bytes = *participant;
        bytes[12..].copy_from_slice(&number.to_be_bytes());
        let mut name = String::new();
        for (at, byte) in bytes.iter().enumerate() {
            // Writing to a string cannot fail.
            let _ = write!(name, "{}{byte:x}", if at == 0 { "" } else { "." });
        }
        name
    }
}

/// Returns the user data of a reader or writer.
pub(crate) fn of_endpoint(pair: Option<&Pair>, type_hash: Option<&str>) -> String {
    let mut said = match pair {
        Some(Pair::Client(name)) => format!("clientid={name};"),
        Some(Pair::Server(name)) => format!("serviceid={name};{BOTH_FORMS}=1;"),
        None => String::new(),
    };
    if let Some(hash) = type_hash {
        said.push_str("typehash=");
        said.push_str(hash);
        said.push(';');
    }
    said
}

/// Returns the user data of a participant: the enclave that it is in.
pub(crate) fn of_participant(enclave: &str) -> String {
    format!("enclave={enclave};")
}

/// Returns the value of a setting; `None` if it is missing or the data is not Unicode.
fn setting<'a>(user_data: &'a [u8], name: &str) -> Option<&'a str> {
    let settings = std::str::from_utf8(user_data).ok()?;
    settings.split(';').find_map(|setting| setting.strip_prefix(name)?.strip_prefix('='))
}

/// Returns the hash of the type, which is there from ROS 2 Iron on; `None` if it is missing.
pub(crate) fn type_hash(user_data: &[u8]) -> Option<&str> {
    setting(user_data, "typehash")
}

/// Returns true if the data is that of a server which reads requests of both forms.
pub(crate) fn reads_both_forms(user_data: &[u8]) -> bool {
    setting(user_data, BOTH_FORMS).is_some()
}

/// Returns the pair that a reader or writer is part of, which `rmw_cyclonedds_cpp` announces from ROS 2 Foxy on; `None`
/// if the data names none.
pub(crate) fn pair(user_data: &[u8]) -> Option<Pair> {
    let client = setting(user_data, "clientid").map(|name| Pair::Client(name.to_owned()));
    client.or_else(|| setting(user_data, "serviceid").map(|name| Pair::Server(name.to_owned())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_found_among_others() {
        assert_eq!(type_hash(b"typehash=RIHS01_df66;"), Some("RIHS01_df66"));
        assert_eq!(type_hash(b"serviceid= 1.0;typehash=RIHS01_df66;other=1;"), Some("RIHS01_df66"));
        for none in [&b""[..], b"typehash", b"notypehash=1;", b"\xfftypehash=1;"] {
            assert_eq!(type_hash(none), None);
        }
    }

    #[test]
    fn user_data_is_read_as_it_was_written() {
        let name = Pair::name(&[1, 16, 0xab, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0, 0, 1, 0xc1], 0x102);
        assert_eq!(name, "1.10.ab.0.0.0.0.0.0.0.0.ff.0.0.1.2");
        for said in [Pair::Client(name.clone()), Pair::Server(name)] {
            let text = of_endpoint(Some(&said), Some("RIHS01_df66"));
            assert_eq!((pair(text.as_bytes()), type_hash(text.as_bytes())), (Some(said), Some("RIHS01_df66")));
        }
        assert!(reads_both_forms(of_endpoint(Some(&Pair::Server("1.2".to_owned())), None).as_bytes()));
        assert!(!reads_both_forms(b"serviceid=1.2;typehash=RIHS01_df66;"));
        assert_eq!((pair(b"typehash=1;"), of_endpoint(None, None)), (None, String::new()));
        assert_eq!(of_participant("/"), "enclave=/;");
    }
}
