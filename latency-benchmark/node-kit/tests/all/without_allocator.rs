//! A program with the system's allocator.

use node_kit::scope::allocations;

#[test]
fn allocations_cannot_be_observed() {
    assert!(!allocations::is_installed());
    let error = allocations::watch_this_thread(10, || 0).err().unwrap();
    let said = "allocations: this program has another allocator";
    assert_eq!(error.to_string(), said);
}
