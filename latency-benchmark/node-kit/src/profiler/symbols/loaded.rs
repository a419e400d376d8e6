//! Asks the dynamic loader for names.
#![allow(unsafe_code, reason = "calls the loader")]

use std::ffi::{CStr, c_char};
use std::{mem, ptr};

/// The exported symbol at an address, or else the name of the file in brackets.
pub(super) fn name(address: usize) -> Option<String> {
    // SAFETY: all zeros are a valid value of this struct.
    let mut found: libc::Dl_info = unsafe { mem::zeroed() };
    let address = ptr::without_provenance(address);
    // SAFETY: the call fills the struct and only looks the address up.
    if unsafe { libc::dladdr(address, &raw mut found) } == 0 {
        return None;
    }
    let text = |pointer: *const c_char| {
        // SAFETY: the strings belong to the loader and stay valid while the file is loaded.
        (!pointer.is_null()).then(|| unsafe { CStr::from_ptr(pointer) }.to_string_lossy())
    };
    if let Some(symbol) = text(found.dli_sname) {
        return Some(symbol.replace(';', ","));
    }
    let path = text(found.dli_fname)?;
    let file = path.rsplit('/').next()?;
    Some(format!("[{}]", file.replace(';', ",")))
}
