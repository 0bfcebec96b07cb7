//! Hosts on one machine, and the network between them: each host is a network namespace with a TUN device, whose other
//! end this process has. The `forwarder` reads the packets of all hosts, and passes them on as the `links` say.

mod forwarder;
mod hosts;
mod links;
mod tun;

pub(super) use forwarder::{Forwarder, PacketCounts};
pub(super) use hosts::Hosts;
pub(super) use links::Links;
