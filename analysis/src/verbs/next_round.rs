//! `next-round`

use std::{
    io::{Write as _, stdout},
    path::Path,
};

use program::Failure;

use crate::{options::Options, search::Search};

pub(crate) fn run(dir: &Path, options: &Options) -> Result<(), Failure> {
    let next = Search::open(dir, options)?.next();
    writeln!(stdout(), "{}", serde_json::to_string(&next)?)?;
    Ok(())
}
