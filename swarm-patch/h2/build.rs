//! Grafts the probe and the budgets onto the pristine source.

use std::path::PathBuf;
use std::{env, fs};

fn main() {
    swarm_patch::package::build(&[]);
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it in build scripts"));
    // The first test reads files that the published crate lacks. The second compresses headers for minutes, and polls nothing.
    for left_out in ["fixture.rs", "fuzz.rs"] {
        let tests = out.join("src/hpack/test").join(left_out);
        fs::write(tests, "").expect("the build folder can be written");
    }
}
