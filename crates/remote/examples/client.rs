//! A process that uses the device of the example `server`:
//! `cargo run -p rospin-remote --example client -- /tmp/gpu.sock`.

#![expect(clippy::print_stdout, reason = "it is an example")]

use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use futures::executor::block_on;
use rospin_engine::os::ThreadOptions;
use rospin_remote::{RemoteClient, RemoteSegment};

/// Bytes of an image.
const IMAGE: usize = 640 * 480;

fn main() -> anyhow::Result<()> {
    let path = std::env::args().nth(1).context("usage: client SOCKET")?;
    let brake = RemoteClient::connect(Path::new(&path), "brake", 2 * IMAGE, ThreadOptions::new())?;
    // The image is written once, into the memory from which the server's device reads it.
    brake.memory().write(0, &[7; IMAGE]);
    let brighten = RemoteSegment::new("brighten")
        .bound(Duration::from_millis(1))
        .arguments([100])
        .input(0, IMAGE)
        .output(IMAGE, IMAGE);
    let outcome = block_on(brake.request([brighten])?)?;
    let mut pixel = [0];
    brake.memory().read(IMAGE, &mut pixel);
    println!("pixel {}; {:?} from the request to its end", pixel[0], outcome.response);
    Ok(())
}
