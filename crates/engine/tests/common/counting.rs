//! An allocator that reports every allocation. The tests of other crates use this file, too.

use std::alloc::{GlobalAlloc, Layout, System};

/// The system's allocator, which calls a function at each allocation, on the thread that allocates.
pub(crate) struct Counting {
    /// The function. It must not allocate.
    pub(crate) count: fn(),
}

// SAFETY: every call is passed on unchanged to the system's allocator, whose contract is the same. `count` does not
// allocate, so there is no recursion.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        (self.count)();
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`, and `pointer` came from `System`.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        (self.count)();
        // SAFETY: the caller keeps the contract of `realloc`, and `pointer` came from `System`.
        unsafe { System.realloc(pointer, layout, size) }
    }
}
