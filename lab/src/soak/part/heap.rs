//! How much of the heap is in use: what a process holds, whatever its allocator keeps beside that.

use super::super::words::HeapUse;

/// Returns how much of the heap is in use; `None` in a program whose allocator does not count.
#[cfg(target_env = "gnu")]
pub(super) fn in_use() -> Option<HeapUse> {
    let rust = crate::heap_counts()?.live_bytes;
    // SAFETY: the function takes the locks of the C library's allocator itself, and returns numbers.
    let all = unsafe { libc::mallinfo2() };
    // The counting program's allocator is the C library's, for Rust and C alike.
    Some(HeapUse { all_bytes: (all.uordblks + all.hblkhd) as u64, rust_bytes: rust })
}

/// Returns nothing: another C library does not tell.
#[cfg(not(target_env = "gnu"))]
pub(super) fn in_use() -> Option<HeapUse> {
    None
}
