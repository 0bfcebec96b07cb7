//! A process that owns a device, and lets the clients of a deployment file use it:
//! `ROSPIN_DEPLOYMENT=crates/remote/examples/clients.toml cargo run -p rospin-remote --example server -- /tmp/gpu.sock`.
//!
//! The device is a model, so that no GPU is needed. Its kernel `brighten` adds its first argument to each byte.

#![expect(clippy::print_stdout, reason = "it is an example")]

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use rospin_accelerator::model::{ModelOptions, ModelWork, RealTimeDevice, RealTimeOptions};
use rospin_accelerator::{Accelerator, AcceleratorOptions};
use rospin_remote::{Access, Call, Kernels, Server, ServerOptions};

struct Images;

impl Kernels for Images {
    type Device = RealTimeDevice;

    fn names(&self) -> Vec<String> {
        vec!["brighten".to_owned()]
    }

    fn work(&self, call: Call) -> Result<ModelWork, String> {
        let [by] = call.arguments[..] else { return Err("it needs one byte of arguments".to_owned()) };
        if call.input.len() != call.output.len() {
            return Err("input and output have the same length".to_owned());
        }
        let input = call.input;
        let output = call.output;
        Ok(ModelWork::kernel(Duration::from_micros(800)).then(move || {
            let image: Vec<u8> = input.to_vec().into_iter().map(|pixel| pixel.saturating_add(by)).collect();
            output.write(0, &image);
        }))
    }
}

fn main() -> anyhow::Result<()> {
    let path = std::env::args().nth(1).context("usage: server SOCKET")?;
    let device = RealTimeDevice::start(RealTimeOptions::new(ModelOptions::new()))?;
    let gpu = Accelerator::new(Arc::new(device), AcceleratorOptions::new());
    let _server = Server::start(Path::new(&path), gpu, Images, Access::from_env("gpu")?, ServerOptions::new())?;
    println!("{path} is open; Ctrl-C ends the server");
    loop {
        std::thread::park();
    }
}
