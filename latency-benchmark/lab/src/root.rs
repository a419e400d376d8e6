//! Makes a folder the root of this process, for programs that bring their libraries along.

use std::path::Path;

use nix::mount::{MsFlags, mount};
use nix::sched::CloneFlags;
use nix::unistd::{chdir, chroot};

use crate::EnterError;
use crate::enter::{make_mounts_private, refused, unshare};

/// Makes `dir` the root of this process, and of all that it starts. The kernel's `/proc`, `/sys` and `/dev` are mounted on
/// the folders of these names in it.
///
/// Call it before any other thread exists.
pub fn enter_root(dir: &Path) -> Result<(), EnterError> {
    unshare(CloneFlags::CLONE_NEWNS)?;
    make_mounts_private()?;
    // A lab makes the mounts below its root private, so this root has to be a mount, too.
    bind(dir, dir)?;
    for name in ["proc", "sys", "dev"] {
        bind(&Path::new("/").join(name), &dir.join(name))?;
    }
    let enter = || {
        chdir(dir)?;
        chroot(".")
    };
    enter().map_err(refused("another root"))
}

fn bind(from: &Path, to: &Path) -> Result<(), EnterError> {
    const NONE: Option<&str> = None;
    let flags = MsFlags::MS_BIND | MsFlags::MS_REC;
    mount(Some(from), to, NONE, flags, NONE).map_err(refused("to mount a folder"))
}
