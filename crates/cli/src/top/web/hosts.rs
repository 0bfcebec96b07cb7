//! The names by which a browser may ask for the page.
//!
//! A page of somebody else's, whose name was made to resolve to this machine meanwhile (DNS rebinding), has its own
//! name in the header `Host`. So names that nobody gave this server are refused. An address cannot be rebound.

use std::net::IpAddr;

use hyper::http::uri::Authority;

/// The names and addresses of a server.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Hosts {
    /// The address at which it listens.
    address: IpAddr,
    /// Names beside `localhost`, in lower case.
    names: Vec<String>,
}

impl Hosts {
    /// Returns the hosts of a server that listens at `address`, which the user gave as `given`. A server that others
    /// reach also has the name of the machine.
    pub(super) fn new(address: IpAddr, given: &str, machine: &str) -> Self {
        let mut names = Vec::new();
        if !address.is_loopback() {
            names.push(given.to_lowercase());
            if !machine.is_empty() {
                let machine = machine.to_lowercase();
                names.extend([format!("{machine}.local"), machine]);
            }
        }
        Self { address, names }
    }

    /// Returns true if the value of a header `Host`, or the host of an address, is one of these, with any port: it may
    /// be forwarded.
    pub(super) fn allow(&self, authority: &str) -> bool {
        let Ok(authority) = authority.parse::<Authority>() else { return false };
        if authority.as_str().contains('@') {
            return false;
        }
        let host = authority.host();
        let host = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host).to_lowercase();
        match host.parse::<IpAddr>() {
            Ok(address) => address.is_loopback() || self.address.is_unspecified() || address == self.address,
            Err(_) => host == "localhost" || self.names.contains(&host),
        }
    }

    /// Returns true if a page from this origin, such as `http://localhost:8770`, may ask.
    pub(super) fn allow_origin(&self, origin: &str) -> bool {
        origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://")).is_some_and(|host| self.allow(host))
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};

    use super::*;

    #[test]
    fn a_server_for_this_machine_has_no_other_names() {
        let hosts = Hosts::new(IpAddr::V4(Ipv4Addr::LOCALHOST), "127.0.0.1", "robot");
        for host in ["localhost", "LocalHost:8770", "127.0.0.1:1", "127.3.2.1", "[::1]:8770", "[::1]"] {
            assert!(hosts.allow(host), "{host}");
        }
        for host in [
            "",
            "robot",
            "robot.local",
            "example.org:8770",
            "localhost.example.org",
            "192.168.1.5",
            "0.0.0.0",
            "a@localhost",
            "localhost/",
            "[::1",
            "127.0.0.1.example.org",
        ] {
            assert!(!hosts.allow(host), "{host}");
        }
        assert!(hosts.allow_origin("http://localhost:8770") && hosts.allow_origin("https://127.0.0.1"));
        assert!(!hosts.allow_origin("http://example.org") && !hosts.allow_origin("null"));
    }

    #[test]
    fn a_server_for_others_has_the_address_and_the_name_of_the_machine() {
        let all = Hosts::new(IpAddr::V6(Ipv6Addr::UNSPECIFIED), "::", "Robot");
        for host in ["192.168.1.5:8770", "[fe80::1]", "robot:8770", "robot.local", "localhost"] {
            assert!(all.allow(host), "{host}");
        }
        assert!(!all.allow("example.org") && !all.allow("robot.example.org"));
        let one = Hosts::new(IpAddr::V4(Ipv4Addr::new(192, 168, 1, 5)), "arm.lan", "robot");
        assert!(one.allow("192.168.1.5") && one.allow("arm.lan:80") && one.allow("localhost"));
        assert!(!one.allow("192.168.1.6") && !one.allow("other.lan"));
    }
}
