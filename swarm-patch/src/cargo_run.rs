//! Runs `cargo build`, which takes minutes: shows how far it is, ends it with an interrupt, and names its first error.

use std::fs::File;
use std::io::{self, BufReader, ErrorKind, PipeReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use cargo_metadata::diagnostic::{Diagnostic, DiagnosticLevel};
use cargo_metadata::{CompilerMessage, Message};
use fs_err as fs;
use indicatif::{ProgressBar, ProgressStyle};
use program::{printable, say, wait_or_interrupt};

/// An option that every command for [`build`] needs.
pub const MESSAGES: &str = "--message-format=json";

/// Runs `cargo build`. `title` tells the user what is built. Everything that cargo and the compilers print goes to the file
/// `log`, which is removed if the build succeeds.
pub fn build(command: &mut Command, title: &str, log: &Path) -> Result<()> {
    let (messages, cargo_stdout) = io::pipe()?;
    let log_file = File::create(log)?;
    command
        .env("CARGO_TERM_COLOR", "never")
        .env("CARGO_TERM_PROGRESS_WHEN", "never")
        .stdin(Stdio::null())
        .stdout(cargo_stdout)
        .stderr(log_file.try_clone()?);
    let (status, compiler_error) = thread::scope(|scope| {
        let reader = scope.spawn(|| read_messages(messages, &log_file, title));
        let status = wait_or_interrupt(command);
        // The reader ends only when this process has closed its end of the pipe, too.
        command.stdout(Stdio::null());
        (status, reader.join().unwrap_or_default())
    });
    match status {
        Ok(status) if status.success() => {
            let _ = fs::remove_file(log);
            return Ok(());
        }
        Ok(_) => {}
        // Nothing but an interrupt has this kind.
        Err(error) if error.kind() == ErrorKind::Other => bail!("the build was interrupted"),
        Err(error) => {
            let hint = "cannot start cargo (install Rust 1.91 or newer: https://rustup.rs)";
            return Err(error).context(hint);
        }
    }
    let logged = || fs::read_to_string(log).unwrap_or_default();
    let error = compiler_error.unwrap_or_else(|| first_error(&logged()));
    bail!("{error} (all that the compilers said: {})", log.display());
}

/// Shows how many crates are compiled, and copies the messages of the compilers to the log. Returns the first error.
fn read_messages(messages: PipeReader, mut log: &File, title: &str) -> Option<String> {
    let progress = progress_bar(title);
    let mut first_error = None;
    for message in Message::parse_stream(BufReader::new(messages)).map_while(Result::ok) {
        match message {
            Message::CompilerArtifact(artifact) if !artifact.fresh => count_crate(&progress),
            Message::CompilerMessage(CompilerMessage { message, .. }) => {
                // The first error is known even if the log cannot be written.
                let _ = log.write_all(message.rendered.as_deref().unwrap_or_default().as_bytes());
                if message.level == DiagnosticLevel::Error && first_error.is_none() {
                    first_error = Some(in_one_line(&message));
                }
            }
            _ => {}
        }
    }
    progress.finish_and_clear();
    first_error
}

/// The code, the text and the place of an error.
fn in_one_line(error: &Diagnostic) -> String {
    let mut text = match &error.code {
        Some(code) => format!("error[{}]: {}", code.code, error.message),
        None => format!("error: {}", error.message),
    };
    if let Some(span) = error.spans.iter().find(|span| span.is_primary) {
        let (file, line, column) = (&span.file_name, span.line_start, span.column_start);
        text += &format!(" ({file}:{line}:{column})");
    }
    text
}

/// A line that is drawn again and again on a terminal.
fn progress_bar(title: &str) -> ProgressBar {
    let template = "building {prefix}: {pos} crates compiled, {elapsed}";
    let style = ProgressStyle::with_template(template).expect("the template is a constant");
    let bar = ProgressBar::no_length().with_style(style);
    bar.with_prefix(printable(title).into_owned())
}

/// Counts a crate that was compiled. The first one begins the line, or where there is no terminal prints one.
fn count_crate(progress: &ProgressBar) {
    if progress.position() == 0 && progress.is_hidden() {
        say(format!("building {}", progress.prefix()));
    } else if progress.position() == 0 {
        // The time goes on while one crate is compiled.
        progress.enable_steady_tick(Duration::from_secs(1));
    }
    progress.inc(1);
}

/// The first error in what cargo printed, with its place or its causes, in one line.
pub(crate) fn first_error(said: &str) -> String {
    let lines: Vec<&str> = said.lines().map(str::trim).collect();
    let is_error = |line: &&str| line.starts_with("error:") || line.starts_with("error[");
    let Some(first) = lines.iter().position(is_error) else {
        let last = lines.iter().rev().find(|line| !line.is_empty());
        return last.copied().unwrap_or("cargo gave no reason").to_owned();
    };
    let (error, rest) = (
        lines[first].trim_start_matches("error: "),
        &lines[first + 1..],
    );
    let mut details = rest
        .iter()
        .take_while(|line| !is_error(line) && !line.starts_with("warning"));
    if let Some(place) = details.find_map(|line| line.strip_prefix("--> ")) {
        return format!("{error} ({place})");
    }
    // After an error of a build script comes what the script printed, with an error of its own.
    if let Some(text) = rest.iter().find_map(|line| line.strip_prefix("error: ")) {
        return text.to_owned();
    }
    let causes = rest.iter().filter(|line| {
        !line.is_empty() && !line.starts_with("Caused by") && !line.starts_with("process didn't")
    });
    causes
        .take(4)
        .fold(error.to_owned(), |text, cause| format!("{text} {cause}"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// Builds with a script in cargo's place. Returns the error and the log.
    fn build_with(script: &str) -> (String, String) {
        let dir = tempfile::tempdir().expect("a folder");
        let (cargo, log) = (dir.path().join("cargo"), dir.path().join("log"));
        std::fs::write(&cargo, format!("#!/bin/sh\n{script}\n")).expect("a script");
        std::fs::set_permissions(&cargo, PermissionsExt::from_mode(0o755)).expect("its mode");
        let built = build(&mut Command::new(&cargo), "a program", &log);
        let text = std::fs::read_to_string(&log).unwrap_or_default();
        let error = built.map_or_else(|error| format!("{error:#}"), |()| "built".to_owned());
        (
            error.replace(&dir.path().display().to_string(), "DIR"),
            text,
        )
    }

    #[test]
    fn a_build_that_fails_names_its_first_error_with_its_place_and_the_log() {
        let target = r#"{"name":"x","kind":["lib"],"src_path":"src/lib.rs"}"#;
        let span = r#"{"is_primary":true,"file_name":"src/lib.rs","line_start":4,"column_start":9,"line_end":4,"column_end":10,"byte_start":0,"byte_end":1,"text":[]}"#;
        let message = |level: &str, code: &str, text: &str| {
            format!(
                r#"printf '%s\n' '{{"reason":"compiler-message","package_id":"x","target":{target},"message":{{"level":"{level}","code":{code},"message":"{text}","spans":[{span}],"children":[],"rendered":"{text}\n  | ^^^^^^\n"}}}}'"#
            )
        };
        let script = [
            message("warning", "null", "unused"),
            message(
                "error",
                r#"{"code":"E0308","explanation":null}"#,
                "mismatched types",
            ),
            message("error", "null", "another"),
            r"printf 'error: could not compile x\n  | ^^^^^^^^^^^^\n' >&2; exit 101".to_owned(),
        ];
        let (error, log) = build_with(&script.join("\n"));
        assert_eq!(
            error,
            "error[E0308]: mismatched types (src/lib.rs:4:9) (all that the compilers said: DIR/log)"
        );
        for part in ["unused", "another", "could not compile"] {
            assert!(log.contains(part), "{log}");
        }
    }

    #[test]
    fn an_error_of_cargo_itself_is_named_too_and_a_build_that_succeeds_has_no_log() {
        let (error, log) = build_with("echo 'error: no such package' >&2; exit 1");
        assert!(error.starts_with("no such package"), "{error}");
        assert_eq!(log, "error: no such package\n");
        assert_eq!(build_with("exit 0"), ("built".to_owned(), String::new()));
    }

    #[test]
    fn an_error_of_the_compiler_comes_with_its_place() {
        let said = "warning: unused\n --> src/a.rs:1:1\n\nerror[E0308]: mismatched types\n  --> swarm/src/lib.rs:4:9\n   |\nerror: could not compile `x` (lib) due to 1 previous error\n";
        assert_eq!(
            first_error(said),
            "error[E0308]: mismatched types (swarm/src/lib.rs:4:9)"
        );
    }

    #[test]
    fn an_error_of_cargo_comes_with_its_causes() {
        let said = "    Updating index\nerror: failed to select a version for `x`.\n    required by package `y`\n";
        assert_eq!(
            first_error(said),
            "failed to select a version for `x`. required by package `y`"
        );
        assert_eq!(first_error(""), "cargo gave no reason");
    }
}
