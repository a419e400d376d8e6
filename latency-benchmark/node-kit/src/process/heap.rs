//! The heap of a node program.

#![allow(unsafe_code, reason = "mallopt is a function of libc")]

/// Has glibc keep freed memory in the process. By default it returns the top of the heap to the system when much of that is
/// free, and the next allocation faults it in again, page by page. Whether this happens depends on what lies at the top, so
/// the state outlives a turn, and variants that take turns in one process would not behave as in processes of their own.
pub(crate) fn keep_freed_memory() {
    #[cfg(target_env = "gnu")]
    {
        // The largest that glibc accepts.
        const MOST_ON_HEAP: i32 = 32 << 20;
        // SAFETY: both calls set a number of the allocator, before this program has other threads.
        unsafe {
            libc::mallopt(libc::M_TRIM_THRESHOLD, i32::MAX);
            libc::mallopt(libc::M_MMAP_THRESHOLD, MOST_ON_HEAP);
        }
    }
}
