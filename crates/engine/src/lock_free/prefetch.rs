//! Hints to the processor about memory that will be needed soon.

/// The size of a cache line in bytes, on most processors.
pub(crate) const LINE: usize = 64;

/// Prefetches a value into the processor's cache, at most the first `MOST` lines of it, without waiting for them. Does
/// nothing on processors for which there is no such hint here.
#[inline(always)]
pub(crate) fn prefetch<T: ?Sized>(value: &T) {
    /// The number of lines of a callback that are needed in most cases.
    const MOST: usize = 5;
    let first = std::ptr::from_ref(value).cast::<u8>();
    for line in 0..size_of_val(value).div_ceil(LINE).min(MOST) {
        prefetch_at(first.wrapping_add(line * LINE));
    }
}

/// Prefetches the cache line at that address, whatever is there.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(crate) fn prefetch_at(address: *const u8) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: every x86-64 processor has the instruction, and it never faults, whatever the address is.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) };
}

/// Prefetches the cache line at that address, whatever is there.
#[cfg(target_arch = "aarch64")]
#[inline(always)]
pub(crate) fn prefetch_at(address: *const u8) {
    // SAFETY: the instruction is a hint, which never faults, whatever the address is.
    unsafe { std::arch::asm!("prfm pldl1keep, [{}]", in(reg) address, options(nostack, readonly, preserves_flags)) };
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(crate) fn prefetch_at(_: *const u8) {}

/// Prefetches the cache line at that address so that it can be written, whatever is there. Whoever writes a line that
/// another core has waits for it, unless it was fetched before. Does nothing where there is no such hint.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(crate) fn prefetch_to_write_at(address: usize) {
    // SAFETY: the instruction is a hint, which never faults. Processors that do not know it do nothing.
    unsafe { std::arch::asm!("prefetchw [{}]", in(reg) address, options(nostack, readonly, preserves_flags)) };
}

/// Prefetches the cache line at that address so that it can be written, whatever is there.
#[cfg(target_arch = "aarch64")]
#[inline(always)]
pub(crate) fn prefetch_to_write_at(address: usize) {
    // SAFETY: the instruction is a hint, which never faults.
    unsafe { std::arch::asm!("prfm pstl1keep, [{}]", in(reg) address, options(nostack, readonly, preserves_flags)) };
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(crate) fn prefetch_to_write_at(_: usize) {}
