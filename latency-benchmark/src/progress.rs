//! What is shown while something is measured: a bar on a terminal, else lines.

use std::{
    io::{IsTerminal, stderr},
    path::Path,
    time::{Duration, Instant},
};

use indicatif::{ProgressBar, ProgressStyle};
use program::{in_words, print, printable, say};

/// Exit codes of everything that measures.
pub(crate) const MEASURED: u8 = 0;
pub(crate) const SOME_FAILED: u8 = 1;
pub(crate) const INTERRUPTED: u8 = 130;

pub(crate) struct Progress {
    bar: Option<ProgressBar>,
    /// Units of work: runs, blocks or milliseconds.
    total: u64,
    done: u64,
    /// Those of `done` that took no time.
    skipped: u64,
    began: Instant,
    current: String,
}

impl Progress {
    pub(crate) fn new(total: u64, has_numbers: bool) -> Progress {
        let template = if has_numbers {
            "{bar:24} {pos}/{len}  {msg}"
        } else {
            "{bar:24} {msg}"
        };
        let bar = stderr().is_terminal().then(|| {
            let style = ProgressStyle::with_template(template);
            ProgressBar::new(total).with_style(style.expect("the template is a constant"))
        });
        Progress {
            bar,
            total,
            done: 0,
            skipped: 0,
            began: Instant::now(),
            current: String::new(),
        }
    }

    /// What is going on now.
    pub(crate) fn show(&mut self, current: String) {
        self.current = current;
        self.tick();
    }

    pub(crate) fn tick(&self) {
        if let Some(bar) = &self.bar {
            bar.set_length(self.total);
            bar.set_position(self.done);
            let left = self.left();
            bar.set_message(format!("{}{left}", printable(&self.current)));
        }
    }

    pub(crate) fn advance(&mut self, units: u64) {
        self.done += units;
        self.tick();
    }

    /// Units that need not be done.
    pub(crate) fn skip(&mut self, units: u64) {
        self.skipped += units;
        self.advance(units);
    }

    pub(crate) fn position(&self) -> (u64, u64) {
        (self.done, self.total)
    }

    pub(crate) fn is_bar(&self) -> bool {
        self.bar.is_some()
    }

    /// A line that stays.
    pub(crate) fn line(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.println(printable(text)),
            None => say(format!("{text}{}", self.left())),
        }
    }

    pub(crate) fn warn(&self, text: &str) {
        let line = format!("warning: {text}");
        match &self.bar {
            Some(bar) => bar.println(printable(&line)),
            None => say(line),
        }
    }

    /// The last line on standard error, and the folder of the results on standard output.
    pub(crate) fn finish(self, summary: &str, dir: &Path) {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
        let took = in_words(self.began.elapsed());
        say(format!("{summary} in {took}"));
        print(dir.display());
    }

    /// By the mean of the units so far.
    fn left(&self) -> String {
        let measured = self.done - self.skipped;
        let left = self.total.saturating_sub(self.done);
        if measured == 0 || left == 0 {
            return String::new();
        }
        let factor = left as f64 / measured as f64;
        let left = Duration::try_from_secs_f64(self.began.elapsed().as_secs_f64() * factor);
        left.map_or_else(
            |_| String::new(),
            |left| format!("  {} left", in_words(left)),
        )
    }
}
