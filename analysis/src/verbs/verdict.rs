//! The verb `verdict`. It prints the answers for a script.

use std::path::Path;

use program::{Failure, print_line, reject};

use crate::load::{FolderKind, Sweep};
use crate::options::Options;
use crate::report;
use crate::summary::Summary;
use crate::verdict::Verdict;

pub(crate) fn run(dir: &Path, options: &Options) -> Result<(), Failure> {
    let kind = FolderKind::find(dir);
    if matches!(kind, FolderKind::Search | FolderKind::Rr | FolderKind::Soak) {
        let shown = dir.display();
        reject!("{shown}: it has no verdict (accepted: the folder of a sweep or an application)");
    }
    let summary = Summary::read(Sweep::open(dir)?, options)?;
    let verdict = Verdict::new(&summary, options);
    print_line(report::verdict::text(&summary, &verdict).trim_end());
    Ok(())
}
