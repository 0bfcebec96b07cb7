//! Two hosts on one machine: network namespaces with a virtual cable between them. They need root and the program `ip`.

use std::process::Command;

use crate::ip::ip;

/// The addresses of the two hosts.
const ADDRESSES: [&str; 2] = ["10.213.77.1", "10.213.77.2"];

/// Two hosts, which are removed when this value is dropped.
pub(super) struct Hosts {
    /// Names of the network namespaces.
    names: [String; 2],
}

impl Hosts {
    /// Creates the hosts and the cable between them.
    ///
    /// # Errors
    /// If they cannot be created; in words, with the fix.
    pub(super) fn make() -> Result<Self, String> {
        let id = std::process::id();
        let hosts = Self { names: [format!("rospin-{id}-a"), format!("rospin-{id}-b")] };
        // The kernel allows 15 bytes for a name.
        let cables = [format!("rs{id}a"), format!("rs{id}b")];
        for name in &hosts.names {
            ip(&["netns", "add", name])?;
        }
        let [a, b] = &cables;
        ip(&["link", "add", a, "type", "veth", "peer", "name", b])?;
        for ((name, cable), address) in hosts.names.iter().zip(&cables).zip(ADDRESSES) {
            ip(&["link", "set", cable, "netns", name])?;
            ip(&["-n", name, "addr", "add", &format!("{address}/24"), "dev", cable])?;
            ip(&["-n", name, "link", "set", cable, "up"])?;
            ip(&["-n", name, "link", "set", "lo", "up"])?;
            ip(&["-n", name, "route", "add", "224.0.0.0/4", "dev", cable])?;
        }
        Ok(hosts)
    }

    /// Returns the addresses of the two hosts.
    pub(super) fn addresses() -> [String; 2] {
        ADDRESSES.map(str::to_owned)
    }

    /// Returns a command that runs `program` on the host of that number, 0 or 1. The caller adds the program's
    /// arguments.
    pub(super) fn command(&self, number: usize, program: &std::path::Path) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.names[number]]).arg(program);
        command
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        for name in &self.names {
            // The kernel removes the cable with the host in which an end of it is. Hosts that could not be created
            // cannot be removed.
            let _ = ip(&["netns", "del", name]);
        }
    }
}
