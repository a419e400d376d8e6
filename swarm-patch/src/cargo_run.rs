//! Runs `cargo build`, which takes minutes: shows how far it is, ends it with an interrupt, and names its first error.

use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind, PipeReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use cargo_metadata::diagnostic::{Diagnostic, DiagnosticLevel};
use cargo_metadata::{CompilerMessage, Message};
use fs_err as fs;
use indicatif::{ProgressBar, ProgressStyle};
use program::{eprint_line, in_words, printable, wait_or_interrupt};

/// An option that every command for [`build`] needs.
pub const MESSAGES: &str = "--message-format=json";

/// Runs `cargo build`. `title` tells the user what is built. Everything that cargo and the compilers print goes to the file
/// `log`, which is removed if the build succeeds.
pub fn build(command: &mut Command, title: &str, log: &Path) -> Result<()> {
    let (stdout, cargo_stdout) = io::pipe()?;
    let (stderr, cargo_stderr) = io::pipe()?;
    command
        .env("CARGO_TERM_COLOR", "never")
        .env("CARGO_TERM_QUIET", "false")
        .env("CARGO_TERM_PROGRESS_WHEN", "always")
        .env("CARGO_TERM_PROGRESS_WIDTH", "80")
        .stdin(Stdio::null())
        .stdout(cargo_stdout)
        .stderr(cargo_stderr);
    let log_file = File::create(log)?;
    let (status, compiler_error, cargo_said) = thread::scope(|scope| {
        let messages = scope.spawn(|| read_messages(stdout, &log_file));
        let errors = scope.spawn(|| read_errors(stderr, &log_file, title));
        // The user may have asked for an end before there was anything to build.
        let status = wait_or_interrupt(command, 0);
        // The readers end only when this process has closed its ends of the pipes, too.
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let compiler_error = messages.join().unwrap_or_default();
        (status, compiler_error, errors.join().unwrap_or_default())
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
    let error = compiler_error.unwrap_or_else(|| first_error(&cargo_said));
    bail!("{error} (all that the compilers said: {})", log.display());
}

/// Copies the messages of the compilers to the log. Returns the first error.
fn read_messages(stdout: PipeReader, mut log: &File) -> Option<String> {
    let mut first_error = None;
    for message in Message::parse_stream(BufReader::new(stdout)).map_while(Result::ok) {
        let Message::CompilerMessage(CompilerMessage { message, .. }) = message else {
            continue;
        };
        // The first error is known even if the log cannot be written.
        let _ = log.write_all(message.rendered.as_deref().unwrap_or_default().as_bytes());
        if message.level == DiagnosticLevel::Error && first_error.is_none() {
            first_error = Some(in_one_line(&message));
        }
    }
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

/// Shows cargo's progress and copies the rest of its output to the log. Returns the rest.
fn read_errors(stderr: PipeReader, mut log: &File, title: &str) -> String {
    let mut progress = Progress::new(title);
    let mut rest = String::new();
    // Cargo ends each line of progress with a carriage return, so that the next line overwrites it.
    for chunk in BufReader::new(stderr).split(b'\r').map_while(Result::ok) {
        for line in String::from_utf8_lossy(&chunk).lines() {
            let text = line.trim_start_matches("\u{1b}[K");
            if let Some((done, all)) = steps(text) {
                progress.show(done, all);
            } else if !text.trim().is_empty() {
                let _ = writeln!(log, "{text}");
                rest += &format!("{text}\n");
            }
        }
    }
    progress.bar.finish_and_clear();
    rest
}

/// Reads a line of cargo's progress, `Building [====>   ] 12/345: some, crates`: the steps done, and all steps. A step
/// compiles a crate, or runs a build script.
fn steps(line: &str) -> Option<(u64, u64)> {
    let (_, after) = line
        .trim_start()
        .strip_prefix("Building [")?
        .split_once("] ")?;
    let (steps, _) = after.split_once(':').unwrap_or((after, ""));
    let (done, all) = steps.trim().split_once('/')?;
    Some((done.parse().ok()?, all.parse().ok()?))
}

/// The progress of a build: on a terminal a line that is drawn again and again, elsewhere a line every half minute.
struct Progress {
    bar: ProgressBar,
    last_line: Option<Instant>,
}

impl Progress {
    fn new(title: &str) -> Progress {
        let template = "building {prefix}: {pos} of {len} steps, {elapsed}";
        let style = ProgressStyle::with_template(template).expect("the template is a constant");
        Progress {
            bar: ProgressBar::no_length()
                .with_style(style)
                .with_prefix(printable(title).into_owned()),
            last_line: None,
        }
    }

    fn show(&mut self, done: u64, all: u64) {
        const LINE_EVERY: Duration = Duration::from_secs(30);
        if self.bar.length().is_none() {
            // The time goes on while one crate is compiled.
            self.bar.enable_steady_tick(Duration::from_secs(1));
        }
        self.bar.set_length(all);
        self.bar.set_position(done);
        let is_due = |last: Instant| last.elapsed() >= LINE_EVERY;
        if self.bar.is_hidden() && self.last_line.is_none_or(is_due) {
            self.last_line = Some(Instant::now());
            let (title, took) = (self.bar.prefix(), in_words(self.bar.elapsed()));
            eprint_line(format!("building {title}: {done} of {all} steps, {took}"));
        }
    }
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
    use super::*;

    /// Builds with a script in cargo's place. Returns the error and the log.
    ///
    /// The script is no file: a file that was just written cannot be started while a child of another
    /// test, which was forked meanwhile, still has it open.
    fn build_with(script: &str) -> (String, String) {
        let dir = tempfile::tempdir().expect("a folder");
        let log = dir.path().join("log");
        let built = build(Command::new("sh").args(["-c", script]), "a program", &log);
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
        let progress =
            r"printf '    Building [=>  ] 1/10: a\r\033[Kerror: no such package\n' >&2; exit 1";
        let (error, log) = build_with(progress);
        assert!(error.starts_with("no such package"), "{error}");
        assert_eq!(log, "error: no such package\n");
        assert_eq!(build_with("exit 0"), ("built".to_owned(), String::new()));
    }

    #[test]
    fn the_steps_of_cargos_progress_are_known() {
        let line = "    Building [====>    ] 12/345: some, crates\r";
        assert_eq!(steps(line), Some((12, 345)));
        assert_eq!(steps("   Compiling a v1.0.0 (3/4)"), None);
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
