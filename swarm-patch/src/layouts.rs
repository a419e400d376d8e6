//! Links a program several times, so that its functions lie at other addresses each time.
//!
//! Where functions lie changes how fast they run, by more than some changes of the code. An A/A control that runs the
//! same file cannot show this.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use fs_err as fs;

/// How many layouts a program gets. Linking one takes a fraction of a second.
pub const LAYOUTS: u32 = 16;

/// The file of a layout in a folder. Layouts count from 1, and the number is the linker's seed.
pub fn file(dir: &Path, layout: u32) -> PathBuf {
    dir.join(format!("layout-{layout}"))
}

/// Has `cargo rustc` run so that the program's last step, linking, is repeated for every layout. The layouts go to `dir`,
/// which gets none if the linker cannot vary them: that takes LLD 20 or newer, which comes with Rust for x86_64.
pub fn build(
    mut cargo_rustc: Command,
    dir: &Path,
    run: impl FnOnce(&mut Command) -> Result<()>,
) -> Result<()> {
    // The path of the linker is new each time, so cargo does not reuse an earlier result.
    let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
    let linker = folder.path().join("cc");
    fs::write(&linker, linker_script(dir))?;
    fs::set_permissions(&linker, PermissionsExt::from_mode(0o755))?;
    cargo_rustc.args(["--", &format!("-Clinker={}", linker.display())]);
    run(&mut cargo_rustc)
}

fn linker_script(dir: &Path) -> String {
    format!(
        "#!/bin/sh\n\
         cc \"$@\" || exit\n\
         for seed in $(seq {LAYOUTS}); do\n\
         cc \"$@\" -Wl,--randomize-section-padding=$seed -o '{dir}'/layout-$seed 2>/dev/null ||\n\
         {{ rm -f '{dir}'/layout-*; exit 0; }}\n\
         done\n",
        dir = dir.display()
    )
}

/// The number of layouts in a folder. If one is missing, the others do not count.
pub fn count(dir: &Path) -> u32 {
    match (1..=LAYOUTS).all(|layout| file(dir, layout).is_file()) {
        true => LAYOUTS,
        false => 0,
    }
}
