//! The cost of a request from another process beside one of the server's own:
//! `cargo bench -p rospin-remote --bench overhead`.
//!
//! Prints a table and never fails, since a busy machine must not fail a test. Both clients are in this process, which
//! makes no difference to the socket between the second one and the server. They take turns in one run.

#![expect(clippy::print_stdout, reason = "it prints a table")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::executor::block_on;
use rospin_accelerator::model::{ModelOptions, ModelWork, RealTimeDevice, RealTimeOptions};
use rospin_accelerator::{Accelerator, AcceleratorOptions, ClientOptions, Request, Segment};
use rospin_engine::os::ThreadOptions;
use rospin_remote::{Access, Call, Kernels, RemoteClient, RemoteSegment, Server, ServerOptions};
use rospin_scenario::Deployment;

const ROUNDS: usize = 500;
const CLIENTS: &str = "[[client]]\nname = \"remote\"\naccelerator = \"gpu\"\n";

struct Sleeping;

impl Kernels for Sleeping {
    type Device = RealTimeDevice;

    fn names(&self) -> Vec<String> {
        vec!["sleep".to_owned()]
    }

    fn work(&self, call: Call) -> Result<ModelWork, String> {
        let bytes = call.arguments.try_into().map_err(|_| "it needs eight bytes of arguments".to_owned())?;
        Ok(ModelWork::kernel(Duration::from_micros(u64::from_le_bytes(bytes))))
    }
}

fn main() {
    let device = RealTimeDevice::start(RealTimeOptions::new(ModelOptions::new())).expect("a thread");
    let gpu = Accelerator::new(Arc::new(device), AcceleratorOptions::new());
    let path = std::env::temp_dir().join(format!("rospin-bench-{}.sock", std::process::id()));
    let access = Access::new(&Deployment::parse(CLIENTS).expect("valid"), "gpu").expect("a client");
    let _server = Server::start(&path, gpu.clone(), Sleeping, access, ServerOptions::new()).expect("a server");
    let remote = RemoteClient::connect(&path, "remote", 4096, ThreadOptions::new()).expect("a client");
    let own = gpu.create_client(ClientOptions::new("own")).expect("a client");
    println!("a request to an idle model device, median of {ROUNDS}, in microseconds");
    for length in [0_u64, 100, 1000] {
        let mut within = Vec::new();
        let mut across = Vec::new();
        for _ in 0..ROUNDS {
            within.push(timed(|| {
                let kernel = ModelWork::kernel(Duration::from_micros(length));
                block_on(own.request(Request::new([Segment::new(kernel)])).expect("room")).expect("an outcome");
            }));
            across.push(timed(|| {
                let segment = RemoteSegment::new("sleep").arguments(length.to_le_bytes());
                block_on(remote.request([segment]).expect("sent")).expect("an outcome");
            }));
        }
        let within = median(within);
        let across = median(across);
        println!(
            "  kernel of {length:4}   in the process {within:8.1}   from another {across:8.1}   {:+.1}",
            across - within
        );
    }
}

fn timed(of: impl FnOnce()) -> Duration {
    let start = Instant::now();
    of();
    start.elapsed()
}

fn median(mut all: Vec<Duration>) -> f64 {
    all.sort();
    all[all.len() / 2].as_secs_f64() * 1e6
}
