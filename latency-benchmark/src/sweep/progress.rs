//! What is shown while a sweep runs: a bar on a terminal, else a line per run.

use std::{
    io::{IsTerminal, stderr},
    path::Path,
    time::{Duration, Instant},
};

use indicatif::{ProgressBar, ProgressStyle};

use super::schedule::Launch;
use crate::{
    duration::in_words,
    slices::BlockDone,
    store::{
        manifest::SweepConfig,
        rows::{End, RunRow, Stop},
    },
};

pub(super) struct Progress {
    bar: Option<ProgressBar>,
    runs: usize,
    done: usize,
    /// Those that were measured now, and how long they took.
    measured: u32,
    began: Instant,
    current: String,
    last_block: Option<BlockDone>,
}

impl Progress {
    pub(super) fn new(runs: usize) -> Progress {
        let bar = stderr().is_terminal().then(|| {
            let bar = ProgressBar::new(runs as u64);
            let style = ProgressStyle::with_template("{bar:24} {pos}/{len}  {msg}");
            bar.set_style(style.expect("the template is a constant"));
            bar
        });
        Progress {
            bar,
            runs,
            done: 0,
            measured: 0,
            began: Instant::now(),
            current: String::new(),
            last_block: None,
        }
    }

    pub(super) fn skip(&mut self) {
        self.done += 1;
        self.show();
    }

    pub(super) fn begin(&mut self, launch: &Launch, config: &SweepConfig) {
        self.current = format!("{} {}", launch.cell, launch.name(config));
        self.last_block = None;
        self.show();
    }

    pub(super) fn end(&mut self, row: &RunRow, config: &SweepConfig) {
        self.done += 1;
        self.measured += 1;
        let line = format!(
            "[{:3}/{}] {}  {}, {:.1} s",
            self.done,
            self.runs,
            self.current,
            outcome(row, self.last_block.as_ref(), config),
            row.took_ms as f64 / 1e3
        );
        let left = self
            .left()
            .map_or_else(String::new, |left| format!(", {} left", in_words(left)));
        match &self.bar {
            Some(bar) => bar.println(line),
            None => eprintln!("{line}{left}"),
        }
        self.show();
    }

    pub(super) fn finish(self, summary: &str, dir: &Path) {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
        eprintln!("{summary} in {}", in_words(self.began.elapsed()));
        println!("{}", dir.display());
    }

    pub(super) fn block(&mut self, block: &BlockDone) {
        self.last_block = Some(block.clone());
        self.show();
    }

    pub(super) fn tick(&mut self) {
        self.show();
    }

    pub(super) fn warn(&mut self, text: &str) {
        let line = format!("warning: {text}");
        match &self.bar {
            Some(bar) => bar.println(line),
            None => eprintln!("{line}"),
        }
    }

    fn show(&self) {
        let Some(bar) = &self.bar else { return };
        let slow = self
            .last_block
            .as_ref()
            .and_then(|block| *block.slow_percent.first()?);
        let slow = slow.map_or_else(String::new, |slow| format!("  {slow:.1} % slow"));
        let left = self
            .left()
            .map_or_else(String::new, |left| format!("  {} left", in_words(left)));
        bar.set_position(self.done as u64);
        bar.set_message(format!("{}{slow}{left}", self.current));
    }

    /// By the mean of the runs so far.
    fn left(&self) -> Option<Duration> {
        let each = self.began.elapsed().checked_div(self.measured)?;
        Some(each * u32::try_from(self.runs - self.done).ok()?)
    }
}

/// How a run went, in a few words.
fn outcome(row: &RunRow, block: Option<&BlockDone>, config: &SweepConfig) -> String {
    match &row.end {
        End::Invalid { reason } => format!("INVALID: {reason}"),
        End::Failed { stage, reason } => format!("FAILED while {stage}: {reason}"),
        End::Ok { stop } => {
            let stop = match stop {
                Stop::Precise => "precise",
                Stop::Cap => "at the cap",
                Stop::Interrupted => "interrupted",
            };
            let blocks = row.blocks.unwrap_or(0);
            let of_variants = block.map_or_else(String::new, |block| of_variants(block, config));
            format!("{of_variants}; {blocks} blocks, {stop}")
        }
    }
}

/// How slow polls were, or how many requests there were where no poll was recorded.
fn of_variants(block: &BlockDone, config: &SweepConfig) -> String {
    let (before, unit, decimals, values) = if block.requests_per_s.is_empty() {
        ("slow: ", " %", 1, &block.slow_percent)
    } else {
        ("", "/s", 0, &block.requests_per_s)
    };
    let variants = config.variants.iter().zip(values);
    let texts: Vec<String> = variants
        .map(|(variant, value)| {
            let value = value.map_or_else(|| "-".to_owned(), |value| format!("{value:.decimals$}"));
            format!("{} {value}{unit}", variant.label)
        })
        .collect();
    format!("{before}{}", texts.join(", "))
}
