//! Runs cargo builds, which take minutes: shows how far they are, ends them with an interrupt, and names their first error.

use std::fs::File;
use std::io::{self, BufReader, IsTerminal, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use fs_err as fs;
use program::{end_group, in_words, interrupts_seen, printable, say, wait_within};
use serde_json::Value;

/// An option that every command for [`build`] needs.
pub const MESSAGES: &str = "--message-format=json";

/// Runs `cargo build`. `title` says to the user what it builds. All that the compilers say goes to the file `log`, which is
/// kept if the build fails.
pub fn build(command: &mut Command, title: &str, log: &Path) -> Result<()> {
    let before = interrupts_seen();
    let mut child = command
        .env("CARGO_TERM_COLOR", "never")
        .env("CARGO_TERM_QUIET", "false")
        .env("CARGO_TERM_PROGRESS_WHEN", "always")
        .env("CARGO_TERM_PROGRESS_WIDTH", "80")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // So that the compilers that it starts can be ended, too.
        .process_group(0)
        .spawn()
        .context("cannot start cargo (install Rust 1.91 or newer: https://rustup.rs)")?;
    let stdout = child.stdout.take().context("cargo has no output")?;
    let stderr = child.stderr.take().context("cargo has no errors")?;
    let said = Mutex::new(Said::into(File::create(log)?));
    let mut shown = Shown::of(title);
    let status = thread::scope(|scope| -> Result<_> {
        scope.spawn(|| read_messages(stdout, &said));
        scope.spawn(|| read_errors(stderr, &said));
        const LOOK_AROUND: Duration = Duration::from_millis(100);
        loop {
            if let Some(status) = wait_within(&mut child, LOOK_AROUND)? {
                return Ok(status);
            }
            if interrupts_seen() > before {
                end_group(&mut child)?;
                bail!("the build was interrupted");
            }
            let steps = said.lock().unwrap_or_else(PoisonError::into_inner).steps;
            shown.show(steps);
        }
    });
    shown.end();
    let status = status?;
    if status.success() {
        let _ = fs::remove_file(log);
        return Ok(());
    }
    let said = said.into_inner().unwrap_or_else(PoisonError::into_inner);
    let error = said.error.unwrap_or_else(|| first_error(&said.text));
    bail!("{error} (all that the compilers said: {})", log.display());
}

/// What cargo has said so far.
struct Said {
    log: File,
    /// Those done, and all. A step compiles a crate, or compiles or runs a build script.
    steps: Option<(u32, u32)>,
    /// The first one of a compiler, with its place.
    error: Option<String>,
    /// What cargo itself says.
    text: String,
}

impl Said {
    fn into(log: File) -> Said {
        Said {
            log,
            steps: None,
            error: None,
            text: String::new(),
        }
    }

    fn note(&mut self, text: &str) {
        // The first error is known without the log.
        let _ = self.log.write_all(text.as_bytes());
    }
}

fn read_messages(from: impl Read, said: &Mutex<Said>) {
    for line in program::lines(from) {
        let Ok(message) = serde_json::from_str::<Value>(&line) else {
            continue;
        };
        let message = &message["message"];
        let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
        said.note(message["rendered"].as_str().unwrap_or_default());
        if said.error.is_none() && message["level"] == "error" {
            said.error = in_one_line(message);
        }
    }
}

/// An error of the compiler, as it begins in its own words, and its place.
fn in_one_line(message: &Value) -> Option<String> {
    let text = message["message"].as_str()?;
    let code = message["code"]["code"].as_str();
    let code = code.map_or_else(|| "error".to_owned(), |code| format!("error[{code}]"));
    let mut spans = message["spans"].as_array()?.iter();
    let place = spans.find(|span| span["is_primary"] == true).map(|span| {
        let file = span["file_name"].as_str().unwrap_or_default();
        format!(" ({file}:{}:{})", span["line_start"], span["column_start"])
    });
    Some(format!("{code}: {text}{}", place.unwrap_or_default()))
}

fn read_errors(from: impl Read, said: &Mutex<Said>) {
    let mut line = Vec::new();
    for byte in BufReader::new(from).bytes().map_while(Result::ok) {
        line.push(byte);
        // A line of progress is written over by the next one.
        if !matches!(byte, b'\r' | b'\n') {
            continue;
        }
        let text = String::from_utf8_lossy(&line).into_owned();
        line.clear();
        let text = text.trim_start_matches("\u{1b}[K");
        let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
        match steps(text) {
            Some(steps) => said.steps = Some(steps),
            None if text.trim().is_empty() => {}
            None => {
                said.note(text);
                said.text += text;
            }
        }
    }
}

/// Cargo's progress: `Building [====>   ] 12/345: some, crates`.
fn steps(line: &str) -> Option<(u32, u32)> {
    let (_, after) = line
        .trim_start()
        .strip_prefix("Building [")?
        .split_once("] ")?;
    let (steps, _) = after.split_once(':').unwrap_or((after, ""));
    let (done, all) = steps.trim().split_once('/')?;
    Some((done.parse().ok()?, all.parse().ok()?))
}

/// A line on a terminal that is written again and again; elsewhere a line every half minute. Nothing is shown of a build that
/// has nothing to do.
struct Shown<'a> {
    title: &'a str,
    began: Instant,
    last: Option<Instant>,
    is_terminal: bool,
}

impl Shown<'_> {
    fn of(title: &str) -> Shown<'_> {
        Shown {
            title,
            began: Instant::now(),
            last: None,
            is_terminal: io::stderr().is_terminal(),
        }
    }

    fn show(&mut self, steps: Option<(u32, u32)>) {
        const SOON: Duration = Duration::from_secs(1);
        const LATER: Duration = Duration::from_secs(30);
        let interval = match (self.last, self.is_terminal) {
            (None, _) | (_, true) => SOON,
            _ => LATER,
        };
        if self.last.unwrap_or(self.began).elapsed() < interval {
            return;
        }
        self.last = Some(Instant::now());
        let steps = steps.map_or_else(String::new, |(done, all)| {
            format!("{done} of {all} steps, ")
        });
        let took = in_words(self.began.elapsed());
        let text = format!("building {}: {steps}{took}", self.title);
        match self.is_terminal {
            true => self.rewrite(&text),
            false => say(text),
        }
    }

    /// A line that is longer than the terminal could not be written again.
    fn rewrite(&self, text: &str) {
        const SHORT: usize = 79;
        let text: String = printable(text).chars().take(SHORT).collect();
        let _ = write!(io::stderr(), "\r{text}\u{1b}[K");
    }

    fn end(&self) {
        if self.last.is_some() && self.is_terminal {
            self.rewrite("");
        }
    }
}

/// The first error in cargo's output, with its place, in one line.
pub(crate) fn first_error(said: &str) -> String {
    let lines: Vec<&str> = said.lines().map(str::trim).collect();
    let is_error = |line: &&str| line.starts_with("error:") || line.starts_with("error[");
    let Some(at) = lines.iter().position(is_error) else {
        let last = lines.iter().rev().find(|line| !line.is_empty());
        return last.copied().unwrap_or("cargo gave no reason").to_owned();
    };
    let (error, rest) = (lines[at].trim_start_matches("error: "), &lines[at + 1..]);
    let is_of_it = |line: &&&str| !is_error(line) && !line.starts_with("warning");
    let mut of_it = rest.iter().take_while(is_of_it);
    if let Some(place) = of_it.find_map(|line| line.strip_prefix("--> ")) {
        return format!("{error} ({place})");
    }
    // The causes come after an error of cargo, the output after an error of a build script.
    if let Some(text) = rest.iter().find_map(|line| line.strip_prefix("error: ")) {
        return text.to_owned();
    }
    let causes = rest.iter().filter(|line| {
        !line.is_empty() && !line.starts_with("Caused by") && !line.starts_with("process didn't")
    });
    let add = |text, cause| format!("{text} {cause}");
    causes.take(4).fold(error.to_owned(), add)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// Has a script in cargo's place.
    fn build_with(script: &str) -> (String, String) {
        let dir = tempfile::tempdir().expect("a folder");
        let (cargo, log) = (dir.path().join("cargo"), dir.path().join("log"));
        std::fs::write(&cargo, format!("#!/bin/sh\n{script}\n")).expect("a script");
        std::fs::set_permissions(&cargo, PermissionsExt::from_mode(0o755)).expect("its mode");
        let built = build(&mut Command::new(&cargo), "it", &log);
        let text = std::fs::read_to_string(&log).unwrap_or_default();
        let error = built.map_or_else(|error| format!("{error:#}"), |()| "built".to_owned());
        (
            error.replace(&dir.path().display().to_string(), "DIR"),
            text,
        )
    }

    #[test]
    fn a_build_that_fails_names_its_first_error_with_its_place_and_the_log() {
        let message = |level: &str, code: &str, text: &str| {
            format!(
                r#"printf '%s\n' '{{"reason":"compiler-message","message":{{"level":"{level}","code":{code},"message":"{text}","spans":[{{"is_primary":true,"file_name":"src/lib.rs","line_start":4,"column_start":9}}],"rendered":"{text}\n  | ^^^^^^\n"}}}}'"#
            )
        };
        let script = [
            message("warning", "null", "unused"),
            message("error", r#"{"code":"E0308"}"#, "mismatched types"),
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
