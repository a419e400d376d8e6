//! Makes one folder like another. It does not write files that are the same already, since cargo compiles
//! again what was written.

use std::io;
use std::path::Path;

use fs_err as fs;

/// Makes the folder `to` like the folder `from`.
pub fn folder(from: &Path, to: &Path) -> io::Result<()> {
    if fs::symlink_metadata(to).is_ok_and(|about| !about.is_dir()) {
        fs::remove_file(to)?;
    }
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        let kind = entry.file_type()?;
        if kind.is_dir() {
            folder(&entry.path(), &target)?;
        } else if kind.is_symlink() {
            link(&fs::read_link(entry.path())?, &target)?;
        } else {
            file(&entry.path(), &target)?;
        }
    }
    for entry in fs::read_dir(to)? {
        let entry = entry?;
        if fs::symlink_metadata(from.join(entry.file_name())).is_err() {
            remove(&entry.path())?;
        }
    }
    Ok(())
}

fn file(from: &Path, to: &Path) -> io::Result<()> {
    let wanted = fs::read(from)?;
    let is_file = fs::symlink_metadata(to).is_ok_and(|about| about.is_file());
    if is_file && fs::read(to)? == wanted {
        return Ok(());
    }
    remove(to)?;
    fs::write(to, wanted)
}

fn link(wanted: &Path, to: &Path) -> io::Result<()> {
    if fs::read_link(to).is_ok_and(|there| there == wanted) {
        return Ok(());
    }
    remove(to)?;
    fs::os::unix::fs::symlink(wanted, to)
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(about) if about.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn only_what_differs_is_written() {
        let dir = tempfile::tempdir().unwrap();
        let (from, to) = (dir.path().join("from"), dir.path().join("to"));
        for (path, text) in [
            ("from/a b/same", "1"),
            ("from/a b/changed", "2"),
            ("from/new", "3"),
            ("to/a b/same", "1"),
            ("to/a b/changed", "1"),
            ("to/old/file", "1"),
        ] {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        fs::os::unix::fs::symlink("a b/same", from.join("link")).unwrap();
        let time = || {
            fs::metadata(to.join("a b/same"))
                .unwrap()
                .modified()
                .unwrap()
        };
        let before = time();
        folder(&from, &to).unwrap();
        assert_eq!(time(), before);
        assert_eq!(fs::read_to_string(to.join("a b/changed")).unwrap(), "2");
        assert_eq!(fs::read_to_string(to.join("new")).unwrap(), "3");
        assert_eq!(
            fs::read_link(to.join("link")).unwrap(),
            Path::new("a b/same")
        );
        assert!(!to.join("old").exists());
    }
}
