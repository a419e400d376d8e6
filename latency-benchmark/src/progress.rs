//! Shows how far a measurement is, and how its runs ended. A terminal has a bar, any other output has a line for each
//! run.

use std::path::Path;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use program::{eprint_line, in_words, print_line, printable};
use run_format::RunOutcome;

/// Exit codes of everything that measures.
pub(crate) const MEASURED: u8 = 0;
pub(crate) const SOME_FAILED: u8 = 1;
pub(crate) const INTERRUPTED: u8 = 130;

/// The lines on a terminal: a line with the bar, a line about what is measured now, and a line about the run that ended last.
/// All are hidden where standard error is no terminal.
pub(crate) struct Progress {
    lines: MultiProgress,
    /// Counts units of work: runs, blocks or milliseconds.
    bar: ProgressBar,
    now: ProgressBar,
    last: ProgressBar,
    /// The units that took no time.
    skipped: AtomicU64,
}

impl Progress {
    pub(crate) fn new(total: u64, has_numbers: bool) -> Progress {
        let numbers = if has_numbers { " {pos}/{len}" } else { "" };
        let lines = MultiProgress::new();
        let line = |total: u64, template: &str| {
            let style = ProgressStyle::with_template(template).expect("a constant template");
            lines.add(ProgressBar::new(total).with_style(style))
        };
        Progress {
            bar: line(total, &format!("{{bar:24}}{numbers}  {{prefix}}")),
            now: line(0, "{wide_msg}"),
            last: line(0, "{wide_msg}"),
            lines,
            skipped: AtomicU64::new(0),
        }
    }

    /// Says what is measured now.
    pub(crate) fn show(&self, current: &str) {
        self.now.set_message(printable(current).into_owned());
        self.tick();
    }

    pub(crate) fn tick(&self) {
        self.bar.set_prefix(self.left());
    }

    pub(crate) fn advance(&self, units: u64) {
        self.bar.inc(units);
        self.tick();
    }

    /// Advances by units that need not be done.
    pub(crate) fn skip(&self, units: u64) {
        self.skipped.fetch_add(units, Relaxed);
        self.advance(units);
    }

    pub(crate) fn position(&self) -> (u64, u64) {
        (self.bar.position(), self.bar.length().unwrap_or(0))
    }

    pub(crate) fn has_bar(&self) -> bool {
        !self.bar.is_hidden()
    }

    /// Says how a run ended. On a terminal the line stays until the next run ends.
    pub(crate) fn ended(&self, text: &str) {
        match self.has_bar() {
            true => self.last.set_message(printable(text).into_owned()),
            false => self.line(text),
        }
    }

    pub(crate) fn line(&self, text: &str) {
        match self.left() {
            left if self.has_bar() || left.is_empty() => self.lines.suspend(|| eprint_line(text)),
            left => eprint_line(format!("{text}  {left}")),
        }
    }

    pub(crate) fn warn(&self, text: &str) {
        self.lines
            .suspend(|| eprint_line(format!("warning: {text}")));
    }

    /// The last line on standard error, and the folder of the results on standard output.
    pub(crate) fn finish(&self, summary: &str, dir: &Path) {
        let took = in_words(self.bar.elapsed());
        for line in [&self.bar, &self.now, &self.last] {
            line.finish_and_clear();
        }
        eprint_line(format!("{summary} in {took}"));
        print_line(dir.display());
    }

    /// The time left, such as "3 min 5 s left", if the other units take as long as those so far. Empty until one is measured.
    fn left(&self) -> String {
        let (done, total) = self.position();
        let measured = done - self.skipped.load(Relaxed);
        let units_left = total.saturating_sub(done);
        if measured == 0 || units_left == 0 {
            return String::new();
        }
        let factor = units_left as f64 / measured as f64;
        let time = Duration::try_from_secs_f64(self.bar.elapsed().as_secs_f64() * factor);
        let text = time.map(|time| format!("{} left", in_words(time)));
        text.unwrap_or_default()
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
    pub(crate) fn add(&mut self, end: &RunOutcome) {
        match end {
            // `--resume` measures the run again.
            &RunOutcome::INTERRUPTED => {}
            RunOutcome::Ok { .. } => self.measured += 1,
            RunOutcome::Invalid { .. } => self.invalid += 1,
            RunOutcome::Failed { .. } => self.failed += 1,
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
        if self.interrupted {
            INTERRUPTED
        } else if self.invalid + self.failed + self.unkept == 0 {
            MEASURED
        } else {
            SOME_FAILED
        }
    }
}
