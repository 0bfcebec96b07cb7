//! Private functions for the fuzz targets. This module exists under `--cfg fuzzing` only.

use crate::attachment::Attachment;
use crate::graph::{Says, Token};
use crate::options::SessionOptions;

/// Decodes an attachment and encodes it again; `None` if the bytes are no attachment.
#[must_use]
pub fn attachment(bytes: &[u8]) -> Option<Vec<u8>> {
    Attachment::decode(&bytes.into()).map(|attachment| attachment.encode().to_vec())
}

/// Returns the name of the node, topic or service that a liveliness token describes; `None` if the key is no token.
#[must_use]
pub fn token(key: &str) -> Option<String> {
    Some(match Token::parse(key)?.says {
        Says::Node(name) => name,
        Says::Endpoint(endpoint) => endpoint.node.unwrap_or_default() + &endpoint.name,
    })
}

/// Creates session options, with these values of `ROS_DOMAIN_ID` and `ZENOH_CONFIG_OVERRIDE`.
///
/// # Errors
/// If a value is invalid.
pub fn environment(domain_id: &str, overrides: &str) -> Result<(), String> {
    let variable = |name| match name {
        "ROS_DOMAIN_ID" => Some(domain_id.to_owned()),
        "ZENOH_CONFIG_OVERRIDE" => Some(overrides.to_owned()),
        _ => None,
    };
    let config = SessionOptions::from_variables(variable).and_then(|options| options.config());
    config.map(drop).map_err(|error| error.to_string())
}
