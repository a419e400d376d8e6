//! A program that has the system's allocator.
#![allow(clippy::unwrap_used)]

use thread_scope::allocations;

#[test]
fn is_told_that_it_cannot_count() {
    assert!(!allocations::is_installed());
    let error = allocations::watch_this_thread(10, || 0).err().unwrap();
    let said = "allocations: this program has another allocator";
    assert_eq!(error.to_string(), said);
}
