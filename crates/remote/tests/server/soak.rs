//! Many requests and many sessions leave nothing behind.

use futures::executor::block_on;
use futures::stream::{FuturesUnordered, StreamExt};
use rospin_remote::RemoteSegment;

use crate::real_time;

/// A million in optimised builds: `cargo test --release -p rospin-remote --test server soak`.
const REQUESTS: usize = if cfg!(debug_assertions) { 20_000 } else { 1_000_000 };
const SESSIONS: usize = if cfg!(debug_assertions) { 100 } else { 2_000 };

/// Returns the number of open files, and that of memory mappings that are shared with clients.
fn held() -> (usize, usize) {
    let files = std::fs::read_dir("/proc/self/fd").unwrap().count();
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    (files, maps.lines().filter(|line| line.contains("rospin accelerator")).count())
}

/// Returns the resident memory in KiB.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[test]
fn requests_leave_nothing_behind() {
    let setup = real_time();
    let map = setup.connect("map").unwrap();
    let send = || map.request([RemoteSegment::new("invert").input(0, 8).output(8, 8)]).unwrap();
    let run = |count: usize| {
        block_on(async {
            let mut open: FuturesUnordered<_> = (0..3).map(|_| send()).collect();
            for sent in 3..count {
                open.next().await.unwrap().unwrap();
                // One in ten is dropped, wherever it is.
                if sent % 10 == 0 {
                    drop(send());
                } else {
                    open.push(send());
                    continue;
                }
                open.push(send());
            }
            while let Some(end) = open.next().await {
                end.unwrap();
            }
        });
        setup.wait(|| setup.gpu.requests_in_memory() == 0);
    };
    run(REQUESTS / 10);
    let before = resident();
    run(REQUESTS);
    let grown = resident().saturating_sub(before);
    assert!(grown < 2048, "{grown} KiB more after {REQUESTS} requests");
}

#[test]
fn sessions_leave_nothing_behind() {
    let setup = real_time();
    let session = || {
        let map = setup.connect("map").unwrap();
        let _dropped = map.request([RemoteSegment::new("invert").arguments(50_u32.to_le_bytes())]).unwrap();
        drop(map);
        setup.wait(|| setup.sessions() == 0 && setup.gpu.requests_in_memory() == 0);
    };
    for _ in 0..10 {
        session();
    }
    let most = (0..SESSIONS).map(|_| {
        session();
        held()
    });
    let (files, maps) = most.fold((0, 0), |(files, maps), held| (held.0.max(files), held.1.max(maps)));
    // Other tests of this program have sessions of their own at the same time.
    assert!(files < 300 && maps < 50, "{files} files, {maps} mappings");
}
