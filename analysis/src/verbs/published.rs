//! `published`

use std::path::Path;

use crate::{
    failure::Failure,
    options::Options,
    published,
    report::{
        self,
        folder::{Folder, Record, TEXT},
    },
    summary::table,
    verdict::Verdict,
    views::{self, Scene},
};

pub(crate) fn run(path: &Path, options: &Options) -> Result<(), Failure> {
    let summary = published::read(path, options)?;
    let verdict = Verdict::of(&summary, options.first_site());
    let entries = Scene::new(&summary, &verdict, options).entries();
    let text = report::text(&summary, &verdict, &entries, options);
    let mut frame = table::table(&summary, &options.sites())?;

    let out = options.out.clone().unwrap_or_else(|| {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        path.with_file_name(format!("{stem}-report"))
    });
    let folder = Folder::begin(&out)?;
    table::write(&mut frame, folder.dir())?;
    views::write(&entries, &folder.charts())?;
    let record = Record::new("published", vec![summary.identity.name.clone()], options);
    folder.finish(&text, &record)?;
    println!("{}", out.join(TEXT).display());
    Ok(())
}
