//! The programs of a domain on this machine, as the kernel knows them.
//!
//! Each program of a DDS domain listens on a port that follows from the domain's number, so that others find it. The
//! kernel tells which of these ports are in use. So a command that looks for nodes on this machine only knows how many
//! programs have to answer, and is done once all have.

use std::collections::BTreeSet;
use std::fs;

use rospin::Middlewares;

/// First port of the domain 0, by which programs tell of themselves to all others at once.
const BASE: u32 = 7400;

/// Distance of the ports of two domains.
const DOMAIN_GAIN: u32 = 250;

/// Distance from a domain's first port to the one of its first program. The next program has the second port after it.
const FIRST: u32 = 10;

/// The most programs of a domain that have ports of this kind.
const PROGRAMS_MAX: u32 = 120;

/// Files in which the kernel tells what ports are in use.
const SOCKETS: [&str; 2] = ["/proc/net/udp", "/proc/net/udp6"];

/// The ports of a domain whose programs find each other on this machine only.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct LocalDomain {
    first: u32,
}

impl LocalDomain {
    /// Returns the domain that the environment selects. Returns `None` if it reaches other machines, if the middleware is
    /// not DDS, or if a configuration of DDS or a list of peers is set, which may change either.
    pub(super) fn from_env(middleware: Middlewares) -> Option<Self> {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        Self::from_variables(middleware, variable)
    }

    fn from_variables(middleware: Middlewares, variable: impl Fn(&str) -> Option<String>) -> Option<Self> {
        let is_local = match variable("ROS_AUTOMATIC_DISCOVERY_RANGE") {
            Some(range) => range == "LOCALHOST",
            None => variable("ROS_LOCALHOST_ONLY").is_some_and(|only| only == "1"),
        };
        let may_differ = variable("CYCLONEDDS_URI").is_some() || variable("ROS_STATIC_PEERS").is_some();
        if middleware != Middlewares::Dds || !is_local || may_differ {
            return None;
        }
        let domain: u32 = variable("ROS_DOMAIN_ID").map_or(Ok(0), |id| id.trim().parse()).ok()?;
        Some(Self { first: domain.checked_mul(DOMAIN_GAIN)?.checked_add(BASE + FIRST)? })
    }

    /// Returns the number of programs in the domain, this one among them; `None` if the kernel does not tell.
    pub(super) fn programs(self) -> Option<usize> {
        let mut ports = BTreeSet::new();
        for file in SOCKETS {
            // A kernel without IPv6 has no second file.
            if let Ok(table) = fs::read_to_string(file) {
                ports.extend(self.ports(&table));
            }
        }
        (!ports.is_empty()).then_some(ports.len())
    }

    /// Returns the ports of programs in a table of the kernel, whose second column is an address and a port.
    fn ports(self, table: &str) -> impl Iterator<Item = u32> {
        table.lines().skip(1).filter_map(move |line| {
            let address = line.split_whitespace().nth(1)?;
            let port = u32::from_str_radix(address.rsplit(':').next()?, 16).ok()?;
            let distance = port.checked_sub(self.first)?;
            (distance % 2 == 0 && distance / 2 < PROGRAMS_MAX).then_some(port)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_counted_by_their_ports() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
                     10: 0100007F:1CF2 00000000:0000 07 00000000:00000000 00:00000000 00000000  0  0 1 2 0 0\n\
                     11: 00000000:1CF3 00000000:0000 07 00000000:00000000 00:00000000 00000000  0  0 1 2 0 0\n\
                     12: 00000000:1CF4 00000000:0000 07 00000000:00000000 00:00000000 00000000  0  0 1 2 0 0\n\
                     13: 00000000:1CE8 00000000:0000 07 00000000:00000000 00:00000000 00000000  0  0 1 2 0 0\n\
                     14: 00000000:1DEC 00000000:0000 07 00000000:00000000 00:00000000 00000000  0  0 1 2 0 0\n";
        let of_zero = LocalDomain { first: 7410 };
        assert_eq!(of_zero.ports(table).collect::<Vec<_>>(), [7410, 7412]);
        let of_one = LocalDomain { first: 7660 };
        assert_eq!(of_one.ports(table).collect::<Vec<_>>(), [7660]);
    }

    #[test]
    fn only_a_domain_of_this_machine_is_counted() {
        let with = |variables: &'static [(&str, &str)]| {
            LocalDomain::from_variables(Middlewares::Dds, |name| {
                let found = variables.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| (*value).to_owned())
            })
        };
        let localhost = ("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST");
        assert_eq!(with(&[]), None);
        assert_eq!(with(&[("ROS_AUTOMATIC_DISCOVERY_RANGE", "SUBNET"), ("ROS_LOCALHOST_ONLY", "1")]), None);
        assert_eq!(with(&[("ROS_LOCALHOST_ONLY", "1")]), Some(LocalDomain { first: 7410 }));
        const SEVEN: &[(&str, &str)] = &[("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST"), ("ROS_DOMAIN_ID", "7")];
        assert_eq!(with(SEVEN), Some(LocalDomain { first: 9160 }));
        assert_eq!(
            LocalDomain::from_variables(Middlewares::Zenoh, |name| (name == localhost.0)
                .then(|| localhost.1.to_owned())),
            None
        );
        const CONFIGURED: &[(&str, &str)] = &[("ROS_LOCALHOST_ONLY", "1"), ("CYCLONEDDS_URI", "a.xml")];
        assert_eq!(with(CONFIGURED), None);
    }
}
