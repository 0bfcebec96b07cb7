//! What a process has: memory, threads, open files and sockets, as the kernel shows them.

use std::fs;
use std::path::Path;

use rospin_measure::machine::field;
use serde::Serialize;

use super::words::HeapUse;

/// What a process had at one time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(super) struct Resources {
    /// All memory but pages of files, which come and go as the kernel likes.
    pub(super) memory_kib: u64,
    /// How much of the heap is in use, if the process counts it.
    pub(super) heap: Option<HeapUse>,
    pub(super) threads: u64,
    pub(super) files: u64,
    /// Of the files.
    pub(super) sockets: u64,
}

impl Resources {
    /// Reads what the process of that number has; `None` if it has ended.
    pub(super) fn read(process: u32) -> Option<Self> {
        let folder = Path::new("/proc").join(process.to_string());
        let status = fs::read_to_string(folder.join("status")).ok()?;
        let number = |name| field(&status, name)?.split_whitespace().next()?.parse().ok();
        let links = fs::read_dir(folder.join("fd")).ok()?.flatten().filter_map(|file| fs::read_link(file.path()).ok());
        let (mut files, mut sockets) = (0, 0);
        for link in links {
            files += 1;
            sockets += u64::from(link.to_string_lossy().starts_with("socket:"));
        }
        Some(Self { memory_kib: number("RssAnon")?, heap: None, threads: number("Threads")?, files, sockets })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_has_something_of_each() {
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let resources = Resources::read(std::process::id()).unwrap();
        assert!(resources.memory_kib > 100 && resources.threads > 0 && resources.sockets > 0, "{resources:?}");
        assert!(resources.files > resources.sockets);
        drop(socket);
        assert_eq!(Resources::read(u32::MAX), None);
    }
}
