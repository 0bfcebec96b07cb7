//! Hosts: network namespaces with addresses, each with the end of a TUN device. They need root and the program `ip`.

use std::fs::File;
use std::net::Ipv4Addr;
use std::process::Command;

use super::tun;
use crate::ip::ip;

/// The first three bytes of all addresses.
const NETWORK: [u8; 3] = [10, 213, 78];
/// The name of each host's interface.
const INTERFACE: &str = "wire";

/// Network namespaces, which are removed when this value is dropped.
pub(in super::super) struct Hosts {
    names: Vec<String>,
}

impl Hosts {
    /// Creates `count` hosts. Returns them with the other ends of their interfaces.
    ///
    /// # Errors
    /// If they cannot be created; in words, with the fix.
    pub(in super::super) fn new(count: usize) -> Result<(Self, Vec<File>), String> {
        let id = std::process::id();
        let mut hosts = Self { names: Vec::new() };
        let mut ends = Vec::new();
        for number in 0..count {
            let name = format!("rospin-{id}-{number}");
            ip(&["netns", "add", &name])?;
            hosts.names.push(name.clone());
            // It gets its own name where it cannot meet those of another run.
            let cable = format!("rs{id}x{number}");
            let end = tun::open(&cable).map_err(|error| {
                format!("/dev/net/tun: {error}; the network between the hosts needs root and the kernel's TUN devices")
            })?;
            ends.push(end);
            ip(&["link", "set", &cable, "netns", &name])?;
            ip(&["-n", &name, "link", "set", &cable, "name", INTERFACE])?;
            let address = Self::address(number);
            ip(&["-n", &name, "addr", "add", &format!("{address}/24"), "dev", INTERFACE])?;
            ip(&["-n", &name, "link", "set", "lo", "up"])?;
            ip(&["-n", &name, "link", "set", INTERFACE, "multicast", "on", "up"])?;
            ip(&["-n", &name, "route", "add", "224.0.0.0/4", "dev", INTERFACE])?;
        }
        Ok((hosts, ends))
    }

    /// Returns the address of a host.
    pub(in super::super) fn address(number: usize) -> Ipv4Addr {
        let [a, b, c] = NETWORK;
        Ipv4Addr::new(a, b, c, number as u8 + 1)
    }

    /// Returns the number of the host with that address; `None` if it is not in the network.
    pub(super) fn number(address: [u8; 4], count: usize) -> Option<usize> {
        let [network @ .., last] = address;
        let number = usize::from(last).checked_sub(1)?;
        (network == NETWORK && number < count).then_some(number)
    }

    /// Returns a command that runs `program` on a host. The caller adds the program's arguments.
    pub(in super::super) fn command(&self, number: usize) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.names[number]]);
        command
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        for name in &self.names {
            // One that cannot be removed is left to whoever looks for it.
            let _ = ip(&["netns", "del", name]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_name_their_hosts() {
        assert_eq!(Hosts::number(Hosts::address(2).octets(), 3), Some(2));
        assert_eq!(Hosts::number(Hosts::address(3).octets(), 3), None);
        assert_eq!(Hosts::number([10, 213, 78, 0], 3), None);
        assert_eq!(Hosts::number([239, 255, 0, 1], 3), None);
    }
}
