//! `next-round`

use std::path::Path;

use program::{Failure, print};

use crate::{options::Options, search::Search};

pub(crate) fn run(dir: &Path, options: &Options) -> Result<(), Failure> {
    let next = Search::open(dir, options)?.next();
    print(serde_json::to_string(&next)?);
    Ok(())
}
