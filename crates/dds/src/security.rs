//! DDS security: the files of an enclave, found as rcl finds them.
//!
//! A keystore is a folder that `ros2 security create_keystore` made. Its folder `enclaves` has a folder for each
//! enclave, with the keys and documents of the processes that are in it.

use std::path::{Path, PathBuf};

use crate::options::EnvError;

/// Files of an enclave, with the library's properties that name them.
const FILES: [(&str, &str); 6] = [
    ("dds.sec.auth.identity_ca", "identity_ca.cert.pem"),
    ("dds.sec.auth.identity_certificate", "cert.pem"),
    ("dds.sec.auth.private_key", "key.pem"),
    ("dds.sec.access.permissions_ca", "permissions_ca.cert.pem"),
    ("dds.sec.access.governance", "governance.p7s"),
    ("dds.sec.access.permissions", "permissions.p7s"),
];

/// File of revoked certificates, which may be missing.
const REVOKED: (&str, &str) = ("org.eclipse.cyclonedds.sec.auth.crl", "crl.pem");

/// Properties that name the plugins, which are linked into the program.
const PLUGINS: [(&str, &str); 9] = [
    ("dds.sec.auth.library.path", "dds_security_auth"),
    ("dds.sec.auth.library.init", "init_authentication"),
    ("dds.sec.auth.library.finalize", "finalize_authentication"),
    ("dds.sec.crypto.library.path", "dds_security_crypto"),
    ("dds.sec.crypto.library.init", "init_crypto"),
    ("dds.sec.crypto.library.finalize", "finalize_crypto"),
    ("dds.sec.access.library.path", "dds_security_ac"),
    ("dds.sec.access.library.init", "init_access_control"),
    ("dds.sec.access.library.finalize", "finalize_access_control"),
];

/// Name and value of a participant's property.
pub(crate) type Property = (String, String);

/// Security that a participant should have.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) enum Security {
    #[default]
    Off,
    /// Security with the files in this folder, which must be there.
    #[cfg(feature = "security")]
    Enclave(PathBuf),
    /// Security with the files of the enclave in this keystore.
    Keystore {
        keystore: Option<PathBuf>,
        /// False if the participant joins without security where files are missing: `ROS_SECURITY_STRATEGY`.
        is_enforced: bool,
    },
}

/// Error of files of an enclave that cannot be used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Missing(pub(crate) String);

impl Security {
    /// Reads the environment variables of rcl.
    pub(crate) fn from_variables(variable: &impl Fn(&'static str) -> Option<String>) -> Result<Self, EnvError> {
        if variable("ROS_SECURITY_ENABLE").as_deref() != Some("true") {
            return Ok(Self::Off);
        }
        if cfg!(not(feature = "security")) {
            let expected = "`false`, or the program built with the feature `dds_security` of rospin";
            return Err(EnvError { variable: "ROS_SECURITY_ENABLE", value: "true".to_owned(), expected });
        }
        let is_enforced = variable("ROS_SECURITY_STRATEGY").as_deref() == Some("Enforce");
        let keystore = variable("ROS_SECURITY_KEYSTORE").map(PathBuf::from);
        Ok(Self::Keystore { keystore, is_enforced })
    }

    /// Returns the properties of a participant in that enclave: none without security, and none if files are missing
    /// and security is not enforced.
    pub(crate) fn properties(&self, enclave: &str) -> Result<Vec<Property>, Missing> {
        match self {
            Self::Off => Ok(Vec::new()),
            #[cfg(feature = "security")]
            Self::Enclave(directory) => of_directory(directory),
            Self::Keystore { keystore, is_enforced } => {
                let found = match keystore {
                    Some(keystore) => of_directory(&folder(keystore, enclave)),
                    None => Err(Missing("ROS_SECURITY_KEYSTORE is not set".to_owned())),
                };
                found.or_else(|Missing(reason)| {
                    if *is_enforced {
                        return Err(Missing(reason));
                    }
                    log::warn!(
                        target: "rospin",
                        "there is no DDS security: {reason}; with ROS_SECURITY_STRATEGY=Enforce nobody joins without"
                    );
                    Ok(Vec::new())
                })
            }
        }
    }
}

/// Returns the folder of an enclave, whose name is absolute, with slashes, as that of a node.
fn folder(keystore: &Path, enclave: &str) -> PathBuf {
    let mut folder = keystore.join("enclaves");
    folder.extend(enclave.split('/').filter(|part| !part.is_empty()));
    folder
}

/// Returns the properties for the files in a folder. The error names the first one that is missing.
fn of_directory(directory: &Path) -> Result<Vec<Property>, Missing> {
    let mut properties: Vec<_> =
        PLUGINS.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let file = |name: &str| -> Result<String, Missing> {
        let path = directory.join(name);
        let path = path.canonicalize().map_err(|error| Missing(format!("`{}`: {error}", path.display())))?;
        let path = path.to_str().ok_or_else(|| Missing(format!("`{}` is not Unicode", path.display())))?;
        Ok(format!("file:{path}"))
    };
    for (property, name) in FILES {
        properties.push((property.to_owned(), file(name)?));
    }
    let (property, name) = REVOKED;
    if let Ok(revoked) = file(name) {
        properties.push((property.to_owned(), revoked));
    }
    Ok(properties)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn enclaves_are_folders() {
        let keystore = Path::new("/keys");
        for (enclave, expected) in [("/", "/keys/enclaves"), ("/robot/arm", "/keys/enclaves/robot/arm")] {
            assert_eq!(folder(keystore, enclave), Path::new(expected));
        }
    }

    #[test]
    fn missing_files_are_named() {
        let Err(Missing(reason)) = of_directory(Path::new("/no/such/enclave")) else { panic!("it should be refused") };
        assert!(reason.contains("/no/such/enclave/identity_ca.cert.pem"), "{reason}");
        assert_eq!(Security::Off.properties("/"), Ok(Vec::new()));
    }

    #[test]
    fn only_who_enforces_is_refused() {
        for keystore in [None, Some(PathBuf::from("/no/such/keystore"))] {
            let security = |is_enforced| Security::Keystore { keystore: keystore.clone(), is_enforced };
            assert_eq!(security(false).properties("/"), Ok(Vec::new()));
            assert!(security(true).properties("/").is_err());
        }
    }
}
