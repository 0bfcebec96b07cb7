//! What the fuzz targets want of the private parts; there is this module under `--cfg fuzzing` only.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::attachment::Attachment;
use crate::cdr;
use crate::graph::{Says, Token};
use crate::options::SessionOptions;

/// A payload as a message.
///
/// # Errors
/// If it is none.
pub fn decode<T: DeserializeOwned>(payload: &[u8]) -> Result<T, String> {
    cdr::decode(&payload.into()).map_err(|error| error.to_string())
}

/// A message as a payload.
///
/// # Panics
/// If it cannot be written.
pub fn encode<T: Serialize>(message: &T) -> Vec<u8> {
    cdr::encode(message).expect("what was read can be written")
}

/// An attachment that was read and written again.
#[must_use]
pub fn attachment(bytes: &[u8]) -> Option<Vec<u8>> {
    Attachment::decode(&bytes.into()).map(|attachment| attachment.encode())
}

/// What a token speaks of: the name of a node, topic or service.
#[must_use]
pub fn token(key: &str) -> Option<String> {
    Some(match Token::parse(key)?.says {
        Says::Node(name) => name,
        Says::Endpoint(endpoint) => endpoint.node.unwrap_or_default() + &endpoint.name,
    })
}

/// A session with those variables in its environment.
///
/// # Errors
/// If they do not say what they should.
pub fn environment(domain_id: &str, overrides: &str) -> Result<(), String> {
    let variable = |name| match name {
        "ROS_DOMAIN_ID" => Some(domain_id.to_owned()),
        "ZENOH_CONFIG_OVERRIDE" => Some(overrides.to_owned()),
        _ => None,
    };
    let config = SessionOptions::from_variables(variable).and_then(|options| options.config());
    config.map(drop).map_err(|error| error.to_string())
}
