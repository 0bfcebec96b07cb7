//! Errors of opening a session.

use std::path::PathBuf;

/// Reasons for which a session could not be opened.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// An environment variable is invalid.
    #[error("the environment variable {variable} is `{value}`; {fix}")]
    Environment {
        /// Name of the variable.
        variable: &'static str,
        /// Value of the variable.
        value: String,
        /// The way to fix it.
        fix: &'static str,
    },
    /// The configuration file could not be read, or is invalid.
    #[error("`{}` is no configuration of Zenoh: {reason}", path.display())]
    File {
        /// Path of the file.
        path: PathBuf,
        /// The reason, in Zenoh's words.
        reason: String,
    },
    /// A setting has a name that Zenoh does not know, or an invalid value.
    #[error("Zenoh's configuration has no `{key}` that could be `{value}`: {reason}")]
    Setting {
        /// Name of the setting, with slashes between its parts.
        key: String,
        /// Value of the setting, as JSON5.
        value: String,
        /// The reason, in Zenoh's words.
        reason: String,
    },
    /// An endpoint uses TLS over TCP. Zenoh 1.10 reads and writes such a connection on two threads without a lock:
    /// under load the connection breaks, messages are lost, and the process may crash. QUIC encrypts with TLS, too, and
    /// takes the same keys.
    #[error(
        "`{endpoint}` is not safe with Zenoh 1.10; `quic/` with `?multistream=0` encrypts, too, with the same keys"
    )]
    Tls {
        /// Endpoint that uses TLS over TCP.
        endpoint: String,
    },
    /// Zenoh could not open the session.
    #[error("could not open the session: {reason}")]
    Zenoh {
        /// The reason, in Zenoh's words.
        reason: String,
    },
}
