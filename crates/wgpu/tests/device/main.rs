//! The back end on a real device interface: whatever driver the machine has, if only Mesa's software driver.
//!
//! Without any driver the tests say that they are skipped. Nothing here depends on how fast a device is.

mod kernels;
mod order;
mod results;
mod trouble;

use std::sync::{Arc, OnceLock};

use rospin_wgpu::{WgpuDevice, WgpuOptions};

/// Returns a device of its own for a test; `None` if the machine has no driver.
#[expect(clippy::print_stderr, reason = "a skipped test must be seen")]
fn device(options: WgpuOptions) -> Option<Arc<WgpuDevice>> {
    static SAID: OnceLock<()> = OnceLock::new();
    match WgpuDevice::open(options) {
        Ok(device) => Some(Arc::new(device)),
        Err(reason) => {
            SAID.get_or_init(|| eprintln!("SKIPPED: {reason}"));
            None
        }
    }
}
