//! A client in a process of its own, which dies in the middle of its requests.

use std::io::Write;
use std::process::{Command, Stdio};

use rospin_engine::os::ThreadOptions;
use rospin_remote::{RemoteClient, RemoteSegment};

use crate::virtual_time;

/// The environment variable that has the path of the socket for the child.
const SOCKET: &str = "ROSPIN_TEST_SOCKET";

#[test]
fn requests_of_a_process_that_is_killed_end_with_it() {
    let setup = virtual_time();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "crash::in_the_child", "--nocapture"])
        .env(SOCKET, &setup.path)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    setup.await_accepted(3);
    assert_eq!((setup.sessions(), setup.gpu.requests_in_memory()), (1, 3));
    child.kill().unwrap();
    child.wait().unwrap();
    setup.wait(|| setup.sessions() == 0);
    // The segment that runs keeps the memory of the process that is gone, and ends.
    setup.device.run();
    setup.wait(|| setup.gpu.requests_in_memory() == 0);
    assert_eq!(setup.gpu.statistics().segments, 1);
    // The name is free again.
    setup.connect("map").unwrap();
}

/// Sends requests, and waits until it is killed. Does nothing unless it is the child of the test above.
#[test]
fn in_the_child() {
    let Some(socket) = std::env::var_os(SOCKET) else { return };
    let map = RemoteClient::connect(socket.as_ref(), "map", 1 << 20, ThreadOptions::new()).unwrap();
    let segment = || RemoteSegment::new("invert").arguments(1_000_u32.to_le_bytes()).input(0, 9).output(9, 9);
    let _requests: Vec<_> = (0..3).map(|_| map.request([segment(), segment()]).unwrap()).collect();
    let mut line = String::new();
    let _ = std::io::stdin().read_line(&mut line);
    let _ = std::io::stdout().flush();
}
