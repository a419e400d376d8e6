//! The verb `comment`. It prints a part of a report.

use std::path::Path;

use program::{Failure, print_line, reject};

use crate::load::FolderKind;
use crate::make::make;
use crate::options::Options;
use crate::report::comment::COMMENT;

pub(crate) fn run(dir: &Path, options: &Options) -> Result<(), Failure> {
    if matches!(FolderKind::find(dir), FolderKind::Rr | FolderKind::Soak) {
        reject!(
            "{}: no comment can be made of it (accepted: the folder of a sweep, a search or an application)",
            dir.display()
        );
    }
    let files = make(dir, None, options)?.files;
    if let Some(file) = files.iter().find(|file| file.name == COMMENT) {
        print_line(String::from_utf8_lossy(&file.content).trim_end());
    }
    Ok(())
}
