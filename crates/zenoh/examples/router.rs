//! A router for the nodes of this machine, as `rmw_zenohd` is one: at port 7447, on all networks.
//!
//! `router tcp/192.168.0.2:7447` joins it with that of another machine; further arguments name further ones. Not for
//! nodes that run for long without being looked after: `zenohd` and `rmw_zenohd` are made for that.

#![expect(clippy::print_stdout, reason = "it says that it is there")]

use rospin_zenoh::{Session, SessionOptions};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let others: Vec<_> = std::env::args().skip(1).collect();
    let options = SessionOptions::new().setting("mode", "\"router\"").listen(["tcp/0.0.0.0:7447"]);
    let _router = Session::open(options.connect(others.iter().map(String::as_str)))?;
    println!("routing at port 7447; end it with Ctrl-C");
    loop {
        std::thread::park();
    }
}
