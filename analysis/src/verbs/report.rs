//! The verb `report`.

use std::path::Path;
use std::process::{Command, Stdio};

use program::{Failure, eprint_line};

use crate::load::FolderKind;
use crate::make::{make, make_from_rr, make_from_soak};
use crate::new_folder::{refuse_inside, resolved};
use crate::options::Options;
use crate::{page, report_folder};

pub(crate) fn run(dir: &Path, options: &Options, is_opened: bool) -> Result<(), Failure> {
    let out = options.out(dir.join("report"));
    if resolved(&out) != resolved(dir).join("report") {
        refuse_inside(&out, [dir])?;
    }
    let content = match FolderKind::find(dir) {
        FolderKind::Rr => make_from_rr(dir, options)?,
        FolderKind::Soak => make_from_soak(dir, options)?,
        _ => make(dir, None, options)?,
    };
    report_folder::write(&out, content)?;
    if is_opened {
        open(&out)?;
    }
    Ok(())
}

fn open(out: &Path) -> Result<(), Failure> {
    let files = [page::FILE, report_folder::TEXT].map(|name| out.join(name));
    let found = files.iter().find(|file| file.is_file());
    let file = found.unwrap_or(&files[1]).canonicalize()?;
    let mut program = Command::new(program::system_tool_or_usr_bin("xdg-open"));
    let opened = program.arg(&file).stderr(Stdio::null()).status();
    if !opened.is_ok_and(|status| status.success()) {
        let file = file.display();
        eprint_line(format!(
            "--open: xdg-open is missing or failed; open {file} in a browser"
        ));
    }
    Ok(())
}
