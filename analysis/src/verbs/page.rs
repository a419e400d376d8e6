//! The verb `page`. It makes one page of several sweeps or searches.

use std::fs;
use std::path::PathBuf;

use anyhow::Context;
use program::{Failure, print_line, reject};
use run_format::files::read;

use crate::make::make;
use crate::new_folder::refuse_inside;
use crate::options::Options;
use crate::page::{self, Page};

pub(crate) fn run(runs: &[PathBuf], options: &Options) -> Result<(), Failure> {
    let out = options.out("page");
    refuse_inside(&out, runs.iter().map(PathBuf::as_path))?;
    let file = out.join(page::FILE);
    let is_page = || read(&file).is_ok_and(|html| Page::is_ours(&String::from_utf8_lossy(&html)));
    if fs::symlink_metadata(&file).is_ok() && !is_page() {
        let file = file.display();
        reject!("{file}: this file exists and is not a page; choose another --out");
    }
    let made = runs.iter().map(|run| Ok(make(run, None, options)?.page));
    let pages: Vec<Option<Page>> = made.collect::<Result<_, Failure>>()?;
    let page = Page::join(pages.into_iter().flatten().collect());
    fs::create_dir_all(&out).with_context(|| out.display().to_string())?;
    fs::write(&file, page.html()).with_context(|| file.display().to_string())?;
    print_line(file.display());
    Ok(())
}
