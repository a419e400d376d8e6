//! What is shown while something is measured: a bar on a terminal, else lines.

use std::{path::Path, time::Duration};

use indicatif::{ProgressBar, ProgressStyle};
use program::{in_words, print, printable, say};

/// Exit codes of everything that measures.
pub(crate) const MEASURED: u8 = 0;
pub(crate) const SOME_FAILED: u8 = 1;
pub(crate) const INTERRUPTED: u8 = 130;

pub(crate) struct Progress {
    /// Of units of work: runs, blocks or milliseconds. Hidden where standard error is no terminal.
    bar: ProgressBar,
    /// Those that took no time.
    skipped: u64,
    current: String,
}

impl Progress {
    pub(crate) fn new(total: u64, has_numbers: bool) -> Progress {
        let template = if has_numbers {
            "{bar:24} {pos}/{len}  {msg}"
        } else {
            "{bar:24} {msg}"
        };
        let style = ProgressStyle::with_template(template).expect("the template is a constant");
        Progress {
            bar: ProgressBar::new(total).with_style(style),
            skipped: 0,
            current: String::new(),
        }
    }

    /// What is going on now.
    pub(crate) fn show(&mut self, current: String) {
        self.current = current;
        self.tick();
    }

    pub(crate) fn tick(&self) {
        let (current, left) = (printable(&self.current), self.left());
        self.bar.set_message(format!("{current}{left}"));
    }

    pub(crate) fn advance(&mut self, units: u64) {
        self.bar.inc(units);
        self.tick();
    }

    /// Units that need not be done.
    pub(crate) fn skip(&mut self, units: u64) {
        self.skipped += units;
        self.advance(units);
    }

    /// The units that are done, and all of them.
    pub(crate) fn position(&self) -> (u64, u64) {
        (self.bar.position(), self.bar.length().unwrap_or(0))
    }

    pub(crate) fn is_bar(&self) -> bool {
        !self.bar.is_hidden()
    }

    /// A line that stays.
    pub(crate) fn line(&self, text: &str) {
        match self.is_bar() {
            true => self.bar.println(printable(text)),
            false => say(format!("{text}{}", self.left())),
        }
    }

    pub(crate) fn warn(&self, text: &str) {
        let line = format!("warning: {text}");
        match self.is_bar() {
            true => self.bar.println(printable(&line)),
            false => say(line),
        }
    }

    /// The last line on standard error, and the folder of the results on standard output.
    pub(crate) fn finish(self, summary: &str, dir: &Path) {
        let took = in_words(self.bar.elapsed());
        self.bar.finish_and_clear();
        say(format!("{summary} in {took}"));
        print(dir.display());
    }

    /// By the mean of the units so far.
    fn left(&self) -> String {
        let (done, total) = self.position();
        let measured = done - self.skipped;
        let left = total.saturating_sub(done);
        if measured == 0 || left == 0 {
            return String::new();
        }
        let factor = left as f64 / measured as f64;
        let left = Duration::try_from_secs_f64(self.bar.elapsed().as_secs_f64() * factor);
        left.map_or_else(
            |_| String::new(),
            |left| format!("  {} left", in_words(left)),
        )
    }
}
