//! What DDS security is not used with.

use std::fs;
use std::path::Path;

/// Looks for rules of a domain under which messages would be lost: RustDDS pads encrypted payloads, and takes the padding for a
/// part of them. What cannot be read is left to the middleware to complain of.
pub(crate) fn check(directory: &Path) -> Result<(), String> {
    let path = directory.join("governance.p7s");
    let Ok(document) = fs::read(&path) else { return Ok(()) };
    match payload_protection(&String::from_utf8_lossy(&document)) {
        None => Ok(()),
        Some(kind) => Err(format!(
            "`{}` has the data_protection_kind `{kind}`, with which RustDDS loses messages; sign one with `NONE`, and the \
             metadata_protection_kind `ENCRYPT`, which encrypts payloads, too",
            path.display()
        )),
    }
}

/// The first protection of payloads by themselves.
fn payload_protection(governance: &str) -> Option<&str> {
    let mut kinds = governance.split("<data_protection_kind>").skip(1).filter_map(|rest| rest.split('<').next());
    kinds.find(|kind| kind.trim() != "NONE").map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_protection_of_payloads_is_found() {
        let rule = |kind: &str| format!("<topic_rule><data_protection_kind>{kind}</data_protection_kind></topic_rule>");
        assert_eq!(payload_protection(&rule(" NONE ")), None);
        assert_eq!(payload_protection(&(rule("NONE") + &rule("\n ENCRYPT\r\n"))), Some("ENCRYPT"));
        for harmless in
            ["", "<data_protection_kind>NONE", "<metadata_protection_kind>ENCRYPT</metadata_protection_kind>"]
        {
            assert_eq!(payload_protection(harmless), None);
        }
    }
}
