//! What the fuzz targets want of the private parts; there is this module under `--cfg fuzzing` only.

use crate::attachment::Attachment;
use crate::graph::{Says, Token};
use crate::options::SessionOptions;

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
