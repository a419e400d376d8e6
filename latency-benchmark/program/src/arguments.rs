//! Reads the command line with clap, whose errors become one line.

use std::process::ExitCode;

use anyhow::anyhow;
use clap::Parser;
use clap::error::ErrorKind;

use crate::failure::{Failure, bad_input};
use crate::output::note;

/// Reads the arguments. `Err(Ok(_))` means that clap has printed its help or the version, and the program may end.
pub fn parse<T: Parser>() -> Result<T, Result<ExitCode, Failure>> {
    T::try_parse().map_err(|error| help_or_one_line::<T>(&error))
}

fn help_or_one_line<T: Parser>(error: &clap::Error) -> Result<ExitCode, Failure> {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            note(error.print());
            Ok(ExitCode::SUCCESS)
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let command = T::command();
            let verbs = command.get_subcommands().filter(|verb| !verb.is_hide_set());
            let verbs: Vec<&str> = verbs.map(clap::Command::get_name).collect();
            Err(bad_input(anyhow!(
                "a verb is missing (accepted: {}; see --help)",
                verbs.join(", ")
            )))
        }
        _ => {
            let text = error.render().to_string();
            let ends = ["\n\nUsage", "\n\nFor more", "\n\n  tip"];
            let end = ends.iter().filter_map(|end| text.find(end)).min();
            let text = &text[..end.unwrap_or(text.len())];
            let text = text.trim_start_matches("error: ").to_owned();
            Err(bad_input(anyhow!(text)))
        }
    }
}
