//! What is shown while something is measured: a bar on a terminal, else lines; and how the runs ended.

use std::path::Path;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use program::{in_words, print, printable, say};
use run_format::End;

/// Exit codes of everything that measures.
pub(crate) const MEASURED: u8 = 0;
pub(crate) const SOME_FAILED: u8 = 1;
pub(crate) const INTERRUPTED: u8 = 130;

pub(crate) struct Progress {
    /// Of units of work: runs, blocks or milliseconds. Hidden where standard error is no terminal.
    bar: ProgressBar,
    /// The units that took no time.
    skipped: AtomicU64,
    /// What is measured now.
    current: Mutex<String>,
}

impl Progress {
    pub(crate) fn new(total: u64, has_numbers: bool) -> Progress {
        let template = match has_numbers {
            true => "{bar:24} {pos}/{len}  {prefix}\n{wide_msg}",
            false => "{bar:24} {prefix}\n{wide_msg}",
        };
        let style = ProgressStyle::with_template(template).expect("the template is a constant");
        Progress {
            bar: ProgressBar::new(total).with_style(style),
            skipped: AtomicU64::new(0),
            current: Mutex::default(),
        }
    }

    pub(crate) fn show(&self, current: &str) {
        *self.current() = printable(current).into_owned();
        self.tick();
    }

    pub(crate) fn tick(&self) {
        let text = format!("{}{}", self.current(), self.left());
        self.bar.set_prefix(text);
    }

    fn current(&self) -> MutexGuard<'_, String> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn advance(&self, units: u64) {
        self.bar.inc(units);
        self.tick();
    }

    /// Units that need not be done.
    pub(crate) fn skip(&self, units: u64) {
        self.skipped.fetch_add(units, Relaxed);
        self.advance(units);
    }

    pub(crate) fn position(&self) -> (u64, u64) {
        (self.bar.position(), self.bar.length().unwrap_or(0))
    }

    pub(crate) fn is_bar(&self) -> bool {
        !self.bar.is_hidden()
    }

    /// A run that ended: below the bar of a terminal until the next one ends, else a line.
    pub(crate) fn ended(&self, text: &str) {
        match self.is_bar() {
            true => self.bar.set_message(printable(text).into_owned()),
            false => self.line(text),
        }
    }

    pub(crate) fn line(&self, text: &str) {
        match self.is_bar() {
            true => self.bar.suspend(|| say(text)),
            false => say(format!("{text}{}", self.left())),
        }
    }

    pub(crate) fn warn(&self, text: &str) {
        self.bar.suspend(|| say(format!("warning: {text}")));
    }

    /// The last line on standard error, and the folder of the results on standard output.
    pub(crate) fn finish(&self, summary: &str, dir: &Path) {
        let took = in_words(self.bar.elapsed());
        self.bar.finish_and_clear();
        say(format!("{summary} in {took}"));
        print(dir.display());
    }

    /// By the mean of the units so far.
    fn left(&self) -> String {
        let (done, total) = self.position();
        let measured = done - self.skipped.load(Relaxed);
        let left = total.saturating_sub(done);
        if measured == 0 || left == 0 {
            return String::new();
        }
        let factor = left as f64 / measured as f64;
        let left = Duration::try_from_secs_f64(self.bar.elapsed().as_secs_f64() * factor);
        let left = left.map(|left| format!("  {} left", in_words(left)));
        left.unwrap_or_default()
    }
}

#[derive(Default)]
pub(crate) struct RunCounts {
    measured: usize,
    invalid: usize,
    failed: usize,
    /// Runs whose rows could not be written.
    pub(crate) unkept: usize,
    pub(crate) interrupted: bool,
}

impl RunCounts {
    pub(crate) fn add(&mut self, end: &End) {
        match end {
            // It is measured again.
            &End::INTERRUPTED => {}
            End::Ok { .. } => self.measured += 1,
            End::Invalid { .. } => self.invalid += 1,
            End::Failed { .. } => self.failed += 1,
        }
    }

    pub(crate) fn summary(&self, done: &str) -> String {
        let (measured, invalid, failed) = (self.measured, self.invalid, self.failed);
        let mut summary = format!("{measured} {done}, {invalid} invalid, {failed} failed");
        if self.unkept > 0 {
            summary += &format!(", {} not kept", self.unkept);
        }
        if self.interrupted {
            summary += "; interrupted";
        }
        summary
    }

    pub(crate) fn exit_code(&self) -> u8 {
        match self.invalid + self.failed + self.unkept {
            _ if self.interrupted => INTERRUPTED,
            0 => MEASURED,
            _ => SOME_FAILED,
        }
    }
}
