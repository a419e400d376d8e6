//! Finds the programs that this one runs. Relative folders of `PATH` are left out, because the files in the working folder are
//! somebody's data.

use std::env;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// The folders of the system's programs, as `PATH` has them. An ordinary user's `PATH` often lacks some.
pub const SYSTEM_PATH: &str = "/usr/sbin:/usr/bin:/sbin:/bin";

/// The folders of the system, then those of `PATH`.
pub fn tool_folders() -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = env::split_paths(SYSTEM_PATH).collect();
    let more = user_folders().filter(|folder| !folders.contains(folder));
    let more: Vec<PathBuf> = more.collect();
    folders.extend(more);
    folders
}

/// The path of a program of the system, such as git. If it is not installed, this is its path in `/usr/bin`, so starting it
/// fails and names that path.
pub fn system_tool_or_usr_bin(name: &str) -> PathBuf {
    let found = find_in(tool_folders(), name);
    found.unwrap_or_else(|| Path::new("/usr/bin").join(name))
}

/// The path of a program that is not on every machine. The error says how to install it.
pub fn require_system_tool(name: &str) -> Result<PathBuf> {
    find_in(tool_folders(), name)
        .with_context(|| format!("{name} is not installed (Debian: apt-get install {name})"))
}

/// The path of a program that users install for themselves, such as cargo: the first in `PATH`.
pub fn user_tool(name: &str) -> PathBuf {
    find_in(user_folders(), name).unwrap_or_else(|| system_tool_or_usr_bin(name))
}

/// The program with that name in the first of the folders that has one.
pub fn find_in(folders: impl IntoIterator<Item = PathBuf>, name: &str) -> Option<PathBuf> {
    let mut paths = folders.into_iter().map(|folder| folder.join(name));
    paths.find(|path| is_program(path))
}

/// Whether it is a file that somebody may execute.
pub fn is_program(path: &Path) -> bool {
    let about = path.metadata();
    about.is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
}

fn user_folders() -> impl Iterator<Item = PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = env::split_paths(&path).collect();
    folders.into_iter().filter(|folder| folder.is_absolute())
}
