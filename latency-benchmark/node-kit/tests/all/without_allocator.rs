//! A program with the system's allocator.

use node_kit::profiler::allocations;

#[test]
fn allocations_cannot_be_observed() {
    let error = allocations::watch_this_thread(10, || 0).err().unwrap();
    let said = "allocations: this node program was built without the allocator that counts them";
    assert!(error.to_string().starts_with(said), "{error}");
}
