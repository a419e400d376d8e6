//! The program `analysis`, which lies beside this one.

use std::{
    env,
    path::Path,
    process::{Command, Stdio},
};

use anyhow::{Context, Result};

pub(crate) fn analysis(verb: &str, dir: &Path) -> Result<Command> {
    let program = env::current_exe()
        .context("cannot find this program's file")?
        .with_file_name("analysis");
    let mut command = Command::new(program);
    command.arg(verb).arg(dir).stdin(Stdio::null());
    Ok(command)
}
