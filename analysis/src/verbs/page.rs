//! `page`

use std::fs;
use std::path::PathBuf;

use anyhow::Context;
use program::{Failure, print, reject};

use super::report::make;
use crate::new_folder;
use crate::options::Options;
use crate::page::{self, Page};

pub(crate) fn run(runs: &[PathBuf], options: &Options) -> Result<(), Failure> {
    let out = options.out("page");
    new_folder::refuse_inside(&out, runs.iter().map(PathBuf::as_path))?;
    let file = out.join(page::FILE);
    if file.exists() && !fs::read_to_string(&file).is_ok_and(|html| Page::is_one(&html)) {
        let file = file.display();
        reject!("{file}: this file exists and is not a page; choose another --out");
    }
    let pages = runs.iter().map(|run| Ok(make(run, None, options)?.page));
    let pages: Vec<Option<Page>> = pages.collect::<Result<_, Failure>>()?;
    let page = Page::of_several(pages.into_iter().flatten().collect());
    fs::create_dir_all(&out).with_context(|| out.display().to_string())?;
    fs::write(&file, page.html()).with_context(|| file.display().to_string())?;
    print(file.display());
    Ok(())
}
